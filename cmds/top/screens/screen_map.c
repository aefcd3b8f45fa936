/* screen_map.c - see screen_map.h */
#include "cmds/top/screens/screen_map.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmds/cli/table.h"
#include "cmds/top/model/gpu_map.h"
#include "common/base/strbuf.h"
#include "common/base/text.h"
#include "common/base/xalloc.h"

#define NAME_MAX_COLS 24
#define GAP           2  /* between nodes */
#define FOLD_STEP     10 /* nodes in a line of the folded map: a multiple of it */
#define DETAIL_MIN    5  /* rows of an area that has room for the two lines below */

/* --- which nodes ------------------------------------------------------------------------------ */

static bool has_partition(const Gpusched__Node *node, const char *name)
{
	return text_among(name, (const char *const *)node->partitions, node->n_partitions);
}

static bool is_shown(const struct state *s, const Gpusched__Node *node)
{
	const struct row_filter *f = &s->filter;

	return (!*f->partition || has_partition(node, f->partition)) &&
	       (!*f->text || strcasestr(node->name, f->text) || strcasestr(node->state, f->text) ||
	               strcasestr(node->reason, f->text));
}

struct nodes {
	const Gpusched__Node **v;
	size_t n;
	unsigned name, gpus; /* columns of the longest name; the most GPUs of one */
};

static struct nodes find_nodes(const struct state *s)
{
	struct nodes nodes = { xcalloc(s->model.nodes.n + 1, sizeof(*nodes.v)), 0, 4, 1 };

	for (size_t i = 0; i < s->model.nodes.n; i++) {
		const Gpusched__Node *node = model_node(&s->model, i);
		unsigned width;

		if (!is_shown(s, node))
			continue;
		width = table_text_width(node->name);
		nodes.v[nodes.n++] = node;
		nodes.name = width > nodes.name ? width : nodes.name;
		if (node->n_devices > nodes.gpus)
			nodes.gpus = (unsigned)node->n_devices;
	}
	if (nodes.name > NAME_MAX_COLS)
		nodes.name = NAME_MAX_COLS;
	return nodes;
}

/* --- layout ----------------------------------------------------------------------------------- */

struct layout {
	unsigned name, cell; /* columns of a name, of what belongs to it */
	size_t across;       /* nodes in a line */
	size_t lines;        /* of all of it */
	bool folded;         /* a letter a node */
};

static struct layout lay_out(const struct nodes *nodes, unsigned cols, bool folded)
{
	struct layout l = { .name = nodes->name, .folded = folded };
	unsigned left;

	if (l.name > cols / 2)
		l.name = cols / 2;
	left = cols > l.name + 1 ? cols - l.name - 1 : 1;
	if (folded) {
		l.cell = 1;
		l.across = left > FOLD_STEP ? left / FOLD_STEP * FOLD_STEP : left;
	} else {
		l.cell = nodes->gpus < left ? nodes->gpus : left;
		l.across = (cols + GAP) / (l.name + 1 + l.cell + GAP);
	}
	l.across = l.across ? l.across : 1;
	l.lines = (nodes->n + l.across - 1) / l.across;
	return l;
}

static struct layout choose_layout(
        const struct state *s, const struct nodes *nodes, unsigned cols, size_t height)
{
	struct layout l = lay_out(nodes, cols, s->zoom == ZOOM_NODES);

	return s->zoom == ZOOM_AUTO && l.lines > height ? lay_out(nodes, cols, true) : l;
}

/* --- one node --------------------------------------------------------------------------------- */

/* Does a job that the filter is for have it? */
static bool is_wanted(const struct state *s, const Gpusched__NodeGpu *g)
{
	struct row_filter f = s->filter;

	*f.partition = *f.text = '\0';
	if (row_filter_is_empty(&f))
		return true;
	for (size_t i = 0; i < g->n_runs; i++) {
		const struct top_job *job = model_run_job(&s->model, g->runs[i]);

		if (job && row_fits(job, &f))
			return true;
	}
	return false;
}

