/* gacct.c - what jobs used, of the past and of now */
#include <stddef.h>

#include "cmds/api/whole.h"
#include "cmds/cli/cmd.h"
#include "cmds/cli/listing.h"
#include "cmds/cli/when.h"
#include "cmds/views/acctopt.h"
#include "cmds/views/acctview.h"

struct gacct {
	Gpusched__RunUsed total_used;
	struct acctopt which;
	struct listing listing;
	bool runs, any; /* any: a job was found */
	Gpusched__Acct total;
};

#define ROW(member, name, letter, arg, set, help) \
	CMD_ROW(struct gacct, member, name, letter, arg, set, help)

static const struct cmd_option table[] = {
	ACCTOPT_OPTIONS(struct gacct, which),
	LISTING_OPTIONS(struct gacct, listing),
	LISTING_WHOLE(struct gacct, listing),
	ROW(runs, "runs", 0, NULL, cmd_set_flag, "A line for each run of each attempt"),
	CMD_ALIAS("duplicates", 'D'),
	CMD_TABLE_END,
};

static const struct cmd cmd = {
	.name = "gacct",
	.arguments = "",
	.about = "List what jobs used: those that have ended, and those that run, until now.",
	.examples =
	        "Without --since, --jobs and --file: those that ran or ended today. TIME is "
	        "2026-11-21, "
	        "2026-11-21T09:30, 09:30, today, yesterday or now-2h. Jobs that wait and never ran "
	        "are gqueue's; -s PENDING lists them here too.\n"
	        "\n"
	        "Examples:\n"
	        "  gacct --me --since=yesterday\n"
	        "  gacct -S 2026-11-01 -E 2026-12-01 -A vision -s FAILED,TIMEOUT\n"
	        "  gacct -j 4812 --long\n"
	        "  gacct -j 4812 --runs               every attempt on every node\n"
	        "  gacct -L project=x -S now-30d --csv -o JOBID,USER,GPU-S,COST\n"
	        "  gacct --file=/srv/2025.db -A vision\n"
	        "  gacct --sort=-GPU-H -o JOBID,NAME%30,USER,GPU-H | head\n"
	        "\n"
	        "Exit status: 0 done; 2 usage; 3 no such job, account, partition, QOS or node; "
	        "4 the controller was not reached.",
	.table = table,
	.lists = { { "Columns", &acct_kind }, { "Columns of --runs", &acct_run_kind } },
};

static int show_job(const ProtobufCMessage *m, void *arg, struct error *err)
{
	const Gpusched__Acct *job = (const Gpusched__Acct *)m;
	struct gacct *g = arg;

	(void)err;
	g->any = true;
	cmd_ids_saw(&g->which.filter.ids, job->id, job->tasks);
	acct_total_add(&g->total, job);
	if (!g->runs) {
		listing_add(&g->listing, job, m);
		return 0;
	}
	for (size_t i = 0; i < job->n_runs; i++) {
		struct acct_run_line line = { job, job->runs[i] };

		listing_add(&g->listing, &line, i ? NULL : m);
	}
	return 0;
}

static int list(struct gacct *g, struct client *c, struct error *err)
{
	Gpusched__JobFilter filter;
	Gpusched__ListAcct request;
	struct whole jobs = { GPUSCHED__MSG_TYPE__MSG_ACCT_CHUNK, show_job, g, NULL };

	acctopt_message(&g->which, when_today(when_now()), &filter, &request);
	request.with_runs = g->runs;
	request.whole = g->listing.whole || g->runs || g->which.filter.ids.n;
	return whole_ask(c, GPUSCHED__MSG_TYPE__MSG_LIST_ACCT, &request.base, &jobs, err);
}

static int run(void *input, struct error *err)
{
	struct gacct *g = input;
	const struct view_kind *kind = g->runs ? &acct_run_kind : &acct_kind;
	struct client *c =
	        listing_open(&g->listing, &cmd, kind, "jobs", g->which.file, err);
	int rc;

	if (!c)
		return -1;
	rc = list(g, c, err);
	if (rc >= 0)
		rc = filter_check_users(&g->which.filter, g->any, err);
	if (rc >= 0 && !g->runs)
		listing_add_total(&g->listing, &g->total);
	rc = cmd_ids_end(&g->which.filter.ids, rc,
	        "not known, never ran, or not selected by the other options", err);
	return listing_close(&g->listing, c, rc, rc < 0 && filter_is_partial(err, g->any), err);
}

int main(int argc, char **argv)
{
	struct gacct g = { .total_used = GPUSCHED__RUN_USED__INIT, .total = GPUSCHED__ACCT__INIT };
	int status;

	g.total.used = &g.total_used;
	status = cmd_main(&cmd, argc, argv, &g, run);
	acctopt_clear(&g.which);
	return status;
}
