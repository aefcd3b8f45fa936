/* scontrol.c - shows and changes jobs, nodes and partitions, as Slurm's scontrol does */
#include "cmds/slurm_commands/scontrol.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cmds/slurm_commands/controller_queries.h"
#include "cmds/slurm_commands/program_table.h"
#include "cmds/slurm_commands/slurm_command_line.h"
#include "cmds/views/filter.h"

#define WORDS_MAX 256

struct line {
	struct scontrol s;
	char *words[WORDS_MAX + 1];
	size_t n;
};

static CMD_SETTER(set_details)
{
	++*(int *)field;
	return 0;
}

static const struct slurm_cmd_option options[] = {
	SLURM_CMD_SAME("all", 'a', SLURM_CMD_PLAIN),
	SLURM_CMD_CLUSTERS(struct line, s.clusters, "clusters"),
	SLURM_CMD_ROW(struct line, s.style.details, "details", 'd', SLURM_CMD_PLAIN, set_details),
	SLURM_CMD_NONE("federation", 'F', SLURM_CMD_PLAIN, "there are no federations"),
	SLURM_CMD_SAME("future", 'f', SLURM_CMD_PLAIN),
	SLURM_CMD_SAME("hide", 'H', SLURM_CMD_PLAIN),
	SLURM_CMD_NONE(
	        "json", 0, SLURM_CMD_PLAIN, "gctl show --json says the same in another form"),
	SLURM_CMD_SAME("local", 0, SLURM_CMD_PLAIN),
	SLURM_CMD_ROW(
	        struct line, s.style.one_line, "oneliner", 'o', SLURM_CMD_PLAIN, cmd_set_flag),
	SLURM_CMD_ROW(struct line, s.quiet, "quiet", 'Q', SLURM_CMD_PLAIN, cmd_set_flag),
	SLURM_CMD_NONE("sibling", 0, SLURM_CMD_PLAIN, "there are no federations"),
	SLURM_CMD_NONE("uid", 'u', SLURM_CMD_VALUE, "nothing is done in the name of another user"),
	SLURM_CMD_SAME("verbose", 'v', SLURM_CMD_PLAIN),
	SLURM_CMD_NONE(
	        "yaml", 0, SLURM_CMD_PLAIN, "gctl show --json says the same in another form"),
};

static int take_word(const char *value, void *input, struct error *err)
{
	struct line *l = input;

	if (l->n == WORDS_MAX)
		return error_set(err, ERR_USAGE, "too many words");
	l->words[l->n++] = (char *)value;
	return 0;
}

struct client *scontrol_client(struct scontrol *s)
{
	if (!s->client)
		s->client = slurm_cmd_client("scontrol", "scontrol: error", s->clusters);
	return s->client;
}

void scontrol_blame_job(uint64_t job, int code, const char *text)
{
	const char *known = code == ERR_NO_JOB          ? "Invalid job id specified"
	                    : code == ERR_NOT_PERMITTED ? "Access/permission denied"
	                                                : NULL;

	if (known)
		fprintf(stderr, "%s for job %llu\n", known, (unsigned long long)job);
	else
		fprintf(stderr, "%s\n", text); /* which names the job itself */
}

/* --- jobs ------------------------------------------------------------------------------------ */

static void on_error(const Gpusched__JobError *e, void *arg)
{
	int *status = arg;

	scontrol_blame_job(e->job, (int)e->code, e->text);
	*status = SLURM_CMD_FAILED;
}

/* "12,13" and "12 13", "jobid=12" */
static int take_ids(const struct scontrol *s, struct filter *f)
{
	for (size_t i = 0; i < s->n; i++) {
		const char *equal = strchr(s->words[i], '='),
		           *word = equal ? equal + 1 : s->words[i];
		struct error err;

		if (filter_add(f, FILTER_IDS, "ID", word, &err) >= 0)
			continue;
		fprintf(stderr, "Invalid job id specified for job %s\n", word);
		return SLURM_CMD_FAILED;
	}
	return 0;
}

#define VERB(name) GPUSCHED__JOB_CONTROL__VERB__##name

