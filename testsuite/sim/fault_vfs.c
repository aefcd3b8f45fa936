/* fault_vfs.c - see fault_vfs.h */
#include "testsuite/sim/fault_vfs.h"

#include <assert.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/splitmix.h"
#include "common/base/xalloc.h"

#define SECTOR   512
#define MAX_PATH 512

struct image {
	uint8_t *bytes;
	uint64_t len, cap;
};

/* A write or truncation that waits for a sync. */
struct change {
	bool is_truncate;
	bool is_lost;     /* by a failed sync: never comes down */
	uint64_t at, len; /* truncate: to `at` */
	uint8_t *bytes;
};

struct file {
	struct image now, platter;
	struct change *waiting;
	size_t n_waiting, cap_waiting;
	unsigned refs;      /* handles, names and waiting names that know it */
	bool needs_dirsync; /* its first sync syncs the directory too */
};

struct name {
	char *path;
	struct file *file;
};

struct directory {
	struct name *v;
	size_t n;
};

/* A name that came or went and waits for a sync of the directory. */
struct rename {
	char *path;
	struct file *file; /* NULL: it went */
};

struct fault_vfs {
	sqlite3_vfs vfs; /* first: SQLite's pointer is ours */
	char *name;
	uint64_t random;
	pthread_mutex_t lock;
	struct directory now, platter;
	struct rename *waiting;
	size_t n_waiting;
	unsigned life; /* grows with each crash: older handles are dead */
	uint64_t capacity;
	/* counting and failing */
	uint64_t counts[8];
	unsigned fail_ops;
	uint64_t fail_in;
	int fail_rc;
	char *fail_suffix; /* NULL: all files */
	bool fail_forever;
	char *failed; /* NULL, or the database of the first failure */
	uint64_t changes_after;
	unsigned hook_ops;
	fault_vfs_hook_fn *hook;
	void *hook_arg;
};

struct handle {
	sqlite3_file base; /* first */
	struct fault_vfs *vfs;
	struct file *file;
	char *path; /* NULL: a file without a name */
	unsigned life;
	bool delete_on_close;
};

/* ---- images and changes ---- */

static void image_resize(struct image *image, uint64_t len)
{
	if (len > image->cap) {
		image->cap = len * 2;
		image->bytes = xrealloc(image->bytes, image->cap, 1);
	}
	if (len > image->len)
		memset(image->bytes + image->len, 0, len - image->len);
	image->len = len;
}

static void image_write(struct image *image, uint64_t at, const void *bytes, uint64_t len)
{
	if (at + len > image->len)
		image_resize(image, at + len);
	if (len)
		memcpy(image->bytes + at, bytes, len);
}

static void image_apply(struct image *image, const struct change *change)
{
	if (change->is_truncate) {
		if (change->at < image->len)
			image_resize(image, change->at);
	} else {
		image_write(image, change->at, change->bytes, change->len);
	}
}

static void file_wait(struct file *file, struct change change)
{
	if (file->n_waiting == file->cap_waiting) {
		file->cap_waiting = file->cap_waiting ? file->cap_waiting * 2 : 16;
		file->waiting = xrealloc(file->waiting, file->cap_waiting, sizeof(*file->waiting));
	}
	image_apply(&file->now, &change);
	file->waiting[file->n_waiting++] = change;
}

static void file_forget_waiting(struct file *file)
{
	for (size_t i = 0; i < file->n_waiting; i++)
		free(file->waiting[i].bytes);
	file->n_waiting = 0;
}

static void file_sync(struct file *file)
{
	for (size_t i = 0; i < file->n_waiting; i++)
		if (!file->waiting[i].is_lost)
			image_apply(&file->platter, &file->waiting[i]);
	file_forget_waiting(file);
}

static struct file *file_ref(struct file *file)
{
	if (file)
		file->refs++;
	return file;
}

static void file_unref(struct file *file)
{
	if (!file || --file->refs)
		return;
	file_forget_waiting(file);
	free(file->waiting);
	free(file->now.bytes);
	free(file->platter.bytes);
	free(file);
}

/* ---- names ---- */

