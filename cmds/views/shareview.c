/* shareview.c - the columns of gprio and gshare
 *
 * To add one: a show function, a row, a line in man/gprio.1 or man/gshare.1.
 */
#include "cmds/views/views.h"

#include <stddef.h>
#include <string.h>

/* --- priorities ----------------------------------------------------------------------------- */

static const void *points_of(const void *prio)
{
	return ((const Gpusched__Prio *)prio)->points;
}

static const void *factors_of(const void *prio)
{
	return ((const Gpusched__Prio *)prio)->factors;
}

#define FIELD(name, width, min, flags, help, how, member) \
	VIEW_FIELD(name, width, min, flags, help, how, NULL, Gpusched__Prio, member)
#define POINTS(name, width, min, flags, help, member) \
	VIEW_FIELD(name, width, min, flags, help, NUMBER, points_of, Gpusched__PrioPoints, member)
#define FACTOR(heading, width, help, member)                                               \
	VIEW_HEADED(heading "-N", heading, width, 0, NUM, help, DIGITS_4, factors_of, \
	        Gpusched__PrioFactors, member)

static const struct view_column prio_columns[] = {
	FIELD("JOBID", 7, 0, NUM, "the job's id", NUMBER, id),
	FIELD("PARTITION", 9, 5, 0, "partition", TEXT, partition),
	FIELD("USER", 8, 4, 0, "owner", TEXT, user),
	FIELD("ACCOUNT", 9, 5, 0, "account", TEXT, account),
	FIELD("QOS", 9, 4, 0, "quality of service", TEXT, qos),
	FIELD("PRIORITY", 8, 0, NUM, "the sum; the largest goes first", NUMBER, priority),
	POINTS("AGE", 5, 0, NUM, "points for the time it has waited", age),
	POINTS("FAIRSHARE", 9, 0, NUM,
	        "points for what its user and accounts used, against their shares", fair_share),
	POINTS("SIZE", 5, 0, NUM, "points for the part of the cluster that it asks for", size),
	POINTS("PART", 5, 0, NUM, "points of its partition", partition),
	POINTS("QOSPRIO", 7, 0, NUM, "points of its QOS", qos),
	POINTS("WAIT", 5, 0, NUM, "points for how near it is to --max-wait", wait),
	POINTS("NICE", 5, 0, NUM, "niceness, which is subtracted", nice),
	FACTOR("AGE", 7, "the same before the weight: 0 to 1", age),
	FACTOR("FAIRSHARE", 9, "likewise", fair_share),
	FACTOR("SIZE", 7, "likewise", size),
	FACTOR("PART", 7, "likewise", partition),
	FACTOR("QOSPRIO", 7, "likewise: -1 to 1", qos),
	FACTOR("WAIT", 7, "likewise", wait),
};

/* The first to go stands on top. */
static void prio_rank(const void *prio, int64_t key[VIEW_RANK])
{
	const Gpusched__Prio *p = prio;

	key[0] = -p->priority;
	key[1] = (int64_t)p->id;
	key[2] = key[3] = 0;
}

const struct view_kind prio_kind = {
	VIEW_COLUMNS(prio_columns),
	.standard = "JOBID,PARTITION,USER,PRIORITY,AGE,FAIRSHARE,SIZE,PART,QOSPRIO,WAIT,NICE",
	.longer = "JOBID,PARTITION,USER,ACCOUNT,QOS,PRIORITY,AGE,FAIRSHARE,SIZE,PART,QOSPRIO,WAIT,"
	          "NICE",
	.rank = prio_rank,
};

/* --- weights -------------------------------------------------------------------------------- */

#define WEIGHT_FIELD(name, width, min, flags, help, how, member) \
	VIEW_FIELD(name, width, min, flags, help, how, NULL, struct weight_line, member)

static const struct view_column weight_columns[] = {
	WEIGHT_FIELD("FACTOR", 9, 0, TABLE_WHOLE, "name", TEXT, name),
	WEIGHT_FIELD("WEIGHT", 8, 0, NUM, "what a whole factor counts", NUMBER, weight),
	WEIGHT_FIELD("MEANING", 0, 20, 0, "what it is", TEXT, help),
};

const struct view_kind weight_kind = {
	VIEW_COLUMNS(weight_columns),
	.standard = "FACTOR,WEIGHT,MEANING",
};

/* --- shares --------------------------------------------------------------------------------- */

#define SHARE const Gpusched__Share *s = object
#define SHARE_FIELD(name, width, min, flags, help, how, member) \
	VIEW_FIELD(name, width, min, flags, help, how, NULL, Gpusched__Share, member)

/* Accounts stand as deep as they are in the tree. */
CELL(share_account, SHARE,
        view_printf(cell, "%*s%s", (int)(s->depth < 64 ? 2 * s->depth : 128), "",
                s->account))

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

CELL(share_level_fs, SHARE, view_real(cell, s->level_fs, s->level_fs < 1000 ? 3 : 0))

/* Amounts by type, as the configuration has them: h100:16,any:2.5. `of`: the offset in a
 * ShareGpus. */
static void show_amounts(struct view_cell *cell, const Gpusched__Share *s, size_t of)
{
	for (size_t i = 0; i < s->n_gpus; i++) {
		const Gpusched__ShareGpus *g = s->gpus[i];
		uint64_t milli;

		memcpy(&milli, (const char *)g + of, sizeof(milli));
		if (milli)
			view_item(cell, ",", "%s:%.10g", *g->type ? g->type : "any",
			        (double)milli / 1000);
	}
}

#define AMOUNTS(member) show_amounts(cell, s, offsetof(Gpusched__ShareGpus, member))

CELL(share_guaranteed, SHARE, AMOUNTS(guaranteed_milli))
CELL(share_held, SHARE, AMOUNTS(held_milli))
CELL(share_lent, SHARE, AMOUNTS(lent_milli))
CELL(share_borrowed, SHARE, AMOUNTS(borrowed_milli))

static const struct view_column share_columns[] = {
	COLUMN("ACCOUNT", 14, 8, 0, "account, below the one that it belongs to", share_account),
	SHARE_FIELD("USER", 8, 4, 0, "user in it; none: the account itself", TEXT, user),
	SHARE_FIELD("SHARES", 6, 0, NUM, "its shares", NUMBER, shares),
	SHARE_FIELD("NORM", 5, 0, NUM, "its part of all shares beside it", DIGITS_3, norm),
	SHARE_FIELD("GPU-H", 8, 0, NUM, "GPU-hours used, all of them", HOURS, gpu_us),
	SHARE_FIELD("CPU-H", 8, 0, NUM, "CPU-hours used, all of them", HOURS, cpu_us),
	SHARE_FIELD("COST", 8, 0, NUM, "what that cost, by the configured prices", DIGITS_2, cost),
	SHARE_FIELD("USAGE", 9, 0, NUM, "the same, of which half is forgotten in each half_life",
	        DIGITS_2, usage),
	SHARE_FIELD("EFFECT", 6, 0, NUM, "its part of all usage beside it", DIGITS_3, effective),
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
	VIEW_COLUMNS(share_columns),
	.standard = "ACCOUNT,USER,SHARES,NORM,GPU-H,COST,EFFECT,LEVEL-FS,RANK,FACTOR",
	.longer = "ACCOUNT,USER,SHARES,NORM,GPU-H,CPU-H,COST,USAGE,EFFECT,LEVEL-FS,RANK,FACTOR",
};
