/* frame.c - see frame.h */
#include "cmds/top/screens/frame.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cmds/top/model/gpu_map.h"
#include "cmds/top/screens/popup.h"
#include "cmds/top/screens/screen.h"
#include "common/base/strbuf.h"
#include "common/base/units.h"

#define USEC_PER_S 1000000
#define FRESH_US   (5 * USEC_PER_S) /* answers come at least every 2 s */
#define SUMS_US    500000
#define ROWS_WIDE  16 /* rows from which the head says all that it can */
#define ROWS_FOOT  6  /* and there is a last line */

/* --- the first line --------------------------------------------------------------------------- */

int64_t frame_age_us(const struct state *s)
{
	int64_t age = s->now_us - s->model.heard_us;

	return s->model.heard_us && (!s->model.connected || age > FRESH_US) && age > 0 ? age : 0;
}

static void say_time(char *text, size_t size, int64_t us)
{
	time_t t = (time_t)(us / USEC_PER_S);
	struct tm tm;

	if (!localtime_r(&t, &tm) || !strftime(text, size, "%H:%M:%S", &tm))
		snprintf(text, size, "?");
}

/* "live  13:05:11", "paused at 13:05:11", "gctld silent for 0:31" */
static enum look say_standing(const struct state *s, char *text, size_t size)
{
	char when[16], age[UNITS_TEXT];
	int64_t old = frame_age_us(s);

	say_time(when, sizeof(when), state_shown_us(s));
	if (s->paused) {
		snprintf(text, size, "PAUSED at %s", when);
		return LOOK_WARN;
	}
	if (!s->model.heard_us) {
		snprintf(text, size, "no answer yet  %s", when);
		return LOOK_WARN;
	}
	if (old) {
		say_time(when, sizeof(when), s->model.heard_us);
		duration_format(age, (uint64_t)old / USEC_PER_S);
		snprintf(text, size, "NO ANSWER: %s old, of %s", age, when);
		return LOOK_BAD;
	}
	snprintf(text, size, "%s  %s", s->model.loaded ? "live" : "loading", when);
	return LOOK_GOOD;
}

static void put_title(const struct state *s, struct grid *g, struct area a)
{
	char text[80];
	enum look look = say_standing(s, text, sizeof(text));
	unsigned width = (unsigned)strlen(text);

	if (width < a.cols)
		grid_textf(g, a.row, a.col, a.cols - width - 1, LOOK_STRONG, "gtop %s", s->cluster);
	grid_right(g, a.row, a.col, a.cols, look, text);
}

/* --- sums ------------------------------------------------------------------------------------- */

static void say_type(struct strbuf *b, const struct map_type *t)
{
	uint32_t held = t->count[MARK_BUSY] + t->count[MARK_IDLE] + t->count[MARK_HELD] +
	                t->count[MARK_SHARED];
	uint32_t away = t->count[MARK_DRAINED], lost = t->count[MARK_LOST] + t->count[MARK_SILENT];

	strbuf_addf(b, "%s%s %" PRIu32 "/%" PRIu32 " held", b->len ? "   " : "", t->name, held,
	        t->total);
	if (t->count[MARK_IDLE])
		strbuf_addf(b, " (%" PRIu32 " idle)", t->count[MARK_IDLE]);
	strbuf_addf(b, ", %" PRIu32 " free", t->free);
	if (t->free > t->largest || t->largest > 1)
		strbuf_addf(b, ", most %" PRIu32 " on %s", t->largest, t->largest_node);
	if (away)
		strbuf_addf(b, ", %" PRIu32 " drained", away);
	if (lost)
		strbuf_addf(b, ", %" PRIu32 " missing", lost);
}

void frame_put_gpus(const struct state *s, struct grid *g, struct area a)
{
	size_t n;
	struct map_type *types = map_types(s->model.nodes.v, s->model.nodes.n, &n);
	struct strbuf b = { 0 };
	char *text;

	for (size_t i = 0; i < n; i++)
		say_type(&b, &types[i]);
	text = strbuf_take(&b);
	grid_text(g, a.row, a.col, 4, LOOK_DIM, "GPUs");
	grid_text(g, a.row, a.col + 6, a.cols > 6 ? a.cols - 6 : 0, LOOK_PLAIN,
	        *text ? text : "none are known");
	free(text);
	free(types);
}

static void put_jobs(struct state *s, struct grid *g, struct area a)
{
	char wait[UNITS_TEXT], left[UNITS_TEXT], label[JOB_KEY_TEXT];
	struct strbuf b = { 0 };
	int64_t now_us = state_shown_us(s);
	char *text;

	if (s->sums_of != s->model.changes &&
	        (s->now_us > s->sums_us + SUMS_US || s->now_us < s->sums_us)) {
		model_sums(&s->model, &s->sums);
		s->sums_of = s->model.changes;
		s->sums_us = s->now_us;
	}
	strbuf_addf(&b, "%zu running, %zu waiting", s->sums.running, s->sums.waiting);
	if (s->sums.oldest_us && now_us > s->sums.oldest_us)
		strbuf_addf(&b, " (oldest %s)",
		        duration_format(wait, (uint64_t)(now_us - s->sums.oldest_us) / USEC_PER_S));
	if (s->sums.next.id) {
		int64_t us = s->sums.next_us - now_us;

		strbuf_addf(&b, "; %s ends within %s", job_key_text(label, s->sums.next),
		        duration_format(left, us > 0 ? (uint64_t)us / USEC_PER_S : 0));
	}
	text = strbuf_take(&b);
	grid_text(g, a.row, a.col, 4, LOOK_DIM, "Jobs");
	grid_text(g, a.row, a.col + 6, a.cols > 6 ? a.cols - 6 : 0, LOOK_PLAIN, text);
	free(text);
}

