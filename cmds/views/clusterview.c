/* clusterview.c - the columns of listings of nodes and partitions
 *
 * To add one: a show function, a row, a line in man/ginfo.1.
 */
#include "cmds/views/views.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/units.h"

static int print_name(char *buf, size_t size, size_t i, const void *names)
{
	return snprintf(buf, size, "%s", ((char *const *)names)[i]);
}

/* --- GPUs that jobs share -------------------------------------------------------------------- */

/* What has been given may be more than there is: a configuration may take some away. */
static uint64_t mem_left(const Gpusched__GpuShared *s)
{
	return s->mem_mb > s->granted_mem_mb ? s->mem_mb - s->granted_mem_mb : 0;
}

static uint32_t milli_left(const Gpusched__GpuShared *s)
{
	return s->gpus * 1000 > s->granted_milli ? s->gpus * 1000 - s->granted_milli : 0;
}

static char *milli_format(char buf[UNITS_TEXT], uint32_t milli)
{
	if (milli)
		return share_format(buf, 0, milli);
	snprintf(buf, UNITS_TEXT, "0%%");
	return buf;
}

/* In memory, or where none is known in compute: what is left, and all. */
static char *left_format(char buf[UNITS_TEXT], const Gpusched__GpuShared *s)
{
	return s->mem_mb ? size_format_left(buf, mem_left(s)) : milli_format(buf, milli_left(s));
}

static char *all_format(char buf[UNITS_TEXT], const Gpusched__GpuShared *s)
{
	return s->mem_mb ? size_format_mb(buf, s->mem_mb) : milli_format(buf, s->gpus * 1000);
}

/* "3: 140G of 240G, 150% of 300%", without memory where none is known. */
static void say_shared(char *text, size_t size, const Gpusched__GpuShared *s)
{
	char part[UNITS_TEXT], all[UNITS_TEXT], mem[2 * UNITS_TEXT + 8] = "";

	if (s->mem_mb)
		snprintf(mem, sizeof(mem), "%s of %s, ", size_format_mb(part, s->granted_mem_mb),
		        size_format_mb(all, s->mem_mb));
	snprintf(text, size, "%" PRIu32 ": %s%s of %s", s->gpus, mem,
	        milli_format(part, s->granted_milli), milli_format(all, s->gpus * 1000));
}

/* --- nodes ---------------------------------------------------------------------------------- */

#define NODE const Gpusched__Node *n = object
#define NODE_FIELD(name, width, min, flags, help, how, member) \
	VIEW_FIELD(name, width, min, flags, help, how, NULL, Gpusched__Node, member)

static const struct view_colour node_colours[] = {
	{ "idle", TABLE_GOOD },
	{ "mixed", TABLE_GOOD },
	{ "allocated", TABLE_GOOD },
	{ "draining", TABLE_WARN },
	{ "drained", TABLE_WARN },
	{ "unknown", TABLE_BAD },
	{ "down", TABLE_BAD },
	{ "invalid", TABLE_BAD },
};

CELL(node_state, NODE, view_state(cell, n->state, VIEW_COLOURS(node_colours)))

SHOW(free_cpus)
{
	NODE;
	view_printf(cell, "%" PRIu32 " of %" PRIu32, n->cpus_free, n->cpus);
	cell->is_number = true;
	cell->number = n->cpus_free;
}

SHOW(free_mem)
{
	NODE;
	char part[UNITS_TEXT], all[UNITS_TEXT];

	view_printf(cell, "%s of %s", size_format_left(part, n->mem_free_mb),
	        size_format_mb(all, n->mem_mb));
	cell->is_number = true;
	cell->number = (int64_t)n->mem_free_mb;
}

SHOW(free_gpus)
{
	NODE;

	view_text(cell, "-");
	for (size_t i = 0; i < n->n_gpus; i++) {
		const Gpusched__GpuUse *g = n->gpus[i];
		char left[UNITS_TEXT], all[UNITS_TEXT];

		view_item(cell, ", ", "%" PRIu32 " of %" PRIu32 " %s", g->free, g->total, g->type);
		if (g->shared)
			view_item(cell, " + ", "%s of %s", left_format(left, g->shared),
			        all_format(all, g->shared));
	}
}

