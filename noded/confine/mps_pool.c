/* mps_pool.c - see mps_pool.h, shepherd/mps_daemon.h
 *
 * There is one control daemon for each user and GPU, from the user's first such run there to the
 * end of the last:
 *
 *               want                       ok                        no run left
 *   (none) ------------> STARTING ------------------> THERE ---------------------> STOPPING
 *                           ^  \______ trouble: the waiting runs get the error, /     |  gone
 *                           |          and what is left is stopped                    |
 *                           +---------------------------------------------------------+ want
 *
 * The daemon outlives the launcher: SPOOL/mps/UID.GPU says that there may be one, and the existing
 * runs say whether it is needed. Each run that begins has it probed.
 */
#include "config.h"

#include "noded/confine/mps_pool.h"

#include <dirent.h>
#include <event2/event.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/each.h"
#include "common/base/error.h"
#include "common/base/fd_close.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "common/gpusched.pb-c.h"
#include "noded/confine/containment_active.h"
#include "noded/contain/devfilter.h"
#include "noded/contain/process_tracking.h"
#include "noded/record/inherit.h"
#include "noded/runs/launcher_dirs.h"
#include "noded/runs/launcher_options.h"
#include "noded/runs/launcher_state.h"
#include "noded/runs/runs.h"
#include "noded/runs/shepherd_task.h"
#include "noded/runs/spawn.h"
#include "noded/runs/user_lookup.h"

#define MPS_POOL_LEAF "mps."
#define START_MS      20000
#define STOP_MS       3000
#define NAME_MAX_     32

enum daemon_state { DAEMON_STARTING, DAEMON_THERE, DAEMON_STOPPING };

struct start_waiter {
	struct waiting_start base;
	int order; /* the next task for gshepherd; -1: it was sent */
};

struct mps_daemon {
	struct mps_pool *m;
	uint32_t uid, gpu;
	char name[NAME_MAX_];
	enum daemon_state state;
	struct waiting_starts waiters;
	struct shepherd_task *task; /* NULL: no gshepherd is working on it */
	struct mps_daemon *next;
};

struct mps_pool {
	struct launcher *l;
	struct mps_daemon *daemons;
	struct event *look; /* checks which runs need it */
};

static void begin_start(struct mps_daemon *d, int order);

/* --- the list --------------------------------------------------------------------------------- */

static struct mps_daemon *daemon_of(struct mps_pool *m, uint32_t uid, uint32_t gpu)
{
	struct mps_daemon *d = m->daemons;

	while (d && (d->uid != uid || d->gpu != gpu))
		d = d->next;
	return d;
}

static struct mps_daemon *daemon_add(struct mps_pool *m, uint32_t uid, uint32_t gpu)
{
	struct mps_daemon *d = xcalloc(1, sizeof(*d));

	*d = (struct mps_daemon){
		.m = m, .uid = uid, .gpu = gpu, .state = DAEMON_THERE, .next = m->daemons
	};
	snprintf(d->name, sizeof(d->name), "%" PRIu32 ".%" PRIu32, uid, gpu);
	m->daemons = d;
	return d;
}

/* The first waiter, or NULL: `base` is its first member. */
static struct start_waiter *first_waiter(const struct mps_daemon *d)
{
	return (struct start_waiter *)d->waiters.first;
}

static void close_orders(const struct waiting_starts *q)
{
	for (const struct waiting_start *w = q->first; w; w = w->next) {
		const struct start_waiter *s = (const struct start_waiter *)w;

		fd_close(s->order);
	}
}

static void daemon_free(struct mps_daemon *d)
{
	shepherd_task_free(d->task);
	close_orders(&d->waiters);
	waiting_starts_clear(&d->waiters);
	free(d);
}

static void daemon_remove(struct mps_daemon *d)
{
	struct mps_daemon **at = &d->m->daemons;

	while (*at != d)
		at = &(*at)->next;
	*at = d->next;
	daemon_free(d);
}

/* --- results of gshepherd --------------------------------------------------------------------- */

static void check_soon(struct mps_pool *m)
{
	event_active(m->look, 0, 0);
}

/* The callbacks may start another run, or end one, but not free the daemon. */
static void answer_all(struct mps_daemon *d, const char *trouble)
{
	struct waiting_starts all = d->waiters;

	d->waiters.first = NULL;
	close_orders(&all);
	while (all.first)
		waiting_start_answer(waiting_starts_take(&all.first), trouble);
}

