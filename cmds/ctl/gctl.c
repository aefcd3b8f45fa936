/* gctl.c - ask and steer the controller, its nodes and jobs
 *
 * What gctl can do is a table of subcommands. To add one: a function, a row, a line in man/gctl.1.
 */
#include <inttypes.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cmds/cli/cmd.h"
#include "cmds/cli/habits.h"
#include "cmds/cli/jsonout.h"
#include "cmds/ctl/events.h"
#include "cmds/ctl/gctl.h"
#include "cmds/ctl/update.h"
#include "cmds/views/control.h"
#include "cmds/views/filter.h"
#include "cmds/views/views.h"
#include "common/base/strbuf.h"
#include "common/base/text.h"
#include "common/base/xalloc.h"

enum {
	KEY_REASON = 0x200,
	KEY_JSON,
	KEY_CONFIRMED_OFF,
	KEY_SCRIPT,
	KEY_ENV,
	KEY_BEFORE,
	KEY_OLDER_THAN,
	KEY_DELETE,
	KEY_HOLD,
	KEY_UNCHECKED,
	KEY_BY,
	KEY_DRY_RUN
};

/* Which options a subcommand takes. */
enum takes {
	TAKES_JSON = 1 << 0,
	TAKES_JOBS = 1 << 1, /* --user and so on */
	TAKES_REASON = 1 << 2,
	TAKES_CONFIRMED_OFF = 1 << 3,
	TAKES_SCRIPT = 1 << 4, /* --script, --env */
	TAKES_AGE = 1 << 5,    /* --before, --older-than, --delete */
	TAKES_HOLD = 1 << 6,   /* --hold */
	TAKES_UNCHECKED = 1 << 7,
	TAKES_BY = 1 << 8,     /* --by */
	TAKES_DRY_RUN = 1 << 9,
};

static const struct cmd cmd;

/* --- requests -----------------------------------------------------------------------------------
 */

int gctl_ask(struct run *r, unsigned type, const ProtobufCMessage *request, bool repeatable,
        gctl_on_chunk *on_chunk, struct error *err)
{
	struct client_call call = { .type = type,
		.request = request,
		.on_chunk = on_chunk,
		.arg = r,
		.repeatable = repeatable };

	return client_call(r->client, &call, err);
}

char *gctl_reason(const struct run *r)
{
	return (char *)(r->g->reason ? r->g->reason : "");
}

int gctl_wrong_answer(struct error *err)
{
	return error_set(err, ERR_PROTOCOL, "the controller answers something else");
}

/* --- ping ----------------------------------------------------------------------------------- */

static double now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

static int on_pong(unsigned type, const ProtobufCMessage *m, void *arg, struct error *err)
{
	const Gpusched__Pong *pong = (const Gpusched__Pong *)m;
	struct run *r = arg;

	if (type != GPUSCHED__MSG_TYPE__MSG_PONG)
		return gctl_wrong_answer(err);
	if (r->g->json)
		jsonout_message(&r->out, m);
	else
		printf("%s: gctld %s on %s, epoch %" PRIu64 "; you are uid %" PRIu32 "\n",
		        pong->cluster, pong->version, pong->host, pong->epoch, pong->uid);
	return 0;
}

static int do_ping(struct run *r, struct error *err)
{
	Gpusched__Ping ping = GPUSCHED__PING__INIT;
	double start = now_ms();
	int rc;

	client_set_retry(r->client, 0);
	jsonout_begin(&r->out, stdout, client_conf(r->client)->cluster, "pong");
	rc = gctl_ask(r, GPUSCHED__MSG_TYPE__MSG_PING, &ping.base, true, on_pong, err);
	if (!r->g->json && rc >= 0)
		printf("it answered in %.1f ms, greeting included\n", now_ms() - start);
	return gctl_end(r, rc, err);
}

/* --- partitions ----------------------------------------------------------------------------- */

