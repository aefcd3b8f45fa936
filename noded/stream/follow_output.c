/* follow_output.c - see follow_output.h */
#include "config.h"

#include "noded/stream/follow_output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "noded/record/record.h"
#include "noded/stream/stream_access.h"

#define LOOK_MS 200 /* between two checks of a file that is followed */
#define BLOCK   CHANNEL_DATA_MAX

/* Only regular files: reading a FIFO would take data from its reader. Opened without blocking. For
 * a client that is not the owner the file must be the owner's and its name no link: in a folder
 * that others can write, they would choose what that client sees. */
static int open_log(const Gpusched__TapGrant *g, bool error_file, struct error *err)
{
	const Gpusched__OutputRecord *r = g->run;
	int flags = O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC | (g->tail_only ? O_NOFOLLOW : 0);
	const ProtobufCBinaryData *which = error_file && r->error.len ? &r->error : &r->output;
	char *cwd = record_string(&r->cwd), *path = record_string(which);
	struct stat st;
	int fd = -1;

	if (r->interactive) {
		errno = 0; /* no such file will come */
		error_set(err, ERR_SYSTEM, "its output went to its client (grun), not to a file");
	} else if (path[0] != '/' && chdir(cwd) < 0) {
		error_set(err, ERR_SYSTEM, "cannot enter '%s': %s", cwd, strerror(errno));
	} else if ((fd = open(path, flags)) < 0 || fstat(fd, &st) < 0) {
		error_set(err, ERR_SYSTEM, "cannot read '%s': %s", path,
		        errno == ELOOP && g->tail_only ? "it is a symbolic link" : strerror(errno));
	} else if (!S_ISREG(st.st_mode) || (g->tail_only && st.st_uid != r->uid)) {
		error_set(err, ERR_SYSTEM, "'%s' is no regular file%s", path,
		        S_ISREG(st.st_mode) ? " of the job's owner" : "");
		close(fd);
		fd = -1;
	}
	free(path);
	free(cwd);
	return fd;
}

/* Where the last `lines` lines begin, of those that begin behind `least`; `least` if none does. */
static off_t tail_start(int fd, off_t size, uint64_t lines, off_t least)
{
	static char b[BLOCK];
	off_t at = size, begins = least;

	if (lines == 0)
		return size;
	while (at > least) {
		size_t n = at - least < BLOCK ? (size_t)(at - least) : BLOCK;
		ssize_t got = pread(fd, b, n, at - (off_t)n);

		if (got != (ssize_t)n)
			return least; /* the file is being truncated: send all of it */
		at -= (off_t)n;
		for (size_t i = n; i-- > 0;) {
			/* the newline at the very end ends the last line and begins none */
			if (b[i] != '\n' || at + (off_t)i + 1 >= size)
				continue;
			begins = at + (off_t)i + 1;
			if (lines-- == 1)
				return begins;
		}
	}
	return least ? begins : 0;
}

static void say_at(struct tap *t, off_t at)
{
	uint8_t b[CHANNEL_AT_LEN];

	channel_put_at(b, (uint64_t)at);
	tap_say(t, CHANNEL_AT, b, sizeof(b));
}

/* Send from `at` to the end; returns the new place. A file that became shorter is sent from its
 * beginning. */
static off_t send_rest(struct tap *t, int fd, off_t at)
{
	static uint8_t b[BLOCK];
	struct stat st;
	ssize_t n;

	if (fstat(fd, &st) == 0 && st.st_size < at)
		say_at(t, at = 0);
	while ((n = pread(fd, b, sizeof(b), at)) > 0) {
		tap_say(t, CHANNEL_OUT, b, (size_t)n);
		at += n;
	}
	return at;
}

void follow_output_log(struct tap *t, const struct channel_log *log)
{
	struct error err = { .code = ERR_NONE };
	struct channel_message m;
	bool finished = !log->follow;
	struct stat st;
	off_t at = 0;
	int fd = open_log(t->grant, log->error, &err);

	/* A run that is just being started has not made the file yet. */
	while (fd < 0 && !finished && errno == ENOENT) {
		finished = tap_hear(t, &m, LOOK_MS);
		fd = open_log(t->grant, log->error, &err);
	}
	if (fd < 0)
		tap_end(t, &err);
	if (log->at != CHANNEL_LOG_NEW)
		at = log->at > INT64_MAX ? INT64_MAX : (off_t)log->at;
	else if (log->had && t->grant->run->append)
		at = (off_t)log->had;
	else if (log->lines != UINT64_MAX && fstat(fd, &st) == 0)
		at = tail_start(fd, st.st_size, log->lines, 0);
	say_at(t, at);
	while (!finished) {
		at = send_rest(t, fd, at);
		finished = tap_hear(t, &m, LOOK_MS);
	}
	send_rest(t, fd, at);
	err = (struct error){ .code = ERR_NONE };
	tap_end(t, &err);
}

void follow_output_tail(struct tap *t, const struct channel_tail *tail)
{
	static uint8_t b[TAIL_BYTES_MAX];
	struct error err = { .code = ERR_NONE };
	int fd = open_log(t->grant, tail->error, &err);
	size_t got = 0, sent = 0, part;
	struct stat st;
	off_t at, least;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) < 0)
		tap_end(t, &err);
	least = st.st_size > TAIL_BYTES_MAX ? st.st_size - TAIL_BYTES_MAX : 0;
	at = tail_start(fd, st.st_size, tail->lines, least);
	while (got < sizeof(b) && (n = pread(fd, b + got, sizeof(b) - got, at + (off_t)got)) > 0)
		got += (size_t)n;
	if (got < sizeof(b) && n < 0) {
		error_set(&err, ERR_SYSTEM, "cannot read it: %s", strerror(errno));
		tap_end(t, &err);
	}
	say_at(t, at);
	for (; sent < got; sent += part) {
		part = got - sent < BLOCK ? got - sent : BLOCK;
		tap_say(t, CHANNEL_OUT, b + sent, part);
	}
	tap_end(t, &err);
}
