/* user_names.c - see user_names.h */
#include "ctld/loop/user_names.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "common/base/text.h"
#include "common/base/xalloc.h"
#include "ctld/core/util/idmap.h"
#include "ctld/ctld.h"

#define NAME_MAX_LEN 255
#define ENTRY_MAX    (1024 * 1024) /* of a passwd or group entry: longer ones are no entries */
#define GROUPS_MAX   65536         /* of one user: NGROUPS_MAX of Linux */

/* Names of groups; owned. */
struct groups {
	char **v;
	size_t n;
};

struct waiter {
	STAILQ_ENTRY(waiter) next;
	uint64_t who;
};

struct user {
	uid_t uid;
	enum user_state state;
	char name[NAME_MAX_LEN + 1];
	struct groups groups;
	usec_t good_until;
	struct worker_job *job; /* a lookup under way */
	STAILQ_HEAD(, waiter) waiters;
};

struct users {
	struct idmap *map; /* by uid + 1 */
	struct worker_pool *pool;
	users_known_fn *known;
	void *arg;
};

/* A lookup: in a thread. */
struct lookup {
	struct users *users; /* for done() */
	uid_t uid;
	enum user_state state;
	char name[NAME_MAX_LEN + 1];
	struct groups groups;
};

static void groups_clear(struct groups *g)
{
	for (size_t i = 0; i < g->n; i++)
		free(g->v[i]);
	free(g->v);
	*g = (struct groups){ NULL, 0 };
}

static void lookup_free(void *arg)
{
	struct lookup *l = arg;

	groups_clear(&l->groups);
	free(l);
}

static struct user *user_of(struct users *u, uid_t uid)
{
	struct user *user = idmap_find(u->map, (uint64_t)uid + 1);

	if (user)
		return user;
	user = xcalloc(1, sizeof(*user));
	user->uid = uid;
	user->state = USER_NOT_KNOWN;
	snprintf(user->name, sizeof(user->name), "uid %u", (unsigned)uid);
	STAILQ_INIT(&user->waiters);
	idmap_insert(u->map, (uint64_t)uid + 1, user);
	return user;
}

struct users *users_new(struct worker_pool *pool, users_known_fn *known, void *arg)
{
	struct users *u = xcalloc(1, sizeof(*u));

	u->map = idmap_new();
	u->pool = pool;
	u->known = known;
	u->arg = arg;
	return u;
}

static void waiters_clear(struct user *user)
{
	struct waiter *w;

	while ((w = STAILQ_FIRST(&user->waiters))) {
		STAILQ_REMOVE_HEAD(&user->waiters, next);
		free(w);
	}
}

void users_free(struct users *u)
{
	struct user *user;

	if (!u)
		return;
	while ((user = idmap_take_any(u->map))) {
		if (user->job)
			worker_cancel(user->job);
		waiters_clear(user);
		groups_clear(&user->groups);
		free(user);
	}
	idmap_free(u->map);
	free(u);
}

/* --- lookups ------------------------------------------------------------------------------- */

/* getpwuid_r(3) says 0 without an entry for "no such user"; some services say these instead. */
static bool means_none(int error)
{
	return error == 0 || error == ENOENT || error == ESRCH || error == EBADF || error == EPERM;
}

/* A buffer for an entry that may need a larger one: try() again as long as it says ERANGE. Returns
 * its error; *buf is to be freed. */
static int with_buffer(int (*try)(void *arg, char *buf, size_t size), void *arg, char **buf)
{
	size_t size = 4096;
	int error = ENOMEM;

	*buf = malloc(size);
	while (*buf) {
		char *larger;

		do
			error = try(arg, *buf, size);
		while (error == EINTR);
		if (error != ERANGE || size >= ENTRY_MAX)
			break;
		size *= 4;
		larger = realloc(*buf, size);
		if (!larger)
			break;
		*buf = larger;
	}
	return error;
}

struct passwd_try {
	uid_t uid;
	struct passwd entry, *found;
};

static int try_passwd(void *arg, char *buf, size_t size)
{
	struct passwd_try *t = arg;

	return getpwuid_r(t->uid, &t->entry, buf, size, &t->found);
}

struct group_try {
	gid_t gid;
	struct group entry, *found;
};