static const struct {
	const char *word;
	Gpusched__PartitionControl__State state;
} partition_states[] = {
	{ "up", GPUSCHED__PARTITION_CONTROL__STATE__UP },
	{ "drain", GPUSCHED__PARTITION_CONTROL__STATE__DRAIN },
	{ "down", GPUSCHED__PARTITION_CONTROL__STATE__DOWN },
	{ "inactive", GPUSCHED__PARTITION_CONTROL__STATE__INACTIVE },
};
#define N_PARTITION_STATES (sizeof(partition_states) / sizeof(partition_states[0]))

static int do_partition(struct run *r, struct error *err)
{
	Gpusched__PartitionControl request = GPUSCHED__PARTITION_CONTROL__INIT;
	size_t s = 0;

	while (s < N_PARTITION_STATES && strcmp(partition_states[s].word, r->words[1]) != 0)
		s++;
	if (s == N_PARTITION_STATES)
		return error_set(err, ERR_USAGE,
		        "partition: '%s': expected up, drain, down or inactive", r->words[1]);
	request.name = (char *)r->words[0];
	request.state = partition_states[s].state;
	request.reason = gctl_reason(r);
	if (gctl_ask(r, GPUSCHED__MSG_TYPE__MSG_PARTITION_CONTROL, &request.base, false, NULL,
	            err) < 0)
		return -1;
	printf("%s: %s\n", r->words[0], r->words[1]);
	return EXIT_DONE;
}

/* --- jobs ----------------------------------------------------------------------------------- */

/* If no jobs are named, those are meant that the verb can be applied to. */
static int add_states_of(struct filter *f, Gpusched__JobControl__Verb verb, struct error *err)
{
	const char *states = verb == GPUSCHED__JOB_CONTROL__VERB__SUSPEND ? "RUNNING"
	                     : verb == GPUSCHED__JOB_CONTROL__VERB__HOLD ||
	                                     verb == GPUSCHED__JOB_CONTROL__VERB__RELEASE
	                             ? "PENDING"
	                             : NULL;

	if (!states || f->ids.n || f->lists[FILTER_STATES].n)
		return 0;
	return filter_add(f, FILTER_STATES, "--states", states, err);
}

static int control_these(
        struct run *r, Gpusched__JobControl__Verb verb, const char *done, struct error *err)
{
	struct control control = { .verb = verb, .done = done, .reason = r->g->reason };
	struct filter *f = &r->g->filter;

	for (size_t i = 0; i < r->n; i++)
		if (filter_add(f, FILTER_IDS, "ID", r->words[i], err) < 0)
			return -1;
	if (filter_is_empty(f)) {
		error_set(err, ERR_USAGE, "which jobs?");
		return error_hint(err, "ids, or --user, --partition, --states, --name, --nodes");
	}
	if (add_states_of(f, verb, err) < 0)
		return -1;
	return control_jobs(&cmd, &control, f);
}

static int do_hold(struct run *r, struct error *err)
{
	return control_these(r, GPUSCHED__JOB_CONTROL__VERB__HOLD, "Held", err);
}

static int do_release(struct run *r, struct error *err)
{
	return control_these(r, GPUSCHED__JOB_CONTROL__VERB__RELEASE, "Released", err);
}

static int do_requeue(struct run *r, struct error *err)
{
	return control_these(r,
	        r->g->hold ? GPUSCHED__JOB_CONTROL__VERB__REQUEUE_HOLD
	                   : GPUSCHED__JOB_CONTROL__VERB__REQUEUE,
	        "Requeued", err);
}

/* Ids of jobs: digits and commas alone. No node is called that way. */
static bool are_jobs(const struct run *r)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->words[i][strspn(r->words[i], "0123456789,")])
			return false;
	return true;
}

static int do_resume(struct run *r, struct error *err)
{
	if (are_jobs(r))
		return control_these(r, GPUSCHED__JOB_CONTROL__VERB__RESUME, "Resumed", err);
	if (r->n > 1)
		return error_set(err, ERR_USAGE, "resume: one list of nodes, or ids of jobs");
	return gctl_control_nodes(r, GPUSCHED__NODE_CONTROL__VERB__RESUME, NULL, err);
}

