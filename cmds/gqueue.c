/* gqueue.c - list jobs */
#include <stdlib.h>
#include <string.h>

#include "cmds/api/whole.h"
#include "cmds/cli/cmd.h"
#include "cmds/cli/listing.h"
#include "cmds/views/filter.h"
#include "cmds/views/views.h"
#include "cmds/views/watch.h"
#include "cmds/views/whyview.h"
#include "common/base/text.h"

enum { KEY_ME = 0x200, KEY_ALL, KEY_START, KEY_WHY, KEY_WATCH, KEY_SINCE };

#define START_COLUMNS "JOBID,PARTITION,NAME,USER,ST,START,POS,SCHEDNODES"
#define START_ORDER   "START,JOBID"

struct gqueue {
	struct filter filter;
	struct listing listing;
	bool start, why, watch;
	const char *since; /* borrowed of the command line */
	size_t n_shown;
};

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "Which jobs (several restrict together; LIST has commas between):", 1 },
	{ "me", KEY_ME, NULL, 0, "My own", 1 },
	{ "user", 'u', "LIST", 0, "Of these users", 1 },
	{ "account", 'A', "LIST", 0, "Of these accounts, and all below them", 1 },
	{ "partition", 'p', "LIST", 0, "In these partitions", 1 },
	{ "qos", 'q', "LIST", 0, "With these qualities of service", 1 },
	{ "states", 't', "LIST", 0, "In these states: PENDING or PD, RUNNING or R, ...", 1 },
	{ "name", 'n', "LIST", 0, "With these names", 1 },
	{ "nodes", 'w', "NODES", 0, "On these nodes: n[01-04],m1", 1 },
	{ "nodelist", 0, NULL, OPTION_ALIAS, NULL, 1 },
	{ "jobs", 'j', "IDS", 0, "With these ids, also if they have ended", 1 },
	{ "all", KEY_ALL, NULL, 0, "Also those that have ended, while the controller keeps them",
	        1 },
	{ NULL, 0, NULL, 0, "What is asked about them:", 2 },
	{ "start", KEY_START, NULL, 0,
	        "When and where those that wait are planned to start, the first on top", 2 },
	{ "why", KEY_WHY, "IDS", 0, "Why these wait: all reasons, and what would start them now",
	        2 },
	{ "watch", KEY_WATCH, NULL, 0,
	        "All of them, then each again when it changes, until it is interrupted", 2 },
	{ "since", KEY_SINCE, "CURSOR", 0,
	        "With --watch: what has changed since then; now: only what changes from now on",
	        2 },
	LISTING_OPTIONS(3),
	LISTING_WHOLE(3),
	{ 0 },
};

static int take(int key, char *value, struct argp_state *state, void *input, struct error *err)
{
	struct gqueue *q = input;
	(void)state;

	switch (key) {
	case KEY_ME:
		return filter_add_me(&q->filter, err);
	case 'u':
		return filter_add(&q->filter, FILTER_USERS, "--user", value, err);
	case 'A':
		return filter_add(&q->filter, FILTER_ACCOUNTS, "--account", value, err);
	case 'q':
		return filter_add(&q->filter, FILTER_QOS, "--qos", value, err);
	case 'p':
		return filter_add(&q->filter, FILTER_PARTITIONS, "--partition", value, err);
	case 't':
		return filter_add(&q->filter, FILTER_STATES, "--states", value, err);
	case 'n':
		return filter_add(&q->filter, FILTER_NAMES, "--name", value, err);
	case 'w':
		return filter_add(&q->filter, FILTER_NODES, "--nodes", value, err);
	case 'j':
		q->filter.ended = true;
		return filter_add(&q->filter, FILTER_IDS, "--jobs", value, err);
	case ARGP_KEY_ARG:
		q->filter.ended = true;
		return filter_add(&q->filter, FILTER_IDS, "ID", value, err);
	case KEY_ALL:
		q->filter.ended = true;
		return 0;
	case KEY_START:
		q->start = true;
		return 0;
	case KEY_WHY:
		q->why = true;
		return filter_add(&q->filter, FILTER_IDS, "--why", value, err);
	case KEY_WATCH:
		q->watch = true;
		return 0;
	case KEY_SINCE:
		q->since = value;
		return 0;
	default:
		return listing_take(&q->listing, key, value) ? 0 : cmd_no_argument(value, err);
	}
}

static void more_help(FILE *out)
{
	fputs("\nColumns:\n", out);
	view_print_columns(&job_kind, out);
}

static const struct cmd cmd = {
	.name = "gqueue",
	.arguments = "[ID...]",
	.about = "List jobs: first those that wait, the next to start on top, then those that "
	         "have started.",
	.examples =
	        "A job that waits shows why in brackets; -o JOBID,WHY says it in full. Into a pipe "
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
	        "  gqueue --all --sort=-END -o JOBID,STATE,EXIT,END\n"
	        "\n"
	        "Exit status: 0 done; 2 usage; 3 no such job, account, partition, QOS or node; "
	        "4 the controller was not reached.",
	.options = options,
	.take = take,
	.more_help = more_help,
};