SHOW(node_shared)
{
	NODE;
	char said[160];

	view_text(cell, "-");
	for (size_t i = 0; i < n->n_gpus; i++) {
		if (!n->gpus[i]->shared)
			continue;
		say_shared(said, sizeof(said), n->gpus[i]->shared);
		view_item(cell, "; ", "%s %s", n->gpus[i]->type, said);
	}
}

static int print_gpus(char *buf, size_t size, size_t i, const void *gpus)
{
	const Gpusched__GpuUse *use = ((Gpusched__GpuUse *const *)gpus)[i];

	return snprintf(buf, size, "%s:%" PRIu32, use->type, use->total);
}

CELL(node_gpus, NODE, view_list(cell, n->n_gpus, n->gpus, print_gpus))

CELL(node_runs, NODE, view_number(cell, (int64_t)(n->n_runs + n->others_runs)))

SHOW(node_jobs)
{
	NODE;

	view_text(cell, "-");
	for (size_t i = 0; i < n->n_runs; i++)
		view_item(cell, ",", "%" PRIu64, n->runs[i]->job);
	if (n->others_runs)
		view_item(cell, ",", "%" PRIu32 " of others", n->others_runs);
}

CELL(node_partitions, NODE, view_list(cell, n->n_partitions, n->partitions, print_name))
CELL(node_features, NODE, view_list(cell, n->n_features, n->features, print_name))

static const struct view_column node_columns[] = {
	NODE_FIELD("NODE", 10, 4, 0, "name", TEXT, name),
	COLUMN("STATE", 9, 4, 0,
	        "idle, mixed, allocated, draining, drained, unknown, down", node_state),
	COLUMN("FREE-CPUS", 10, 0, NUM, "CPUs free, of all", free_cpus),
	COLUMN("FREE-MEM", 12, 0, NUM, "memory free, of all", free_mem),
	COLUMN("FREE-GPUS", 16, 9, 0,
	        "GPUs free, of all, by type; + what is left of those that jobs share", free_gpus),
	NODE_FIELD("REASON", 0, 6, 0, "why it is drained or down, by which user and since when",
	        TEXT, reason),
	NODE_FIELD("CPUS", 4, 0, NUM, "CPUs", NUMBER, cpus),
	NODE_FIELD("MEM", 5, 0, NUM, "memory", SIZE_MB, mem_mb),
	COLUMN("GPUS", 10, 4, 0, "GPUs by type", node_gpus),
	COLUMN("SHARED", 12, 6, 0,
	        "GPUs that jobs share: memory and compute that they have of it, of "
	        "all", node_shared),
	COLUMN("RUNS", 4, 0, NUM, "jobs that it runs", node_runs),
	COLUMN("JOBS", 16, 6, 0, "their ids", node_jobs),
	COLUMN("PARTITIONS", 16, 6, 0, "partitions that it is in", node_partitions),
	COLUMN("FEATURES", 12, 6, 0, "features, for --constraint", node_features),
	NODE_FIELD("SWITCH", 8, 4, 0, "leaf switch that it is on", TEXT_OR_DASH, leaf_switch),
	NODE_FIELD("HEARD", 19, 0, TABLE_WHOLE, "last contact", TIME, last_heard),
	NODE_FIELD("VERSION", 8, 4, 0, "its agent's version", TEXT, agent_version),
	NODE_FIELD("CONTAINMENT", 12, 4, 0, "how jobs are confined", TEXT, containment),
	NODE_FIELD("GPU-NOTE", 24, 8, 0, "how its GPUs differ from the configuration",
	        TEXT_OR_DASH, gpu_note),
};

/* sinfo's -o, of nodes. */
static const struct slurm_name node_slurm[] = {
	{ "N", "NODE" }, { "n", "NODE" }, { "t", "STATE" }, { "T", "STATE" }, { "c", "CPUS" },
	{ "C", "FREE-CPUS" }, { "m", "MEM" }, { "e", "FREE-MEM" }, { "G", "GPUS" },
	{ "f", "FEATURES" }, { "E", "REASON" }, { "P", "PARTITIONS" }, { "R", "PARTITIONS" },
	{ "v", "VERSION" }, { NULL, NULL },
};

