/* scontrol_update.c - scontrol update: changes of jobs, nodes and partitions, as KEY=VALUE
 *
 * What a job asks for is said in Slurm's keys and changed through the options that gsubmit has for
 * it; what its owner signed (its name, its files) the owner signs anew.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cmds/api/renew_signature.h"
#include "cmds/api/spec.h"
#include "cmds/options/options.h"
#include "cmds/slurm_commands/controller_queries.h"
#include "cmds/slurm_commands/scontrol.h"
#include "cmds/slurm_commands/slurm_command_line.h"
#include "common/base/taskset.h"
#include "common/base/units.h"

#define FIELD(name) GPUSCHED__JOB_CONTROL__FIELD__##name
#define SIGNED      FIELD(FIELD_NONE)                 /* the owner signs it anew */
#define TAKEN       ((Gpusched__JobControl__Field)-1) /* it changes nothing */

/* Keys of jobs; `option` is gsubmit's. */
static const struct job_key {
	const char *key, *option;
	Gpusched__JobControl__Field field;
} job_keys[] = {
	{ "Account", "account", FIELD(ACCOUNT) },
	{ "Comment", "comment", FIELD(REMARK) },
	{ "Deadline", "deadline", FIELD(DEADLINE) },
	{ "Dependency", "dependency", FIELD(DEPENDENCY) },
	{ "EligibleTime", "begin", FIELD(BEGIN) },
	{ "ExcNodeList", "exclude", FIELD(EXCLUDE) },
	{ "Features", "constraint", FIELD(CONSTRAINT) },
	{ "Gres", "gres", FIELD(GPUS) },
	{ "JobName", "job-name", SIGNED },
	{ "Licenses", "licenses", FIELD(LICENCES) },
	{ "MailType", "mail-type", FIELD(MAIL_TYPE) },
	{ "MailUser", "mail-user", FIELD(MAIL_USER) },
	{ "MinCPUsNode", "cpus-per-task", FIELD(CPUS) },
	{ "MinMemoryNode", "mem", FIELD(MEM) },
	{ "Name", "job-name", SIGNED },
	{ "Nice", "nice", FIELD(NICE) },
	{ "NodeList", "nodelist", FIELD(NODELIST) },
	{ "NumNodes", "nodes", FIELD(NODES) },
	{ "Partition", "partition", FIELD(PARTITION) },
	{ "Prefer", "prefer", FIELD(PREFER) },
	{ "QOS", "qos", FIELD(QOS) },
	{ "ReqNodeList", "nodelist", FIELD(NODELIST) },
	{ "StartTime", "begin", FIELD(BEGIN) },
	{ "StdErr", "error", SIGNED },
	{ "StdIn", "input", SIGNED },
	{ "StdOut", "output", SIGNED },
	{ "TimeLimit", "time", FIELD(TIME) },
	{ "TresPerNode", "gres", FIELD(GPUS) },
	{ "WCKey", NULL, TAKEN },
	{ "WorkDir", "chdir", SIGNED },
};
#define N_JOB_KEYS (sizeof(job_keys) / sizeof(job_keys[0]))
#define FIELDS_MAX 64

struct update {
	struct scontrol *s;
	struct filter filter;
	struct submit_options options;
	Gpusched__JobControl__Field fields[FIELDS_MAX];
	size_t n_fields;
	uint64_t throttle;
	bool is_signed, hold, taken;
	int status;
};

static int not_supported(const char *word)
{
	fprintf(stderr, "Update of this parameter is not supported: %s\nRequest aborted\n", word);
	return SLURM_CMD_FAILED;
}

static void add_field(struct update *u, Gpusched__JobControl__Field field)
{
	for (size_t i = 0; i < u->n_fields; i++)
		if (u->fields[i] == field)
			return;
	if (u->n_fields < FIELDS_MAX)
		u->fields[u->n_fields++] = field;
}

static bool is_key(const char *key, const char *word, size_t len)
{
	return strlen(key) == len && !strncasecmp(key, word, len);
}