/* --- the screens' names ----------------------------------------------------------------------- */

static void say_filter(const struct state *s, char *text, size_t size)
{
	const struct row_filter *f = &s->filter;

	snprintf(text, size, "%s%s%s%s%s%s%s%s", *f->user ? " user=" : "", f->user,
	        *f->account ? " account=" : "", f->account, *f->partition ? " partition=" : "",
	        f->partition, *f->text ? " /" : "", f->text);
}

/* "1 Map [2 Queue] 3 Running": on a narrow terminal the present one has its name, the others their
 * digits. */
static void put_tabs(const struct state *s, struct grid *g, struct area a)
{
	unsigned at = 0, all = 0;
	char filter[4 * ROWS_WORD_MAX + 40];
	bool narrow;

	for (size_t i = 0; i < SCREENS; i++)
		all += (unsigned)strlen(screens[i].title) + 5;
	narrow = all > a.cols;
	for (size_t i = 0; i < SCREENS; i++) {
		bool here = i == s->at;
		char text[32];

		if (narrow && !here)
			snprintf(text, sizeof(text), "%zu", i + 1);
		else
			snprintf(text, sizeof(text), here ? "[%zu %s]" : "%zu %s", i + 1,
			        screens[i].title);
		at += grid_text(g, a.row, a.col + at, at < a.cols ? a.cols - at : 0,
		              here ? LOOK_STRONG : LOOK_DIM, text) +
		      (narrow ? 1 : 2);
	}
	say_filter(s, filter, sizeof(filter));
	if (*filter && at < a.cols)
		grid_textf(g, a.row, a.col + at, a.cols - at, LOOK_WARN, "only%s", filter);
}

/* --- the last line ---------------------------------------------------------------------------- */

static const char *const prompts[] = { [PROMPT_TEXT] = "filter (part of any column): ",
	[PROMPT_USER] = "user: ",
	[PROMPT_ACCOUNT] = "account: ",
	[PROMPT_PARTITION] = "partition: " };

static void put_prompt(const struct state *s, struct grid *g, struct area a)
{
	const struct prompt *p = &s->prompt;
	unsigned at;

	if (p->kind == PROMPT_QUESTION) {
		at = grid_text(
		        g, a.row, a.col, a.cols > 8 ? a.cols - 8 : a.cols, LOOK_BAD, p->question);
		grid_text(
		        g, a.row, a.col + at, a.cols > at ? a.cols - at : 0, LOOK_STRONG, " y/N ");
		return;
	}
	at = grid_text(g, a.row, a.col, a.cols, LOOK_STRONG, prompts[p->kind]);
	at += grid_text(g, a.row, a.col + at, a.cols > at ? a.cols - at : 0, LOOK_PLAIN, p->text);
	if (at < a.cols)
		grid_mark(g, a.row, a.col + at, 1);
}

static void put_foot(const struct state *s, struct grid *g, struct area a)
{
	char text[200];

	if (s->prompt.kind != PROMPT_NONE) {
		put_prompt(s, g, a);
	} else if (s->now_us < s->note_until_us) {
		grid_text(g, a.row, a.col, a.cols, s->note_bad ? LOOK_BAD : LOOK_GOOD, s->note);
	} else if (!s->model.connected && s->model.link_text) {
		grid_text(g, a.row, a.col, a.cols, LOOK_BAD, s->model.link_text);
	} else if (s->popup.kind != POPUP_NONE) {
		grid_text(g, a.row, a.col, a.cols, LOOK_DIM,
		        s->popup.kind == POPUP_SORT ? "Up/Down choose  Enter take it  q back"
		                                    : "Up/Down PgUp/PgDn scroll  q back");
	} else {
		int n = snprintf(text, sizeof(text), "? help  %s  q quit", screens[s->at].hints);

		if (n > (int)a.cols)
			snprintf(text, sizeof(text), "? help  q quit");
		grid_text(g, a.row, a.col, a.cols, LOOK_DIM, text);
	}
}

/* --- all of it -------------------------------------------------------------------------------- */

static void put_head(struct state *s, struct grid *g, struct area *body)
{
	struct area line = *body;

	line.rows = 1;
	put_title(s, g, line);
	line.row++;
	if (g->rows >= ROWS_WIDE / 2) {
		frame_put_gpus(s, g, line);
		line.row++;
	}
	if (g->rows >= ROWS_WIDE) {
		put_jobs(s, g, line);
		line.row++;
	}
	put_tabs(s, g, line);
	line.row++;
	body->rows -= line.row - body->row;
	body->row = line.row;
}

void frame_draw(struct state *s, struct grid *g)
{
	struct area body = { 0, 0, g->rows, g->cols };

	grid_clear(g);
	if (g->rows < FRAME_ROWS_MIN || g->cols < FRAME_COLS_MIN) {
		grid_textf(g, 0, 0, g->cols, LOOK_BAD, "too small (%ux%u)", FRAME_COLS_MIN,
		        FRAME_ROWS_MIN);
		return;
	}
	put_head(s, g, &body);
	if (g->rows >= ROWS_FOOT || s->prompt.kind != PROMPT_NONE) {
		body.rows--;
		put_foot(s, g, (struct area){ body.row + body.rows, 0, 1, g->cols });
	}
	if (s->popup.kind != POPUP_NONE)
		popup_draw(s, g, body);
	else
		screens[s->at].draw(s, g, body);
}