static void put_gpus(const struct state *s, struct grid *g, unsigned row, unsigned col,
        unsigned width, const Gpusched__Node *node)
{
	for (size_t i = 0; i < node->n_devices && i < width; i++) {
		const struct gpu_mark_row *mark = &gpu_marks[map_gpu(node, node->devices[i])];
		bool wanted = is_wanted(s, node->devices[i]);
		char text[] = { node->n_devices > width && i + 1 == width ? '+' : mark->letter, 0 };

		grid_text(g, row, col + (unsigned)i, 1, wanted ? mark->look : LOOK_DIM, text);
	}
	if (node->n_devices)
		return;
	if (map_node_silent(node))
		grid_text(g, row, col, width, LOOK_LOST, "?");
	else
		grid_text(g, row, col, width, LOOK_DIM, "-");
}

static void put_node(const struct state *s, struct grid *g, struct area a, const struct layout *l,
        const Gpusched__Node *node, size_t place, bool marked)
{
	unsigned col = a.col + (unsigned)(place * (l->name + 1 + l->cell + GAP));

	if (l->folded) {
		enum look look;
		char text[] = { map_node_letter(node, &look), 0 };

		if (!place)
			grid_text(g, a.row, a.col, l->name, LOOK_PLAIN, node->name);
		col = a.col + l->name + 1 + (unsigned)place;
		grid_text(g, a.row, col, 1, look, text);
		if (marked)
			grid_mark(g, a.row, col, 1);
		return;
	}
	grid_text(
	        g, a.row, col, l->name, map_node_works(node) ? LOOK_PLAIN : LOOK_WARN, node->name);
	put_gpus(s, g, a.row, col + l->name + 1, l->cell, node);
	if (marked)
		grid_mark(g, a.row, col, l->name);
}

/* --- the lines below ------------------------------------------------------------------------- */

static void add_jobs(const struct state *s, struct strbuf *b, const Gpusched__Node *node)
{
	for (size_t i = 0; i < node->n_runs && i < 8; i++) {
		const struct top_job *job = model_run_job(&s->model, node->runs[i]);

		strbuf_addf(b, "%s%" PRIu64, i ? ", " : "; jobs ", node->runs[i]->job);
		if (job)
			strbuf_addf(b, " %s", job->user);
	}
	if (node->n_runs > 8)
		strbuf_addf(b, " and %zu more", node->n_runs - 8);
	if (node->others_runs)
		strbuf_addf(b, "; %" PRIu32 " of others", node->others_runs);
}

static void put_detail(
        const struct state *s, struct grid *g, struct area a, const Gpusched__Node *node)
{
	struct strbuf b = { 0 };
	uint32_t n_free = 0;
	char *text;

	for (size_t i = 0; i < node->n_devices; i++)
		n_free += map_gpu(node, node->devices[i]) == MARK_FREE;
	strbuf_addf(&b, "%s %s: %" PRIu32 " of %zu GPUs free, %" PRIu32 " of %" PRIu32 " CPUs",
	        node->name, node->state, n_free, node->n_devices, node->cpus_free, node->cpus);
	if (*node->reason)
		strbuf_addf(&b, "; %s", node->reason);
	add_jobs(s, &b, node);
	text = strbuf_take(&b);
	grid_text(g, a.row, a.col, a.cols, LOOK_PLAIN, text);
	free(text);
}

static unsigned put_entry(struct grid *g, struct area a, unsigned at, enum look look,
        const char *letter, const char *word)
{
	unsigned width = (unsigned)(strlen(letter) + 1 + strlen(word));

	if (at + width > a.cols)
		return a.cols;
	grid_text(g, a.row, a.col + at, width, look, letter);
	at += (unsigned)strlen(letter) + 1;
	grid_text(g, a.row, a.col + at, a.cols - at, LOOK_DIM, word);
	return at + (unsigned)strlen(word) + GAP;
}