static struct file *directory_get(const struct directory *dir, const char *path)
{
	for (size_t i = 0; i < dir->n; i++)
		if (!strcmp(dir->v[i].path, path))
			return dir->v[i].file;
	return NULL;
}

/* Set or (file NULL) remove a name. */
static void directory_set(struct directory *dir, const char *path, struct file *file)
{
	size_t i = 0;

	file_ref(file);
	while (i < dir->n && strcmp(dir->v[i].path, path) != 0)
		i++;
	if (i < dir->n) {
		file_unref(dir->v[i].file);
		free(dir->v[i].path);
		dir->v[i] = dir->v[--dir->n];
	}
	if (!file)
		return;
	dir->v = xrealloc(dir->v, dir->n + 1, sizeof(*dir->v));
	dir->v[dir->n++] = (struct name){ xstrdup(path), file };
}

static void directory_clear(struct directory *dir)
{
	while (dir->n)
		directory_set(dir, dir->v[0].path, NULL);
	free(dir->v);
	*dir = (struct directory){ 0 };
}

static void name_change(struct fault_vfs *vfs, const char *path, struct file *file)
{
	directory_set(&vfs->now, path, file);
	vfs->waiting = xrealloc(vfs->waiting, vfs->n_waiting + 1, sizeof(*vfs->waiting));
	vfs->waiting[vfs->n_waiting++] = (struct rename){ xstrdup(path), file_ref(file) };
}

static void names_forget_waiting(struct fault_vfs *vfs)
{
	for (size_t i = 0; i < vfs->n_waiting; i++) {
		free(vfs->waiting[i].path);
		file_unref(vfs->waiting[i].file);
	}
	vfs->n_waiting = 0;
}

static void names_sync(struct fault_vfs *vfs)
{
	for (size_t i = 0; i < vfs->n_waiting; i++)
		directory_set(&vfs->platter, vfs->waiting[i].path, vfs->waiting[i].file);
	names_forget_waiting(vfs);
}

/* ---- power cuts ---- */

enum survival { KEEP_NONE, KEEP_ALL, KEEP_SUBSET, KEEP_SECTORS, KEEP_BEGINNING, SURVIVALS };

/* Some sectors of a write. Those beyond the end that did not come are zeros, or not there. */
static void apply_torn(struct image *image, const struct change *change, uint64_t *random)
{
	uint64_t end = change->at + change->len;

	for (uint64_t at = change->at; at < end;) {
		uint64_t next = (at / SECTOR + 1) * SECTOR;
		uint64_t len = (next < end ? next : end) - at;

		if (splitmix_next(random) % 2)
			image_write(image, at, change->bytes + (at - change->at), len);
		at += len;
	}
}

/* What is left of a file. */
static void image_after_cut(struct image *image, const struct file *file, uint64_t *random)
{
	enum survival survival = splitmix_next(random) % SURVIVALS;
	size_t beginning = file->n_waiting ? splitmix_next(random) % file->n_waiting : 0;

	image_write(image, 0, file->platter.bytes, file->platter.len);
	for (size_t i = 0; i < file->n_waiting; i++) {
		const struct change *change = &file->waiting[i];
		bool keep = survival == KEEP_ALL || (survival == KEEP_BEGINNING && i < beginning) ||
		            ((survival == KEEP_SUBSET || survival == KEEP_SECTORS) &&
		                    splitmix_next(random) % 2);
		bool tear = !change->is_truncate && !keep &&
		            (survival == KEEP_SECTORS ||
		                    (survival == KEEP_BEGINNING && i == beginning));

		if (change->is_lost)
			continue;
		if (keep)
			image_apply(image, change);
		else if (tear)
			apply_torn(image, change, random);
	}
	/* The length may arrive before the bytes. */
	if (survival != KEEP_NONE && image->len < file->now.len && splitmix_next(random) % 4 == 0)
		image_resize(image, file->now.len);
}

/* Build in `dir` what a power cut leaves of `vfs`. */
static void directory_after_cut(
        struct directory *dir, const struct fault_vfs *vfs, uint64_t *random)
{
	size_t kept = splitmix_next(random) % (vfs->n_waiting + 1);
	struct directory names = { 0 };

