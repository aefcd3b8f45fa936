/* progress.c - see progress.h */
#include "common/base/progress.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/units.h"
#include "common/base/xalloc.h"

#define QUIET_US  500000 /* at the beginning */
#define REDRAW_US 125000
#define SAMPLE_US 1000000
#define SAMPLES   8 /* so many seconds the rate is of */
#define BAR_MOST  30
#define BAR_LEAST 10
#define WIDTH     80 /* of a terminal that does not say */
#define LINE_MAX  400
#define NOTE_MAX  80

struct sample {
	int64_t at;
	uint64_t done;
};

struct progress {
	bool on;              /* there is a terminal for it */
	bool drawn;           /* a line stands there */
	int64_t from, redraw; /* us; nothing is drawn before `redraw` */
	struct sample samples[SAMPLES];
	size_t n, next;
	char note[NOTE_MAX];
	struct progress_state s;
};

/* --- the line -------------------------------------------------------------------------------- */

static void count_text(char *buf, size_t size, enum progress_unit unit, uint64_t n)
{
	char digits[24], text[UNITS_TEXT];
	size_t len, i, at = 0;

	if (unit == PROGRESS_BYTES) {
		snprintf(buf, size, "%sB", size_format(text, n));
		return;
	}
	len = (size_t)snprintf(digits, sizeof(digits), "%llu", (unsigned long long)n);
	for (i = 0; i < len && at + 2 < size; i++) {
		if (i && (len - i) % 3 == 0)
			buf[at++] = ',';
		buf[at++] = digits[i];
	}
	buf[at] = '\0';
}

/* "1,200 of 3,000 jobs", "1,200 jobs". */
static void amount_text(char *buf, size_t size, const struct progress_state *s)
{
	const char *space = *s->things ? " " : "";
	char done[32], total[32];

	count_text(done, sizeof(done), s->unit, s->done);
	count_text(total, sizeof(total), s->unit, s->total);
	if (s->total)
		snprintf(buf, size, "  %s of %s%s%s", done, total, space, s->things);
	else
		snprintf(buf, size, "  %s%s%s", done, space, s->things);
}

static void rate_text(char *buf, size_t size, const struct progress_state *s)
{
	char text[32];

	*buf = '\0';
	if (s->rate < 0)
		return;
	if (s->unit == PROGRESS_COUNT && s->rate < 10)
		snprintf(text, sizeof(text), "%.1f", s->rate);
	else
		count_text(
		        text, sizeof(text), s->unit, (uint64_t)(s->rate < 1e18 ? s->rate : 1e18));
	snprintf(buf, size, "  %s/s", text);
}

static void left_text(char *buf, size_t size, const struct progress_state *s)
{
	char text[UNITS_TEXT];
	double left;

	*buf = '\0';
	if (!s->total || s->rate <= 0 || s->done >= s->total)
		return;
	left = (double)(s->total - s->done) / s->rate;
	if (left < 30 * 86400.0)
		snprintf(buf, size, "  %s left", duration_format(text, (uint64_t)(left + 0.5)));
}

static double part_of(const struct progress_state *s)
{
	double part = s->total ? (double)s->done / (double)s->total : 0;

	return part > 1 ? 1 : part;
}

/* " [####----]  40%", at most `width`; nothing where even the shortest does not fit. */
static void bar_text(char *buf, size_t size, size_t width, const struct progress_state *s)
{
	static const char full[] = "##############################",
	                  empty[] = "------------------------------";
	size_t around = strlen(" []") + strlen("  40%"), bar, filled;
	double part = part_of(s);

	*buf = '\0';
	if (!s->total || width < around + BAR_LEAST)
		return;
	bar = width - around < BAR_MOST ? width - around : BAR_MOST;
	filled = (size_t)(part * (double)bar);
	snprintf(buf, size, " [%.*s%.*s] %3d%%", (int)filled, full, (int)(bar - filled), empty,
	        (int)(part * 100));
}

