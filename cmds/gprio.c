/* gprio.c - what the priorities of waiting jobs are made of */
#include <stddef.h>
#include <stdio.h>

#include "cmds/cli/cmd.h"
#include "cmds/cli/listing.h"
#include "cmds/views/filter.h"
#include "cmds/views/views.h"
#include "common/base/units.h"

#define NORM_COLUMNS \
	"JOBID,PARTITION,USER,PRIORITY,AGE-N,FAIRSHARE-N,SIZE-N,PART-N,QOSPRIO-N,WAIT-N"

struct gprio {
	struct filter filter;
	struct listing listing;
	bool norm, weights;
	bool any; /* job was found */
};

#define AT(member)     offsetof(struct gprio, member)
#define ROW(member, name, letter, arg, set, help) \
	CMD_ROW(struct gprio, member, name, letter, arg, set, help)
#define SELECTS(which) FILTER_##which(struct gprio, filter)

static const struct cmd_option table[] = {
	FILTER_HEADING,
	SELECTS(ME),
	SELECTS(USER),
	SELECTS(PARTITION),
	SELECTS(NAME),
	{ "jobs", 'j', "IDS", "With these ids", filter_set, AT(filter), FILTER_IDS, 0 },
	LISTING_OPTIONS(struct gprio, listing),
	ROW(norm, "norm", 0, NULL, cmd_set_flag, "Factors from 0 to 1 instead of points"),
	ROW(weights, "weights", 'w', NULL, cmd_set_flag,
	        "What each factor counts, instead of jobs"),
	CMD_TABLE_END,
};

static const struct cmd cmd = {
	.name = "gprio",
	.arguments = "",
	.about = "List what the priorities of waiting jobs are made of, the highest on top.",
	.examples =
	        "PRIORITY is the sum of the points, less NICE. Points are a factor from 0 to 1 "
	        "times "
	        "its weight: --norm shows the factors, --weights the weights. Before priority "
	        "comes "
	        "the partition's tier, behind it the job's id; what keeps a job from starting is "
	        "another question: gqueue --why.\n"
	        "\n"
	        "Examples:\n"
	        "  gprio --me\n"
	        "  gprio -p batch -l\n"
	        "  gprio -j 4812 --norm\n"
	        "  gprio -w\n"
	        "\n"
	        "Exit status: 0 done; 2 usage; 3 no such job, account, partition, QOS or node; "
	        "4 the controller was not reached.",
	.table = table,
	.lists = { { "Columns", &prio_kind } },
};

/* --- weights -------------------------------------------------------------------------------- */

static void add_weights(struct gprio *g, const Gpusched__PrioWeights *w)
{
	char age[96], share[128], full[UNITS_TEXT], half[UNITS_TEXT];
	const struct weight_line lines[] = {
		{ "AGE", w->age, age },
		{ "FAIRSHARE", w->fair_share, share },
		{ "SIZE", w->size, "the part of the cluster's GPUs that it asks for" },
		{ "PART", w->partition, "its partition's part of the largest partition priority" },
		{ "QOSPRIO", w->qos, "its QOS's part of the largest QOS priority" },
		{ "WAIT", w->wait, "how near it is to its --max-wait" },
	};

	snprintf(age, sizeof(age), "the time it has waited; full after %s",
	        duration_format(full, w->age_max_s));
	snprintf(share, sizeof(share), "used against shares (gshare); %s%s",
	        w->half_life_s ? "half is forgotten in " : "nothing is forgotten",
	        w->half_life_s ? duration_format(half, w->half_life_s) : "");
	if (g->listing.json) {
		jsonout_message(&g->listing.out, &w->base);
		return;
	}
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		listing_add(&g->listing, &lines[i], &w->base);
}

/* --- jobs ----------------------------------------------------------------------------------- */

static int on_chunk(const ProtobufCMessage *m, void *arg, struct error *err)
{
	const Gpusched__PrioChunk *chunk = (const Gpusched__PrioChunk *)m;
	struct gprio *g = arg;

	if (g->weights && chunk->weights)
		add_weights(g, chunk->weights);
	for (size_t i = 0; i < chunk->n_prios && !g->weights; i++) {
		if (!chunk->prios[i]->points || !chunk->prios[i]->factors)
			return error_set(err, ERR_PROTOCOL, "a priority without its parts");
		g->any = true;
		cmd_ids_saw(&g->filter.ids, CMD_REPORTED(chunk->prios[i]));
		listing_add(&g->listing, chunk->prios[i], &chunk->prios[i]->base);
	}
	return 0;
}

static int list(struct gprio *g, struct client *c, struct error *err)
{
	Gpusched__JobFilter filter;
	Gpusched__ListPrios request = GPUSCHED__LIST_PRIOS__INIT;
	struct client_call call = CLIENT_ASK(LIST_PRIOS, &request.base, PRIO_CHUNK, on_chunk, g);

	filter_message(&g->filter, &filter);
	request.filter = &filter;
	return client_call(c, &call, err);
}

static int check_pairs(const struct gprio *g, struct error *err)
{
	const struct cmd_pair pairs[] = {
		{ g->weights, !filter_is_empty(&g->filter), "--weights", "options that choose jobs",
		        "they are the same for all jobs jobs" },
		{ g->weights, g->norm, "--weights", "--norm", NULL },
		{ g->norm, g->listing.columns, "--norm", "--format", NULL },
		{ g->norm, g->listing.longer, "--norm", "--long", NULL },
		{ g->norm, g->listing.json, "--norm", "--json", "JSON has both" },
	};

	return cmd_check_pairs(CMD_PAIRS(pairs), err);
}

static int run(void *input, struct error *err)
{
	struct gprio *g = input;
	const struct view_kind *kind = g->weights ? &weight_kind : &prio_kind;
	struct client *c;
	int rc;

	if (check_pairs(g, err) < 0)
		return -1;
	if (g->norm)
		g->listing.own_columns = NORM_COLUMNS;
	if (!g->weights && filter_add(&g->filter, FILTER_STATES, "", "PENDING", err) < 0)
		return -1;
	c = listing_open(&g->listing, &cmd, kind, g->weights ? "weights" : "jobs", NULL, err);
	if (!c)
		return -1;
	rc = list(g, c, err);
	if (rc >= 0)
		rc = filter_check_users(&g->filter, g->any, err);
	if (!g->weights)
		rc = cmd_ids_end(&g->filter.ids, rc, "not known, or it does not wait", err);
	return listing_close(&g->listing, c, rc, rc < 0 && filter_is_partial(err, g->any), err);
}

int main(int argc, char **argv)
{
	struct gprio g = { .norm = false };
	int status = cmd_main(&cmd, argc, argv, &g, run);

	filter_clear(&g.filter);
	return status;
}
