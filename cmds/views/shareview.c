/* shareview.c - the columns of gprio and gshare
 *
 * To add one: a show function, a row, a line in man/gprio.1 or man/gshare.1.
 */
#include "cmds/views/views.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define NUM TABLE_RIGHT | TABLE_WHOLE

/* --- priorities ----------------------------------------------------------------------------- */

#define PRIO const Gpusched__Prio *p = object

CELL(prio_id, PRIO, view_number(cell, (int64_t)p->id))
CELL(prio_partition, PRIO, view_text(cell, p->partition))
CELL(prio_user, PRIO, view_text(cell, p->user))
CELL(prio_account, PRIO, view_text(cell, p->account))
CELL(prio_qos, PRIO, view_text(cell, p->qos))
CELL(prio_priority, PRIO, view_number(cell, (int64_t)p->priority))
CELL(prio_age_points, PRIO, view_number(cell, (int64_t)p->points->age))
CELL(prio_fair_share_points, PRIO, view_number(cell, (int64_t)p->points->fair_share))
CELL(prio_size_points, PRIO, view_number(cell, (int64_t)p->points->size))
CELL(prio_partition_points, PRIO, view_number(cell, (int64_t)p->points->partition))
CELL(prio_qos_points, PRIO, view_number(cell, (int64_t)p->points->qos))
CELL(prio_wait_points, PRIO, view_number(cell, (int64_t)p->points->wait))
CELL(prio_nice_points, PRIO, view_number(cell, (int64_t)p->points->nice))
CELL(prio_age, PRIO, view_real(cell, p->factors->age, 4))
CELL(prio_fair_share, PRIO, view_real(cell, p->factors->fair_share, 4))
CELL(prio_size, PRIO, view_real(cell, p->factors->size, 4))
CELL(prio_partition_factor, PRIO, view_real(cell, p->factors->partition, 4))
CELL(prio_qos_factor, PRIO, view_real(cell, p->factors->qos, 4))
CELL(prio_wait, PRIO, view_real(cell, p->factors->wait, 4))

static const struct view_column prio_columns[] = {
	COLUMN("JOBID", 7, 0, NUM, "the job's id", prio_id),
	COLUMN("PARTITION", 9, 5, 0, "partition", prio_partition),
	COLUMN("USER", 8, 4, 0, "owner", prio_user),
	COLUMN("ACCOUNT", 9, 5, 0, "account", prio_account),
	COLUMN("QOS", 9, 4, 0, "quality of service", prio_qos),
	COLUMN("PRIORITY", 8, 0, NUM, "the sum; the largest goes first", prio_priority),
	COLUMN("AGE", 5, 0, NUM, "points for the time it has waited", prio_age_points),
	COLUMN("FAIRSHARE", 9, 0, NUM,
	        "points for what its user and accounts used, against their "
	        "shares", prio_fair_share_points),
	COLUMN("SIZE", 5, 0, NUM,
	        "points for the part of the cluster that it asks for", prio_size_points),
	COLUMN("PART", 5, 0, NUM, "points of its partition", prio_partition_points),
	COLUMN("QOSPRIO", 7, 0, NUM, "points of its QOS", prio_qos_points),
	COLUMN("WAIT", 5, 0, NUM, "points for how near it is to --max-wait", prio_wait_points),
	COLUMN("NICE", 5, 0, NUM, "niceness, which is subtracted", prio_nice_points),
	{ "AGE-N", { "AGE", 7, 0, NUM }, "the same before the weight: 0 to 1", show_prio_age },
	{ "FAIRSHARE-N", { "FAIRSHARE", 9, 0, NUM }, "likewise", show_prio_fair_share },
	{ "SIZE-N", { "SIZE", 7, 0, NUM }, "likewise", show_prio_size },
	{ "PART-N", { "PART", 7, 0, NUM }, "likewise", show_prio_partition_factor },
	{ "QOSPRIO-N", { "QOSPRIO", 7, 0, NUM }, "likewise: -1 to 1", show_prio_qos_factor },
	{ "WAIT-N", { "WAIT", 7, 0, NUM }, "likewise", show_prio_wait },
};

/* The first to go stands on top. */
static void prio_rank(const void *object, int64_t key[VIEW_RANK])
{
	PRIO;

	key[0] = -p->priority;
	key[1] = (int64_t)p->id;
	key[2] = key[3] = 0;
}

const struct view_kind prio_kind = {
	.columns = prio_columns,
	.n = sizeof(prio_columns) / sizeof(prio_columns[0]),
	.standard = "JOBID,PARTITION,USER,PRIORITY,AGE,FAIRSHARE,SIZE,PART,QOSPRIO,WAIT,NICE",
	.longer = "JOBID,PARTITION,USER,ACCOUNT,QOS,PRIORITY,AGE,FAIRSHARE,SIZE,PART,QOSPRIO,WAIT,"
	          "NICE",
	.rank = prio_rank,
};

/* --- weights -------------------------------------------------------------------------------- */

#define WEIGHT const struct weight_line *w = object

CELL(weight_name, WEIGHT, view_text(cell, w->name))
CELL(weight_value, WEIGHT, view_number(cell, w->weight))
CELL(weight_help, WEIGHT, view_text(cell, w->help))

