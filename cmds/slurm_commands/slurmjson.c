/* slurmjson.c - see slurmjson.h */
#include "cmds/slurm_commands/slurmjson.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "cmds/slurm_commands/jobfields.h"
#include "cmds/slurm_commands/slurm_command_line.h"
#include "cmds/slurm_commands/state_codes.h"

static void begin(const struct slurmjson *out)
{
	json_t *meta = json_pack("{s:{s:s},s:{s:{s:i,s:i,s:i},s:s},s:s}", "plugin", "type",
	        "openapi/dbv0.0.38", "Slurm", "version", "major", 22, "minor", 5, "micro", 8,
	        "release", "22.05.8", "cluster", out->cluster);

	printf("{\"meta\":");
	json_dumpf(meta, stdout, JSON_COMPACT);
	printf(",\"errors\":[],\"jobs\":[\n");
	json_decref(meta);
}

static void put(struct slurmjson *out, json_t *job)
{
	if (out->n++)
		printf(",\n");
	else
		begin(out);
	json_dumpf(job, stdout, JSON_COMPACT);
	json_decref(job);
}

void slurmjson_end(struct slurmjson *out)
{
	if (!out->n)
		begin(out);
	printf("\n]}\n");
}

/* Foreign bytes are text only where they are UTF-8. */
static void text(json_t *o, const char *key, const char *value)
{
	json_t *v = json_string(value);

	json_object_set_new(o, key, v ? v : json_string(""));
}

static void number(json_t *o, const char *key, int64_t value)
{
	json_object_set_new(o, key, json_integer(value));
}

/* What a field of squeue says. */
static void field(json_t *o, const char *key, const char *name, const Gpusched__Job *j)
{
	struct view_cell cell;

	text(o, key, job_field(name, j, &cell));
}

static int64_t seconds(int64_t us)
{
	return us / 1000000;
}

static json_t *minutes(uint32_t s)
{
	return s && s != UINT32_MAX ? json_integer(s / 60) : json_null();
}

/* The base state, and what it is besides. */
static json_t *state_list(const char *state)
{
	const char *base = slurm_base_state(state);

	return strcmp(base, state) ? json_pack("[s,s]", base, state) : json_pack("[s]", state);
}

/* What it has on each of its nodes; null while it waits. */
static json_t *resources(const Gpusched__Job *j)
{
	json_t *nodes = json_array(), *old = json_array();

	for (size_t i = 0; i < j->n_runs; i++) {
		const Gpusched__JobRun *r = j->runs[i];

		json_array_append_new(
		        nodes, json_pack("{s:s,s:{s:i},s:{s:I}}", "name", r->node, "cpus", "used",
		                       (int)r->cpus, "memory", "allocated", (json_int_t)r->mem_mb));
		json_array_append_new(
		        old, json_pack("{s:s,s:i,s:I}", "nodename", r->node, "cpus_used",
		                     (int)r->cpus, "memory_allocated", (json_int_t)r->mem_mb));
	}
	return json_pack("{s:{s:i,s:s,s:o},s:i,s:o}", "nodes", "count", (int)job_node_count(j),
	        "list", j->nodes, "allocation", nodes, "allocated_hosts", (int)job_node_count(j),
	        "allocated_nodes", old);
}

static void add_array(json_t *o, const Gpusched__Job *j)
{
	number(o, "array_job_id", *j->array ? (int64_t)j->id : 0);
	if (*j->tasks && !j->several)
		number(o, "array_task_id", atol(j->tasks));
	else
		json_object_set_new(o, "array_task_id", json_null());
	text(o, "array_task_string", j->several ? j->tasks : "");
	number(o, "array_max_tasks", j->array_throttle);
}

static void add_times(json_t *o, const Gpusched__Job *j)
{
	number(o, "submit_time", seconds(j->submit_time));
	number(o, "start_time", seconds(job_is_pending(j) ? j->planned_start_time : j->start_time));
	number(o, "end_time", seconds(job_end_time(j)));
	number(o, "deadline", seconds(j->deadline_time));
	json_object_set_new(o, "time_limit", minutes(j->time_limit_s));
}