static void put_legend(struct grid *g, struct area a, const struct layout *l)
{
	unsigned at = 0;

	for (size_t i = 0; i < MARKS; i++) {
		char letter[] = { gpu_marks[i].letter, 0 };
		bool all = l->folded && i == MARK_FREE;

		at = put_entry(
		        g, a, at, gpu_marks[i].look, letter, all ? "all" : gpu_marks[i].word);
		if (all)
			at = put_entry(g, a, at, LOOK_FREE, "1-9", gpu_marks[i].word);
	}
}

/* --- all of it -------------------------------------------------------------------------------- */

static void put_lines(struct state *s, struct grid *g, struct area a, const struct nodes *nodes,
        const struct layout *l)
{
	struct list_state *list = &s->lists[SCREEN_MAP];
	struct cursor lines = { list->cursor.index / l->across, list->cursor.top, false };

	cursor_fit(&lines, l->lines, a.rows);
	list->cursor.top = lines.top;
	for (size_t row = 0; row < a.rows; row++) {
		struct area line = { a.row + (unsigned)row, a.col, 1, a.cols };

		for (size_t i = 0; i < l->across; i++) {
			size_t at = (lines.top + row) * l->across + i;

			if (at < nodes->n)
				put_node(s, g, line, l, nodes->v[at], i, at == list->cursor.index);
		}
	}
}

void screen_map_draw(struct state *s, struct grid *g, struct area a)
{
	struct list_state *list = &s->lists[SCREEN_MAP];
	struct nodes nodes = find_nodes(s);
	bool below = a.rows >= DETAIL_MIN;
	struct area lines = { a.row, a.col, a.rows - (below ? 2 : 0), a.cols };
	struct layout l = choose_layout(s, &nodes, a.cols, lines.rows);

	if (list->cursor.index >= nodes.n)
		list->cursor.index = nodes.n ? nodes.n - 1 : 0;
	list->n = nodes.n;
	list->page = lines.rows * l.across;
	s->map_columns = l.across;
	put_lines(s, g, lines, &nodes, &l);
	if (!nodes.n)
		grid_text(g, a.row, a.col, a.cols, LOOK_DIM,
		        s->model.nodes.n ? "no node fits the filter" : "no node is known yet");
	if (below) {
		lines = (struct area){ a.row + a.rows - 2, a.col, 1, a.cols };
		if (nodes.n)
			put_detail(s, g, lines, nodes.v[list->cursor.index]);
		lines.row++;
		put_legend(g, lines, &l);
	}
	free(nodes.v);
}

void screen_map_whole(struct state *s, struct grid *g, unsigned cols)
{
	struct nodes nodes = find_nodes(s);
	struct layout l = lay_out(&nodes, cols, false);
	struct area a = { 0, 0, (unsigned)l.lines, cols };

	grid_resize(g, a.rows + 1, cols);
	put_lines(s, g, a, &nodes, &l);
	a.row = a.rows;
	put_legend(g, a, &l);
	free(nodes.v);
}

void screen_map_sideways(struct state *s, int by)
{
	struct cursor *c = &s->lists[SCREEN_MAP].cursor;

	if (by < 0 ? c->index > 0 : c->index + 1 < s->lists[SCREEN_MAP].n)
		c->index = by < 0 ? c->index - 1 : c->index + 1;
}

void screen_map_enter(struct state *s)
{
	struct nodes nodes = find_nodes(s);
	size_t at = s->lists[SCREEN_MAP].cursor.index;

	if (at < nodes.n) {
		snprintf(s->node, sizeof(s->node), "%s", nodes.v[at]->name);
		s->lists[SCREEN_NODE].cursor = (struct cursor){ 0 };
		s->at = SCREEN_NODE;
	}
	free(nodes.v);
}