	for (size_t i = 0; i < vfs->platter.n; i++)
		directory_set(&names, vfs->platter.v[i].path, vfs->platter.v[i].file);
	for (size_t i = 0; i < kept; i++)
		directory_set(&names, vfs->waiting[i].path, vfs->waiting[i].file);
	for (size_t i = 0; i < names.n; i++) {
		struct file *file = xcalloc(1, sizeof(*file));

		image_after_cut(&file->platter, names.v[i].file, random);
		image_write(&file->now, 0, file->platter.bytes, file->platter.len);
		directory_set(dir, names.v[i].path, file);
	}
	directory_clear(&names);
}

static void settle_names(struct fault_vfs *vfs, const struct directory *dir)
{
	for (size_t i = 0; i < dir->n; i++) {
		directory_set(&vfs->now, dir->v[i].path, dir->v[i].file);
		directory_set(&vfs->platter, dir->v[i].path, dir->v[i].file);
	}
}

void fault_vfs_copy(struct fault_vfs *vfs, const char *from, const char *to)
{
	const struct file *old;
	struct file *file = NULL;

	pthread_mutex_lock(&vfs->lock);
	names_sync(vfs);
	old = directory_get(&vfs->now, from);
	if (old) {
		file = xcalloc(1, sizeof(*file));
		image_write(&file->now, 0, old->now.bytes, old->now.len);
		image_write(&file->platter, 0, old->now.bytes, old->now.len);
	}
	directory_set(&vfs->now, to, file);
	directory_set(&vfs->platter, to, file);
	pthread_mutex_unlock(&vfs->lock);
}

void fault_vfs_crash_process(struct fault_vfs *vfs)
{
	pthread_mutex_lock(&vfs->lock);
	vfs->life++;
	free(vfs->failed);
	vfs->failed = NULL;
	vfs->changes_after = 0;
	pthread_mutex_unlock(&vfs->lock);
}

void fault_vfs_cut_power(struct fault_vfs *vfs)
{
	struct directory left = { 0 };

	pthread_mutex_lock(&vfs->lock);
	directory_after_cut(&left, vfs, &vfs->random);
	names_forget_waiting(vfs);
	directory_clear(&vfs->now);
	directory_clear(&vfs->platter);
	settle_names(vfs, &left);
	directory_clear(&left);
	pthread_mutex_unlock(&vfs->lock);
	fault_vfs_crash_process(vfs);
}

struct fault_vfs *fault_vfs_after_cut(const struct fault_vfs *vfs, const char *name, uint64_t seed)
{
	struct fault_vfs *copy = fault_vfs_new(name, seed);
	pthread_mutex_t *lock = (pthread_mutex_t *)&vfs->lock;
	struct directory left = { 0 };

	pthread_mutex_lock(lock);
	directory_after_cut(&left, vfs, &copy->random);
	pthread_mutex_unlock(lock);
	settle_names(copy, &left);
	directory_clear(&left);
	return copy;
}

/* ---- counting and failing ---- */

static unsigned op_index(enum fault_op op)
{
	return (unsigned)__builtin_ctz(op);
}

static bool ends_in(const char *path, const char *suffix)
{
	size_t n = path ? strlen(path) : 0, m = suffix ? strlen(suffix) : 0;

	return n >= m && (m == 0 || !strcmp(path + n - m, suffix));
}

/* Before each operation; takes the lock. Returns 0 or the code it is to fail with. */
static int begin(struct fault_vfs *vfs, const char *path, enum fault_op op, int own_rc)
{
	int rc = 0;

	if (vfs->hook && (vfs->hook_ops & op))
		vfs->hook(vfs->hook_arg, op);
	pthread_mutex_lock(&vfs->lock);
	vfs->counts[op_index(op)]++;
	if (vfs->failed && (op & FAULT_CHANGES) && path &&
	        !strncmp(path, vfs->failed, strlen(vfs->failed)))
		vfs->changes_after++;
	if (!(vfs->fail_ops & op) || !vfs->fail_in || !ends_in(path, vfs->fail_suffix))
		return 0;
	if (vfs->fail_in > 1) {
		vfs->fail_in--;
		return 0;
	}
	if (!vfs->fail_forever)
		vfs->fail_in = 0;
	rc = vfs->fail_rc ? vfs->fail_rc : own_rc;
	if (rc != SQLITE_FULL && path && !vfs->failed) {
		vfs->failed = xstrdup(path);
		vfs->failed[strcspn(path, "-")] = '\0';
	}
	return rc;
}

