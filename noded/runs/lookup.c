/* lookup.c - see lookup.h */
#include "noded/runs/lookup.h"

#include <errno.h>
#include <event2/event.h>
#include <grp.h>
#include <pwd.h>
#include <search.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/clock.h"
#include "common/base/xalloc.h"

#define RETRY_MS      500
#define USERS_MAX     4096
#define PASSWD_BUFFER (256 * 1024) /* no entry of a user database is longer */
#define GROUPS_START  64
#define GROUPS_MAX    65536 /* the kernel's NGROUPS_MAX */

/* Each kind of query has its own queue in the pool, so that none waits for another. */
enum { KEY_DECODE = 1, KEY_USER, KEY_MAKE };

struct cred_waiter {
	struct cred_waiter *next;
	lookup_cred_fn *fn;
	void *arg;
};

/* A credential that is cached (waiters NULL, job NULL) or being decoded. */
struct cred_entry {
	struct lookup *a;
	char *text;
	size_t len;
	bool known, once;
	uint64_t used; /* the least recently used entry is dropped first */
	struct mcred cred;
	struct cred_waiter *waiters;
	struct decode_job *job;
	struct event *retry;
	time_t give_up;
};

struct user_entry {
	struct user_entry *next;
	char *asked_name;
	struct lookup_user user;
	time_t until;
};

struct lookup {
	struct event_base *base;
	struct worker_pool *pool;
	const struct mcred_ops *munge;
	void *creds; /* of struct cred_entry, tsearch(3) */
	size_t n_creds;
	uint64_t clock; /* of uses */
	struct user_entry *users;
	size_t n_users;
	struct user_job *user_jobs; /* open ones; their owner is the pool */
	struct make_job *make_jobs;
};

/* --- credentials ------------------------------------------------------------------------------ */

/* What the worker sees: a copy, so that a thread touches no data of the loop. */
struct decode_job {
	struct cred_entry *entry; /* NULL: the answer is no longer wanted */
	struct worker_job *handle;
	const struct mcred_ops *munge;
	char *text;
	struct mcred cred;
	int result;
	struct error err;
};

static int cred_order(const void *a, const void *b)
{
	const struct cred_entry *x = a, *y = b;

	if (x->len != y->len)
		return x->len < y->len ? -1 : 1;
	return memcmp(x->text, y->text, x->len);
}

static void cred_free(struct cred_entry *e)
{
	struct cred_waiter *w;

	if (e->job) {
		e->job->entry = NULL;
		worker_cancel(e->job->handle);
	}
	while ((w = e->waiters)) {
		e->waiters = w->next;
		free(w);
	}
	if (e->retry)
		event_free(e->retry);
	if (e->known)
		mcred_clear(&e->cred);
	free(e->text);
	free(e);
}

static void cred_drop(struct cred_entry *e)
{
	struct lookup *a = e->a;

	tdelete(e, &a->creds, cred_order);
	a->n_creds--;
	cred_free(e);
}

struct oldest {
	struct cred_entry *entry;
};

static void find_oldest(const void *node, VISIT visit, void *arg)
{
	struct cred_entry *e = *(struct cred_entry *const *)node;
	struct oldest *o = arg;

	if ((visit == postorder || visit == leaf) && e->known &&
	        (!o->entry || e->used < o->entry->used))
		o->entry = e;
}

static void drop_oldest(struct lookup *a)
{
	struct oldest o = { NULL };

	if (a->n_creds <= LOOKUP_CREDS_MAX)
		return;
	twalk_r(a->creds, find_oldest, &o);
	if (o.entry)
		cred_drop(o.entry);
}

/* Answer all waiters. Their callbacks may use the entry, so its list is emptied first. */
static void cred_answer(struct cred_entry *e, const struct error *err)
{
	struct cred_waiter *w = e->waiters, *next;
	const struct mcred *cred = e->known ? &e->cred : NULL;

	e->waiters = NULL;
	for (; w; w = next) {
		next = w->next;
		w->fn(cred, err, w->arg);
		free(w);
	}
}

static void decode_run(void *arg)
{
	struct decode_job *j = arg;

	j->result = j->munge->decode(j->munge, j->text, &j->cred, &j->err);
}