static void daemon_started(struct mps_daemon *d, const char *trouble)
{
	struct mps_pool *m = d->m;

	d->state = DAEMON_THERE;
	if (trouble)
		log_error(
		        "MPS for uid %" PRIu32 " on GPU %" PRIu32 ": %s", d->uid, d->gpu, trouble);
	answer_all(d, trouble);
	check_soon(m);
}

static void daemon_stopped(struct mps_daemon *d, const char *trouble)
{
	int order;

	if (trouble)
		log_error("MPS of uid %" PRIu32 " on GPU %" PRIu32 ": %s", d->uid, d->gpu, trouble);
	if (!d->waiters.first) {
		struct launcher *l = d->m->l;
		uint64_t gpu = (uint64_t)1 << d->gpu;

		daemon_remove(d);
		l->hooks->gpus_freed(l, gpu); /* its processes were not looked for until now */
		return;
	}
	order = first_waiter(d)->order;
	first_waiter(d)->order = -1; /* a waiter may be answered and gone at once */
	begin_start(d, order);
}

static void task_ended(const char *trouble, void *arg)
{
	struct mps_daemon *d = arg;

	d->task = NULL;
	if (trouble && !*trouble)
		trouble = "MPS: what starts it was killed";
	if (d->state == DAEMON_STOPPING)
		daemon_stopped(d, trouble);
	else
		daemon_started(d, trouble);
}

static int start_task(struct mps_daemon *d, int order, struct error *err)
{
	char self[] = "gshepherd", duty[] = SHEPHERD_MPS, *argv[] = { self, duty, NULL };

	d->task = shepherd_task_start(d->m->l, argv, order, task_ended, d, err);
	return d->task ? 0 : error_wrap(err, "MPS");
}

/* Takes `order` over. */
static void begin_start(struct mps_daemon *d, int order)
{
	struct error err;
	int r;

	d->state = DAEMON_STARTING;
	r = start_task(d, order, &err);
	close(order);
	if (r < 0)
		daemon_started(d, err.text);
}

/* --- which runs need it ----------------------------------------------------------------------- */

struct user_search {
	const struct mps_daemon *d;
	bool found;
};

static void find_user(struct run *r, void *arg)
{
	struct user_search *s = arg;

	s->found |=
	        r->mps && r->state != RUN_OVER && r->uid == s->d->uid && r->gpus >> s->d->gpu & 1;
}

static void fill_order(const struct mps_daemon *d, Gpusched__MpsOrder *o, char *dir, char *leaf)
{
	const struct launcher *l = d->m->l;

	gpusched__mps_order__init(o);
	o->program.data = (uint8_t *)(uintptr_t)l->options->mps;
	o->program.len = strlen(l->options->mps);
	o->dir.data = (uint8_t *)dir;
	o->dir.len = strlen(dir);
	o->leaf.data = (uint8_t *)leaf;
	o->leaf.len = strlen(leaf);
	o->device_filter = l->containment->filter;
	o->switch_user = l->root;
	o->uid = d->uid;
}

static char *leaf_of(const struct mps_daemon *d)
{
	char *id = xasprintf(MPS_POOL_LEAF "%s", d->name);
	char *leaf = contain_root_leaf(d->m->l->containment->root, id);

	free(id);
	return leaf;
}

static void stop_daemon(struct mps_daemon *d)
{
	struct launcher *l = d->m->l;
	char *dir = mps_pool_dir(l, d->uid, d->gpu), *leaf = leaf_of(d);
	Gpusched__MpsOrder o;
	struct error err;
	struct stat st;
	int order;

	fill_order(d, &o, dir, leaf);
	o.stop = true;
	o.timeout_ms = STOP_MS;
	o.gid = fstatat(l->dirs->mps_dir, d->name, &st, AT_SYMLINK_NOFOLLOW) == 0 ? st.st_gid
	                                                                            : d->uid;
	order = spawn_grant(&o.base, &err);
	d->state = DAEMON_STOPPING;
	if (order < 0 || start_task(d, order, &err) < 0)
		daemon_stopped(d, err.text);
	fd_close(order);
	free(dir);
	free(leaf);
}

