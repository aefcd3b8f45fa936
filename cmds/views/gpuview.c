/* gpuview.c - the columns of listings of GPUs
 *
 * To add one: a show function, a row, a line in man/ginfo.1.
 */
#include <inttypes.h>
#include <stdio.h>

#include "cmds/views/views.h"
#include "common/base/units.h"

#define GPU                                   \
	const struct gpu_line *line = object; \
	const Gpusched__NodeGpu *g = line->gpu

static const void *gpu_of(const void *line)
{
	return ((const struct gpu_line *)line)->gpu;
}

#define FIELD(name, width, min, flags, help, how, member) \
	VIEW_FIELD(name, width, min, flags, help, how, gpu_of, Gpusched__NodeGpu, member)

static const struct view_colour colours[] = {
	{ "free", TABLE_GOOD },
	{ "whole", TABLE_GOOD },
	{ "shared", TABLE_GOOD },
	{ "draining", TABLE_WARN },
	{ "drained", TABLE_WARN },
	{ "missing", TABLE_BAD },
	{ "trouble", TABLE_BAD },
};

CELL(gpu, GPU, view_printf(cell, "%s:%" PRIu32, line->node->name, g->index))
CELL(state, GPU, view_state(cell, g->state, VIEW_COLOURS(colours)))

SHOW(util)
{
	GPU;

	if (g->sample_known && g->sm_known)
		view_printf(cell, "%" PRIu32 "%%", g->sm_pct);
	else if (g->use_known)
		view_printf(cell, "%" PRIu32 "%%", g->util_pct);
	else
		view_text(cell, "-");
}

SHOW(mem)
{
	GPU;
	char used[UNITS_TEXT], all[UNITS_TEXT];
	uint64_t sampled = g->sample_known ? g->fb_used_mb + g->fb_free_mb : 0;

	if (!sampled && !g->use_known)
		view_text(cell, "-");
	else
		view_printf(cell, "%s%s%s",
		        size_format_mb(used, sampled ? g->fb_used_mb : g->mem_used_mb),
		        g->mem_mb ? "/" : "", g->mem_mb ? size_format_mb(all, g->mem_mb) : "");
}

/* Of the last sample: "-" where there is none, or its driver does not say it. */
static void view_sampled(struct view_cell *cell, const Gpusched__NodeGpu *g, uint64_t value)
{
	view_number_or_dash(cell, g->sample_known ? (int64_t)value : 0);
}

CELL(power, GPU, view_sampled(cell, g, (g->power_mw + 500) / 1000))
CELL(temp, GPU, view_sampled(cell, g, g->temp_c))
CELL(clock, GPU, view_sampled(cell, g, g->sm_clock_mhz))
CELL(mem_clock, GPU, view_sampled(cell, g, g->mem_clock_mhz))
CELL(xid, GPU, view_sampled(cell, g, g->last_xid))
CELL(xid_time, GPU, view_time(cell, g->sample_known ? g->last_xid_time : 0))
CELL(energy, GPU,
        view_real_if(cell, g->sample_known && g->energy_mj, (double)g->energy_mj / 3.6e9, 3))
CELL(age, GPU, view_duration_if(cell, g->sample_known, g->sample_age_s))

/* "4812_7 20G,25% to 30G" */
static void say_part(
        char *text, size_t size, const Gpusched__RunId *run, const Gpusched__GpuPart *part)
{
	char share[UNITS_TEXT] = "", most[UNITS_TEXT] = "", task[16] = "";

	if (run->task)
		snprintf(task, sizeof(task), "_%" PRIu32, run->task);
	if (part)
		share_format(share, part->mem_mb, part->milli);
	if (part && part->burst_mb)
		size_format_mb(most, part->burst_mb);
	snprintf(text, size, "%" PRIu64 "%s%s%s%s%s", run->job, task, *share ? " " : "", share,
	        *most ? " to " : "", most);
}

/* "4402" has all of it; "4812 20G; 4813 10G,25%": parts */
SHOW(jobs)
{
	GPU;
	char said[100];
	size_t n = g->n_parts ? g->n_parts : g->n_runs;

	view_text(cell, "-");
	for (size_t i = 0; i < n; i++) {
		if (g->n_parts)
			say_part(said, sizeof(said), g->parts[i]->run, g->parts[i]);
		else
			say_part(said, sizeof(said), g->runs[i], NULL);
		view_item(cell, "; ", "%s", said);
	}
	if (g->others_runs)
		view_item(cell, "; ", "%" PRIu32 " of others", g->others_runs);
}

SHOW(card)
{
	GPU;

	if (g->card)
		view_printf(cell, "%" PRIu32, g->card - 1);
	else
		view_text(cell, "-");
}

static const struct view_column columns[] = {
	COLUMN("GPU", 10, 4, 0, "node and index", gpu),
	FIELD("TYPE", 8, 4, 0, "its type", TEXT, type),
	COLUMN("STATE", 8, 4, 0, "free, whole, shared, draining, drained, missing, trouble", state),
	COLUMN("UTIL", 4, 0, TABLE_RIGHT | TABLE_WHOLE, "compute use now, of its job or of none",
	        util),
	COLUMN("MEM", 8, 0, TABLE_RIGHT | TABLE_WHOLE, "memory in use, of all", mem),
	COLUMN("POWER", 5, 0, NUM, "power now, in W; -: not known, as are those that follow",
	        power),
	COLUMN("TEMP", 4, 0, NUM, "temperature, in C", temp),
	COLUMN("CLOCK", 5, 0, NUM, "clock of its multiprocessors, in MHz", clock),
	COLUMN("MEMCLOCK", 8, 0, NUM, "clock of its memory, in MHz", mem_clock),
	COLUMN("ENERGY", 7, 0, NUM, "energy since its driver was loaded, in kWh", energy),
	COLUMN("XID", 4, 0, NUM, "the last Xid that its node heard of", xid),
	COLUMN("XIDTIME", 19, 0, TABLE_WHOLE, "when that was", xid_time),
	COLUMN("AGE", 7, 0, NUM, "for how long the last sample has been known", age),
	COLUMN("JOBS", 10, 6, TABLE_DEAR, "jobs on it; of a shared GPU also the part of each",
	        jobs),
	FIELD("REASON", 0, 6, TABLE_DEAR, "why it gets no jobs", TEXT, reason),
	FIELD("BY", 10, 4, 0, "user that drained it", TEXT_OR_DASH, reason_by),
	FIELD("SINCE", 19, 0, TABLE_WHOLE, "when it was drained", TIME, since),
	FIELD("RECHECK", 19, 0, TABLE_WHOLE, "when a GPU drained by a fault is checked again",
	        TIME, recheck),
	FIELD("UUID", 40, 8, 0, "its UUID", TEXT_OR_DASH, uuid),
	COLUMN("CARD", 4, 0, TABLE_RIGHT | TABLE_WHOLE,
	        "number of the GPU on the host, also of a MIG instance", card),
	FIELD("NEAR", 0, 8, 0, "how close it is to each GPU of its node", TEXT_OR_DASH, near),
};

const struct view_kind gpu_kind = {
	VIEW_COLUMNS(columns),
	.standard = "GPU,TYPE,STATE,UTIL,MEM,JOBS,REASON",
	.longer = "GPU,TYPE,CARD,STATE,UTIL,MEM,POWER,TEMP,CLOCK,XID,AGE,JOBS,UUID,BY,SINCE,"
	          "RECHECK,REASON",
};