static void decode_drop(void *arg)
{
	struct decode_job *j = arg;

	if (j->result == 0)
		mcred_clear(&j->cred);
	free(j->text);
	free(j);
}

static void decode_done(void *arg);
static const struct worker_ops decode_ops = { decode_run, decode_done, decode_drop };

static void cred_fail(struct cred_entry *e, const struct error *err)
{
	/* A waiter may ask again at once: the entry must be out of the tree by then. */
	tdelete(e, &e->a->creds, cred_order);
	e->a->n_creds--;
	cred_answer(e, err);
	cred_free(e);
}

static void decode_start(struct cred_entry *e)
{
	struct decode_job *j = xcalloc(1, sizeof(*j));
	struct error err;

	j->entry = e;
	j->munge = e->a->munge;
	j->text = xstrndup(e->text, e->len);
	j->result = -1;
	j->handle = worker_submit(e->a->pool, KEY_DECODE, &decode_ops, j, &err);
	if (!j->handle) {
		decode_drop(j);
		cred_fail(e, &err);
		return;
	}
	e->job = j;
}

static void retry_now(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	decode_start(arg);
}

static void decode_done(void *arg)
{
	static const struct timeval pause = { .tv_usec = RETRY_MS * 1000 };
	struct decode_job *j = arg;
	struct cred_entry *e = j->entry;

	if (!e) {
		decode_drop(j);
		return;
	}
	e->job = NULL;
	if (j->result == 0) {
		e->known = true;
		e->cred = j->cred;
		j->result = -1; /* moved */
		cred_answer(e, NULL);
		if (e->once)
			cred_drop(e);
		else
			drop_oldest(e->a);
	} else if (j->err.code == ERR_MUNGE_DOWN &&
	           clock_us(CLOCK_MONOTONIC) / 1000000 < e->give_up) {
		if (!e->retry)
			e->retry = evtimer_new(e->a->base, retry_now, e);
		evtimer_add(e->retry, &pause);
	} else {
		cred_fail(e, &j->err);
	}
	decode_drop(j);
}

static void ask_cred(
        struct lookup *a, const void *bytes, size_t len, bool once, lookup_cred_fn *fn, void *arg)
{
	struct cred_entry key = { .text = (char *)(uintptr_t)bytes, .len = len };
	struct cred_entry **at = len ? tfind(&key, &a->creds, cred_order) : NULL, *e;
	struct cred_waiter *w;
	struct error err;

	if (at && (once || (*at)->once)) {
		error_set(&err, ERR_MUNGE_REPLAY, "the credential was used before");
		fn(NULL, &err, arg);
		return;
	}
	if (at && (*at)->known) {
		(*at)->used = ++a->clock;
		fn(&(*at)->cred, NULL, arg);
		return;
	}
	if (len == 0 || len > MCRED_TEXT_MAX || memchr(bytes, '\0', len)) {
		error_set(&err, ERR_SIGNATURE, "%s credential is not text of a credential",
		        once ? "the" : "the job's");
		fn(NULL, &err, arg);
		return;
	}
	w = xcalloc(1, sizeof(*w));
	*w = (struct cred_waiter){ .fn = fn, .arg = arg };
	if (at) {
		w->next = (*at)->waiters;
		(*at)->waiters = w;
		return;
	}
	e = xcalloc(1, sizeof(*e));
	*e = (struct cred_entry){ .a = a,
		.text = xstrndup(bytes, len),
		.len = len,
		.once = once,
		.used = ++a->clock,
		.waiters = w,
		.give_up = clock_us(CLOCK_MONOTONIC) / 1000000 + LOOKUP_MUNGE_PATIENCE_S };
	tsearch(e, &a->creds, cred_order);
	a->n_creds++;
	decode_start(e);
}

void lookup_cred(struct lookup *a, const void *bytes, size_t len, lookup_cred_fn *fn, void *arg)
{
	ask_cred(a, bytes, len, false, fn, arg);
}

void lookup_cred_once(
        struct lookup *a, const void *bytes, size_t len, lookup_cred_fn *fn, void *arg)
{
	ask_cred(a, bytes, len, true, fn, arg);
}

/* --- users ------------------------------------------------------------------------------------ */

