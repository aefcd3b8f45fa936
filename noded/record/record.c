/* record.c - see record.h
 *
 *      +---------------+----------------+--------------+---------------+----------+
 *      | 8 "GPSREC1\n" | u32 kind's FNV | u32 body len | u64 body FNV  | body     |
 *      +---------------+----------------+--------------+---------------+----------+
 *
 * The checksum detects torn files. It is no protection against attackers: only root can write here.
 */
#include "noded/record/record.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/fd_close.h"
#include "common/base/fnv.h"
#include "common/base/wirenum.h"
#include "common/base/xalloc.h"

#define HEAD_LEN 24
static const char magic[8] = "GPSREC1\n";

void record_id_format(struct run_id run, char out[RECORD_ID_MAX])
{
	int n = snprintf(out, RECORD_ID_MAX, "%" PRIu64 "_%u_%u", run.job, run.task, run.attempt);

	if (run.rank)
		snprintf(out + n, RECORD_ID_MAX - (size_t)n, "_%u", run.rank);
}

int record_id_parse(const char *name, struct run_id *run)
{
	struct run_id r = { 0 };
	char again[RECORD_ID_MAX];

	if (sscanf(name, "%" SCNu64 "_%u_%u_%u", &r.job, &r.task, &r.attempt, &r.rank) < 3)
		return -1;
	record_id_format(r, again);
	if (strcmp(again, name) != 0)
		return -1;
	*run = r;
	return 0;
}

int record_write_all(int fd, const void *bytes, size_t n)
{
	const uint8_t *p = bytes;

	while (n > 0) {
		ssize_t w = write(fd, p, n);

		if (w < 0 && errno == EINTR)
			continue;
		if (w < 0)
			return -1;
		p += w;
		n -= (size_t)w;
	}
	return 0;
}

static uint8_t *encode(const ProtobufCMessage *m, size_t *len)
{
	const char *kind = m->descriptor->name;
	size_t n = protobuf_c_message_get_packed_size(m);
	uint8_t *b = xcalloc(1, HEAD_LEN + n);

	protobuf_c_message_pack(m, b + HEAD_LEN);
	memcpy(b, magic, sizeof(magic));
	put_u32(b + 8, (uint32_t)fnv(kind, strlen(kind)));
	put_u32(b + 12, (uint32_t)n);
	put_u64(b + 16, fnv(b + HEAD_LEN, n));
	*len = HEAD_LEN + n;
	return b;
}

static int write_tmp(int dirfd, const char *tmp, const uint8_t *bytes, size_t len, unsigned flags)
{
	const int how = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
	int fd = openat(dirfd, tmp, how, 0600), saved;

	/* A file that a killed writer has left makes O_EXCL fail. */
	if (fd < 0 && errno == EEXIST && unlinkat(dirfd, tmp, 0) == 0)
		fd = openat(dirfd, tmp, how, 0600);
	if (fd < 0)
		return -1;
	if (record_write_all(fd, bytes, len) == 0 && (!(flags & RECORD_SYNC) || fsync(fd) == 0) &&
	        (!(flags & RECORD_LOCK) || flock(fd, LOCK_EX | LOCK_NB) == 0))
		return fd;
	saved = errno;
	close(fd);
	unlinkat(dirfd, tmp, 0);
	errno = saved;
	return -1;
}

int record_write(
        int dirfd, const char *name, const ProtobufCMessage *m, unsigned flags, struct error *err)
{
	char tmp[RECORD_ID_MAX + 8];
	size_t len;
	uint8_t *bytes = encode(m, &len);
	int fd = -1, saved;

	snprintf(tmp, sizeof(tmp), "%s.tmp", name);
	if (len > RECORD_MAX_LEN)
		errno = EFBIG;
	else
		fd = write_tmp(dirfd, tmp, bytes, len, flags);
	saved = errno;
	free(bytes);
	errno = saved;
	if (fd < 0)
		goto fail;
	if (renameat(dirfd, tmp, dirfd, name) < 0)
		goto fail_fd;
	if ((flags & RECORD_SYNC) && fsync(dirfd) < 0)
		goto fail_fd;
	if (flags & RECORD_LOCK)
		return fd;
	close(fd);
	return 0;

fail_fd:
	saved = errno;
	close(fd);
	unlinkat(dirfd, tmp, 0);
	errno = saved;
fail:
	return error_set(err, errno == ENOSPC || errno == EDQUOT ? ERR_NO_SPACE : ERR_SYSTEM,
	        "cannot write record '%s': %s", name, strerror(errno));
}