/* What matters least is left out first. */
size_t progress_line(char *buf, size_t size, unsigned width, const struct progress_state *s)
{
	char amount[120], rate[48], left[UNITS_TEXT + 8], note[NOTE_MAX + 4] = "", bar[96];
	char *const parts[] = { amount, left, rate, note };
	size_t room = width < size ? width : size - 1, n = strlen(s->what), i;

	amount_text(amount, sizeof(amount), s);
	rate_text(rate, sizeof(rate), s);
	left_text(left, sizeof(left), s);
	if (s->note && *s->note)
		snprintf(note, sizeof(note), "  %s", s->note);
	for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (n + strlen(parts[i]) > room)
			*parts[i] = '\0';
		n += strlen(parts[i]);
	}
	bar_text(bar, sizeof(bar), n < room ? room - n : 0, s);
	n = (size_t)snprintf(buf, room + 1, "%s%s%s%s%s%s", s->what, bar, amount, rate, left, note);
	return n < room ? n : room;
}

/* --- the terminal ---------------------------------------------------------------------------- */

static bool is_for_us(bool quiet)
{
	const char *term = getenv("TERM");

	return !quiet && isatty(STDERR_FILENO) && term && *term && strcmp(term, "dumb");
}

/* A command in the background leaves the terminal to what is in the foreground. */
static bool is_foreground(void)
{
	pid_t group = tcgetpgrp(STDERR_FILENO);

	return group < 0 || group == getpgrp();
}

static unsigned terminal_width(void)
{
	struct winsize w;

	return ioctl(STDERR_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col ? w.ws_col : WIDTH;
}

static void put(const char *text, size_t n)
{
	while (n) {
		ssize_t done = write(STDERR_FILENO, text, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return;
		text += done;
		n -= (size_t)done;
	}
}

static double rate_of(const struct progress *p, int64_t now)
{
	const struct sample *oldest = &p->samples[p->n < SAMPLES ? 0 : p->next];
	int64_t us = p->n ? now - oldest->at : 0;

	if (us < SAMPLE_US / 2 || p->s.done < oldest->done)
		return -1;
	return (double)(p->s.done - oldest->done) * 1e6 / (double)us;
}

static void remember(struct progress *p, int64_t now)
{
	const struct sample *last = &p->samples[(p->next + SAMPLES - 1) % SAMPLES];

	if (p->n && now - last->at < SAMPLE_US)
		return;
	p->samples[p->next] = (struct sample){ now, p->s.done };
	p->next = (p->next + 1) % SAMPLES;
	p->n += p->n < SAMPLES;
}

static void draw(struct progress *p, int64_t now)
{
	char line[LINE_MAX] = "\r";
	unsigned width = terminal_width();
	size_t n;

	/* The last column stays free: a terminal may begin another line there. */
	p->s.rate = rate_of(p, now);
	p->s.note = p->note;
	n = 1 + progress_line(line + 1, sizeof(line) - 8, width > 1 ? width - 1 : 1, &p->s);
	memcpy(line + n, "\033[K", 3);
	put(line, n + 3);
	p->drawn = true;
}

void progress_hide(struct progress *p)
{
	if (p && p->drawn)
		put("\r\033[K", 4);
	if (p)
		p->drawn = false;
}

/* --- the work -------------------------------------------------------------------------------- */

struct progress *progress_new(
        const char *what, const char *things, enum progress_unit unit, uint64_t total, bool quiet)
{
	struct progress *p = xcalloc(1, sizeof(*p));

	p->on = is_for_us(quiet);
	p->redraw = clock_us(CLOCK_MONOTONIC) + QUIET_US;
	progress_part(p, what, things, unit, total);
	return p;
}

void progress_part(struct progress *p, const char *what, const char *things,
        enum progress_unit unit, uint64_t total)
{
	if (!p)
		return;
	p->s = (struct progress_state){
		.what = what, .things = things, .unit = unit, .total = total
	};
	p->n = p->next = 0;
	p->note[0] = '\0';
	if (p->on)
		remember(p, clock_us(CLOCK_MONOTONIC));
}

void progress_at(struct progress *p, uint64_t done)
{
	int64_t now;

	if (!p)
		return;
	p->s.done = done;
	if (!p->on)
		return;
	now = clock_us(CLOCK_MONOTONIC);
	remember(p, now);
	if (now < p->redraw || !is_foreground())
		return;
	p->redraw = now + REDRAW_US;
	draw(p, now);
}

void progress_total(struct progress *p, uint64_t total)
{
	if (p)
		p->s.total = total;
}

void progress_note(struct progress *p, const char *note)
{
	if (p)
		snprintf(p->note, sizeof(p->note), "%s", note ? note : "");
}

void progress_end(struct progress *p)
{
	progress_hide(p);
	free(p);
}
