/* gqueue.c - list jobs */
#include <stddef.h>
#include <string.h>

#include "cmds/api/reassemble.h"
#include "cmds/api/steplist.h"
#include "cmds/cli/cmd.h"
#include "cmds/cli/listing.h"
#include "cmds/views/filter.h"
#include "cmds/views/stepview.h"
#include "cmds/views/views.h"
#include "cmds/views/watch.h"
#include "cmds/views/whyview.h"

#define START_COLUMNS "JOBID,PARTITION,NAME,USER,ST,START,POS,SCHEDNODES"
#define START_ORDER   "START,JOBID"

struct gqueue {
	struct filter filter;
	struct listing listing;
	bool start, why, watch, steps;
	const char *since; /* borrowed of the command line */
	size_t n_shown;
};

static CMD_SETTER(set_why)
{
	struct gqueue *q = field;

	q->why = true;
	return filter_set(&q->filter, option, value, err);
}

#define AT(member)     offsetof(struct gqueue, member)
#define ROW(member, name, letter, arg, set, help) \
	CMD_ROW(struct gqueue, member, name, letter, arg, set, help)
#define SELECTS(which) FILTER_##which(struct gqueue, filter)

static const struct cmd_option table[] = {
	FILTER_HEADING,
	SELECTS(ME),
	SELECTS(USER),
	SELECTS(ACCOUNT),
	SELECTS(PARTITION),
	SELECTS(QOS_ROW),
	FILTER_STATE(struct gqueue, filter, "states"),
	SELECTS(NAME),
	SELECTS(NODE),
	CMD_ALIAS("nodelist", 0),
	{ "jobs", 'j', "IDS", "With these ids, also if they have ended", filter_set, AT(filter),
	        FILTER_IDS, 0 },
	ROW(filter.ended, "all", 0, NULL, cmd_set_flag,
	        "Also those that have ended, while the controller keeps them"),
	CMD_HEADING("What to show about them:"),
	ROW(start, "start", 0, NULL, cmd_set_flag,
	        "When and where those that wait are planned to start, soonest first"),
	{ "why", 0, "IDS", "Why these wait: all reasons, and what would start them now", set_why, 0,
	        FILTER_IDS, 0 },
	ROW(steps, "steps", 0, NULL, cmd_set_flag,
	        "The steps of these jobs that run (srun starts them), instead of the jobs"),
	ROW(watch, "watch", 0, NULL, cmd_set_flag,
	        "All of them, then each again when it changes, until interrupted"),
	ROW(since, "since", 0, "CURSOR", cmd_set_text,
	        "With --watch: what has changed since then; now: only what changes from now on"),
	LISTING_OPTIONS(struct gqueue, listing),
	LISTING_WHOLE(struct gqueue, listing),
	CMD_TABLE_END,
};

static int take_id(int key, char *value, struct argp_state *state, void *input, struct error *err)
{
	struct gqueue *q = input;

	(void)key, (void)state;
	return filter_add(&q->filter, FILTER_IDS, "ID", value, err);
}

static const struct cmd cmd = {
	.name = "gqueue",
	.arguments = "[ID...]",
	.about = "List jobs: first those that wait, the next to start on top, then those that "
	         "have started.",
	.examples =
	        "A job that waits shows why in brackets; -o JOBID,WHY says it in full. Slots that a "
	        "service has in reserve (NotWanted) are listed with -t PENDING and by their ids. "
	        "Into a pipe "
	        "the table is 80 columns wide, and what is cut ends in +; with -o nothing is cut "
	        "there.\n"
	        "\n"
	        "Examples:\n"
	        "  gqueue --me\n"
	        "  gqueue -t PD -o JOBID,NAME,PRIORITY,WHY\n"
	        "  gqueue -h -t R -o '%i %j %M'        as squeue does it\n"
	        "  gqueue -j 4812 --json\n"
	        "  gqueue --me --start -o JOBID,NAME,POS,START,COST\n"
	        "  gqueue --why 4812                  and what to change to start it now\n"
	        "  gqueue --me --watch --since=now    each change, as it happens\n"
	        "  gqueue --me --steps\n"
	        "  gqueue --all --sort=-END -o JOBID,STATE,EXIT,END\n"
	        "\n"
	        "Exit status: 0 done; 2 usage; 3 no such job, account, partition, QOS or node; "
	        "4 the controller was not reached.",
	.table = table,
	.take = take_id,
	.lists = { { "Columns", &job_kind }, { "Columns of --steps", &step_kind } },
};

