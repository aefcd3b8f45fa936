/* gpuview.c - the columns of listings of GPUs
 *
 * To add one: a show function, a row, a line in man/ginfo.1.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cmds/views.h"
#include "common/units.h"

#define SHOW(name) static void show_##name(const void *object, struct view_cell *cell)
#define GPU                                   \
	const struct gpu_line *line = object; \
	const Gpusched__NodeGpu *g = line->gpu

static const struct {
	const char *state;
	enum table_colour colour;
} colours[] = {
	{ "free", TABLE_GOOD },
	{ "whole", TABLE_GOOD },
	{ "shared", TABLE_GOOD },
	{ "draining", TABLE_WARN },
	{ "drained", TABLE_WARN },
	{ "missing", TABLE_BAD },
	{ "trouble", TABLE_BAD },
};

SHOW(gpu)
{
	GPU;
	view_printf(cell, "%s:%" PRIu32, line->node->name, g->index);
}

SHOW(type)
{
	GPU;
	view_text(cell, g->type);
}

SHOW(state)
{
	GPU;

	view_text(cell, g->state);
	for (size_t i = 0; i < sizeof(colours) / sizeof(colours[0]); i++)
		if (!strcmp(g->state, colours[i].state))
			cell->colour = colours[i].colour;
}

SHOW(util)
{
	GPU;

	if (g->use_known)
		view_printf(cell, "%" PRIu32 "%%", g->util_pct);
	else
		view_text(cell, "-");
}

SHOW(mem)
{
	GPU;
	char used[UNITS_TEXT], all[UNITS_TEXT];

	if (!g->use_known)
		view_text(cell, "-");
	else
		view_printf(cell, "%s%s%s", size_format_mb(used, g->mem_used_mb),
		        g->mem_mb ? "/" : "", g->mem_mb ? size_format_mb(all, g->mem_mb) : "");
}

SHOW(jobs)
{
	GPU;
	size_t used = 0;

	cell->text = g->n_runs ? cell->buf : "-";
	for (size_t i = 0; i < g->n_runs && used < sizeof(cell->buf); i++) {
		used += (size_t)snprintf(cell->buf + used, sizeof(cell->buf) - used, "%s%" PRIu64,
		        i ? "," : "", g->runs[i]->job);
		if (g->runs[i]->task && used < sizeof(cell->buf))
			used += (size_t)snprintf(cell->buf + used, sizeof(cell->buf) - used,
			        "_%" PRIu32, g->runs[i]->task);
	}
}

SHOW(reason)
{
	GPU;
	view_text(cell, g->reason);
}

SHOW(by)
{
	GPU;
	view_text(cell, *g->reason_by ? g->reason_by : "-");
}

SHOW(since)
{
	GPU;
	view_time(cell, g->since);
}

SHOW(recheck)
{
	GPU;
	view_time(cell, g->recheck);
}

SHOW(card)
{
	GPU;

	if (g->card)
		view_printf(cell, "%" PRIu32, g->card - 1);
	else
		view_text(cell, "-");
}

SHOW(uuid)
{
	GPU;
	view_text(cell, *g->uuid ? g->uuid : "-");
}

static const struct view_column columns[] = {
	{ "GPU", { "GPU", 10, 4, 0 }, "node and index", show_gpu },
	{ "TYPE", { "TYPE", 8, 4, 0 }, "its type", show_type },
	{ "STATE", { "STATE", 8, 4, 0 }, "free, whole, shared, draining, drained, missing, trouble",
	        show_state },
	{ "UTIL", { "UTIL", 4, 0, TABLE_RIGHT | TABLE_WHOLE }, "compute use of its job now",
	        show_util },
	{ "MEM", { "MEM", 8, 0, TABLE_RIGHT | TABLE_WHOLE }, "memory that its job uses, of all",
	        show_mem },
	{ "JOBS", { "JOBS", 10, 6, 0 }, "jobs that have it", show_jobs },
	{ "REASON", { "REASON", 0, 6, 0 }, "why it is not given to jobs", show_reason },
	{ "BY", { "BY", 10, 4, 0 }, "who drained it", show_by },
	{ "SINCE", { "SINCE", 19, 0, TABLE_WHOLE }, "when it was drained", show_since },
	{ "RECHECK", { "RECHECK", 19, 0, TABLE_WHOLE },
	        "when it is looked at whether one that a fault has drained is well", show_recheck },
	{ "UUID", { "UUID", 40, 8, 0 }, "its UUID", show_uuid },
	{ "CARD", { "CARD", 4, 0, TABLE_RIGHT | TABLE_WHOLE },
	        "which GPU of the host it is, or is an instance of", show_card },
};

const struct view_kind gpu_kind = {
	.columns = columns,
	.n = sizeof(columns) / sizeof(columns[0]),
	.standard = "GPU,TYPE,STATE,UTIL,MEM,JOBS,REASON",
	.longer = "GPU,TYPE,CARD,STATE,UTIL,MEM,JOBS,UUID,BY,SINCE,RECHECK,REASON",
};
