/* usage_columns.c - see usage_columns.h */
#include "cmds/top/screens/usage_columns.h"

#include <inttypes.h>

#include "cmds/top/model/gpu_map.h"
#include "common/base/each.h"

#define LINE const struct used_line *line = object

static void sum_runs(const Gpusched__Job *job, Gpusched__RunUsed *sum)
{
	*sum = (Gpusched__RunUsed)GPUSCHED__RUN_USED__INIT;
	for (size_t i = 0; job && i < job->n_runs; i++) {
		const Gpusched__RunUsed *u = job->runs[i]->used;

		if (!u)
			continue;
		ADD_FIELDS(sum, u, gpu_seen_us, gpu_idle_us, mem_now_mb);
	}
}

SHOW(use)
{
	LINE;
	uint64_t pct = line->job->sampled ? line->job->use_pct / line->job->sampled : 0;

	if (!line->job->sampled) {
		view_text(cell, "-");
		return;
	}
	view_printf(cell, "%" PRIu64 "%%", pct);
	cell->colour = pct < MAP_IDLE_PCT ? TABLE_WARN : TABLE_GOOD;
}

SHOW(idle)
{
	LINE;
	Gpusched__RunUsed sum;

	sum_runs(line->runs, &sum);
	view_percent(cell, (double)sum.gpu_idle_us, (double)sum.gpu_seen_us, 0);
}

CELL(gpu_mem, LINE, view_size_mb(cell, (int64_t)line->job->mem_used_mb))

SHOW(host_mem)
{
	LINE;
	Gpusched__RunUsed sum;

	sum_runs(line->runs, &sum);
	view_size_mb(cell, sum.mem_now_mb);
}

static const struct view_column columns[] = {
	COLUMN("USE", 4, 0, NUM, "compute use of its GPUs now, their mean", use),
	COLUMN("IDLE", 4, 0, NUM, "part of its time in which they were idle", idle),
	COLUMN("GPU-MEM", 7, 0, NUM, "memory of GPUs that it uses now", gpu_mem),
	COLUMN("HOST-MEM", 8, 0, NUM, "host memory that it uses now", host_mem),
};

const struct view_kind used_kind = {
	VIEW_COLUMNS(columns),
	.standard = "USE,IDLE,GPU-MEM,HOST-MEM",
};