/* Is the job a reserve that is not listed? The PENDING that --start selects does not ask for it. */
static bool is_hidden(const struct gqueue *q, const Gpusched__Job *job)
{
	bool asked = q->filter.ids.n || (!q->start && q->filter.lists[FILTER_STATES].n);

	return !asked && job_is_reserve(job);
}

static int show_job(const ProtobufCMessage *m, void *arg, struct error *err)
{
	const Gpusched__Job *job = (const Gpusched__Job *)m;
	struct gqueue *q = arg;

	(void)err;
	if (is_hidden(q, job))
		return 0;
	q->n_shown++;
	cmd_ids_saw(&q->filter.ids, CMD_REPORTED(job));
	listing_add(&q->listing, job, m);
	return 0;
}

static int list(struct gqueue *q, struct client *c, struct error *err)
{
	Gpusched__JobFilter filter;
	Gpusched__ListJobs request = GPUSCHED__LIST_JOBS__INIT;
	struct reassembly jobs = { GPUSCHED__MSG_TYPE__MSG_JOB_CHUNK, show_job, q, NULL };

	filter_message(&q->filter, &filter);
	request.filter = &filter;
	request.whole = q->listing.whole || q->filter.ids.n;
	return reassembly_ask(c, GPUSCHED__MSG_TYPE__MSG_LIST_JOBS, &request.base, &jobs, err);
}

/* --- --why ------------------------------------------------------------------------------------ */

static int on_why(const ProtobufCMessage *m, void *arg, struct error *err)
{
	const Gpusched__WhyResult *why = (const Gpusched__WhyResult *)m;
	struct gqueue *q = arg;

	if (!why->job)
		return error_set(err, ERR_PROTOCOL, "a reason without its job");
	cmd_ids_saw(&q->filter.ids, CMD_REPORTED(why->job));
	if (q->listing.json) {
		jsonout_message(&q->listing.out, m);
		return 0;
	}
	if (q->n_shown++)
		putchar('\n');
	why_print(why, stdout, table_style_for(stdout).width);
	return 0;
}

static int ask_why(struct gqueue *q, struct error *err)
{
	Gpusched__JobWhy request = GPUSCHED__JOB_WHY__INIT;
	struct client_call call = CLIENT_ASK(JOB_WHY, &request.base, WHY_RESULT, on_why, q);
	struct client *c = client_new(NULL, err);
	int rc;

	if (!c)
		return -1;
	cmd_tell_retry(&cmd, c);
	request.ids = q->filter.ids.whole;
	request.n_ids = q->filter.ids.n_whole;
	request.tasks = q->filter.ids.some;
	request.n_tasks = q->filter.ids.n_some;
	jsonout_begin(&q->listing.out, stdout, client_conf(c)->cluster, "jobs");
	rc = cmd_ids_end(&q->filter.ids, client_call(c, &call, err), "not known", err);
	if (q->listing.json)
		jsonout_end(&q->listing.out, rc < 0 ? err : NULL);
	client_free(c);
	return rc;
}

/* --- listings -------------------------------------------------------------------------------- */

static int run(struct gqueue *q, struct error *err)
{
	struct client *c;
	int rc;

	if (q->start) {
		q->listing.own_columns = START_COLUMNS;
		q->listing.own_sort = START_ORDER;
		if (filter_add(&q->filter, FILTER_STATES, "--start", "PENDING", err) < 0)
			return -1;
	}
	c = listing_open(&q->listing, &cmd, &job_kind, "jobs", NULL, err);
	if (!c)
		return -1;
	rc = cmd_ids_end(&q->filter.ids, list(q, c, err),
	        "not known, or not selected by the other options", err);
	rc = rc < 0 ? rc : filter_check_users(&q->filter, q->n_shown > 0, err);
	return listing_close(
	        &q->listing, c, rc, rc < 0 && filter_is_partial(err, q->n_shown > 0), err);
}

/* --- --steps ---------------------------------------------------------------------------------- */

static int show_step(const Gpusched__Step *step, void *arg, struct error *err)
{
	struct gqueue *q = arg;

	(void)err;
	q->n_shown++;
	listing_add(&q->listing, step, &step->base);
	return 0;
}

