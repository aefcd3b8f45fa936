/* user_lookup.c - see user_lookup.h */
#include "noded/runs/user_lookup.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/clock.h"
#include "common/base/xalloc.h"
#include "noded/runs/launcher_state.h"

#define ENTRIES_MAX   4096
#define PASSWD_BUFFER (256 * 1024) /* no entry of a user database is longer */
#define GROUPS_START  64
#define GROUPS_MAX    65536 /* the kernel's NGROUPS_MAX */

struct user_entry {
	struct user_entry *next;
	char *asked_name;
	struct node_user user;
	time_t until;
};

struct user_lookup {
	struct worker_pool *pool;
	struct user_entry *entries;
	size_t n_entries;
	struct user_job *jobs; /* open ones; their owner is the pool */
};

struct user_job {
	struct user_job *next;      /* in user_lookup.jobs */
	struct user_lookup *lookup; /* NULL: the answer is no longer wanted */
	struct worker_job *handle;
	user_lookup_fn *fn;
	void *arg;
	char *name;
	uid_t uid;
	gid_t gid;
	struct node_user user;
	int result;
	struct error err;
};

static void user_clear(struct node_user *u)
{
	free(u->name);
	free(u->home);
	free(u->shell);
	free(u->groups);
}

static void find_groups(struct node_user *u)
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
	j->user = (struct node_user){ .name = xstrdup(pw->pw_name),
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

	if (!j->lookup)
		return;
	for (at = &j->lookup->jobs; *at != j;)
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

static void users_forget(struct user_lookup *l, time_t now)
{
	struct user_entry **at = &l->entries, *e;

	while ((e = *at)) {
		if (now < e->until && l->n_entries < ENTRIES_MAX) {
			at = &e->next;
			continue;
		}
		*at = e->next;
		l->n_entries--;
		user_clear(&e->user);
		free(e->asked_name);
		free(e);
	}
}

static void user_done(void *arg)
{
	struct user_job *j = arg;
	struct user_lookup *l = j->lookup;
	struct user_entry *e;

	if (l && j->result < 0) {
		j->fn(NULL, &j->err, j->arg);
	} else if (l) {
		e = xcalloc(1, sizeof(*e));
		*e = (struct user_entry){ .next = l->entries,
			.asked_name = xstrdup(j->name),
			.user = j->user,
			.until = clock_us(CLOCK_MONOTONIC) / 1000000 + USER_LOOKUP_LIFE_S };
		j->user = (struct node_user){ 0 };
		l->entries = e;
		l->n_entries++;
		j->fn(&e->user, NULL, j->arg);
	}
	user_drop(j);
}

static const struct worker_ops user_ops = { user_run, user_done, user_drop };

void user_lookup_find(struct user_lookup *l, const char *name, uid_t uid, gid_t gid,
        user_lookup_fn *fn, void *arg)
{
	struct user_job *j;
	struct error err;

	users_forget(l, clock_us(CLOCK_MONOTONIC) / 1000000);
	for (struct user_entry *e = l->entries; e; e = e->next) {
		if (e->user.uid == uid && e->user.gid == gid && strcmp(e->asked_name, name) == 0) {
			fn(&e->user, NULL, arg);
			return;
		}
	}
	j = xcalloc(1, sizeof(*j));
	*j = (struct user_job){
		.fn = fn, .arg = arg, .name = xstrdup(name), .uid = uid, .gid = gid, .result = -1
	};
	j->handle = worker_submit(l->pool, POOL_KEY_USER, &user_ops, j, &err);
	if (!j->handle) {
		user_drop(j);
		fn(NULL, &err, arg);
		return;
	}
	j->lookup = l;
	j->next = l->jobs;
	l->jobs = j;
}

struct user_lookup *user_lookup_new(struct worker_pool *pool)
{
	struct user_lookup *l = xcalloc(1, sizeof(*l));

	l->pool = pool;
	return l;
}

void user_lookup_free(struct user_lookup *l)
{
	struct user_job *j;

	if (!l)
		return;
	while ((j = l->jobs)) {
		l->jobs = j->next;
		j->lookup = NULL;
		worker_cancel(j->handle);
	}
	users_forget(l, INT64_MAX);
	free(l);
}