/* What no option of gsubmit is. 1: taken; 0: it is none of these; -1: a message was printed. */
static int set_special(struct update *u, const char *word, size_t len, const char *value)
{
	uint64_t n;

	if (is_key("ArrayTaskThrottle", word, len)) {
		if (count_parse(value, 0, TASK_MAX, &u->throttle, NULL) < 0)
			return not_supported(word), -1;
		add_field(u, FIELD(ARRAY_THROTTLE));
		return 1;
	}
	if (is_key("Requeue", word, len)) {
		u->options.no_requeue = !strcmp(value, "0") || !strcasecmp(value, "no");
		add_field(u, FIELD(NO_REQUEUE));
		return 1;
	}
	if (is_key("Priority", word, len)) {
		if (count_parse(value, 0, UINT32_MAX, &n, NULL) < 0 || n)
			return not_supported(word), -1;
		u->hold = true;
		return 1;
	}
	return 0;
}

/* Slurm's "UNLIMITED", and "0" of no limit. */
static const char *as_option(const struct job_key *key, const char *value)
{
	bool none = !strcasecmp(value, "UNLIMITED") || !strcasecmp(value, "INFINITE");

	return key->field == FIELD(TIME) && none ? "unlimited" : value;
}

static int set_job_key(struct update *u, const char *word)
{
	size_t len = strcspn(word, "+-=");
	const char *equal = strchr(word, '='), *value = equal ? equal + 1 : "";
	int special = equal && word[len] == '=' ? set_special(u, word, len, value) : 0;
	struct error err;

	if (special)
		return special < 0 ? SLURM_CMD_FAILED : 0;
	for (size_t i = 0; equal && word[len] == '=' && i < N_JOB_KEYS; i++) {
		const struct job_key *k = &job_keys[i];
		const struct option_row *row;

		if (!is_key(k->key, word, len))
			continue;
		u->taken |= k->field == TAKEN;
		if (k->field == TAKEN)
			return 0;
		row = option_by_name(k->option, strlen(k->option));
		if (options_set(&u->options, row, as_option(k, value), &err) < 0)
			return slurm_cmd_fail("scontrol", &err);
		u->is_signed |= k->field == SIGNED;
		if (k->field != SIGNED)
			add_field(u, k->field);
		return 0;
	}
	return not_supported(word);
}

static void on_error(const Gpusched__JobError *e, void *arg)
{
	struct update *u = arg;

	scontrol_blame_job(e->job, (int)e->code, e->text);
	u->status = SLURM_CMD_FAILED;
}

static void on_signed(const struct renewed_signature *r, void *arg)
{
	struct update *u = arg;

	if (!r->error)
		return;
	scontrol_blame_job(r->job, r->error->code, r->error->text);
	u->status = SLURM_CMD_FAILED;
}

static int sign_anew(struct update *u)
{
	const struct submit_options *o = &u->options;
	const struct respecification change = { .name = o->name,
		.cwd = o->chdir,
		.input = o->input,
		.output = o->output,
		.error = o->error };
	const struct renew_request wish = { .change = &change, .reason = "" };
	struct error err;

	if (o->chdir && o->chdir[0] != '/') {
		slurm_cmd_say("scontrol", "WorkDir=%s: begins at the root", o->chdir);
		return SLURM_CMD_FAILED;
	}
	if (renew_signatures(u->s->client, u->filter.ids.whole, u->filter.ids.n_whole, &wish,
	            on_signed, u, &err) < 0)
		return slurm_cmd_fail_load("scontrol", "slurm_update error", &err);
	return u->status;
}