static int end(struct fault_vfs *vfs, int rc)
{
	pthread_mutex_unlock(&vfs->lock);
	return rc;
}

uint64_t fault_vfs_count(const struct fault_vfs *vfs, unsigned ops)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < sizeof(vfs->counts) / sizeof(*vfs->counts); i++)
		if (ops & (1u << i))
			n += vfs->counts[i];
	return n;
}

void fault_vfs_fail(struct fault_vfs *vfs, unsigned ops, uint64_t nth, int rc, bool forever)
{
	pthread_mutex_lock(&vfs->lock);
	vfs->fail_ops = ops;
	vfs->fail_in = nth;
	vfs->fail_rc = rc;
	vfs->fail_forever = forever;
	pthread_mutex_unlock(&vfs->lock);
}

void fault_vfs_fail_path(struct fault_vfs *vfs, const char *suffix)
{
	pthread_mutex_lock(&vfs->lock);
	free(vfs->fail_suffix);
	vfs->fail_suffix = suffix ? xstrdup(suffix) : NULL;
	pthread_mutex_unlock(&vfs->lock);
}

uint64_t fault_vfs_changes_after_failure(const struct fault_vfs *vfs)
{
	return vfs->changes_after;
}

void fault_vfs_capacity(struct fault_vfs *vfs, uint64_t bytes)
{
	pthread_mutex_lock(&vfs->lock);
	vfs->capacity = bytes;
	pthread_mutex_unlock(&vfs->lock);
}

uint64_t fault_vfs_used(const struct fault_vfs *vfs)
{
	uint64_t used = 0;

	for (size_t i = 0; i < vfs->now.n; i++)
		used += vfs->now.v[i].file->now.len;
	return used;
}

void fault_vfs_hook(struct fault_vfs *vfs, unsigned ops, fault_vfs_hook_fn *hook, void *arg)
{
	vfs->hook_ops = ops;
	vfs->hook = hook;
	vfs->hook_arg = arg;
}

/* ---- what SQLite calls on a file ---- */

static bool is_dead(const struct handle *h)
{
	return h->life != h->vfs->life;
}

static int on_close(sqlite3_file *base)
{
	struct handle *h = (struct handle *)base;

	pthread_mutex_lock(&h->vfs->lock);
	if (h->delete_on_close && h->path && !is_dead(h))
		name_change(h->vfs, h->path, NULL);
	file_unref(h->file);
	free(h->path);
	return end(h->vfs, SQLITE_OK);
}

static int on_read(sqlite3_file *base, void *to, int n, sqlite3_int64 at)
{
	struct handle *h = (struct handle *)base;
	int rc = begin(h->vfs, h->path, FAULT_READ, SQLITE_IOERR_READ);
	const struct image *image = &h->file->now;
	uint64_t there;

	if (rc || is_dead(h))
		return end(h->vfs, rc ? rc : SQLITE_IOERR_READ);
	there = (uint64_t)at < image->len ? image->len - (uint64_t)at : 0;
	if (there > (uint64_t)n)
		there = (uint64_t)n;
	if (there)
		memcpy(to, image->bytes + at, there);
	if (there == (uint64_t)n)
		return end(h->vfs, SQLITE_OK);
	memset((uint8_t *)to + there, 0, (size_t)n - there);
	return end(h->vfs, SQLITE_IOERR_SHORT_READ);
}

