/* test_progress.c - common/base/progress.h: the line in any width, and what a terminal sees of it */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/base/clock.h"
#include "common/base/progress.h"

#define LEN(a)   (sizeof(a) / sizeof((a)[0]))
#define DEADLINE 60000000 /* us */

static void lines(void **state)
{
	static const struct {
		unsigned width;
		struct progress_state s;
		const char *want;
	} rows[] = {
		{ 100, { "submitting", "jobs", NULL, PROGRESS_COUNT, 1200, 3000, 310.4 },
		        "submitting [############------------------]  40%  1,200 of 3,000 jobs  "
		        "310/s  0:06 left" },
		{ 70, { "submitting", "jobs", NULL, PROGRESS_COUNT, 1200, 3000, 310.4 },
		        "submitting [#####--------]  40%  1,200 of 3,000 jobs  310/s  0:06 left" },
		{ 60, { "submitting", "jobs", NULL, PROGRESS_COUNT, 1200, 3000, 310.4 },
		        "submitting  1,200 of 3,000 jobs  310/s  0:06 left" },
		{ 45, { "submitting", "jobs", NULL, PROGRESS_COUNT, 1200, 3000, 310.4 },
		        "submitting  1,200 of 3,000 jobs  0:06 left" },
		{ 8, { "submitting", "jobs", NULL, PROGRESS_COUNT, 1200, 3000, 310.4 },
		        "submitti" },
		{ 1, { "submitting", "jobs", NULL, PROGRESS_COUNT, 1200, 3000, 310.4 }, "s" },
		{ 80, { "verifying", "", NULL, PROGRESS_BYTES, 1 << 20, 4 << 20, -1 },
		        "verifying [#######-----------------------]  25%  1MB of 4MB" },
		{ 80, { "simulating", "jobs", "day 12", PROGRESS_COUNT, 1234567, 0, 2.5 },
		        "simulating  1,234,567 jobs  2.5/s  day 12" },
		/* More than all, and nothing known. */
		{ 80, { "a", "b", NULL, PROGRESS_COUNT, 9, 3, 1 },
		        "a [##############################] 100%  9 of 3 b  1.0/s" },
		{ 80, { "a", "", "", PROGRESS_COUNT, 0, 0, -1 }, "a  0" },
	};
	char buf[200];

	(void)state;
	for (size_t i = 0; i < LEN(rows); i++) {
		size_t n = progress_line(buf, sizeof(buf), rows[i].width, &rows[i].s);

		assert_string_equal(buf, rows[i].want);
		assert_int_equal(n, strlen(buf));
		assert_true(n <= rows[i].width);
	}
}

/* --- a terminal ------------------------------------------------------------------------------- */

struct pty {
	int master, slave, before; /* before: what standard error was */
	char seen[8192];
	size_t n;
};

static void pty_open(struct pty *t, unsigned short columns)
{
	struct winsize w = { .ws_row = 24, .ws_col = columns };

	memset(t, 0, sizeof(*t));
	t->master = posix_openpt(O_RDWR | O_NOCTTY);
	assert_true(t->master >= 0 && grantpt(t->master) == 0 && unlockpt(t->master) == 0);
	t->slave = open(ptsname(t->master), O_RDWR | O_NOCTTY);
	assert_true(t->slave >= 0 && ioctl(t->slave, TIOCSWINSZ, &w) == 0);
	t->before = dup(STDERR_FILENO);
	dup2(t->slave, STDERR_FILENO);
}

static void pty_take(struct pty *t)
{
	struct pollfd fd = { .fd = t->master, .events = POLLIN };

	while (t->n < sizeof(t->seen) - 1 && poll(&fd, 1, 0) > 0) {
		ssize_t n = read(t->master, t->seen + t->n, sizeof(t->seen) - 1 - t->n);

		assert_true(n > 0);
		t->n += (size_t)n;
	}
	t->seen[t->n] = '\0';
}