static int change_request(struct update *u, Gpusched__JobControl__Verb verb)
{
	Gpusched__JobControl request = GPUSCHED__JOB_CONTROL__INIT;
	Gpusched__JobRequest *change = NULL;
	struct gpusched_spec spec;
	struct error err;
	uint32_t done;
	int rc;

	gpusched_spec_init(&spec);
	options_ask(&u->options, &spec);
	if (verb == GPUSCHED__JOB_CONTROL__VERB__UPDATE) {
		change = spec_request(&spec, &err);
		if (!change)
			return slurm_cmd_fail("scontrol", &err);
		change->array_throttle = (uint32_t)u->throttle;
		request.change = change;
		request.fields = u->fields;
		request.n_fields = u->n_fields;
	}
	request.verb = verb;
	rc = ask_control(u->s->client, &request, &u->filter, on_error, u, &done, &err);
	if (change)
		gpusched__job_request__free_unpacked(change, NULL);
	return rc < 0 ? slurm_cmd_fail_load("scontrol", "slurm_update error", &err) : u->status;
}

static int update_job(struct scontrol *s, size_t id_at)
{
	struct update u = { .s = s, .filter = { .ended = true } };
	struct error err;
	int status = 0;

	options_init(&u.options);
	if (filter_add(&u.filter, FILTER_IDS, "JobId", strchr(s->words[id_at], '=') + 1, &err) <
	        0) {
		fprintf(stderr, "Invalid job id specified for job %s\n",
		        strchr(s->words[id_at], '=') + 1);
		status = SLURM_CMD_FAILED;
	}
	for (size_t i = 0; i < s->n && !status; i++)
		if (i != id_at)
			status = set_job_key(&u, s->words[i]);
	if (!status && !u.n_fields && !u.is_signed && !u.hold && !u.taken) {
		fprintf(stderr, "No changes specified\n");
		status = SLURM_CMD_FAILED;
	}
	if (!status && !scontrol_client(s))
		status = SLURM_CMD_FAILED;
	if (!status && u.is_signed)
		status = sign_anew(&u);
	if (!status && u.n_fields)
		status = change_request(&u, GPUSCHED__JOB_CONTROL__VERB__UPDATE);
	if (!status && u.hold)
		status = change_request(&u, GPUSCHED__JOB_CONTROL__VERB__HOLD);
	options_clear(&u.options);
	filter_clear(&u.filter);
	return status;
}

/* --- nodes and partitions --------------------------------------------------------------------- */

static const struct {
	const char *word;
	Gpusched__NodeControl__Verb verb;
} node_states[] = {
	{ "DRAIN", GPUSCHED__NODE_CONTROL__VERB__DRAIN },
	{ "RESUME", GPUSCHED__NODE_CONTROL__VERB__RESUME },
	{ "UNDRAIN", GPUSCHED__NODE_CONTROL__VERB__RESUME },
	{ "IDLE", GPUSCHED__NODE_CONTROL__VERB__RESUME },
	{ "DOWN", GPUSCHED__NODE_CONTROL__VERB__DOWN },
};

static const struct {
	const char *word;
	Gpusched__PartitionControl__State state;
} partition_states[] = {
	{ "UP", GPUSCHED__PARTITION_CONTROL__STATE__UP },
	{ "DRAIN", GPUSCHED__PARTITION_CONTROL__STATE__DRAIN },
	{ "DOWN", GPUSCHED__PARTITION_CONTROL__STATE__DOWN },
	{ "INACTIVE", GPUSCHED__PARTITION_CONTROL__STATE__INACTIVE },
};

/* The value of a key among the words; NULL: it is not there. */
static const char *value_of(const struct scontrol *s, const char *key)
{
	for (size_t i = 0; i < s->n; i++)
		if (is_key(key, s->words[i], strcspn(s->words[i], "=")) && strchr(s->words[i], '='))
			return strchr(s->words[i], '=') + 1;
	return NULL;
}

static const char *other_than(const struct scontrol *s, const char *const *keys)
{
	for (size_t i = 0; i < s->n; i++) {
		size_t k = 0;

		while (keys[k] && !is_key(keys[k], s->words[i], strcspn(s->words[i], "=")))
			k++;
		if (!keys[k])
			return s->words[i];
	}
	return NULL;
}