const struct view_kind node_kind = {
	VIEW_COLUMNS(node_columns),
	.standard = "NODE,STATE,FREE-CPUS,FREE-MEM,FREE-GPUS,REASON",
	.longer = "NODE,STATE,FREE-CPUS,FREE-MEM,FREE-GPUS,RUNS,PARTITIONS,FEATURES,SWITCH,HEARD,"
	          "VERSION,REASON",
	.slurm = node_slurm,
};

/* --- partitions ----------------------------------------------------------------------------- */

#define LINE                                        \
	const struct partition_line *line = object; \
	const Gpusched__Partition *p = line->partition

/* Columns about the whole partition stand in its first line only. */
#define FIRST_LINE      \
	LINE;           \
	if (line->line) \
	return

static const void *first_line(const void *object)
{
	LINE;

	return line->line ? NULL : p;
}

#define PARTITION(name, width, min, flags, help, how, member) \
	VIEW_FIELD(name, width, min, flags, help, how, first_line, Gpusched__Partition, member)

/* g: NULL where the partition has none; s: NULL unless the line is of those that jobs share */
#define GPU_LINE                             \
	LINE;                                \
	const Gpusched__GpuShared *s = NULL; \
	const Gpusched__GpuUse *g = use_of(p, line->line, &s)

static const Gpusched__GpuUse *use_of(
        const Gpusched__Partition *p, size_t line, const Gpusched__GpuShared **shared)
{
	for (size_t i = 0; i < p->n_gpus; i++) {
		if (line-- == 0)
			return p->gpus[i];
		if (!p->gpus[i]->shared || line-- > 0)
			continue;
		*shared = p->gpus[i]->shared;
		return p->gpus[i];
	}
	return NULL;
}

size_t partition_lines(const Gpusched__Partition *partition)
{
	size_t n = partition->n_gpus;

	for (size_t i = 0; i < partition->n_gpus; i++)
		n += partition->gpus[i]->shared != NULL;
	return n ? n : 1;
}

CELL(part_name, FIRST_LINE, view_printf(cell, "%s%s", p->name, p->is_default ? "*" : ""))

SHOW(part_state)
{
	FIRST_LINE;
	view_text(cell, p->state);
	cell->colour = strcmp(p->state, "up") ? TABLE_WARN : TABLE_GOOD;
}

CELL(part_limit, FIRST_LINE,
        view_duration(cell, p->max_time_s ? p->max_time_s : DURATION_FOREVER))
CELL(part_default_time, FIRST_LINE,
        view_duration(cell, p->default_time_s ? p->default_time_s : DURATION_FOREVER))
CELL(part_accounts, FIRST_LINE, view_list(cell, p->n_accounts, p->accounts, print_name))

SHOW(gpu_type)
{
	GPU_LINE;
	if (s)
		view_printf(cell, "shared %" PRIu32, s->gpus);
	else
		view_text(cell, g ? g->type : "-");
}

/* Not a number of GPUs: last of all in their order. */
static void view_left(struct view_cell *cell, const char *text)
{
	view_printf(cell, "%s", text);
	cell->is_number = true;
}

SHOW(gpu_free)
{
	GPU_LINE;
	char left[UNITS_TEXT];

	if (s)
		view_left(cell, left_format(left, s));
	else if (g)
		view_number(cell, g->free);
}

SHOW(gpu_total)
{
	GPU_LINE;
	char all[UNITS_TEXT];

	if (s)
		view_left(cell, all_format(all, s));
	else if (g)
		view_number(cell, g->total);
}

SHOW(part_shared)
{
	GPU_LINE;

	if (s || !g)
		return;
	if (g->shared)
		say_shared(cell->buf, sizeof(cell->buf), g->shared);
	cell->text = g->shared ? cell->buf : "-";
}

