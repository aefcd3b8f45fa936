/* shepherd_lines.c - see shepherd_lines.h */
#include "cmds/services/shepherd_lines.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/text.h"
#include "common/base/xalloc.h"

#define LOAD_EVERY_MS 1000
#define LOAD_AGAIN_MS 5000 /* one that is the same */
#define TEXT_MAX      480

enum line_kind { LINE_HEALTH, LINE_LOAD, LINE_END, LINE_KINDS }; /* in this order they are told */

struct line {
	char text[SHEPHERD_LINE_MAX + 1];
	bool due;
};

struct shepherd_lines {
	struct loop *loop;
	struct loop_watch *watch; /* for room; NULL: it is not full */
	int fd;
	int64_t load_ms;  /* no load before that */
	int64_t again_ms; /* and before that only another one */
	struct line lines[LINE_KINDS];
};

static int prepare(int fd, struct error *err)
{
	struct stat st;
	int flags;

	if (fstat(fd, &st) < 0 || !S_ISFIFO(st.st_mode))
		return error_set(err, ERR_USAGE, "--fd=%d: expected a pipe", fd);
	flags = fcntl(fd, F_GETFL);
	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ||
	        fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
		return error_set(err, ERR_SYSTEM, "--fd=%d: %s", fd, strerror(errno));
	return 0;
}

struct shepherd_lines *shepherd_lines_new(struct loop *loop, int fd, struct error *err)
{
	struct shepherd_lines *t;

	if (fd >= 0 && prepare(fd, err) < 0)
		return NULL;
	t = xcalloc(1, sizeof(*t));
	t->loop = loop;
	t->fd = fd;
	return t;
}

/* --- writing ---------------------------------------------------------------------------------- */

static void on_room(uint32_t events, void *arg)
{
	struct shepherd_lines *t = arg;

	if (events & (EPOLLERR | EPOLLHUP)) {
		loop_close(&t->watch, &t->fd);
		return;
	}
	loop_drop(&t->watch);
	shepherd_lines_tick(t, loop_now_ms());
}

/* Returns whether the next one may follow. */
static bool put(struct shepherd_lines *t, struct line *l)
{
	ssize_t n = write(t->fd, l->text, strlen(l->text));

	if (n >= 0) {
		l->due = false;
		return true;
	}
	if (errno == EAGAIN)
		t->watch = loop_watch(t->loop, t->fd, EPOLLOUT, on_room, t);
	else if (errno != EINTR)
		loop_close(&t->watch, &t->fd);
	return false;
}

static bool is_due(const struct shepherd_lines *t, int kind, int64_t now_ms)
{
	return t->lines[kind].due && (kind != LINE_LOAD || now_ms >= t->load_ms);
}

void shepherd_lines_tick(struct shepherd_lines *t, int64_t now_ms)
{
	for (int k = 0; k < LINE_KINDS && t->fd >= 0 && !t->watch; k++) {
		if (!is_due(t, k, now_ms))
			continue;
		if (!put(t, &t->lines[k]))
			return;
		if (k == LINE_LOAD) {
			t->load_ms = now_ms + LOAD_EVERY_MS;
			t->again_ms = now_ms + LOAD_AGAIN_MS;
		}
	}
}

void shepherd_lines_last(struct shepherd_lines *t)
{
	t->load_ms = 0;
	shepherd_lines_tick(t, loop_now_ms());
}

int64_t shepherd_lines_wake_ms(const struct shepherd_lines *t)
{
	return t->fd >= 0 && !t->watch && t->lines[LINE_LOAD].due ? t->load_ms : INT64_MAX;
}

/* --- lines ------------------------------------------------------------------------------------ */

static void line_is(struct shepherd_lines *t, enum line_kind kind, const char *text)
{
	struct line *l = &t->lines[kind];
	int64_t now = loop_now_ms();
	bool same = strcmp(l->text, text) == 0; /* it is told already, or due */

	if (same && (kind != LINE_LOAD || now < t->again_ms))
		return;
	snprintf(l->text, sizeof(l->text), "%s", text);
	l->due = true;
	shepherd_lines_tick(t, now);
}

static void text_is(
        struct shepherd_lines *t, enum line_kind kind, const char *words, const char *text)
{
	char line[SHEPHERD_LINE_MAX + 1], escaped[TEXT_MAX];

	text_escape(escaped, sizeof(escaped), text, strlen(text));
	snprintf(line, sizeof(line), "%s%s%s\n", words, *escaped ? " " : "", escaped);
	line_is(t, kind, line);
}

void shepherd_lines_health(struct shepherd_lines *t, const char *word, const char *text)
{
	char words[32];

	snprintf(words, sizeof(words), "health %s", word);
	text_is(t, LINE_HEALTH, words, text);
}

void shepherd_lines_end(struct shepherd_lines *t, const char *text)
{
	text_is(t, LINE_END, "end", text);
}

void shepherd_lines_load(struct shepherd_lines *t, const char *line)
{
	line_is(t, LINE_LOAD, line);
}