struct user_job {
	struct user_job *next; /* in asked.user_jobs */
	struct lookup *a;      /* NULL: the answer is no longer wanted */
	struct worker_job *handle;
	lookup_user_fn *fn;
	void *arg;
	char *name;
	uid_t uid;
	gid_t gid;
	struct lookup_user user;
	int result;
	struct error err;
};

static void user_clear(struct lookup_user *u)
{
	free(u->name);
	free(u->home);
	free(u->shell);
	free(u->groups);
}

static void find_groups(struct lookup_user *u)
{
	int n = GROUPS_START, had;
	gid_t *v = NULL;

	do { /* getgrouplist(3) returns the number if the list is too short */
		had = n;
		v = xrealloc(v, (size_t)n, sizeof(*v));
	} while (getgrouplist(u->name, u->gid, v, &n) < 0 && n > had && n <= GROUPS_MAX);
	if (n > had)
		n = had;
	u->groups = xcalloc((size_t)n + 1, sizeof(*u->groups));
	u->n_groups = (size_t)n;
	for (int i = 0; i < n; i++)
		u->groups[i] = (uint32_t)v[i];
	free(v);
}

static int find_user(struct user_job *j, char *buffer)
{
	struct passwd entry, *pw = NULL;
	int e;

	e = j->name[0] ? getpwnam_r(j->name, &entry, buffer, PASSWD_BUFFER, &pw)
	               : getpwuid_r(j->uid, &entry, buffer, PASSWD_BUFFER, &pw);
	if (!pw && (e == 0 || e == ENOENT || e == ESRCH))
		return error_set(&j->err, ERR_JOB_SPEC,
		        "user '%s' (uid %u) does not exist on this node", j->name,
		        (unsigned)j->uid);
	if (!pw)
		return error_set(&j->err, ERR_SYSTEM, "user '%s' (uid %u) cannot be looked up: %s",
		        j->name, (unsigned)j->uid, strerror(e));
	if (pw->pw_uid != j->uid)
		return error_set(&j->err, ERR_JOB_SPEC,
		        "user '%s' has uid %u on this node, the job was signed by uid %u", j->name,
		        (unsigned)pw->pw_uid, (unsigned)j->uid);
	j->user = (struct lookup_user){ .name = xstrdup(pw->pw_name),
		.home = xstrdup(pw->pw_dir && *pw->pw_dir ? pw->pw_dir : "/"),
		.shell = xstrdup(pw->pw_shell && *pw->pw_shell ? pw->pw_shell : "/bin/sh"),
		.uid = j->uid,
		.gid = j->gid };
	find_groups(&j->user);
	return 0;
}

static void user_run(void *arg)
{
	struct user_job *j = arg;
	char *buffer = xcalloc(1, PASSWD_BUFFER);

	j->result = find_user(j, buffer);
	free(buffer);
}

static void user_unlink(struct user_job *j)
{
	struct user_job **at;

	if (!j->a)
		return;
	for (at = &j->a->user_jobs; *at != j;)
		at = &(*at)->next;
	*at = j->next;
}

static void user_drop(void *arg)
{
	struct user_job *j = arg;

	user_unlink(j);
	user_clear(&j->user);
	free(j->name);
	free(j);
}

static void users_forget(struct lookup *a, time_t now)
{
	struct user_entry **at = &a->users, *e;

	while ((e = *at)) {
		if (now < e->until && a->n_users < USERS_MAX) {
			at = &e->next;
			continue;
		}
		*at = e->next;
		a->n_users--;
		user_clear(&e->user);
		free(e->asked_name);
		free(e);
	}
}

static void user_done(void *arg)
{
	struct user_job *j = arg;
	struct lookup *a = j->a;
	struct user_entry *e;

	if (a && j->result < 0) {
		j->fn(NULL, &j->err, j->arg);
	} else if (a) {
		e = xcalloc(1, sizeof(*e));
		*e = (struct user_entry){ .next = a->users,
			.asked_name = xstrdup(j->name),
			.user = j->user,
			.until = clock_us(CLOCK_MONOTONIC) / 1000000 + LOOKUP_USER_LIFE_S };
		j->user = (struct lookup_user){ 0 };
		a->users = e;
		a->n_users++;
		j->fn(&e->user, NULL, j->arg);
	}
	user_drop(j);
}