static void pty_close(struct pty *t)
{
	dup2(t->before, STDERR_FILENO);
	close(t->before);
	pty_take(t);
	close(t->slave);
	close(t->master);
}

static void work_until_seen(struct pty *t, struct progress *p, const char *what)
{
	int64_t until = clock_us(CLOCK_MONOTONIC) + DEADLINE;
	uint64_t done = 0;

	while (!strstr(t->seen, what) && clock_us(CLOCK_MONOTONIC) < until) {
		progress_at(p, ++done % 1000);
		pty_take(t);
	}
	assert_non_null(strstr(t->seen, what));
}

static void on_a_terminal(void **state)
{
	struct winsize narrow = { .ws_row = 24, .ws_col = 24 };
	struct pty t;
	struct progress *p;

	(void)state;
	setenv("TERM", "xterm", 1);
	pty_open(&t, 90);
	p = progress_new("working", "things", PROGRESS_COUNT, 1000, false);
	progress_note(p, "on it");
	work_until_seen(&t, p, "\rworking [");
	assert_non_null(strstr(t.seen, "of 1,000 things"));
	assert_int_equal(t.seen[0], '\r'); /* nothing before the first line */
	/* The terminal becomes narrow, and the line with it. */
	assert_int_equal(ioctl(t.slave, TIOCSWINSZ, &narrow), 0);
	progress_part(p, "checking", "", PROGRESS_COUNT, 0);
	work_until_seen(&t, p, "\rchecking  ");
	progress_end(p);
	pty_close(&t);
	/* Cleared at the end. */
	assert_true(t.n > 4);
	assert_string_equal(t.seen + t.n - 4, "\r\033[K");
	assert_null(strchr(t.seen, '\n'));
	for (char *s = strstr(t.seen, "\rchecking"); s; s = strstr(s + 1, "\rchecking"))
		assert_true(strcspn(s + 1, "\033") < 24);
}

static void nothing_is_seen(const char *term, bool quiet, bool stays_short)
{
	int64_t until = clock_us(CLOCK_MONOTONIC) + (stays_short ? 0 : 700000);
	struct pty t;
	struct progress *p;

	if (term)
		setenv("TERM", term, 1);
	else
		unsetenv("TERM");
	pty_open(&t, 80);
	p = progress_new("working", "things", PROGRESS_COUNT, 10, quiet);
	do
		progress_at(p, 5);
	while (clock_us(CLOCK_MONOTONIC) < until);
	progress_end(p);
	pty_close(&t);
	assert_int_equal(t.n, 0);
}

static void not_where_it_is_not_wanted(void **state)
{
	(void)state;
	nothing_is_seen("xterm", true, false);
	nothing_is_seen("dumb", false, false);
	nothing_is_seen("", false, false);
	nothing_is_seen(NULL, false, false);
	nothing_is_seen("xterm", false, true); /* it was over at once */
	progress_at(NULL, 1);
	progress_end(NULL);
}

static void not_in_a_pipe(void **state)
{
	int64_t until = clock_us(CLOCK_MONOTONIC) + 700000;
	int fds[2], before = dup(STDERR_FILENO);
	struct pollfd fd;
	struct progress *p;

	(void)state;
	setenv("TERM", "xterm", 1);
	assert_int_equal(pipe(fds), 0);
	dup2(fds[1], STDERR_FILENO);
	p = progress_new("working", "things", PROGRESS_COUNT, 10, false);
	while (clock_us(CLOCK_MONOTONIC) < until)
		progress_at(p, 5);
	progress_end(p);
	dup2(before, STDERR_FILENO);
	fd = (struct pollfd){ .fd = fds[0], .events = POLLIN };
	assert_int_equal(poll(&fd, 1, 0), 0);
	close(before);
	close(fds[0]);
	close(fds[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines),
		cmocka_unit_test(on_a_terminal),
		cmocka_unit_test(not_where_it_is_not_wanted),
		cmocka_unit_test(not_in_a_pipe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