static int on_write(sqlite3_file *base, const void *from, int n, sqlite3_int64 at)
{
	struct handle *h = (struct handle *)base;
	int rc = begin(h->vfs, h->path, FAULT_WRITE, SQLITE_IOERR_WRITE);
	uint64_t end_at = (uint64_t)at + (uint64_t)n;

	if (is_dead(h))
		return end(h->vfs, SQLITE_IOERR_WRITE);
	if (rc)
		n = (int)(splitmix_next(&h->vfs->random) % (uint64_t)(n + 1));
	else if (h->vfs->capacity && end_at > h->file->now.len &&
	         fault_vfs_used(h->vfs) + (end_at - h->file->now.len) > h->vfs->capacity)
		return end(h->vfs, SQLITE_FULL);
	if (n)
		file_wait(h->file, (struct change){ .at = (uint64_t)at,
		                           .len = (uint64_t)n,
		                           .bytes = xmemdup(from, (size_t)n) });
	return end(h->vfs, rc);
}

static int on_truncate(sqlite3_file *base, sqlite3_int64 len)
{
	struct handle *h = (struct handle *)base;
	int rc = begin(h->vfs, h->path, FAULT_TRUNCATE, SQLITE_IOERR_TRUNCATE);

	if (rc || is_dead(h))
		return end(h->vfs, rc ? rc : SQLITE_IOERR_TRUNCATE);
	file_wait(h->file, (struct change){ .is_truncate = true, .at = (uint64_t)len });
	return end(h->vfs, SQLITE_OK);
}

static int on_sync(sqlite3_file *base, int flags)
{
	struct handle *h = (struct handle *)base;
	int rc = begin(h->vfs, h->path, FAULT_SYNC, SQLITE_IOERR_FSYNC);

	(void)flags;
	if (is_dead(h))
		return end(h->vfs, SQLITE_IOERR_FSYNC);
	if (rc) {
		for (size_t i = 0; i < h->file->n_waiting; i++)
			if (splitmix_next(&h->vfs->random) % 2)
				h->file->waiting[i].is_lost = true;
		return end(h->vfs, rc);
	}
	file_sync(h->file);
	if (h->file->needs_dirsync)
		names_sync(h->vfs);
	h->file->needs_dirsync = false;
	return end(h->vfs, SQLITE_OK);
}

static int on_file_size(sqlite3_file *base, sqlite3_int64 *len)
{
	struct handle *h = (struct handle *)base;

	pthread_mutex_lock(&h->vfs->lock);
	*len = (sqlite3_int64)h->file->now.len;
	return end(h->vfs, is_dead(h) ? SQLITE_IOERR_FSTAT : SQLITE_OK);
}

static int on_lock(sqlite3_file *base, int level)
{
	(void)level;
	return is_dead((struct handle *)base) ? SQLITE_IOERR_LOCK : SQLITE_OK;
}

static int on_check_lock(sqlite3_file *base, int *out)
{
	(void)base;
	*out = 0;
	return SQLITE_OK;
}

static int on_control(sqlite3_file *base, int op, void *arg)
{
	(void)base;
	(void)op;
	(void)arg;
	return SQLITE_NOTFOUND;
}

static int on_sector_size(sqlite3_file *base)
{
	(void)base;
	return 4096;
}

static int on_characteristics(sqlite3_file *base)
{
	(void)base;
	return SQLITE_IOCAP_POWERSAFE_OVERWRITE;
}

static const sqlite3_io_methods methods = {
	.iVersion = 1, /* no shared memory: WAL then needs exclusive locking, as the store does */
	.xClose = on_close,
	.xRead = on_read,
	.xWrite = on_write,
	.xTruncate = on_truncate,
	.xSync = on_sync,
	.xFileSize = on_file_size,
	.xLock = on_lock,
	.xUnlock = on_lock,
	.xCheckReservedLock = on_check_lock,
	.xFileControl = on_control,
	.xSectorSize = on_sector_size,
	.xDeviceCharacteristics = on_characteristics,
};

/* ---- what SQLite calls on the disk ---- */