static int do_suspend(struct run *r, struct error *err)
{
	return control_these(r, GPUSCHED__JOB_CONTROL__VERB__SUSPEND, "Suspended", err);
}

static int do_update(struct run *r, struct error *err)
{
	(void)r;
	error_set(err, ERR_USAGE, "update: its options stand behind it");
	return error_hint(err, "gctl update ID... --gpus=h100:4");
}

static int do_events(struct run *r, struct error *err)
{
	(void)r;
	error_set(err, ERR_USAGE, "events: its options stand behind it");
	return error_hint(err, "gctl events --job=4812");
}

/* --- the controller itself ------------------------------------------------------------------ */

static int on_reconfigured(unsigned type, const ProtobufCMessage *m, void *arg, struct error *err)
{
	const Gpusched__ReconfigureResult *result = (const Gpusched__ReconfigureResult *)m;
	struct run *r = arg;

	if (type != GPUSCHED__MSG_TYPE__MSG_RECONFIGURE_RESULT)
		return gctl_wrong_answer(err);
	for (size_t i = 0; i < result->n_changes; i++) {
		char *plain = text_escape_dup(result->changes[i]);

		puts(plain);
		free(plain);
	}
	if (result->n_cut)
		puts("... the controller's log has the rest");
	for (size_t i = 0; i < result->n_warnings; i++) {
		char *plain = text_escape_dup(result->warnings[i]);

		fprintf(stderr, "gctl: warning: %s\n", plain);
		free(plain);
	}
	r->seen += result->n_changes;
	return 0;
}

static int do_reconfigure(struct run *r, struct error *err)
{
	Gpusched__Reconfigure request = GPUSCHED__RECONFIGURE__INIT;

	request.reason = gctl_reason(r);
	request.dry_run = r->g->dry_run;
	if (gctl_ask(r, GPUSCHED__MSG_TYPE__MSG_RECONFIGURE, &request.base, false, on_reconfigured,
	            err) < 0)
		return -1;
	printf("%zu change%s%s\n", r->seen, r->seen == 1 ? "" : "s",
	        r->g->dry_run ? ", not made" : "");
	return EXIT_DONE;
}

static int do_shutdown(struct run *r, struct error *err)
{
	Gpusched__Shutdown request = GPUSCHED__SHUTDOWN__INIT;

	request.reason = gctl_reason(r);
	if (gctl_ask(r, GPUSCHED__MSG_TYPE__MSG_SHUTDOWN, &request.base, false, NULL, err) < 0)
		return -1;
	puts("The controller ends; jobs run on.");
	return EXIT_DONE;
}

static int do_backup(struct run *r, struct error *err)
{
	Gpusched__Backup request = GPUSCHED__BACKUP__INIT;
	struct client_call call = {
		.type = GPUSCHED__MSG_TYPE__MSG_BACKUP, .request = &request.base, .timeout_ms = -1
	}; /* it takes as long as it takes */

	if (r->words[0][0] != '/')
		return error_set(err, ERR_USAGE,
		        "backup: the path must be absolute: the controller writes it, on its host");
	request.path = (char *)r->words[0];
	request.reason = gctl_reason(r);
	if (client_call(r->client, &call, err) < 0)
		return -1;
	printf("Backup written to %s; check it with gctl verify %s\n", r->words[0], r->words[0]);
	return EXIT_DONE;
}

/* --- the table ------------------------------------------------------------------------------ */

struct subcommand {
	const char *words[2]; /* "show", "job" */
	const char *arguments;
	size_t min, max;                              /* number of arguments */
	unsigned takes;                               /* enum takes */
	bool offline;                                 /* needs no controller */
	int (*run)(struct run *r, struct error *err); /* -1, or the exit status */
	const char *help;
};