static void stop_unneeded(evutil_socket_t fd, short what, void *arg)
{
	struct mps_pool *m = arg;
	struct mps_daemon *next;

	(void)fd;
	(void)what;
	for (struct mps_daemon *d = m->daemons; d; d = next) {
		struct user_search s = { .d = d };

		next = d->next;
		if (d->state != DAEMON_THERE)
			continue;
		runs_each(m->l, find_user, &s);
		if (!s.found)
			stop_daemon(d);
	}
}

bool mps_pool_has(const struct launcher *l, uint32_t uid, uint32_t gpu)
{
	return l->mps_pool && daemon_of(l->mps_pool, uid, gpu);
}

void mps_pool_run_over(struct launcher *l)
{
	if (l->mps_pool && l->mps_pool->daemons)
		check_soon(l->mps_pool);
}

/* --- requests --------------------------------------------------------------------------------- */

char *mps_pool_dir(const struct launcher *l, uint32_t uid, uint32_t gpu)
{
	return xasprintf("%s/%" PRIu32 ".%" PRIu32, l->dirs->mps_path, uid, gpu);
}

/* Make the order to start it. -1 with ERR_LAUNCH. */
static int make_start_order(
        const struct mps_daemon *d, const struct mps_pool_wish *wish, struct error *err)
{
	char *dir = mps_pool_dir(d->m->l, d->uid, d->gpu), *leaf = leaf_of(d);
	Gpusched__RunDevice devices[DEVFILTER_MAX], *list[DEVFILTER_MAX];
	Gpusched__MpsOrder o;
	int order;

	fill_order(d, &o, dir, leaf);
	o.timeout_ms = START_MS;
	COPY_FIELDS(&o, wish->user, gid, n_groups, groups);
	o.gpu_uuid = (char *)(uintptr_t)wish->gpu_uuid;
	for (size_t i = 0; i < wish->n_devices; i++) {
		list[i] = &devices[i];
		gpusched__run_device__init(list[i]);
		devices[i].block = wish->devices[i].type == 'b';
		devices[i].major = wish->devices[i].major;
		devices[i].minor = wish->devices[i].minor;
	}
	o.n_devices = wish->n_devices;
	o.devices = list;
	order = spawn_grant(&o.base, err);
	free(dir);
	free(leaf);
	return order;
}

int mps_pool_want(struct launcher *l, const struct mps_pool_wish *wish, waiting_start_fn *fn,
        void *arg, struct error *err)
{
	struct mps_daemon *d = daemon_of(l->mps_pool, wish->user->uid, wish->gpu);
	struct start_waiter *w;
	int order;

	if (!d)
		d = daemon_add(l->mps_pool, wish->user->uid, wish->gpu);
	order = make_start_order(d, wish, err);
	if (order < 0)
		return -1;
	w = waiting_starts_add(&d->waiters, sizeof(*w), NULL, fn, arg);
	w->order = order;
	if (d->state == DAEMON_THERE) {
		w->order = -1;
		begin_start(d, order);
	}
	return 0;
}

/* --- the whole -------------------------------------------------------------------------------- */

bool mps_pool_is_leaf(const struct launcher *l, const char *name)
{
	size_t n = strlen(MPS_POOL_LEAF);

	return strncmp(name, MPS_POOL_LEAF, n) == 0 && name[n] &&
	       faccessat(l->dirs->mps_dir, name + n, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static void find_old(struct mps_pool *m)
{
	int fd = openat(m->l->dirs->mps_dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;
	uint32_t uid, gpu;

	while (dir && (e = readdir(dir)))
		if (sscanf(e->d_name, "%" SCNu32 ".%" SCNu32, &uid, &gpu) == 2 &&
		        gpu < GPU_INDEX_MAX && !daemon_of(m, uid, gpu))
			daemon_add(m, uid, gpu);
	if (dir)
		closedir(dir);
}

struct mps_pool *mps_pool_start(struct launcher *l)
{
	struct mps_pool *m = xcalloc(1, sizeof(*m));

	m->l = l;
	m->look = event_new(l->base, -1, 0, stop_unneeded, m);
	if (!m->look)
		abort();
	find_old(m);
	check_soon(m);
	return m;
}

void mps_pool_free(struct mps_pool *m)
{
	if (!m)
		return;
	while (m->daemons) {
		struct mps_daemon *d = m->daemons;

		m->daemons = d->next;
		daemon_free(d);
	}
	event_free(m->look);
	free(m);
}
