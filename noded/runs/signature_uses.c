/* signature_uses.c - see signature_uses.h */
#include "noded/runs/signature_uses.h"

#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/fd_close.h"
#include "common/base/fnv.h"
#include "common/base/wirenum.h"
#include "common/base/xalloc.h"

#define ROW_LEN   40
#define TASK_BITS 24   /* of the signing time's 64 in a row */
#define GROUP     64   /* tasks of one entry */
#define ROWS_IDLE 4096 /* a file of so many rows more than entries is not worth rewriting */

struct use {
	uint8_t nonce[SIGNATURE_NONCE_LEN];
	uid_t uid;
	uint32_t group; /* task / GROUP */
	uint32_t n;     /* counts: 1, or GROUP once a task other than the first is used */
	uint16_t *counts;
	int64_t signed_at;
};

struct signature_uses {
	int dirfd, fd;
	void *tree; /* of struct use, tsearch(3) */
	size_t entries, rows;
};

/* For walking a tree while changing it. */
struct list {
	struct use **v;
	size_t n;
};

static int entry_order(const void *a, const void *b)
{
	const struct use *x = a, *y = b;

	if (x->uid != y->uid)
		return x->uid < y->uid ? -1 : 1;
	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	return memcmp(x->nonce, y->nonce, SIGNATURE_NONCE_LEN);
}

static struct use *find_use(
        const struct signature_uses *u, uid_t uid, const uint8_t *nonce, uint32_t task)
{
	struct use key = { .uid = uid, .group = task / GROUP };
	struct use **at;

	memcpy(key.nonce, nonce, SIGNATURE_NONCE_LEN);
	at = tfind(&key, &u->tree, entry_order);
	return at ? *at : NULL;
}

static void use_free(void *item)
{
	struct use *e = item;

	free(e->counts);
	free(e);
}

static void count_use(struct signature_uses *u, uid_t uid, const uint8_t *nonce, uint32_t task,
        int64_t signed_at, int change)
{
	struct use *e = find_use(u, uid, nonce, task);
	uint32_t i = task % GROUP, n = i ? GROUP : 1;
	int32_t now;

	if (!e) {
		e = xcalloc(1, sizeof(*e));
		e->uid = uid;
		e->group = task / GROUP;
		memcpy(e->nonce, nonce, SIGNATURE_NONCE_LEN);
		e->signed_at = signed_at;
		tsearch(e, &u->tree, entry_order);
		u->entries++;
	}
	if (signed_at > e->signed_at) /* signed again: it can be used for longer */
		e->signed_at = signed_at;
	if (n > e->n) {
		e->counts = xrealloc(e->counts, n, sizeof(*e->counts));
		memset(e->counts + e->n, 0, (n - e->n) * sizeof(*e->counts));
		e->n = n;
	}
	now = e->counts[i] + change;
	e->counts[i] = (uint16_t)(now < 0 ? 0 : now > UINT16_MAX ? UINT16_MAX : now);
}

static uint32_t tasks_used(const struct use *e)
{
	uint32_t n = 0, i;

	for (i = 0; i < e->n; i++)
		n += e->counts[i] != 0;
	return n;
}

/* --- the file --------------------------------------------------------------------------------- */

static void row_pack(const struct use *e, uint32_t task, int32_t change, uint8_t row[ROW_LEN])
{
	memcpy(row, e->nonce, SIGNATURE_NONCE_LEN);
	put_u32(row + 16, (uint32_t)e->uid);
	put_u32(row + 20, (uint32_t)change);
	put_u64(row + 24, (uint64_t)task << (64 - TASK_BITS) | (uint64_t)e->signed_at);
	put_u64(row + 32, fnv(row, 32));
}

static void row_take(struct signature_uses *u, const uint8_t row[ROW_LEN], int64_t oldest)
{
	uint64_t both = get_u64(row + 24);
	int64_t signed_at = (int64_t)(both & (UINT64_MAX >> TASK_BITS));

	u->rows++;
	if (get_u64(row + 32) == fnv(row, 32) && signed_at >= oldest)
		count_use(u, (uid_t)get_u32(row + 16), row, (uint32_t)(both >> (64 - TASK_BITS)),
		        signed_at, (int32_t)get_u32(row + 20));
}

static int write_row(int fd, const uint8_t row[ROW_LEN])
{
	ssize_t n = write(fd, row, ROW_LEN);

	if (n == ROW_LEN)
		return 0;
	if (n > 0) { /* half a row would shift all rows after it */
		if (ftruncate(fd, lseek(fd, 0, SEEK_END) - n) < 0)
			return -1;
		errno = ENOSPC;
	}
	return -1;
}

static int set_error(struct error *err, const char *what)
{
	return error_set(err, errno == ENOSPC || errno == EDQUOT ? ERR_NO_SPACE : ERR_SYSTEM,
	        "cannot %s the list of used signatures: %s", what, strerror(errno));
}