static const struct subcommand subcommands[] = {
	{ { "ping" }, "", 0, 0, TAKES_JSON, false, do_ping, "Does the controller answer?" },
	{ { "stats" }, "", 0, 0, TAKES_JSON | TAKES_BY, false, gctl_stats,
	        "The controller's own figures; with --by=user what each user holds of it" },
	{ { "show", "job" }, "ID...", 1, GCTL_WORDS_MAX, TAKES_JSON | TAKES_SCRIPT, false,
	        gctl_show_job, "All about jobs; with --script or --env what they run" },
	{ { "show", "node" }, "[NODES...]", 0, GCTL_WORDS_MAX, TAKES_JSON, false, gctl_show_node,
	        "All about nodes" },
	{ { "show", "partition" }, "[NAME...]", 0, GCTL_WORDS_MAX, TAKES_JSON, false,
	        gctl_show_partition, "All about partitions" },
	{ { "show", "config" }, "[SECTION...]", 0, GCTL_WORDS_MAX, 0, false, gctl_show_config,
	        "The configuration in force: all of it, or accounts, qos, partitions, ..." },
	{ { "show", "hostnames" }, "[NODES]", 0, 1, 0, true, gctl_show_hostnames,
	        "The names that a list stands for, one a line (default: the job's nodes)" },
	{ { "show", "hostlist" }, "NAMES", 1, 1, 0, true, gctl_show_hostlist,
	        "The short list of these names" },
	{ { "drain" }, "NODES[:GPU] REASON...", 1, GCTL_WORDS_MAX, TAKES_REASON, false, gctl_drain,
	        "Start no new jobs there; running jobs go on" },
	{ { "resume" }, "NODES[:GPU] | ID...", 1, GCTL_WORDS_MAX, TAKES_REASON, false, do_resume,
	        "Let nodes accept jobs again; let suspended jobs go on" },
	{ { "node", "down" }, "NODES [REASON...]", 1, GCTL_WORDS_MAX,
	        TAKES_REASON | TAKES_CONFIRMED_OFF, false, gctl_node_down,
	        "Mark nodes down; with --confirmed-off their jobs end as NODE_FAIL" },
	{ { "node", "clear" }, "NODES REASON...", 1, GCTL_WORDS_MAX, TAKES_REASON, false,
	        gctl_node_clear, "Kill runs that belong to no known job" },
	{ { "partition" }, "NAME STATE", 2, 2, TAKES_REASON, false, do_partition,
	        "Make it up, drain, down or inactive, whatever gpusched.conf says" },
	{ { "hold" }, "ID...", 0, GCTL_WORDS_MAX, TAKES_JOBS | TAKES_REASON, false, do_hold,
	        "Hold waiting jobs: they do not start until they are released" },
	{ { "release" }, "ID...", 0, GCTL_WORDS_MAX, TAKES_JOBS | TAKES_REASON, false, do_release,
	        "Release held jobs" },
	{ { "requeue" }, "ID...", 0, GCTL_WORDS_MAX, TAKES_JOBS | TAKES_REASON | TAKES_HOLD, false,
	        do_requeue, "Requeue jobs; running ones are stopped first" },
	{ { "renew" }, "ID...", 1, GCTL_WORDS_MAX, TAKES_REASON | TAKES_UNCHECKED, false,
	        gctl_resign,
	        "Renew the signature of your jobs, so that they can start after a long wait" },
	{ { "wait" }, "ID...", 1, GCTL_WORDS_MAX, 0, false, gctl_wait,
	        "Wait until jobs, arrays or tasks have ended; the highest exit status is its own" },
	{ { "suspend" }, "ID...", 0, GCTL_WORDS_MAX, TAKES_JOBS | TAKES_REASON, false, do_suspend,
	        "Suspend running jobs; they keep their GPUs" },
	{ { "update" }, "ID... OPTION...", 0, GCTL_WORDS_MAX, TAKES_REASON, true, do_update,
	        "Change the request of waiting jobs: gctl update --help" },
	{ { "events" }, "[OPTION...]", 0, GCTL_WORDS_MAX, TAKES_JSON, true, do_events,
	        "The audit trail: changes with user, time, host and reason: gctl events --help" },
	{ { "reconfigure" }, "", 0, 0, TAKES_REASON | TAKES_DRY_RUN, false, do_reconfigure,
	        "Read gpusched.conf again; a file with a mistake changes nothing" },
	{ { "backup" }, "FILE", 1, 1, TAKES_REASON, false, do_backup,
	        "Write a backup of the running controller's state, on its host" },
	{ { "verify" }, "FILE", 1, 1, 0, true, gctl_verify,
	        "Check a backup as a start would, on the controller's host" },
	{ { "archive" }, "FILE", 1, 1, TAKES_AGE | TAKES_REASON, false, gctl_archive,
	        "Copy old history into a file, on the controller's host" },
	{ { "shutdown" }, "", 0, 0, TAKES_REASON, false, do_shutdown,
	        "End the controller; running jobs go on" },
	{ { "list-errors" }, "", 0, 0, 0, true, gctl_list_errors,
	        "Error codes, with exit status and meaning" },
	{ { "list-reasons" }, "", 0, 0, 0, true, gctl_list_reasons,
	        "Reasons why a job waits or how it ended" },
};
#define N_SUBCOMMANDS (sizeof(subcommands) / sizeof(subcommands[0]))