static int try_group(void *arg, char *buf, size_t size)
{
	struct group_try *t = arg;

	return getgrgid_r(t->gid, &t->entry, buf, size, &t->found);
}

static void add_group(struct groups *g, gid_t gid)
{
	struct group_try t = { .gid = gid };
	char *buf;

	with_buffer(try_group, &t, &buf);
	if (t.found && text_check("group", t.entry.gr_name, NAME_MAX_LEN, NULL) == 0)
		g->v[g->n++] = xstrdup(t.entry.gr_name);
	free(buf);
}

/* Groups without a name are none. */
static void find_groups(struct groups *g, const char *user, gid_t gid)
{
	int n = 32, room;
	gid_t *gids = NULL;

	do {
		room = n;
		gids = xrealloc(gids, (size_t)room, sizeof(*gids));
	} while (getgrouplist(user, gid, gids, &n) < 0 && n > room && n <= GROUPS_MAX);
	n = n < room ? n : room;
	g->v = xcalloc((size_t)n, sizeof(*g->v));
	for (int i = 0; i < n; i++)
		add_group(g, gids[i]);
	free(gids);
}

static void run_lookup(void *arg)
{
	struct lookup *l = arg;
	struct passwd_try t = { .uid = l->uid };
	char *buf;
	int error = with_buffer(try_passwd, &t, &buf);

	if (t.found && t.entry.pw_name[0] &&
	        text_check("user", t.entry.pw_name, NAME_MAX_LEN, NULL) == 0) {
		l->state = USER_NAMED;
		snprintf(l->name, sizeof(l->name), "%s", t.entry.pw_name);
		find_groups(&l->groups, l->name, t.entry.pw_gid);
	} else if (t.found || means_none(error)) {
		l->state = USER_NAMELESS;
	}
	free(buf);
}

static void take_answer(struct user *user, struct lookup *l)
{
	usec_t now = ctld_mono();

	if (l->state == USER_NOT_KNOWN) /* no answer: what was known stays */
		return;
	user->state = l->state;
	groups_clear(&user->groups);
	user->groups = l->groups;
	l->groups = (struct groups){ NULL, 0 };
	if (l->state == USER_NAMED)
		memcpy(user->name, l->name, sizeof(user->name));
	else
		snprintf(user->name, sizeof(user->name), "uid %u", (unsigned)user->uid);
	user->good_until =
	        now + (l->state == USER_NAMED ? USERS_KEEP_S : USERS_KEEP_NONE_S) * (usec_t)1000000;
}

static void lookup_done(void *arg)
{
	struct lookup *l = arg;
	struct users *u = l->users;
	struct user *user = user_of(u, l->uid);
	struct waiter *w;

	user->job = NULL;
	take_answer(user, l);
	lookup_free(l);
	while ((w = STAILQ_FIRST(&user->waiters))) {
		uint64_t who = w->who;

		STAILQ_REMOVE_HEAD(&user->waiters, next);
		free(w);
		u->known(u->arg, who);
	}
}

static const struct worker_ops lookup_ops = { run_lookup, lookup_done, lookup_free };

int users_look_up(struct users *u, uid_t uid, uint64_t who, struct error *err)
{
	struct user *user = user_of(u, uid);
	struct waiter *w;

	if (user->state != USER_NOT_KNOWN && ctld_mono() < user->good_until)
		return 1;
	if (!user->job) {
		struct lookup *l = xcalloc(1, sizeof(*l));

		l->users = u;
		l->uid = uid;
		l->state = USER_NOT_KNOWN;
		user->job = worker_submit(u->pool, (uint64_t)uid + 1, &lookup_ops, l, err);
		if (!user->job) {
			free(l);
			return -1;
		}
	}
	w = xcalloc(1, sizeof(*w));
	w->who = who;
	STAILQ_INSERT_TAIL(&user->waiters, w, next);
	return 0;
}

size_t users_count(const struct users *u)
{
	return idmap_count(u->map);
}

enum user_state users_name(struct users *u, uid_t uid, const char **name)
{
	struct user *user = user_of(u, uid);

	*name = user->name;
	return user->state;
}

const char *const *users_groups(struct users *u, uid_t uid, size_t *n_groups)
{
	struct user *user = user_of(u, uid);

	*n_groups = user->groups.n;
	return (const char *const *)user->groups.v;
}
