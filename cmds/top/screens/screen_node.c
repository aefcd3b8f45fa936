/* screen_node.c - see screen_node.h */
#include "cmds/top/screens/screen_node.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmds/top/model/gpu_map.h"
#include "cmds/views/views.h"
#include "common/base/strbuf.h"
#include "common/base/units.h"

#define WORDS_ROWS 3 /* above the table */
#define WORDS_MIN  8 /* rows of an area that has room for all of them */

/* The letter that the map has for it. */
SHOW(letter)
{
	const struct gpu_line *line = object;

	view_printf(cell, "%c", gpu_marks[map_gpu(line->node, line->gpu)].letter);
}

static const struct view_column columns[] = {
	COLUMN(" ", 1, 0, TABLE_WHOLE, "its letter on the map", letter),
};

static const struct view_kind letter_kind = {
	VIEW_COLUMNS(columns),
	.standard = " ",
};

static const char shown[] = " ,GPU,TYPE,STATE,UTIL,MEM,POWER,TEMP,JOBS,REASON";
static const struct list_kind kinds = { { &letter_kind, &gpu_kind } };

/* --- the node --------------------------------------------------------------------------------- */

static const Gpusched__Node *present_node(const struct state *s)
{
	const Gpusched__Node *node = model_node_named(&s->model, s->node);

	return node || !s->model.nodes.n ? node : model_node(&s->model, 0);
}

void screen_node_sideways(struct state *s, int by)
{
	const Gpusched__Node *node = present_node(s);
	size_t i = 0, n = s->model.nodes.n;

	if (!node)
		return;
	while (i < n && model_node(&s->model, i) != node)
		i++;
	i = (i + n + (by < 0 ? n - 1 : 1)) % n;
	snprintf(s->node, sizeof(s->node), "%s", model_node(&s->model, i)->name);
	s->lists[SCREEN_NODE].cursor = (struct cursor){ 0 };
}

static void add_names(struct strbuf *b, const char *before, char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		strbuf_addf(b, "%s%s", i ? "," : before, names[i]);
}

static void put_line(struct grid *g, struct area a, enum look look, struct strbuf *b)
{
	char *text = strbuf_take(b);

	grid_text(g, a.row, a.col, a.cols, look, text);
	free(text);
}

/* As many lines as there is room for. Returns how many. */
static unsigned put_words(struct grid *g, struct area a, const Gpusched__Node *n)
{
	char left[UNITS_TEXT], all[UNITS_TEXT];
	struct strbuf b = { 0 };
	unsigned rows = a.rows < WORDS_MIN ? 1 : WORDS_ROWS;

	strbuf_addf(&b, "%s %s: %" PRIu32 " of %" PRIu32 " CPUs free, %s of %s memory free",
	        n->name, n->state, n->cpus_free, n->cpus, size_format_left(left, n->mem_free_mb),
	        size_format_mb(all, n->mem_mb));
	put_line(g, a, map_node_works(n) ? LOOK_STRONG : LOOK_WARN, &b);
	if (rows == 1)
		return rows;
	a.row++;
	add_names(&b, "partitions ", n->partitions, n->n_partitions);
	add_names(&b, "; features ", n->features, n->n_features);
	if (*n->leaf_switch)
		strbuf_addf(&b, "; switch %s", n->leaf_switch);
	if (*n->agent_version)
		strbuf_addf(&b, "; agent %s", n->agent_version);
	put_line(g, a, LOOK_PLAIN, &b);
	a.row++;
	strbuf_addf(&b, "%s%s%s", n->reason, *n->reason && *n->gpu_note ? "; " : "", n->gpu_note);
	put_line(g, a, LOOK_WARN, &b);
	return rows;
}

static bool row(size_t i, const void *objects[LIST_OBJECTS], void *arg)
{
	struct gpu_line *line = arg;

	line->gpu = line->node->devices[i];
	objects[0] = objects[1] = line;
	return true;
}

void screen_node_draw(struct state *s, struct grid *g, struct area a)
{
	struct list_state *list = &s->lists[SCREEN_NODE];
	const Gpusched__Node *node = present_node(s);
	struct gpu_line line = { .node = node };
	struct list_source source = { node ? node->n_devices : 0, row, NULL, &line };
	unsigned words;

	list_view_use(&list->view, &kinds, shown);
	if (!node) {
		grid_text(g, a.row, a.col, a.cols, LOOK_DIM, "no node is known yet");
		return;
	}
	words = put_words(g, a, node);
	a.row += words;
	a.rows -= words;
	list->n = source.n;
	list->page = a.rows > 1 ? a.rows - 1 : 1;
	list_draw(&list->view, g, a, &source, &list->cursor);
	if (!source.n && a.rows > 1)
		grid_text(g, a.row + 1, a.col, a.cols, LOOK_DIM, "it has no GPUs");
}

struct job_key screen_node_job(const struct state *s)
{
	const Gpusched__Node *node = present_node(s);
	size_t at = s->lists[SCREEN_NODE].cursor.index;
	const Gpusched__NodeGpu *g = node && at < node->n_devices ? node->devices[at] : NULL;
	const struct top_job *job = g && g->n_runs ? model_run_job(&s->model, g->runs[0]) : NULL;

	return job ? job->key : (struct job_key){ 0 };
}