void slurmjson_job(struct slurmjson *out, const Gpusched__Job *j)
{
	json_t *o = json_object();

	number(o, "job_id", (int64_t)(j->raw_id ? j->raw_id : j->id));
	text(o, "name", j->name);
	json_object_set_new(o, "job_state", state_list(j->state));
	field(o, "state_reason", "Reason", j);
	text(o, "cluster", out->cluster);
	text(o, "account", j->account);
	text(o, "partition", j->partition);
	field(o, "qos", "QOS", j);
	text(o, "user_name", j->user);
	number(o, "user_id", j->uid);
	field(o, "group_name", "GroupName", j);
	text(o, "command", "");
	text(o, "current_working_directory", j->cwd);
	field(o, "standard_output", "StdOut", j);
	field(o, "standard_error", "StdErr", j);
	text(o, "comment", j->remark);
	text(o, "dependency", j->dependency);
	text(o, "features", j->constraint);
	text(o, "licenses", j->licences);
	text(o, "nodes", job_is_pending(j) ? "" : j->nodes);
	number(o, "node_count", job_node_count(j));
	number(o, "cpus", (int64_t)j->cpus * job_node_count(j));
	number(o, "memory_per_node", (int64_t)j->mem_mb);
	number(o, "priority", j->priority);
	number(o, "nice", j->nice);
	number(o, "exit_code", j->exit_code);
	number(o, "restart_cnt", j->attempt > 1 ? j->attempt - 1 : 0);
	json_object_set_new(o, "requeue", json_boolean(j->requeue));
	field(o, "tres_alloc_str", "tres-alloc", j);
	field(o, "tres_per_node", "tres-per-node", j);
	field(o, "tres_per_job", "tres-per-job", j);
	add_array(o, j);
	add_times(o, j);
	json_object_set_new(o, "job_resources", job_is_pending(j) ? json_null() : resources(j));
	put(out, o);
}

void slurmjson_acct(struct slurmjson *out, const Gpusched__Acct *j)
{
	json_t *o = json_object();
	struct slurm_exit ended = slurm_exit(j->state, j->exit_code, j->exit_signal);
	const char *status = !strcmp(j->state, "COMPLETED") ? "SUCCESS"
	                     : !j->end_time                 ? "PENDING"
	                     : ended.signal                 ? "SIGNALED"
	                                                    : "ERROR";

	number(o, "job_id", (int64_t)(j->raw_id ? j->raw_id : j->id));
	text(o, "name", j->name);
	json_object_set_new(o, "state",
	        json_pack("{s:s,s:s}", "current", slurm_base_state(j->state), "reason", "None"));
	json_object_set_new(o, "exit_code",
	        json_pack("{s:s,s:i,s:{s:i}}", "status", status, "return_code", (int)ended.code,
	                "signal", "signal_id", (int)ended.signal));
	text(o, "cluster", out->cluster);
	text(o, "account", j->account);
	text(o, "partition", j->partition);
	text(o, "qos", *j->qos ? j->qos : "normal");
	text(o, "user", j->user);
	text(o, "nodes", *j->nodes ? j->nodes : "None assigned");
	text(o, "working_directory", j->cwd);
	number(o, "allocation_nodes", j->n_nodes);
	json_object_set_new(o, "comment", json_pack("{s:s}", "job", ""));
	json_object_set_new(o, "array",
	        json_pack("{s:I,s:o,s:s}", "job_id", *j->array ? (json_int_t)j->id : (json_int_t)0,
	                "task_id",
	                *j->tasks && !j->several ? json_integer(atol(j->tasks)) : json_null(),
	                "task", j->several ? j->tasks : ""));
	json_object_set_new(o, "time",
	        json_pack("{s:I,s:I,s:I,s:I,s:I,s:o}", "elapsed", (json_int_t)j->elapsed_s, "start",
	                (json_int_t)seconds(j->start_time), "end", (json_int_t)seconds(j->end_time),
	                "submission", (json_int_t)seconds(j->submit_time), "suspended",
	                (json_int_t)(j->suspended_us / 1000000), "limit",
	                minutes(j->time_limit_s)));
	json_object_set_new(o, "steps", json_array());
	put(out, o);
}