static const struct worker_ops user_ops = { user_run, user_done, user_drop };

void lookup_user(
        struct lookup *a, const char *name, uid_t uid, gid_t gid, lookup_user_fn *fn, void *arg)
{
	struct user_job *j;
	struct error err;

	users_forget(a, clock_us(CLOCK_MONOTONIC) / 1000000);
	for (struct user_entry *e = a->users; e; e = e->next) {
		if (e->user.uid == uid && e->user.gid == gid && strcmp(e->asked_name, name) == 0) {
			fn(&e->user, NULL, arg);
			return;
		}
	}
	j = xcalloc(1, sizeof(*j));
	*j = (struct user_job){
		.fn = fn, .arg = arg, .name = xstrdup(name), .uid = uid, .gid = gid, .result = -1
	};
	j->handle = worker_submit(a->pool, KEY_USER, &user_ops, j, &err);
	if (!j->handle) {
		user_drop(j);
		fn(NULL, &err, arg);
		return;
	}
	j->a = a;
	j->next = a->user_jobs;
	a->user_jobs = j;
}

/* --- making credentials ----------------------------------------------------------------------- */

struct make_job {
	struct make_job *next;
	struct lookup *a; /* NULL: the answer is no longer wanted */
	struct worker_job *handle;
	const struct mcred_ops *munge;
	lookup_made_fn *fn;
	void *arg;
	void *payload;
	size_t len;
	uid_t restrict_uid;
	char *cred;
	int result;
	struct error err;
};

static void make_run(void *arg)
{
	struct make_job *j = arg;

	j->result =
	        j->munge->encode(j->munge, j->payload, j->len, j->restrict_uid, &j->cred, &j->err);
}

static void make_drop(void *arg)
{
	struct make_job *j = arg, **at;

	if (j->a) {
		for (at = &j->a->make_jobs; *at != j;)
			at = &(*at)->next;
		*at = j->next;
	}
	explicit_bzero(j->payload, j->len); /* a hello's payload holds the session's secret */
	free(j->payload);
	free(j->cred);
	free(j);
}

static void make_done(void *arg)
{
	struct make_job *j = arg;

	if (j->a)
		j->fn(j->result == 0 ? j->cred : NULL, j->result == 0 ? NULL : &j->err, j->arg);
	make_drop(j);
}

static const struct worker_ops make_ops = { make_run, make_done, make_drop };

void lookup_make(struct lookup *a, const void *payload, size_t len, uid_t restrict_uid,
        lookup_made_fn *fn, void *arg)
{
	struct make_job *j = xcalloc(1, sizeof(*j));
	struct error err;

	*j = (struct make_job){ .munge = a->munge,
		.fn = fn,
		.arg = arg,
		.payload = xmemdup(payload, len),
		.len = len,
		.restrict_uid = restrict_uid,
		.result = -1 };
	j->handle = worker_submit(a->pool, KEY_MAKE, &make_ops, j, &err);
	if (!j->handle) {
		make_drop(j);
		fn(NULL, &err, arg);
		return;
	}
	j->a = a;
	j->next = a->make_jobs;
	a->make_jobs = j;
}

/* --- the whole -------------------------------------------------------------------------------- */

struct lookup *lookup_new(
        struct event_base *base, struct worker_pool *pool, const struct mcred_ops *munge)
{
	struct lookup *a = xcalloc(1, sizeof(*a));

	*a = (struct lookup){ .base = base, .pool = pool, .munge = munge };
	return a;
}

static void cred_free_node(void *node)
{
	cred_free(node);
}

void lookup_free(struct lookup *a)
{
	struct user_job *u;
	struct make_job *m;

	if (!a)
		return;
	tdestroy(a->creds, cred_free_node);
	while ((u = a->user_jobs)) {
		a->user_jobs = u->next;
		u->a = NULL;
		worker_cancel(u->handle);
	}
	while ((m = a->make_jobs)) {
		a->make_jobs = m->next;
		m->a = NULL;
		worker_cancel(m->handle);
	}
	users_forget(a, INT64_MAX);
	free(a);
}
