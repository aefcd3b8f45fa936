/* gacct.c - what jobs used, of the past and of now */
#include <stddef.h>
#include <stdlib.h>

#include "cmds/api/reassemble.h"
#include "cmds/api/steplist.h"
#include "cmds/cli/cmd.h"
#include "cmds/cli/listing.h"
#include "cmds/cli/parse_time.h"
#include "cmds/views/acct_options.h"
#include "cmds/views/acctview.h"
#include "cmds/views/stepview.h"
#include "common/base/xalloc.h"
#include "common/net/msg.h"

struct gacct {
	Gpusched__RunUsed total_used;
	struct acctopt which;
	struct listing listing;
	bool runs, steps, any; /* any: a job was found */
	Gpusched__Acct **jobs; /* --steps: those that were found, owned */
	struct steplist_job *of; /* the same, as steps are asked for */
	size_t n_jobs, at;       /* at: whose steps come */
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
	ROW(steps, "steps", 0, NULL, cmd_set_flag,
	        "A line for each step (srun starts them), below its job"),
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
	        "  gacct -j 4812 --steps              every step, with what it used\n"
	        "  gacct -L project=x -S now-30d --csv -o JOBID,USER,GPU-S,COST\n"
	        "  gacct --file=/srv/2025.db -A vision\n"
	        "  gacct --sort=-GPU-H -o JOBID,NAME%30,USER,GPU-H | head\n"
	        "\n"
	        "Exit status: 0 done; 2 usage; 3 no such job, account, partition, QOS or node; "
	        "4 the controller was not reached.",
	.table = table,
	.lists = { { "Columns", &acct_kind }, { "Columns of --runs", &acct_run_kind },
		{ "Columns of --steps", &acct_step_kind } },
};

/* --- --steps ---------------------------------------------------------------------------------- */

/* A job whose steps are asked for when all jobs are known. */
static int keep_job(struct gacct *g, const Gpusched__Acct *job, struct error *err)
{
	Gpusched__Acct *copy = (Gpusched__Acct *)msg_copy(&job->base);

	if (!copy)
		return error_set(err, ERR_PROTOCOL, "a malformed job");
	if (!(g->n_jobs & (g->n_jobs - 1))) {
		size_t size = g->n_jobs ? 2 * g->n_jobs : 1;

		g->jobs = xrealloc(g->jobs, size, sizeof(Gpusched__Acct *));
		g->of = xrealloc(g->of, size, sizeof(*g->of));
	}
	g->jobs[g->n_jobs++] = copy;
	return 0;
}

static int compare_jobs(const void *a, const void *b)
{
	const Gpusched__Acct *x = *(Gpusched__Acct *const *)a, *y = *(Gpusched__Acct *const *)b;

	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return (x->part > y->part) - (x->part < y->part);
}

static bool is_of(const Gpusched__Acct *job, const Gpusched__Step *step)
{
	return job->id == step->job && !job->several &&
	       (job->part ? job->part - 1 : 0) == step->task;
}

/* The jobs up to that of the next step; NULL: all that are left. */
static void show_jobs(struct gacct *g, const Gpusched__Step *step)
{
	while (g->at < g->n_jobs && !(g->at && step && is_of(g->jobs[g->at - 1], step))) {
		struct acct_step_line line = { .job = g->jobs[g->at++] };

		listing_add(&g->listing, &line, &line.job->base);
	}
}

static int show_step(const Gpusched__Step *step, void *arg, struct error *err)
{
	struct acct_step_line line = { .step = step };
	struct gacct *g = arg;

	(void)err;
	if (!g->listing.json)
		show_jobs(g, step);
	line.job = g->at ? g->jobs[g->at - 1] : NULL;
	if (g->listing.json || (line.job && is_of(line.job, step)))
		listing_add(&g->listing, &line, &step->base);
	return 0;
}

/* In JSON the jobs are a list, and the steps of all another one behind it. */
static int list_steps(struct gacct *g, struct client *c, struct error *err)
{
	size_t n = 0;
	int rc;

	if (g->n_jobs)
		qsort(g->jobs, g->n_jobs, sizeof(Gpusched__Acct *), compare_jobs);
	for (size_t i = 0; i < g->n_jobs; i++) {
		const Gpusched__Acct *job = g->jobs[i];

		if (!job->several && job->has_steps)
			g->of[n++] = (struct steplist_job){ job->id,
				job->part ? job->part - 1 : 0, *job->array };
	}
	if (g->listing.json) {
		show_jobs(g, NULL);
		jsonout_list(&g->listing.out, "steps");
	}
	rc = steplist_all(c, g->which.file, g->of, n, show_step, g, err);
	show_jobs(g, NULL);
	return rc;
}

static void forget_jobs(struct gacct *g)
{
	for (size_t i = 0; i < g->n_jobs; i++)
		gpusched__acct__free_unpacked(g->jobs[i], NULL);
	free(g->jobs);
	free(g->of);
}

static int show_job(const ProtobufCMessage *m, void *arg, struct error *err)
{
	const Gpusched__Acct *job = (const Gpusched__Acct *)m;
	struct gacct *g = arg;

	(void)err;
	g->any = true;
	cmd_ids_saw(&g->which.filter.ids, CMD_REPORTED(job));
	acct_total_add(&g->total, job);
	if (g->steps)
		return keep_job(g, job, err);
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
	struct reassembly jobs = { GPUSCHED__MSG_TYPE__MSG_ACCT_CHUNK, show_job, g, NULL };

	acctopt_message(&g->which, parse_time_today(parse_time_now()), &filter, &request);
	request.with_runs = g->runs;
	request.whole = g->listing.whole || g->runs || g->which.filter.ids.n;
	return reassembly_ask(c, GPUSCHED__MSG_TYPE__MSG_LIST_ACCT, &request.base, &jobs, err);
}

static int run(void *input, struct error *err)
{
	struct gacct *g = input;
	const struct view_kind *kind = g->runs    ? &acct_run_kind
	                               : g->steps ? &acct_step_kind
	                                          : &acct_kind;
	struct client *c;
	int rc;

	if (g->runs && g->steps)
		return error_set(err, ERR_USAGE, "--runs and --steps exclude each other");
	c = listing_open(&g->listing, &cmd, kind, "jobs", g->which.file, err);
	if (!c)
		return -1;
	rc = list(g, c, err);
	if (g->steps && (rc >= 0 || filter_is_partial(err, g->any))) {
		struct error of_steps;

		if (list_steps(g, c, &of_steps) < 0 && rc >= 0) {
			*err = of_steps;
			rc = -1;
		}
	}
	if (rc >= 0)
		rc = filter_check_users(&g->which.filter, g->any, err);
	if (rc >= 0 && !g->runs && !g->steps)
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
	forget_jobs(&g);
	return status;
}