static int on_open(sqlite3_vfs *base, const char *path, sqlite3_file *file, int flags, int *out)
{
	struct fault_vfs *vfs = (struct fault_vfs *)base;
	struct handle *h = (struct handle *)file;
	int rc = begin(vfs, path, FAULT_OPEN, SQLITE_CANTOPEN);
	struct file *f;

	memset(h, 0, sizeof(*h));
	if (rc)
		return end(vfs, rc);
	f = path ? directory_get(&vfs->now, path) : NULL;
	if (!f) {
		if (!(flags & SQLITE_OPEN_CREATE))
			return end(vfs, SQLITE_CANTOPEN);
		f = xcalloc(1, sizeof(*f));
		f->needs_dirsync = flags & (SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL |
		                                   SQLITE_OPEN_SUPER_JOURNAL);
		if (path)
			name_change(vfs, path, f);
	}
	h->base.pMethods = &methods;
	h->vfs = vfs;
	h->file = file_ref(f);
	h->path = path ? xstrdup(path) : NULL;
	h->life = vfs->life;
	h->delete_on_close = flags & SQLITE_OPEN_DELETEONCLOSE;
	if (out)
		*out = flags;
	return end(vfs, SQLITE_OK);
}

static int on_delete(sqlite3_vfs *base, const char *path, int sync_dir)
{
	struct fault_vfs *vfs = (struct fault_vfs *)base;
	int rc = begin(vfs, path, FAULT_DELETE, SQLITE_IOERR_DELETE);

	if (rc)
		return end(vfs, rc);
	if (!directory_get(&vfs->now, path))
		return end(vfs, SQLITE_IOERR_DELETE_NOENT);
	name_change(vfs, path, NULL);
	if (sync_dir)
		names_sync(vfs);
	return end(vfs, SQLITE_OK);
}

static int on_access(sqlite3_vfs *base, const char *path, int flags, int *out)
{
	struct fault_vfs *vfs = (struct fault_vfs *)base;
	const struct file *file;

	pthread_mutex_lock(&vfs->lock);
	file = directory_get(&vfs->now, path);
	/* As SQLite's own: an empty file does not count as existing. */
	*out = file && (flags != SQLITE_ACCESS_EXISTS || file->now.len > 0);
	return end(vfs, SQLITE_OK);
}

static int on_full_path(sqlite3_vfs *base, const char *path, int n, char *out)
{
	(void)base;
	return snprintf(out, (size_t)n, "%s", path) < n ? SQLITE_OK : SQLITE_CANTOPEN;
}

static int on_randomness(sqlite3_vfs *base, int n, char *out)
{
	struct fault_vfs *vfs = (struct fault_vfs *)base;

	pthread_mutex_lock(&vfs->lock);
	for (int i = 0; i < n; i++)
		out[i] = (char)splitmix_next(&vfs->random);
	return end(vfs, n);
}

static int on_sleep(sqlite3_vfs *base, int us)
{
	(void)base;
	return us;
}

static int on_current_time(sqlite3_vfs *base, double *days)
{
	(void)base;
	*days = 2460000.5;
	return SQLITE_OK;
}

static int on_last_error(sqlite3_vfs *base, int n, char *out)
{
	(void)base;
	if (n > 0)
		*out = '\0';
	return 0;
}

struct fault_vfs *fault_vfs_new(const char *name, uint64_t seed)
{
	struct fault_vfs *vfs = xcalloc(1, sizeof(*vfs));

	vfs->name = xstrdup(name);
	vfs->random = seed;
	pthread_mutex_init(&vfs->lock, NULL);
	vfs->vfs = (sqlite3_vfs){
		.iVersion = 1,
		.szOsFile = sizeof(struct handle),
		.mxPathname = MAX_PATH,
		.zName = vfs->name,
		.xOpen = on_open,
		.xDelete = on_delete,
		.xAccess = on_access,
		.xFullPathname = on_full_path,
		.xRandomness = on_randomness,
		.xSleep = on_sleep,
		.xCurrentTime = on_current_time,
		.xGetLastError = on_last_error,
	};
	if (sqlite3_vfs_register(&vfs->vfs, 0) != SQLITE_OK)
		abort();
	return vfs;
}

void fault_vfs_free(struct fault_vfs *vfs)
{
	if (!vfs)
		return;
	sqlite3_vfs_unregister(&vfs->vfs);
	names_forget_waiting(vfs);
	free(vfs->waiting);
	directory_clear(&vfs->now);
	directory_clear(&vfs->platter);
	pthread_mutex_destroy(&vfs->lock);
	free(vfs->fail_suffix);
	free(vfs->failed);
	free(vfs->name);
	free(vfs);
}