/* The whole of a file, at most RECORD_MAX_LEN; NULL with errno. */
static uint8_t *read_all(int fd, size_t *len)
{
	struct stat st;
	uint8_t *b;
	size_t got = 0;

	if (fstat(fd, &st) < 0)
		return NULL;
	if (!S_ISREG(st.st_mode) || st.st_size < 0 || st.st_size > RECORD_MAX_LEN) {
		errno = EFBIG;
		return NULL;
	}
	b = xcalloc(1, (size_t)st.st_size + 1);
	while (got < (size_t)st.st_size) {
		ssize_t n = pread(fd, b + got, (size_t)st.st_size - got, (off_t)got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			free(b);
			return NULL;
		}
		if (n == 0)
			break;
		got += (size_t)n;
	}
	*len = got;
	return b;
}

static ProtobufCMessage *decode(
        const uint8_t *b, size_t len, const ProtobufCMessageDescriptor *desc)
{
	size_t n;

	if (len < HEAD_LEN || memcmp(b, magic, sizeof(magic)) != 0 ||
	        get_u32(b + 8) != (uint32_t)fnv(desc->name, strlen(desc->name)))
		return NULL;
	n = get_u32(b + 12);
	if (n != len - HEAD_LEN || get_u64(b + 16) != fnv(b + HEAD_LEN, n))
		return NULL;
	return protobuf_c_message_unpack(desc, NULL, n, b + HEAD_LEN);
}

int record_read_fd(
        int fd, const ProtobufCMessageDescriptor *desc, ProtobufCMessage **out, struct error *err)
{
	ProtobufCMessage *m;
	size_t len = 0;
	uint8_t *b = read_all(fd, &len);

	if (!b)
		return error_set(err, ERR_SYSTEM, "cannot read a record: %s", strerror(errno));
	m = decode(b, len, desc);
	free(b);
	if (!m)
		return error_set(err, ERR_PROTOCOL, "a torn record (%zu bytes are no %s)", len,
		        desc->short_name);
	*out = m;
	return 1;
}

int record_read(int dirfd, const char *name, const ProtobufCMessageDescriptor *desc,
        ProtobufCMessage **out, struct error *err)
{
	int fd = openat(dirfd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	int r;

	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0)
		return error_set(
		        err, ERR_SYSTEM, "cannot open record '%s': %s", name, strerror(errno));
	r = record_read_fd(fd, desc, out, err);
	close(fd);
	if (r < 0)
		error_wrap(err, "%s", name);
	return r;
}

char *record_string(const ProtobufCBinaryData *b)
{
	return b->len ? xstrndup((const char *)b->data, b->len) : xstrdup("");
}

struct names {
	struct run_id *v;
	size_t n;
};

static int by_run_id(const void *a, const void *b)
{
	return run_id_order(a, b);
}

static int read_names(int dirfd, struct names *names)
{
	int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;
	struct run_id run;

	if (!d) {
		fd_close(fd);
		return -1;
	}
	while ((e = readdir(d))) {
		if (record_id_parse(e->d_name, &run) < 0)
			continue;
		names->v = xrealloc(names->v, names->n + 1, sizeof(*names->v));
		names->v[names->n++] = run;
	}
	closedir(d);
	return 0;
}

int record_scan(int dirfd, int (*fn)(struct run_id run, const char *name, void *arg), void *arg,
        struct error *err)
{
	struct names names = { 0 };
	char id[RECORD_ID_MAX];
	int r = 0;

	if (read_names(dirfd, &names) < 0)
		return error_set(err, ERR_SYSTEM, "cannot list the records: %s", strerror(errno));
	if (names.n > 0)
		qsort(names.v, names.n, sizeof(*names.v), by_run_id);
	for (size_t i = 0; i < names.n && r == 0; i++) {
		record_id_format(names.v[i], id);
		r = fn(names.v[i], id, arg);
	}
	free(names.v);
	return r;
}
