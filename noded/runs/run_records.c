/* run_records.c - see run_records.h, record/record.h */
#include "config.h"

#include "noded/runs/run_records.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/fd_close.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "common/net/worker.h"
#include "noded/record/order_socket.h"
#include "noded/record/record.h"
#include "noded/record/rundir.h"
#include "noded/runs/launcher_dirs.h"
#include "noded/runs/launcher_state.h"
#include "noded/runs/run_report.h"
#include "noded/runs/runs.h"
#include "noded/runs/signature_uses.h"

#define SYNC_MS       1000 /* the pool was full: another try after this */
#define SYNC_AGAIN_MS 5000 /* delay after the copy failed */
#define KEY_DISK      1

/* --- a run's record directory ----------------------------------------------------------------- */

int run_dir(const struct run *r, bool make)
{
	if (make && mkdirat(r->l->dirs->runs, r->name, 0700) < 0 && errno != EEXIST)
		return -1;
	return openat(r->l->dirs->runs, r->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

int run_read(const struct run *r, const char *name, const ProtobufCMessageDescriptor *desc,
        ProtobufCMessage **m)
{
	int dir = run_dir(r, false), got;
	struct error err;

	if (dir < 0)
		return errno == ENOENT ? 0 : -1;
	got = record_read(dir, name, desc, m, &err);
	close(dir);
	if (got >= 0)
		return got;
	log_error("run %s: %s", r->name, err.text);
	return err.code == ERR_PROTOCOL ? 0 : -1;
}

/* The end is reported even if the record cannot be written: it goes to the disk too. */
void run_write_exit(struct run *r, const Gpusched__RunReport *report)
{
	int dir = run_dir(r, true);
	struct error err;

	if (dir < 0)
		log_error("run %s: cannot make its record directory: %s", r->name, strerror(errno));
	else if (record_write(dir, RECORD_EXIT, &report->base, 0, &err) < 0)
		log_error("run %s: %s", r->name, err.text);
	fd_close(dir);
}

void run_take_back_use(struct run *r)
{
	ProtobufCMessage *m;
	Gpusched__LaunchRecord *launch;
	struct error err;

	if (run_read(r, RECORD_LAUNCH, &gpusched__launch_record__descriptor, &m) != 1)
		return;
	launch = (Gpusched__LaunchRecord *)m;
	if (launch->nonce.len == SIGNATURE_NONCE_LEN && launch->report &&
	        signature_uses_add(r->l->signature_uses, launch->report->uid, launch->nonce.data,
	                launch->probe ? signature_uses_day(launch->signed_at) : r->id.task,
	                launch->signed_at, -1, &err) < 0)
		log_warning("run %s: %s", r->name, err.text);
	protobuf_c_message_free_unpacked(m, NULL);
}

/* The known records go first, and only if others are left, the files of a killed process. */
void run_remove_records(const struct run *r)
{
	static const char *const names[] = { RECORD_LAUNCH, RECORD_STARTED, RECORD_EXIT,
		RECORD_USED, RECORD_NOTES, RECORD_AFTER, ORDER_SOCKET_NAME, RECORD_AFTER ".tmp",
		RECORD_LAUNCH ".tmp", RECORD_STARTED ".tmp", RECORD_EXIT ".tmp",
		RECORD_NOTES ".tmp", RECORD_USED ".tmp" };
	const size_t usual = 3, all = sizeof(names) / sizeof(names[0]);
	int dir = run_dir(r, false);
	bool gone = dir < 0;

	for (size_t i = 0; i < all && !gone; i++) {
		unlinkat(dir, names[i], 0);
		if (i + 1 == usual || i + 1 == all)
			gone = unlinkat(r->l->dirs->runs, r->name, AT_REMOVEDIR) == 0;
	}
	fd_close(dir);
}

/* --- the copy on disk ------------------------------------------------------------------------- */

/* A copy of an exit record on disk. Owns itself; `run` NULL: forgotten meanwhile. */
struct run_sync {
	struct run *run;
	int exits;
	char name[RECORD_ID_MAX];
	Gpusched__RunReport *report;
	int result;
	struct error err;
};

static void sync_run(void *arg)
{
	struct run_sync *s = arg;

	s->result = record_write(s->exits, s->name, &s->report->base, RECORD_SYNC, &s->err);
}

static void sync_free(void *arg)
{
	struct run_sync *s = arg;

	if (s->run)
		s->run->sync = NULL;
	run_report_free(s->report);
	free(s);
}

static void sync_done(void *arg)
{
	struct run_sync *s = arg;

	if (s->result < 0) {
		log_error("run %s: its end is only in memory: %s", s->name, s->err.text);
		if (s->run)
			run_set_timer(s->run, SYNC_AGAIN_MS);
	} else if (s->run)
		s->run->on_disk = true;
	else
		unlinkat(s->exits, s->name, 0);
	sync_free(s);
}

static const struct worker_ops sync_ops = { sync_run, sync_done, sync_free };

void run_copy_to_disk(struct run *r)
{
	struct run_sync *s = xcalloc(1, sizeof(*s));

	*s = (struct run_sync){
		.run = r, .exits = r->l->dirs->exits, .report = run_report_copy(r->report)
	};
	memcpy(s->name, r->name, sizeof(s->name));
	r->sync = s;
	if (!worker_submit(r->l->disk, KEY_DISK, &sync_ops, s, NULL)) {
		sync_free(s);
		run_set_timer(r, SYNC_MS);
	}
}

void run_forget_copy(struct run *r)
{
	if (r->sync)
		r->sync->run = NULL;
}

/* --- directories ------------------------------------------------------------------------------ */

struct removal {
	int parent;
	char name[RECORD_ID_MAX];
};

static void removal_run(void *arg)
{
	struct removal *m = arg;

	rundir_remove(m->parent, m->name);
}

static const struct worker_ops removal_ops = { removal_run, free, free };

static void remove_from(struct launcher *l, int parent, const char *name)
{
	struct removal *m;

	if (faccessat(parent, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	m = xcalloc(1, sizeof(*m));
	m->parent = parent;
	memcpy(m->name, name, strlen(name) + 1);
	if (!worker_submit(l->disk, KEY_DISK, &removal_ops, m, NULL))
		free(m); /* it will be found at the next start */
}

void run_remove_rundir(struct launcher *l, const char *name)
{
	remove_from(l, l->dirs->spool_runs, name);
	remove_from(l, l->dirs->private_dir, name);
}
