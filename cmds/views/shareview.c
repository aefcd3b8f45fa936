/* shareview.c - the columns of gprio and gshare
 *
 * To add one: a show function, a row, a line in man/gprio.1 or man/gshare.1.
 */
#include "cmds/views/views.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define NUM TABLE_RIGHT | TABLE_WHOLE

#define SHOW(name) static void show_##name(const void *object, struct view_cell *cell)

/* --- priorities ----------------------------------------------------------------------------- */

#define PRIO const Gpusched__Prio *p = object

#define PRIO_TEXT(name, field)             \
	SHOW(prio_##name)                  \
	{                                  \
		PRIO;                      \
		view_text(cell, p->field); \
	}
#define PRIO_NUMBER(name, field)                      \
	SHOW(prio_##name)                             \
	{                                             \
		PRIO;                                 \
		view_number(cell, (int64_t)p->field); \
	}
#define PRIO_REAL(name, field)                \
	SHOW(prio_##name)                     \
	{                                     \
		PRIO;                         \
		view_real(cell, p->field, 4); \
	}

PRIO_NUMBER(id, id)
PRIO_TEXT(partition, partition)
PRIO_TEXT(user, user)
PRIO_TEXT(account, account)
PRIO_TEXT(qos, qos)
PRIO_NUMBER(priority, priority)
PRIO_NUMBER(age_points, points->age)
PRIO_NUMBER(fair_share_points, points->fair_share)
PRIO_NUMBER(size_points, points->size)
PRIO_NUMBER(partition_points, points->partition)
PRIO_NUMBER(qos_points, points->qos)
PRIO_NUMBER(wait_points, points->wait)
PRIO_NUMBER(nice_points, points->nice)
PRIO_REAL(age, factors->age)
PRIO_REAL(fair_share, factors->fair_share)
PRIO_REAL(size, factors->size)
PRIO_REAL(partition_factor, factors->partition)
PRIO_REAL(qos_factor, factors->qos)
PRIO_REAL(wait, factors->wait)

static const struct view_column prio_columns[] = {
	{ "JOBID", { "JOBID", 7, 0, NUM }, "the job's id", show_prio_id },
	{ "PARTITION", { "PARTITION", 9, 5, 0 }, "partition", show_prio_partition },
	{ "USER", { "USER", 8, 4, 0 }, "owner", show_prio_user },
	{ "ACCOUNT", { "ACCOUNT", 9, 5, 0 }, "account", show_prio_account },
	{ "QOS", { "QOS", 9, 4, 0 }, "quality of service", show_prio_qos },
	{ "PRIORITY", { "PRIORITY", 8, 0, NUM }, "the sum; the largest goes first",
	        show_prio_priority },
	{ "AGE", { "AGE", 5, 0, NUM }, "points for the time it has waited", show_prio_age_points },
	{ "FAIRSHARE", { "FAIRSHARE", 9, 0, NUM },
	        "points for what its user and accounts used, against their shares",
	        show_prio_fair_share_points },
	{ "SIZE", { "SIZE", 5, 0, NUM }, "points for the part of the cluster that it asks for",
	        show_prio_size_points },
	{ "PART", { "PART", 5, 0, NUM }, "points of its partition", show_prio_partition_points },
	{ "QOSPRIO", { "QOSPRIO", 7, 0, NUM }, "points of its QOS", show_prio_qos_points },
	{ "WAIT", { "WAIT", 5, 0, NUM }, "points for how near it is to --max-wait",
	        show_prio_wait_points },
	{ "NICE", { "NICE", 5, 0, NUM }, "niceness, which is subtracted", show_prio_nice_points },
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

SHOW(weight_name)
{
	view_text(cell, ((const struct weight_line *)object)->name);
}

SHOW(weight_value)
{
	view_number(cell, ((const struct weight_line *)object)->weight);
}

SHOW(weight_help)
{
	view_text(cell, ((const struct weight_line *)object)->help);
}

static const struct view_column weight_columns[] = {
	{ "FACTOR", { "FACTOR", 9, 0, TABLE_WHOLE }, "name", show_weight_name },
	{ "WEIGHT", { "WEIGHT", 8, 0, NUM }, "what a whole factor counts", show_weight_value },
	{ "MEANING", { "MEANING", 0, 20, 0 }, "what it is", show_weight_help },
};

const struct view_kind weight_kind = {
	.columns = weight_columns,
	.n = sizeof(weight_columns) / sizeof(weight_columns[0]),
	.standard = "FACTOR,WEIGHT,MEANING",
};

/* --- shares --------------------------------------------------------------------------------- */

#define SHARE const Gpusched__Share *s = object

#define SHARE_REAL(name, value, digits)         \
	SHOW(share_##name)                      \
	{                                       \
		SHARE;                          \
		view_real(cell, value, digits); \
	}

/* Accounts stand as deep as they are in the tree. */
SHOW(share_account)
{
	SHARE;
	view_printf(cell, "%*s%s", (int)(s->depth < 64 ? 2 * s->depth : 128), "", s->account);
}

SHOW(share_user)
{
	SHARE;
	view_text(cell, s->user);
}

SHOW(share_shares)
{
	SHARE;
	view_number(cell, s->shares);
}

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

SHARE_REAL(norm, s->norm, 3)
SHARE_REAL(gpu_hours, (double)s->gpu_us / 3.6e9, 2)
SHARE_REAL(cpu_hours, (double)s->cpu_us / 3.6e9, 2)
SHARE_REAL(cost, s->cost, 2)
SHARE_REAL(usage, s->usage, 2)
SHARE_REAL(effective, s->effective, 3)
SHARE_REAL(level_fs, s->level_fs, s->level_fs < 1000 ? 3 : 0)

static const struct view_column share_columns[] = {
	{ "ACCOUNT", { "ACCOUNT", 14, 8, 0 }, "account, below the one that it belongs to",
	        show_share_account },
	{ "USER", { "USER", 8, 4, 0 }, "user in it; none: the account itself", show_share_user },
	{ "SHARES", { "SHARES", 6, 0, NUM }, "its shares", show_share_shares },
	{ "NORM", { "NORM", 5, 0, NUM }, "its part of all shares beside it", show_share_norm },
	{ "GPU-H", { "GPU-H", 8, 0, NUM }, "GPU-hours used, all of them", show_share_gpu_hours },
	{ "CPU-H", { "CPU-H", 8, 0, NUM }, "CPU-hours used, all of them", show_share_cpu_hours },
	{ "COST", { "COST", 8, 0, NUM }, "what that cost, by the configured prices",
	        show_share_cost },
	{ "USAGE", { "USAGE", 9, 0, NUM }, "the same, of which half is forgotten in each half_life",
	        show_share_usage },
	{ "EFFECT", { "EFFECT", 6, 0, NUM }, "its part of all usage beside it",
	        show_share_effective },
	{ "LEVEL-FS", { "LEVEL-FS", 8, 0, NUM },
	        "NORM divided by EFFECT: above 1 it had less than its share", show_share_level_fs },
	{ "RANK", { "RANK", 4, 0, NUM }, "its place among all users; 1 is favoured most",
	        show_share_rank },
	{ "FACTOR", { "FACTOR", 6, 0, NUM }, "fair-share factor of its jobs: 0 to 1",
	        show_share_factor },
};

const struct view_kind share_kind = {
	.columns = share_columns,
	.n = sizeof(share_columns) / sizeof(share_columns[0]),
	.standard = "ACCOUNT,USER,SHARES,NORM,GPU-H,COST,EFFECT,LEVEL-FS,RANK,FACTOR",
	.longer = "ACCOUNT,USER,SHARES,NORM,GPU-H,CPU-H,COST,USAGE,EFFECT,LEVEL-FS,RANK,FACTOR",
};