static int send(struct scontrol *s, unsigned type, const ProtobufCMessage *request)
{
	struct client_call call = { .type = type, .request = request };
	struct error err;

	if (!scontrol_client(s))
		return SLURM_CMD_FAILED;
	if (client_call(s->client, &call, &err) >= 0)
		return 0;
	if (slurm_cmd_unreachable(&err))
		return slurm_cmd_fail_load("scontrol", "slurm_update error", &err);
	fprintf(stderr, "slurm_update error: %s\n",
	        err.code == ERR_NO_NODE         ? "Invalid node name specified"
	        : err.code == ERR_NO_PARTITION  ? "Invalid partition name specified"
	        : err.code == ERR_NOT_PERMITTED ? "Invalid user id"
	                                        : err.text);
	return SLURM_CMD_FAILED;
}

static int update_node(struct scontrol *s)
{
	static const char *const keys[] = { "NodeName", "State", "Reason", NULL };
	Gpusched__NodeControl request = GPUSCHED__NODE_CONTROL__INIT;
	const char *state = value_of(s, "State"), *reason = value_of(s, "Reason");
	const char *other = other_than(s, keys);
	size_t i = 0, n = sizeof(node_states) / sizeof(node_states[0]);

	if (other)
		return not_supported(other);
	if (!state) {
		fprintf(stderr, "No changes specified\n");
		return SLURM_CMD_FAILED;
	}
	while (i < n && strcasecmp(node_states[i].word, state) != 0)
		i++;
	if (i == n) {
		fprintf(stderr,
		        "Invalid input: %s\nRequest aborted\n"
		        "Valid states are: DOWN DRAIN IDLE RESUME UNDRAIN \n",
		        state);
		return SLURM_CMD_FAILED;
	}
	request.verb = node_states[i].verb;
	if (request.verb != GPUSCHED__NODE_CONTROL__VERB__RESUME && (!reason || !*reason)) {
		fprintf(stderr, "You must specify a reason when DOWNING or DRAINING a node. "
		                "Request denied\n");
		return SLURM_CMD_FAILED;
	}
	request.nodes = (char *)value_of(s, "NodeName");
	request.reason = (char *)(reason ? reason : "");
	return send(s, GPUSCHED__MSG_TYPE__MSG_NODE_CONTROL, &request.base);
}

static int update_partition(struct scontrol *s)
{
	static const char *const keys[] = { "PartitionName", "State", NULL };
	Gpusched__PartitionControl request = GPUSCHED__PARTITION_CONTROL__INIT;
	const char *state = value_of(s, "State"), *other = other_than(s, keys);
	size_t i = 0, n = sizeof(partition_states) / sizeof(partition_states[0]);

	if (other)
		return not_supported(other);
	while (state && i < n && strcasecmp(partition_states[i].word, state) != 0)
		i++;
	if (!state || i == n) {
		fprintf(stderr,
		        "Invalid input: State=%s\nAcceptable State values are UP, DOWN, DRAIN and "
		        "INACTIVE\n",
		        state ? state : "");
		return SLURM_CMD_FAILED;
	}
	request.name = (char *)value_of(s, "PartitionName");
	request.state = partition_states[i].state;
	return send(s, GPUSCHED__MSG_TYPE__MSG_PARTITION_CONTROL, &request.base);
}

int scontrol_update(struct scontrol *s)
{
	static const char *const ids[] = { "JobId", "Job", "JobID" };

	if (!s->n) {
		fprintf(stderr, "too few arguments for update keyword\n");
		return SLURM_CMD_FAILED;
	}
	if (value_of(s, "NodeName"))
		return update_node(s);
	if (value_of(s, "PartitionName"))
		return update_partition(s);
	for (size_t i = 0; i < s->n; i++)
		for (size_t k = 0; k < sizeof(ids) / sizeof(ids[0]); k++)
			if (strchr(s->words[i], '=') &&
			        is_key(ids[k], s->words[i], strcspn(s->words[i], "=")))
				return update_job(s, i);
	slurm_cmd_say("scontrol",
	        "No valid entity in update command: expected JobId=, NodeName= or PartitionName=");
	return SLURM_CMD_FAILED;
}