/* --- the command line ----------------------------------------------------------------------- */

static const struct argp_option options[] = {
	{ "json", KEY_JSON, NULL, 0, "Answer in JSON (ping, stats, show)", 1 },
	{ "by", KEY_BY, "user", 0, "What each user holds of the controller, and may (stats)", 1 },
	{ "script", KEY_SCRIPT, NULL, 0, "The script alone, as it was submitted (show job)", 1 },
	{ "env", KEY_ENV, NULL, 0, "Its environment alone (show job)", 1 },
	{ "reason", KEY_REASON, "TEXT", 0, "Kept with what is changed, next to who did it", 1 },
	{ "hold", KEY_HOLD, NULL, 0, "And hold them (requeue)", 1 },
	{ "unchecked", KEY_UNCHECKED, NULL, 0,
	        "Also what was signed with a munge key that is gone, as the controller shows it "
	        "(renew)",
	        1 },
	{ "dry-run", KEY_DRY_RUN, NULL, 0, "Say what would change, and change nothing (reconfigure)",
	        1 },
	{ "confirmed-off", KEY_CONFIRMED_OFF, NULL, 0,
	        "I have seen to it that nothing runs there any more (node down)", 1 },
	{ "before", KEY_BEFORE, "TIME", 0, "What ended and happened before then (archive)", 1 },
	{ "older-than", KEY_OLDER_THAN, "DURATION", 0,
	        "What ended and happened longer ago (archive)", 1 },
	{ "delete", KEY_DELETE, NULL, 0, "It leaves the history, once it is in the file (archive)",
	        1 },
	{ NULL, 0, NULL, 0, "Which jobs, besides ids (hold, release, requeue, suspend):", 2 },
	{ "user", 'u', "LIST", 0, "Of these users", 2 },
	{ "partition", 'p', "LIST", 0, "In these partitions", 2 },
	{ "states", 't', "LIST", 0, "In these states", 2 },
	{ "name", 'n', "LIST", 0, "With these names", 2 },
	{ "nodes", 'w', "NODES", 0, "On these nodes", 2 },
	{ 0 },
};

/* Which of enum takes an option belongs to. */
static unsigned option_takes(int key)
{
	switch (key) {
	case KEY_JSON:
		return TAKES_JSON;
	case KEY_REASON:
		return TAKES_REASON;
	case KEY_CONFIRMED_OFF:
		return TAKES_CONFIRMED_OFF;
	case KEY_SCRIPT:
	case KEY_ENV:
		return TAKES_SCRIPT;
	case KEY_BEFORE:
	case KEY_OLDER_THAN:
	case KEY_DELETE:
		return TAKES_AGE;
	case KEY_HOLD:
		return TAKES_HOLD;
	case KEY_UNCHECKED:
		return TAKES_UNCHECKED;
	case KEY_BY:
		return TAKES_BY;
	case KEY_DRY_RUN:
		return TAKES_DRY_RUN;
	default:
		return TAKES_JOBS;
	}
}