/* A job without steps is no mistake; one that is not known is the controller's to refuse. */
static int list_steps(struct gqueue *q, struct error *err)
{
	Gpusched__JobFilter filter;
	struct client *c;
	int rc;

	c = listing_open(&q->listing, &cmd, &step_kind, "steps", NULL, err);
	if (!c)
		return -1;
	filter_message(&q->filter, &filter);
	rc = steplist_running(c, &filter, show_step, q, err);
	return listing_close(
	        &q->listing, c, rc, rc < 0 && filter_is_partial(err, q->n_shown > 0), err);
}

/* --- --watch ---------------------------------------------------------------------------------- */

static int check_watch(const struct gqueue *q, struct watch_from *from, struct error *err)
{
	if (q->since && !q->watch)
		return error_set(err, ERR_USAGE, "--since is only valid with --watch");
	return q->since ? watch_from_parse(q->since, from, err) : 0;
}

static int watch(struct gqueue *q, const struct watch_from *from, struct error *err)
{
	struct client *c;

	q->listing.stream = true;
	c = listing_open(&q->listing, &cmd, &job_kind, "jobs", NULL, err);
	if (!c)
		return -1;
	watch_jobs(&cmd, c, &q->filter, from, &q->listing, err);
	return listing_close(&q->listing, c, -1, false, err);
}

/* Does the list name a state other than PENDING? */
static bool asks_for_others(const struct cmd_list *states)
{
	for (size_t i = 0; i < states->n; i++)
		if (strcmp(states->v[i], "PENDING") != 0)
			return true;
	return false;
}

static int check_pairs(const struct gqueue *q, struct error *err)
{
	static const char named[] = "it is about the jobs that it names",
	                  changes[] = "jobs are printed as they change";
	const struct cmd_list *lists = q->filter.lists;
	const struct cmd_pair pairs[] = {
		{ q->watch, q->start, "--watch", "--start", NULL },
		{ q->watch, q->why, "--watch", "--why", NULL },
		{ q->watch, q->listing.sort, "--watch", "--sort", changes },
		{ q->watch, q->listing.whole, "--watch", "--whole", "long texts are cut in "
		        "changes" },
		{ q->steps, q->start, "--steps", "--start", NULL },
		{ q->steps, q->why, "--steps", "--why", NULL },
		{ q->steps, q->watch, "--steps", "--watch", NULL },
		{ q->start, asks_for_others(&lists[FILTER_STATES]), "--start", "--states",
		        "it lists PENDING jobs only" },
		{ q->why, q->start, "--why", "--start", named },
		{ q->why, q->listing.columns, "--why", "--format", named },
		{ q->why, q->listing.sort, "--why", "--sort", named },
		{ q->why, q->listing.longer, "--why", "--long", named },
		{ q->why, q->listing.csv, "--why", "--csv", named },
		{ q->why, q->listing.whole, "--why", "--whole", named },
		{ q->why, q->filter.me, "--why", "--me", named },
		{ q->why, lists[FILTER_USERS].n, "--why", "--user", named },
		{ q->why, lists[FILTER_ACCOUNTS].n, "--why", "--account", named },
		{ q->why, lists[FILTER_PARTITIONS].n, "--why", "--partition", named },
		{ q->why, lists[FILTER_QOS].n, "--why", "--qos", named },
		{ q->why, lists[FILTER_STATES].n, "--why", "--states", named },
		{ q->why, lists[FILTER_NAMES].n, "--why", "--name", named },
		{ q->why, lists[FILTER_NODES].n, "--why", "--nodes", named },
	};

	return cmd_check_pairs(CMD_PAIRS(pairs), err);
}

static int carry_out(void *input, struct error *err)
{
	struct gqueue *q = input;
	struct watch_from from = { 0 };

	q->filter.ended |= q->filter.ids.n > 0;
	if (check_watch(q, &from, err) < 0 || check_pairs(q, err) < 0)
		return -1;
	if (q->watch)
		return watch(q, &from, err);
	if (q->steps)
		return list_steps(q, err);
	return q->why ? ask_why(q, err) : run(q, err);
}

int main(int argc, char **argv)
{
	struct gqueue q = { .start = false };
	int status = cmd_main(&cmd, argc, argv, &q, carry_out);

	filter_clear(&q.filter);
	return status;
}