static int load_file(struct signature_uses *u, int64_t oldest, struct error *err)
{
	uint8_t row[ROW_LEN];
	struct stat st;
	FILE *f;
	int r;

	u->fd = openat(u->dirfd, SIGNATURE_FILE,
	        O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (u->fd < 0 || fstat(u->fd, &st) < 0)
		return set_error(err, "open");
	if (st.st_size % ROW_LEN && ftruncate(u->fd, st.st_size - st.st_size % ROW_LEN) < 0)
		return set_error(err, "mend");
	f = fdopen(dup(u->fd), "r");
	if (!f)
		return set_error(err, "read");
	while (fread(row, ROW_LEN, 1, f) == 1)
		row_take(u, row, oldest);
	r = ferror(f) ? set_error(err, "read") : 0; /* missing rows would allow more starts */
	fclose(f);
	return r;
}

/* --- pruning ---------------------------------------------------------------------------------- */

static void collect_use(const void *node, VISIT visit, void *arg)
{
	struct list *l = arg;

	if (visit == postorder || visit == leaf)
		l->v[l->n++] = *(struct use *const *)node;
}

static struct list list_of(const struct signature_uses *u)
{
	struct list l = { .v = xcalloc(u->entries + 1, sizeof(struct use *)) };

	twalk_r(u->tree, collect_use, &l);
	return l;
}

static int write_entry(int fd, const struct use *e, size_t *rows)
{
	uint8_t row[ROW_LEN];

	for (uint32_t i = 0; i < e->n; i++) {
		if (!e->counts[i])
			continue;
		row_pack(e, e->group * GROUP + i, e->counts[i], row);
		if (write_row(fd, row) < 0)
			return -1;
		(*rows)++;
	}
	return 0;
}

static int rewrite_file(struct signature_uses *u, struct error *err)
{
	static const char tmp[] = SIGNATURE_FILE ".tmp";
	struct list l = list_of(u);
	size_t rows = 0;
	int fd, r = 0;

	unlinkat(u->dirfd, tmp, 0);
	fd = openat(u->dirfd, tmp, O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
	if (fd < 0)
		r = -1;
	for (size_t i = 0; i < l.n && r == 0; i++)
		r = write_entry(fd, l.v[i], &rows);
	free(l.v);
	/* Synced, so that a power loss does not leave the new name with nothing in it. */
	if (r < 0 || fsync(fd) < 0 || renameat(u->dirfd, tmp, u->dirfd, SIGNATURE_FILE) < 0) {
		set_error(err, "rewrite");
		fd_close(fd);
		unlinkat(u->dirfd, tmp, 0);
		return -1;
	}
	close(u->fd);
	u->fd = fd;
	u->rows = rows;
	return 0;
}

int signature_uses_prune(struct signature_uses *u, int64_t oldest, struct error *err)
{
	struct list l = list_of(u);
	size_t rows = 0; /* that are needed */

	for (size_t i = 0; i < l.n; i++) {
		uint32_t n = tasks_used(l.v[i]);

		rows += n;
		if (l.v[i]->signed_at >= oldest && n > 0)
			continue;
		rows -= n;
		tdelete(l.v[i], &u->tree, entry_order);
		use_free(l.v[i]);
		u->entries--;
	}
	free(l.v);
	return u->rows > 2 * rows + ROWS_IDLE ? rewrite_file(u, err) : 0;
}

/* --- the rest --------------------------------------------------------------------------------- */

struct signature_uses *signature_uses_new(int dirfd, int64_t oldest, struct error *err)
{
	struct signature_uses *u = xcalloc(1, sizeof(*u));

	u->dirfd = dirfd;
	u->fd = -1;
	if (load_file(u, oldest, err) == 0 && signature_uses_prune(u, oldest, err) == 0)
		return u;
	signature_uses_free(u);
	return NULL;
}

void signature_uses_free(struct signature_uses *u)
{
	if (!u)
		return;
	fd_close(u->fd);
	tdestroy(u->tree, use_free);
	free(u);
}

int signature_uses_add(struct signature_uses *u, uid_t uid,
        const uint8_t nonce[SIGNATURE_NONCE_LEN], uint32_t task, int64_t signed_at, int change,
        struct error *err)
{
	struct use e = { .uid = uid, .signed_at = signed_at };
	uint8_t row[ROW_LEN];

	memcpy(e.nonce, nonce, SIGNATURE_NONCE_LEN);
	row_pack(&e, task, change, row);
	if (write_row(u->fd, row) < 0)
		return set_error(err, "write");
	u->rows++;
	count_use(u, uid, nonce, task, signed_at, change);
	return 0;
}

uint32_t signature_uses_of(const struct signature_uses *u, uid_t uid,
        const uint8_t nonce[SIGNATURE_NONCE_LEN], uint32_t task)
{
	const struct use *e = find_use(u, uid, nonce, task);

	return e && task % GROUP < e->n ? e->counts[task % GROUP] : 0;
}

size_t signature_uses_entries(const struct signature_uses *u)
{
	return u->entries;
}