static int control(struct scontrol *s, Gpusched__JobControl__Verb verb)
{
	Gpusched__JobControl request = GPUSCHED__JOB_CONTROL__INIT;
	struct filter filter = { .ended = true };
	struct error err;
	uint32_t done;
	int status = 0;

	if (!s->n) {
		slurm_cmd_say("scontrol", "too few arguments for keyword");
		return SLURM_CMD_FAILED;
	}
	status = take_ids(s, &filter);
	request.verb = verb;
	/* A job may requeue itself: what ends it is not to end this program before it has said how
	 * that went. */
	if ((verb == VERB(REQUEUE) || verb == VERB(REQUEUE_HOLD)) && getenv("SLURM_JOB_ID"))
		signal(SIGTERM, SIG_IGN);
	if (!status && !scontrol_client(s))
		status = SLURM_CMD_FAILED;
	if (!status &&
	        ask_control(s->client, &request, &filter, on_error, &status, &done, &err) < 0)
		status = slurm_cmd_fail_load("scontrol", "slurm_update error", &err);
	filter_clear(&filter);
	return status;
}

#define CONTROL(name, verb)                      \
	static int do_##name(struct scontrol *s) \
	{                                        \
		return control(s, VERB(verb));   \
	}
CONTROL(hold, HOLD)
CONTROL(release, RELEASE)
CONTROL(requeue, REQUEUE)
CONTROL(requeuehold, REQUEUE_HOLD)
CONTROL(suspend, SUSPEND)
CONTROL(resume, RESUME)

static int do_wait_job(struct scontrol *s)
{
	Gpusched__WaitJobs request = GPUSCHED__WAIT_JOBS__INIT;
	struct client_call call = { .type = GPUSCHED__MSG_TYPE__MSG_WAIT_JOBS,
		.request = &request.base,
		.timeout_ms = -1,
		.repeatable = true };
	struct filter filter = { .ended = true };
	struct error err;
	int status = take_ids(s, &filter);

	if (!s->n)
		status = SLURM_CMD_FAILED;
	request.ids = filter.ids.whole;
	request.n_ids = filter.ids.n_whole;
	request.tasks = filter.ids.some;
	request.n_tasks = filter.ids.n_some;
	request.until_started = true;
	if (!status && !scontrol_client(s))
		status = SLURM_CMD_FAILED;
	if (!status && client_call(s->client, &call, &err) < 0)
		status = slurm_cmd_fail_load("scontrol", "slurm_job_node_ready error", &err);
	filter_clear(&filter);
	return status;
}

/* --- the controller -------------------------------------------------------------------------- */

static int on_pong(const ProtobufCMessage *m, void *arg, struct error *err)
{
	const Gpusched__Pong *pong = (const Gpusched__Pong *)m;
	(void)arg, (void)err;

	printf("Slurmctld(primary) at %s is UP\n", pong->host);
	return 0;
}

static int do_ping(struct scontrol *s)
{
	Gpusched__Ping ping = GPUSCHED__PING__INIT;
	struct client_call call = CLIENT_ASK(PING, &ping.base, PONG, on_pong, NULL);
	struct error err;

	if (!scontrol_client(s))
		return SLURM_CMD_FAILED;
	client_set_retry(s->client, 0);
	if (client_call(s->client, &call, &err) >= 0)
		return 0;
	printf("Slurmctld(primary) at %s is DOWN\n", client_conf(s->client)->host);
	return SLURM_CMD_FAILED;
}

static int do_reconfigure(struct scontrol *s)
{
	Gpusched__Reconfigure request = GPUSCHED__RECONFIGURE__INIT;
	struct client_call call = { .type = GPUSCHED__MSG_TYPE__MSG_RECONFIGURE,
		.request = &request.base };
	struct error err;

	if (!scontrol_client(s))
		return SLURM_CMD_FAILED;
	if (client_call(s->client, &call, &err) < 0)
		return slurm_cmd_fail_load("scontrol", "slurm_reconfigure error", &err);
	return 0;
}

static int do_version(struct scontrol *s)
{
	(void)s;
	puts(SLURM_CMD_VERSION);
	return 0;
}

/* --- all of it ------------------------------------------------------------------------------- */