SHOW(gpu_largest)
{
	GPU_LINE;
	char left[UNITS_TEXT];

	if (!g)
		return;
	if (s) {
		size_format_left(left, s->largest_mem_mb);
		view_printf(cell, "%s%s%s", left, *s->largest_node ? " on " : "", s->largest_node);
		cell->is_number = true;
		return;
	}
	if (g->largest_node[0])
		view_printf(cell, "%" PRIu32 " on %s", g->largest, g->largest_node);
	else
		view_number(cell, g->largest);
	cell->is_number = true;
	cell->number = g->largest;
}

static const struct view_column part_columns[] = {
	COLUMN("PARTITION", 9, 5, 0, "name; * marks the default one", part_name),
	COLUMN("STATE", 5, 0, 0, "up, drain, down, inactive", part_state),
	COLUMN("TIMELIMIT", 10, 0, TABLE_WHOLE, "longest time limit", part_limit),
	PARTITION("NODES", 5, 0, NUM, "nodes", NUMBER, nodes_total),
	PARTITION("OK", 2, 0, NUM, "nodes that take work", NUMBER, nodes_ok),
	PARTITION("DRAIN", 5, 0, NUM, "nodes draining or drained", NUMBER, nodes_drain),
	PARTITION("DOWN", 4, 0, NUM, "nodes down or unreachable", NUMBER, nodes_down),
	COLUMN("GPUS", 8, 4, 0, "type of GPU, a line each; those of it that jobs share", gpu_type),
	COLUMN("FREE", 4, 0, NUM,
	        "GPUs free on nodes that take work; memory of shared ones", gpu_free),
	COLUMN("TOTAL", 5, 0, NUM, "GPUs; memory of shared ones", gpu_total),
	COLUMN("LARGEST", 0, 7, 0, "the most that one job can get on one node now", gpu_largest),
	COLUMN("SHARED", 12, 6, 0,
	        "GPUs that jobs share: memory and compute that they have of it, of "
	        "all", part_shared),
	COLUMN("DEFAULTTIME", 11, 0, TABLE_WHOLE,
	        "time limit of jobs that name none", part_default_time),
	PARTITION("TIER", 4, 0, NUM, "higher is served first", NUMBER, tier),
	PARTITION("PRIORITY", 8, 0, NUM, "counts as its part of the largest partition priority",
	        NUMBER, priority),
	PARTITION("PREEMPT", 7, 0, TABLE_WHOLE,
	        "what preemption does to its jobs: off, requeue, cancel", TEXT, preempt_mode),
	PARTITION("MINRUN", 8, 0, TABLE_WHOLE, "for how long they are protected from it",
	        DURATION, min_run_s),
	PARTITION("PLACE", 6, 0, TABLE_WHOLE, "how jobs are placed: pack, spread", TEXT, place),
	PARTITION("PLANDEPTH", 9, 0, NUM, "how many blocked classes get a planned start",
	        NUMBER, plan_depth),
	COLUMN("ACCOUNTS", 12, 6, 0, "accounts that may use it; -: all", part_accounts),
	PARTITION("PENDING", 7, 0, NUM, "jobs that wait", NUMBER, jobs_pending),
	PARTITION("RUNNING", 7, 0, NUM, "jobs that run", NUMBER, jobs_running),
	PARTITION("NODELIST", 0, 8, 0, "nodes by name", TEXT, nodes),
};

/* sinfo's -o, of partitions. */
static const struct slurm_name part_slurm[] = {
	{ "P", "PARTITION" }, { "R", "PARTITION" }, { "a", "STATE" }, { "l", "TIMELIMIT" },
	{ "L", "DEFAULTTIME" }, { "D", "NODES" }, { "G", "GPUS" }, { "N", "NODELIST" },
	{ "p", "TIER" }, { "M", "PREEMPT" }, { NULL, NULL },
};

const struct view_kind partition_kind = {
	VIEW_COLUMNS(part_columns),
	.standard = "PARTITION,STATE,TIMELIMIT,NODES,OK,DRAIN,DOWN,GPUS,FREE,TOTAL,LARGEST",
	.longer = "PARTITION,STATE,TIER,DEFAULTTIME,TIMELIMIT,NODES,OK,DRAIN,DOWN,PENDING,RUNNING,"
	          "GPUS,FREE,TOTAL,LARGEST",
	.slurm = part_slurm,
};