static const struct view_column weight_columns[] = {
	COLUMN("FACTOR", 9, 0, TABLE_WHOLE, "name", weight_name),
	COLUMN("WEIGHT", 8, 0, NUM, "what a whole factor counts", weight_value),
	COLUMN("MEANING", 0, 20, 0, "what it is", weight_help),
};

const struct view_kind weight_kind = {
	.columns = weight_columns,
	.n = sizeof(weight_columns) / sizeof(weight_columns[0]),
	.standard = "FACTOR,WEIGHT,MEANING",
};

/* --- shares --------------------------------------------------------------------------------- */

#define SHARE const Gpusched__Share *s = object

/* Accounts stand as deep as they are in the tree. */
CELL(share_account, SHARE,
        view_printf(cell, "%*s%s", (int)(s->depth < 64 ? 2 * s->depth : 128), "",
                s->account))
CELL(share_user, SHARE, view_text(cell, s->user))
CELL(share_shares, SHARE, view_number(cell, s->shares))

SHOW(share_rank)
{
	SHARE;

	if (s->rank)
		view_number(cell, s->rank);
}

SHOW(share_factor)
{
	SHARE;

	if (s->rank)
		view_real(cell, s->fair_share, 4);
}

CELL(share_norm, SHARE, view_real(cell, s->norm, 3))
CELL(share_gpu_hours, SHARE, view_real(cell, (double)s->gpu_us / 3.6e9, 2))
CELL(share_cpu_hours, SHARE, view_real(cell, (double)s->cpu_us / 3.6e9, 2))
CELL(share_cost, SHARE, view_real(cell, s->cost, 2))
CELL(share_usage, SHARE, view_real(cell, s->usage, 2))
CELL(share_effective, SHARE, view_real(cell, s->effective, 3))
CELL(share_level_fs, SHARE, view_real(cell, s->level_fs, s->level_fs < 1000 ? 3 : 0))

/* Amounts by type, as the configuration has them: h100:16,any:2.5. `of`: the offset in a ShareGpus. */
static void show_amounts(struct view_cell *cell, const Gpusched__Share *s, size_t of)
{
	size_t used = 0, size = sizeof(cell->buf);

	cell->text = "";
	for (size_t i = 0; i < s->n_gpus && used < size; i++) {
		const Gpusched__ShareGpus *g = s->gpus[i];
		uint64_t milli;

		memcpy(&milli, (const char *)g + of, sizeof(milli));
		if (!milli)
			continue;
		used += (size_t)snprintf(cell->buf + used, size - used, "%s%s:%.10g",
		        used ? "," : "", *g->type ? g->type : "any", (double)milli / 1000);
		cell->text = cell->buf;
	}
}

#define AMOUNTS(member) show_amounts(cell, s, offsetof(Gpusched__ShareGpus, member))

CELL(share_guaranteed, SHARE, AMOUNTS(guaranteed_milli))
CELL(share_held, SHARE, AMOUNTS(held_milli))
CELL(share_lent, SHARE, AMOUNTS(lent_milli))
CELL(share_borrowed, SHARE, AMOUNTS(borrowed_milli))

static const struct view_column share_columns[] = {
	COLUMN("ACCOUNT", 14, 8, 0, "account, below the one that it belongs to", share_account),
	COLUMN("USER", 8, 4, 0, "user in it; none: the account itself", share_user),
	COLUMN("SHARES", 6, 0, NUM, "its shares", share_shares),
	COLUMN("NORM", 5, 0, NUM, "its part of all shares beside it", share_norm),
	COLUMN("GPU-H", 8, 0, NUM, "GPU-hours used, all of them", share_gpu_hours),
	COLUMN("CPU-H", 8, 0, NUM, "CPU-hours used, all of them", share_cpu_hours),
	COLUMN("COST", 8, 0, NUM, "what that cost, by the configured prices", share_cost),
	COLUMN("USAGE", 9, 0, NUM,
	        "the same, of which half is forgotten in each half_life", share_usage),
	COLUMN("EFFECT", 6, 0, NUM, "its part of all usage beside it", share_effective),
	COLUMN("LEVEL-FS", 8, 0, NUM,
	        "NORM divided by EFFECT: above 1 it had less than its share", share_level_fs),
	COLUMN("RANK", 4, 0, NUM, "its place among all users; 1 is favoured most", share_rank),
	COLUMN("FACTOR", 6, 0, NUM, "fair-share factor of its jobs: 0 to 1", share_factor),
	COLUMN("GUARANTEED", 12, 6, 0, "GPUs that its quota guarantees, by type", share_guaranteed),
	COLUMN("HELD", 12, 6, 0, "GPUs that its jobs hold, of types with guarantees", share_held),
	COLUMN("LENT", 12, 6, 0, "of its guarantee: in use by other accounts", share_lent),
	COLUMN("BORROWED", 12, 6, 0, "of what it holds: guaranteed to others", share_borrowed),
};

const struct view_kind share_kind = {
	.columns = share_columns,
	.n = sizeof(share_columns) / sizeof(share_columns[0]),
	.standard = "ACCOUNT,USER,SHARES,NORM,GPU-H,COST,EFFECT,LEVEL-FS,RANK,FACTOR",
	.longer = "ACCOUNT,USER,SHARES,NORM,GPU-H,CPU-H,COST,USAGE,EFFECT,LEVEL-FS,RANK,FACTOR",
};