static const struct slurm_cmd_word words[] = {
	{ "show", SLURM_CMD_DIFFERS,
	        "config, hostlist, hostlistsorted, hostnames, job, node, partition, reservation" },
	{ "update", SLURM_CMD_DIFFERS, "JobId=, NodeName= State= Reason=, PartitionName= State=" },
	{ "hold", SLURM_CMD_YES, NULL },
	{ "uhold", SLURM_CMD_YES, NULL },
	{ "release", SLURM_CMD_YES, NULL },
	{ "requeue", SLURM_CMD_YES, NULL },
	{ "requeuehold", SLURM_CMD_YES, NULL },
	{ "suspend", SLURM_CMD_YES, NULL },
	{ "resume", SLURM_CMD_YES, NULL },
	{ "wait_job", SLURM_CMD_YES, NULL },
	{ "reconfigure", SLURM_CMD_YES, NULL },
	{ "ping", SLURM_CMD_YES, NULL },
	{ "version", SLURM_CMD_YES, NULL },
	{ "write", SLURM_CMD_DIFFERS, "batch_script alone" },
	{ "top", SLURM_CMD_NO, "a job is moved by --nice: scontrol update JobId=ID Nice=N" },
	{ "abort", SLURM_CMD_NO, "gctl shutdown ends the controller" },
	{ "shutdown", SLURM_CMD_NO, "gctl shutdown ends the controller" },
	{ "takeover", SLURM_CMD_NO, "there is one controller" },
	{ "cluster", SLURM_CMD_NO, "there is one cluster; GPUSCHED_CONTROLLER names another" },
	{ "create", SLURM_CMD_NO,
	        "partitions are in gpusched.conf, and there are no reservations" },
	{ "delete", SLURM_CMD_NO,
	        "partitions are in gpusched.conf, and there are no reservations" },
	{ "listpids", SLURM_CMD_NO, "processes are seen on the job's node by ps" },
	{ "notify", SLURM_CMD_NO, "a job reads nothing that is sent to it" },
	{ "reboot", SLURM_CMD_NO, "no node is booted" },
	{ "cancel_reboot", SLURM_CMD_NO, "no node is booted" },
	{ "power", SLURM_CMD_NO, "power is not managed" },
	{ "schedloglevel", SLURM_CMD_NO, "log_level in gpusched.conf" },
	{ "setdebug", SLURM_CMD_NO, "log_level in gpusched.conf" },
	{ "setdebugflags", SLURM_CMD_NO, "log_level in gpusched.conf" },
	{ "token", SLURM_CMD_NO, "users are known by munge alone" },
	{ "errnumstr", SLURM_CMD_NO, "gctl list-errors lists the errors" },
	{ "pidinfo", SLURM_CMD_NO, "processes are seen on the job's node by ps" },
	{ "fsdampeningfactor", SLURM_CMD_NO, "priority.half_life in gpusched.conf" },
};
#define N_WORDS (sizeof(words) / sizeof(words[0]))

static const struct {
	const char *name;
	int (*run)(struct scontrol *s);
} verbs[] = {
	{ "show", scontrol_show },
	{ "update", scontrol_update },
	{ "hold", do_hold },
	{ "uhold", do_hold },
	{ "release", do_release },
	{ "requeue", do_requeue },
	{ "requeuehold", do_requeuehold },
	{ "suspend", do_suspend },
	{ "resume", do_resume },
	{ "wait_job", do_wait_job },
	{ "reconfigure", do_reconfigure },
	{ "ping", do_ping },
	{ "version", do_version },
	{ "write", scontrol_write },
};

/* A word may be abbreviated; the first that begins so is meant. */
static const struct slurm_cmd_word *find_word(const char *word)
{
	const struct slurm_cmd_word *found = NULL;

	for (size_t i = 0; i < N_WORDS; i++) {
		if (!strcasecmp(words[i].name, word))
			return &words[i];
		if (!found && strlen(word) > 1 && !strncasecmp(words[i].name, word, strlen(word)))
			found = &words[i];
	}
	return found;
}

static int run(struct line *l)
{
	const struct slurm_cmd_word *word = l->n ? find_word(l->words[0]) : NULL;
	int status = SLURM_CMD_FAILED;

	if (!l->n) {
		slurm_cmd_say("scontrol", "there is no interactive mode: a command is needed");
		return SLURM_CMD_FAILED;
	}
	if (!word) {
		fprintf(stderr, "invalid keyword: %s\n", l->words[0]);
		return SLURM_CMD_FAILED;
	}
	if (word->says == SLURM_CMD_NO) {
		slurm_cmd_say("scontrol", "%s: %s", word->name, word->text);
		return SLURM_CMD_FAILED;
	}
	l->s.words = l->words + 1;
	l->s.n = l->n - 1;
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (!strcmp(verbs[i].name, word->name))
			status = verbs[i].run(&l->s);
	client_free(l->s.client);
	return status;
}

int scontrol_main(int argc, char **argv)
{
	struct line l = { .n = 0 };
	int status = slurm_cmd_parse("scontrol", take_word, argc, argv, &l);

	return status == CMD_GO_ON ? slurm_cmd_finish("scontrol", run(&l)) : status;
}

SLURM_CMD_TABLE(option, scontrol_options, options)

SLURM_CMD_TABLE(word, scontrol_words, words)