static int take_word(struct gctl *g, const char *word, struct error *err)
{
	if (g->n_words == GCTL_WORDS_MAX)
		return error_set(err, ERR_USAGE, "more than %d arguments", GCTL_WORDS_MAX);
	g->words[g->n_words++] = word;
	return 0;
}

static int take(int key, char *value, struct argp_state *state, void *input, struct error *err)
{
	struct gctl *g = input;
	(void)state;

	if (key == ARGP_KEY_ARG)
		return take_word(g, value, err);
	for (unsigned i = 0; options[i].name || options[i].doc; i++)
		if (options[i].name && options[i].key == key)
			g->given |= 1U << i;
	switch (key) {
	case KEY_JSON:
		g->json = true;
		return 0;
	case KEY_REASON:
		g->reason = value;
		return text_check("--reason", value, CONTROL_REASON_MAX, err);
	case KEY_CONFIRMED_OFF:
		g->confirmed_off = true;
		return 0;
	case KEY_SCRIPT:
		g->script = true;
		return 0;
	case KEY_ENV:
		g->env = true;
		return 0;
	case KEY_BEFORE:
		g->before = value;
		return 0;
	case KEY_OLDER_THAN:
		g->older_than = value;
		return 0;
	case KEY_DELETE:
		g->remove = true;
		return 0;
	case KEY_HOLD:
		g->hold = true;
		return 0;
	case KEY_UNCHECKED:
		g->unchecked = true;
		return 0;
	case KEY_BY:
		g->by = value;
		return 0;
	case KEY_DRY_RUN:
		g->dry_run = true;
		return 0;
	case 'u':
		return filter_add(&g->filter, FILTER_USERS, "--user", value, err);
	case 'p':
		return filter_add(&g->filter, FILTER_PARTITIONS, "--partition", value, err);
	case 't':
		return filter_add(&g->filter, FILTER_STATES, "--states", value, err);
	case 'n':
		return filter_add(&g->filter, FILTER_NAMES, "--name", value, err);
	default:
		return filter_add(&g->filter, FILTER_NODES, "--nodes", value, err);
	}
}

static void more_help(FILE *out)
{
	fputs("\nSubcommands:\n", out);
	for (size_t i = 0; i < N_SUBCOMMANDS; i++) {
		const struct subcommand *s = &subcommands[i];
		char usage[80];

		snprintf(usage, sizeof(usage), "%s%s%s %s", s->words[0], s->words[1] ? " " : "",
		        s->words[1] ? s->words[1] : "", s->arguments);
		fprintf(out, "  %-28s %s\n", usage, s->help);
	}
}

static const struct cmd cmd = {
	.name = "gctl",
	.arguments = "SUBCOMMAND [ARGUMENT...]",
	.about = "Ask and steer the controller, its nodes and jobs.",
	.examples =
	        "NODES is a list such as n[01-04],m1. Owners hold and release their own jobs; "
	        "nodes and partitions are for operators, the controller is for "
	        "administrators.\n"
	        "\n"
	        "Examples:\n"
	        "  gctl ping\n"
	        "  gctl show job 4812\n"
	        "  gctl drain h04 'ECC errors on GPU 5'\n"
	        "  gctl resume h04\n"
	        "  gctl node down h04 --confirmed-off\n"
	        "  gctl release --user ana --name embed\n"
	        "  gctl update 4812 --gpus=h100:4 --time=2:00:00\n"
	        "\n"
	        "Exit status: 0 done; 1 refused; 2 usage; 3 no such job, node, partition, account or QOS; 4 the "
	        "controller was not reached; 5 not permitted.",
	.options = options,
	.take = take,
	.more_help = more_help,
};