static int show(const ProtobufCMessage *m, void *arg, struct error *err)
{
	const Gpusched__Job *job = (const Gpusched__Job *)m;
	struct gqueue *q = arg;

	(void)err;
	q->n_shown++;
	cmd_ids_saw(&q->filter.ids, job->id, job->tasks);
	listing_add(&q->listing, job, m);
	return 0;
}

static int list(struct gqueue *q, struct client *c, struct error *err)
{
	Gpusched__JobFilter filter;
	Gpusched__ListJobs request = GPUSCHED__LIST_JOBS__INIT;
	struct whole jobs = { GPUSCHED__MSG_TYPE__MSG_JOB_CHUNK, show, q, NULL };

	filter_message(&q->filter, &filter);
	request.filter = &filter;
	request.whole = q->listing.whole || q->filter.ids.n;
	return whole_ask(c, GPUSCHED__MSG_TYPE__MSG_LIST_JOBS, &request.base, &jobs, err);
}

/* --- --why -----------------------------------------------------------------------------------
 */

static int on_why(unsigned type, const ProtobufCMessage *m, void *arg, struct error *err)
{
	const Gpusched__WhyResult *why = (const Gpusched__WhyResult *)m;
	struct gqueue *q = arg;

	if (type != GPUSCHED__MSG_TYPE__MSG_WHY_RESULT)
		return error_set(err, ERR_PROTOCOL, "not an answer to why a job waits");
	if (!why->job)
		return error_set(err, ERR_PROTOCOL, "a reason without its job");
	cmd_ids_saw(&q->filter.ids, why->job->id, why->job->tasks);
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
	struct client_call call = { .type = GPUSCHED__MSG_TYPE__MSG_JOB_WHY,
		.request = &request.base,
		.on_chunk = on_why,
		.arg = q,
		.repeatable = true };
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

static int take_start(struct gqueue *q, struct error *err)
{
	if (!q->listing.columns)
		q->listing.columns = START_COLUMNS;
	if (!q->listing.sort)
		q->listing.sort = START_ORDER;
	return filter_add(&q->filter, FILTER_STATES, "--start", "PENDING", err);
}

static int run(struct gqueue *q, struct error *err)
{
	struct client *c = NULL;
	int rc;

	if (q->start && take_start(q, err) < 0)
		return -1;
	if (listing_check(&q->listing, &job_kind, err) == 0)
		c = client_new(NULL, err);
	if (!c) {
		listing_drop(&q->listing);
		return -1;
	}
	cmd_tell_retry(&cmd, c);
	listing_begin(&q->listing, client_conf(c)->cluster, "jobs");
	rc = cmd_ids_end(&q->filter.ids, list(q, c, err),
	        "not known, or not selected by the other options", err);
	rc = rc < 0 ? rc : filter_check_users(&q->filter, q->n_shown > 0, err);
	listing_end(&q->listing, rc < 0 ? err : NULL, rc < 0 && filter_is_partial(err, q->n_shown > 0));
	client_free(c);
	return rc;
}

/* --- --watch ---------------------------------------------------------------------------------- */

static int check_watch(const struct gqueue *q, struct watch_from *from, struct error *err)
{
	if (q->since && !q->watch)
		return error_set(err, ERR_USAGE, "--since goes with --watch only");
	return q->since ? watch_from_parse(q->since, from, err) : 0;
}

static int watch(struct gqueue *q, const struct watch_from *from, struct error *err)
{
	struct client *c = NULL;

	q->listing.stream = true;
	if (listing_check(&q->listing, &job_kind, err) == 0)
		c = client_new(NULL, err);
	if (!c) {
		listing_drop(&q->listing);
		return -1;
	}
	cmd_tell_retry(&cmd, c);
	listing_begin(&q->listing, client_conf(c)->cluster, "jobs");
	watch_jobs(&cmd, c, &q->filter, from, &q->listing, err);
	listing_end(&q->listing, err, false);
	client_free(c);
	return -1;
}

/* Of those that wait: does it ask for others? */
static bool asks_for_others(const struct cmd_list *states)
{
	for (size_t i = 0; i < states->n; i++)
		if (strcmp(states->v[i], "PENDING") != 0)
			return true;
	return false;
}

static int check_pairs(const struct gqueue *q, struct error *err)
{
	static const char named[] = "it tells of the jobs that it names",
	                  changes[] = "jobs come as they change";
	const struct cmd_list *lists = q->filter.lists;
	const struct cmd_pair pairs[] = {
		{ q->watch, q->start, "--watch", "--start", NULL },
		{ q->watch, q->why, "--watch", "--why", NULL },
		{ q->watch, q->listing.sort, "--watch", "--sort", changes },
		{ q->watch, q->listing.whole, "--watch", "--whole", "changes are told with long texts cut" },
		{ q->start, asks_for_others(&lists[FILTER_STATES]), "--start", "--states",
		        "it is of jobs that are PENDING" },
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

	if (check_watch(q, &from, err) < 0 || check_pairs(q, err) < 0)
		return -1;
	if (q->watch)
		return watch(q, &from, err);
	return q->why ? ask_why(q, err) : run(q, err);
}

int main(int argc, char **argv)
{
	struct gqueue q = { .start = false };
	int status = cmd_list(&cmd, argc, argv, &q, carry_out);

	filter_clear(&q.filter);
	return status;
}
