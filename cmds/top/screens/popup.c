/* popup.c - see popup.h */
#include "cmds/top/screens/popup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmds/cli/table.h"
#include "cmds/top/model/gpu_map.h"
#include "cmds/views/views.h"
#include "cmds/views/whyview.h"
#include "common/base/strbuf.h"
#include "common/base/xalloc.h"

/* --- why -------------------------------------------------------------------------------------- */

void popup_why(struct state *s, const struct top_job *job)
{
	char title[80], label[JOB_KEY_TEXT];

	snprintf(title, sizeof(title), "Job %s", job_key_text(label, job->key));
	state_popup(s, POPUP_WHY, title);
	s->popup.key = job->key;
	s->popup.waits = true;
}

#define VALUE_COLUMN 18 /* where view_print_record() has values */

/* A line that is broken where it must be; what follows stands below the value. */
static void print_hung(const char *line, FILE *out, unsigned cols)
{
	unsigned indent = 0;

	while (*line) {
		unsigned room = cols > indent + 8 ? cols - indent : 8;
		size_t n = table_fit(line, room);

		fprintf(out, "%*s%.*s\n", (int)indent, "", (int)n, line);
		line += n;
		indent = cols > 2 * VALUE_COLUMN ? VALUE_COLUMN : 0;
	}
}

/* A record whose values go on below themselves. */
static void print_record(const Gpusched__Job *job, FILE *out, unsigned cols)
{
	char *text = NULL;
	size_t len;
	FILE *record = open_memstream(&text, &len);

	if (!record)
		return;
	view_print_record(&job_kind, job, record);
	fclose(record);
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		print_hung(line, out, cols);
	free(text);
}

/* What gqueue --why prints, and below it all that gqueue has columns for. */
static char *why_text(struct state *s, unsigned cols)
{
	char *text = NULL;
	size_t len;
	FILE *out;

	if (s->popup.waits)
		return xstrdup("asking the controller ...");
	if (!s->model.why.n)
		return xstrdup(s->model.why_text ? s->model.why_text : "nothing is known of it");
	out = open_memstream(&text, &len);
	if (!out)
		return xstrdup("out of memory");
	for (size_t i = 0; i < s->model.why.n; i++) {
		const Gpusched__WhyResult *why = (const Gpusched__WhyResult *)s->model.why.v[i];

		if (!why->job)
			continue;
		why_print(why, out, cols);
		fputs("\n", out);
		print_record(why->job, out, cols);
		if (i + 1 < s->model.why.n)
			fputs("\n", out);
	}
	fclose(out);
	return text;
}

/* --- the order -------------------------------------------------------------------------------- */

void popup_sort(struct state *s)
{
	state_popup(s, POPUP_SORT, "Order by (the present one again: the other way round)");
	s->popup.pick.index = s->jobs[s->at].order;
	s->popup.pick.follows = true;
}

static void draw_sort(struct state *s, struct grid *g, struct area a)
{
	const struct job_list *jobs = &s->jobs[s->at];
	struct cursor *pick = &s->popup.pick;

	cursor_fit(pick, n_row_orders, a.rows);
	for (size_t i = 0; i < a.rows && pick->top + i < n_row_orders; i++) {
		size_t at = pick->top + i;
		unsigned row = a.row + (unsigned)i;

		grid_textf(g, row, a.col, a.cols, LOOK_PLAIN, "%s %s%s",
		        at == jobs->order ? "*" : " ", row_orders[at].name,
		        at == jobs->order && jobs->turned ? " (turned round)" : "");
		if (at == pick->index)
			grid_mark(g, row, a.col, a.cols);
	}
}

/* --- help ------------------------------------------------------------------------------------- */

void popup_help(struct state *s, const struct popup_help_row *rows, size_t n)
{
	struct strbuf b = { 0 };

	for (size_t i = 0; i < n; i++) {
		if (rows[i].key)
			strbuf_addf(&b, "  %-14s %s\n", rows[i].key, rows[i].text);
		else
			strbuf_addf(&b, "%s%s\n", i ? "\n" : "", rows[i].text);
	}
	strbuf_adds(&b, "\nLetters of the map\n");
	for (size_t i = 0; i < MARKS; i++)
		strbuf_addf(&b, "  %-14c %s\n", gpu_marks[i].letter, gpu_marks[i].word);
	strbuf_addf(&b,
	        "Busy and idle are held: idle with compute use below %d%%. Of held its use is\n"
	        "not known. Missing is in trouble too; lost: nothing is heard of its node.\n",
	        MAP_IDLE_PCT);
	state_popup(s, POPUP_HELP, "Keys");
	state_popup_lines(s, strbuf_take(&b));
}

/* --- drawing ---------------------------------------------------------------------------------- */

static void draw_lines(struct state *s, struct grid *g, struct area a)
{
	struct popup *p = &s->popup;
	size_t most = p->n > a.rows ? p->n - a.rows : 0;

	if (p->top > most)
		p->top = most;
	for (size_t i = 0; i < a.rows && p->top + i < p->n; i++)
		grid_text(g, a.row + (unsigned)i, a.col, a.cols, LOOK_PLAIN, p->lines[p->top + i]);
	if (p->top < most)
		grid_right(g, a.row - 1, a.col, a.cols, LOOK_HEADING, "more below ");
	else if (most)
		grid_right(g, a.row - 1, a.col, a.cols, LOOK_HEADING, "end ");
}

void popup_draw(struct state *s, struct grid *g, struct area a)
{
	struct popup *p = &s->popup;

	if (!a.rows)
		return;
	grid_text(g, a.row, a.col, a.cols, LOOK_HEADING, p->title);
	grid_look(g, a.row, a.col, a.cols, LOOK_HEADING);
	a.row++;
	a.rows--;
	if (p->kind == POPUP_SORT) {
		draw_sort(s, g, a);
		return;
	}
	if (p->kind == POPUP_WHY && p->cols != a.cols) {
		state_popup_lines(s, why_text(s, a.cols));
		p->cols = a.cols;
	}
	draw_lines(s, g, a);
}