/* Words of earlier releases are still taken. */
static const char *present_word(const char *word)
{
	return strcmp(word, "resign") ? word : "renew";
}

/* The subcommand that the first words name; *used of them. NULL with `err`. */
static const struct subcommand *find(const struct gctl *g, size_t *used, struct error *err)
{
	const char *first = g->n_words ? present_word(g->words[0]) : "";
	const char *names[N_SUBCOMMANDS + 1], *near, *habit;
	char shown[80];
	size_t i;

	for (i = 0; i < N_SUBCOMMANDS; i++) {
		const struct subcommand *s = &subcommands[i];

		names[i] = s->words[0];
		*used = s->words[1] ? 2 : 1;
		if (!strcmp(first, s->words[0]) &&
		        (!s->words[1] || (g->n_words > 1 && !strcmp(g->words[1], s->words[1]))))
			return s;
	}
	names[i] = NULL;
	text_escape(shown, sizeof(shown), first, strlen(first));
	near = text_nearest(first, names);
	if (!g->n_words)
		error_set(err, ERR_USAGE, "what is to be done?");
	else if (!strcmp(first, "show"))
		error_set(err, ERR_USAGE,
		        "show: expected show job, show node, show partition, show config, show "
		        "hostnames or show hostlist");
	else if (!strcmp(first, "node"))
		error_set(err, ERR_USAGE, "node: expected node down or node clear");
	else
		error_set(err, ERR_USAGE, "'%s': no such subcommand%s%s%s", shown,
		        near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
	habit = !strcmp(first, "show") && g->n_words > 1 ? habits_find("gctl show", g->words[1])
	                                                 : habits_find(cmd.name, first);
	error_hint(err, "%s", habit ? habit : "gctl --help lists the subcommands");
	return NULL;
}

static int check(const struct subcommand *s, const struct gctl *g, size_t n, struct error *err)
{
	char name[64];

	snprintf(name, sizeof(name), "%s%s%s", s->words[0], s->words[1] ? " " : "",
	        s->words[1] ? s->words[1] : "");
	if (n < s->min || n > s->max)
		return error_set(err, ERR_USAGE, "%s: %zu arguments; expected gctl %s %s", name, n,
		        name, s->arguments);
	for (size_t i = 0; options[i].name || options[i].doc; i++) {
		if ((g->given >> i & 1) && !(s->takes & option_takes(options[i].key)))
			return error_set(
			        err, ERR_USAGE, "%s: takes no --%s", name, options[i].name);
	}
	return 0;
}

static int run(struct gctl *g, struct error *err)
{
	struct run r = { .g = g };
	size_t used;
	const struct subcommand *s = find(g, &used, err);
	int rc;

	if (!s || check(s, g, g->n_words - used, err) < 0)
		return -1;
	r.words = g->words + used;
	r.n = g->n_words - used;
	if (!s->offline) {
		r.client = client_new(NULL, err);
		if (!r.client)
			return -1;
		cmd_tell_retry(&cmd, r.client);
	}
	rc = s->run(&r, err);
	client_free(r.client);
	return rc;
}

int main(int argc, char **argv)
{
	struct error err = { .code = ERR_NONE };
	struct gctl *g;
	int status;

	setlocale(LC_ALL, "");
	if (argc > 1 && !strcmp(argv[1], "update"))
		return update_main(argc - 1, argv + 1);
	if (argc > 1 && !strcmp(argv[1], "events"))
		return events_main(argc - 1, argv + 1);
	g = xcalloc(1, sizeof(*g));
	status = cmd_parse(&cmd, argc, argv, g);
	if (status == CMD_GO_ON) {
		status = run(g, &err);
		status = cmd_finish(&cmd, status < 0 ? cmd_fail(&cmd, &err) : status);
	}
	filter_clear(&g->filter);
	free(g);
	return status;
}
