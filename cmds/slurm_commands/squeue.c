/* squeue.c - jobs that wait and run, as Slurm's squeue lists them */
#include <inttypes.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cmds/api/steplist.h"
#include "cmds/slurm_commands/controller_queries.h"
#include "cmds/slurm_commands/jobfields.h"
#include "cmds/slurm_commands/program_table.h"
#include "cmds/slurm_commands/slurm_command_line.h"
#include "cmds/slurm_commands/slurmjson.h"
#include "cmds/slurm_commands/sorted_lines.h"
#include "cmds/slurm_commands/state_codes.h"
#include "cmds/views/views.h"
#include "common/base/each.h"
#include "common/base/taskset.h"
#include "common/base/units.h"
#include "common/base/xalloc.h"

#define FORMAT       "%.18i %.9P %.8j %.8u %.2t %.10M %.6D %R"
#define FORMAT_LONG  "%.18i %.9P %.8j %.8u %.8T %.10M %.9l %.6D %R"
#define FORMAT_START "%.18i %.9P %.8j %.8u %.2t %.19S %.6D %20Y %R"
#define FORMAT_STEPS "%.15i %.8j %.9P %.8u %.9M %N"
#define ORDER        "P,t,-p,i" /* Slurm's, and those that are equal by id */

struct squeue {
	struct filter filter;
	const char *format, *long_format, *sort, *clusters, *licences;
	bool no_heading, longer, split, start, steps, json, no_state, all_states, any_user;
	uint64_t iterate;
	struct cmd_list states; /* those that are shown; the filter's, if it has any */
	struct fields fields;
	struct rows rows;
	struct slurmjson out;
	size_t seen; /* jobs of the answer, shown or not */
};

static CMD_SETTER(set_user)
{
	struct squeue *q = field;
	char *list = xstrdup(value), *at = list, *one;
	uint64_t uid;
	int rc = 0;

	q->any_user = true;
	while (rc == 0 && (one = strsep(&at, ","))) {
		bool number = count_parse(one, 0, UINT32_MAX, &uid, NULL) == 0;

		if (!getpwnam(one) && !number)
			fprintf(stderr, "squeue: error: Invalid user: %s\n\n", one);
		rc = filter_add(&q->filter, FILTER_USERS, "--user", one, err);
	}
	free(list);
	return rc;
}

/* An id by itself is an id and its step: "4812.batch" is 4812. */
static CMD_SETTER(set_jobs)
{
	char *list;
	int rc;

	if (!value)
		return 0;
	list = xstrdup(value);
	for (char *dot = strchr(list, '.'); dot; dot = strchr(dot, '.'))
		memmove(dot, dot + strcspn(dot, ","), strlen(dot + strcspn(dot, ",")) + 1);
	rc = filter_add(field, FILTER_IDS, "--jobs", list, err);
	free(list);
	return rc < 0 ? error_set(err, ERR_USAGE, "Invalid job id: %s", value) : 0;
}

static CMD_SETTER(set_states)
{
	struct squeue *q = field;
	char names[512];

	if (slurm_filter_states(&q->filter, value, &q->no_state, &q->all_states, err) >= 0)
		return 0;
	slurm_state_names(names, sizeof(names));
	error_wrap(err, "Invalid job state specified");
	return error_hint(err, "Valid job states include: %.220s", names);
}

static CMD_SETTER(set_nodes)
{
	if (filter_add(field, FILTER_NODES, "--nodelist", value, err) < 0)
		return error_set(err, ERR_USAGE, "'%s' invalid entry for --nodelist", value);
	return 0;
}

static CMD_SETTER(set_me)
{
	struct squeue *q = field;

	q->any_user = true;
	return filter_add_me(&q->filter, err);
}

static CMD_SETTER(set_steps)
{
	struct squeue *q = field;

	q->steps = true;
	return set_jobs(&q->filter, option, value, err);
}

static const struct slurm_cmd_option options[] = {
	SLURM_CMD_FILTER(struct squeue, filter, "account", 'A', FILTER_ACCOUNTS),
	SLURM_CMD_SAME("all", 'a', SLURM_CMD_PLAIN),
	SLURM_CMD_ROW(struct squeue, split, "array", 'r', SLURM_CMD_PLAIN, cmd_set_flag),
	SLURM_CMD_SAME("array-unique", 0, SLURM_CMD_PLAIN),
	SLURM_CMD_CLUSTERS(struct squeue, clusters, "clusters"),
	SLURM_CMD_NONE("federation", 0, SLURM_CMD_PLAIN, "there are no federations"),
	SLURM_CMD_ROW(struct squeue, format, "format", 'o', SLURM_CMD_VALUE, cmd_set_text),
	SLURM_CMD_ROW(struct squeue, long_format, "Format", 'O', SLURM_CMD_VALUE, cmd_set_text),
	SLURM_CMD_SAME("hide", 0, SLURM_CMD_PLAIN),
	SLURM_CMD_ROW(
	        struct squeue, iterate, "iterate", 'i', SLURM_CMD_VALUE, slurm_cmd_set_iterate),
	SLURM_CMD_ROW(struct squeue, filter, "job", 'j', SLURM_CMD_NEXT, set_jobs),
	SLURM_CMD_ROW(struct squeue, filter, "jobs", 'j', SLURM_CMD_NEXT, set_jobs),
	{ "json", 0, SLURM_CMD_PLAIN, SLURM_CMD_DIFFERS, "fewer fields; job_state is a list",
	        cmd_set_flag, offsetof(struct squeue, json), 0 },
	SLURM_CMD_ROW(struct squeue, licences, "licenses", 'L', SLURM_CMD_VALUE, cmd_set_text),
	SLURM_CMD_SAME("local", 0, SLURM_CMD_PLAIN),
	SLURM_CMD_ROW(struct squeue, longer, "long", 'l', SLURM_CMD_PLAIN, cmd_set_flag),
	{ "me", 0, SLURM_CMD_PLAIN, SLURM_CMD_YES, NULL, set_me, 0, 0 },
	SLURM_CMD_FILTER(struct squeue, filter, "name", 'n', FILTER_NAMES),
	SLURM_CMD_SAME("noconvert", 0, SLURM_CMD_PLAIN),
	SLURM_CMD_ROW(struct squeue, filter, "nodelist", 'w', SLURM_CMD_VALUE, set_nodes),
	SLURM_CMD_ROW(struct squeue, filter, "nodes", 'w', SLURM_CMD_VALUE, set_nodes),
	SLURM_CMD_ROW(struct squeue, no_heading, "noheader", 'h', SLURM_CMD_PLAIN, cmd_set_flag),
	{ "only-job-state", 0, SLURM_CMD_PLAIN, SLURM_CMD_DIFFERS,
	        "of later versions; all fields are there", NULL, 0, 0 },
	SLURM_CMD_FILTER(struct squeue, filter, "partition", 'p', FILTER_PARTITIONS),
	SLURM_CMD_NONE("priority", 'P', SLURM_CMD_PLAIN,
	        "a job that waits in several partitions has one line"),
	SLURM_CMD_FILTER(struct squeue, filter, "qos", 'q', FILTER_QOS),
	SLURM_CMD_NONE("reservation", 'R', SLURM_CMD_VALUE, "there are no reservations"),
	SLURM_CMD_NONE("sibling", 0, SLURM_CMD_PLAIN, "there are no federations"),
	SLURM_CMD_ROW(struct squeue, sort, "sort", 'S', SLURM_CMD_VALUE, cmd_set_text),
	SLURM_CMD_ROW(struct squeue, start, "start", 0, SLURM_CMD_PLAIN, cmd_set_flag),
	{ "states", 't', SLURM_CMD_VALUE, SLURM_CMD_YES, NULL, set_states, 0, 0 },
	{ "steps", 's', SLURM_CMD_NEXT, SLURM_CMD_DIFFERS, "the scripts of jobs alone", set_steps,
	        0, 0 },
	{ "user", 'u', SLURM_CMD_VALUE, SLURM_CMD_YES, NULL, set_user, 0, 0 },
	{ "users", 'u', SLURM_CMD_VALUE, SLURM_CMD_YES, NULL, set_user, 0, 0 },
	SLURM_CMD_SAME("verbose", 'v', SLURM_CMD_PLAIN),
	SLURM_CMD_NONE("yaml", 0, SLURM_CMD_PLAIN, "--json says the same"),
};

/* --- steps ----------------------------------------------------------------------------------- */

/* A step as a job that its fields are shown of. */
struct step_line {
	Gpusched__Job job;
	const char *step; /* "batch", "0" */
	uint32_t tasks;
};

#define STEP const struct step_line *l = object

CELL(step_id, STEP,
        view_printf(cell, "%" PRIu64 "%s%s.%s", l->job.id, *l->job.tasks ? "_" : "", l->job.tasks,
                l->step))
CELL(step_name, STEP, view_text(cell, l->job.name))
CELL(step_tasks, STEP, view_number(cell, l->tasks))

#define OF_JOB(letter, name, heading, like) \
	SLURM_CMD_LIKE(letter, name, heading, job_fields, like, 0)

static const struct slurm_cmd_field step_fields[] = {
	SLURM_CMD_FIELD('i', "StepID", "STEPID", 0, NULL, show_step_id, 0),
	SLURM_CMD_FIELD('j', "StepName", "NAME", 0, NULL, show_step_name, 0),
	OF_JOB('P', "Partition", "PARTITION", "Partition"),
	OF_JOB('u', "UserName", "USER", "UserName"),
	OF_JOB('U', "UserID", "UID", "UserID"),
	OF_JOB('M', "TimeUsed", "TIME", "TimeUsed"),
	OF_JOB('S', "StartTime", "START_TIME", "StartTime"),
	OF_JOB('N', "Nodes", "NODELIST", "NodeList"),
	OF_JOB('C', "NumCPUs", "CPUS", "NumCPUs"),
	SLURM_CMD_FIELD('A', "NumTasks", "TASKS", 0, NULL, show_step_tasks, 0),
};

/* --- rows ------------------------------------------------------------------------------------ */

static bool is_shown(const struct squeue *q, const Gpusched__Job *j)
{
	if (q->licences && !strstr(j->licences, q->licences))
		return false;
	if (q->start && !job_is_pending(j))
		return false;
	if (q->steps && strcmp(j->state, "RUNNING") != 0)
		return false;
	return q->all_states ||
	       (q->states.n ? cmd_list_fits(&q->states, j->state) : !job_has_ended(j));
}

/* A line for each task that waits. */
static void add_tasks(struct squeue *q, const Gpusched__Job *j)
{
	Gpusched__Job one = *j;
	struct taskset tasks = { 0 };
	char number[16];

	if (taskset_parse_kept(j->tasks, &tasks, NULL) < 0)
		return;
	one.tasks = number;
	one.several = false;
	one.task_count = 1;
	for (uint32_t t = taskset_first(&tasks); t != TASK_NONE; t = taskset_next(&tasks, t + 1)) {
		snprintf(number, sizeof(number), "%u", t);
		rows_add(&q->rows, &q->fields, &one);
	}
	taskset_clear(&tasks);
}

/* The script of a job that runs is its step "batch". */
static void add_script(struct squeue *q, const Gpusched__Job *j)
{
	struct step_line line = { .job = *j, .step = "batch", .tasks = 1 };

	line.job.name = (char *)(uintptr_t) "batch";
	rows_add(&q->rows, &q->fields, &line);
}

static int on_step(const Gpusched__Step *step, void *arg, struct error *err)
{
	struct squeue *q = arg;
	const Gpusched__StepReport *r = step->report;
	struct step_line line = { .job = GPUSCHED__JOB__INIT, .tasks = r->tasks };
	int64_t now = (int64_t)time(NULL) * 1000000;
	char number[16], task[16] = "";

	(void)err;
	snprintf(number, sizeof(number), "%" PRIu32, r->step);
	if (step->array)
		snprintf(task, sizeof(task), "%" PRIu32, step->task);
	line.step = number;
	line.job.id = step->job;
	line.job.tasks = task;
	line.job.name = r->name;
	COPY_FIELDS(&line.job, step, user, partition, state);
	line.job.node = line.job.nodes = r->nodelist;
	line.job.n_nodes = r->nodes;
	line.job.cpus = r->nodes ? r->cpus / r->nodes : r->cpus;
	line.job.start_time = r->start_time;
	line.job.elapsed_s = now > r->start_time ? (uint64_t)(now - r->start_time) / 1000000 : 0;
	rows_add(&q->rows, &q->fields, &line);
	return 0;
}

/* The slots of services that wait for nothing. */
static bool asks_for_reserve(const struct squeue *q)
{
	return q->filter.ids.n || q->states.n || q->all_states;
}

static int on_job(const ProtobufCMessage *m, void *arg, struct error *err)
{
	const Gpusched__Job *j = (const Gpusched__Job *)m;
	struct squeue *q = arg;
	(void)err;

	q->seen++;
	if (!is_shown(q, j) || (!asks_for_reserve(q) && job_is_reserve(j)))
		return 0;
	if (q->steps)
		add_script(q, j);
	else if (q->json)
		slurmjson_job(&q->out, j);
	else if (q->split && j->several)
		add_tasks(q, j);
	else
		rows_add(&q->rows, &q->fields, j);
	return 0;
}

/* --- all of it ------------------------------------------------------------------------------- */

static void choose_format(struct squeue *q)
{
	size_t n;
	const struct slurm_cmd_field *table = job_fields(&n);
	const char *env = getenv("SQUEUE_FORMAT"), *env_long = getenv("SQUEUE_FORMAT2");
	const char *order = q->sort ? q->sort : getenv("SQUEUE_SORT");
	bool chosen = q->format || q->long_format;

	if (q->steps) {
		table = step_fields;
		n = sizeof(step_fields) / sizeof(step_fields[0]);
	}
	if (q->long_format || (!chosen && !q->longer && !q->start && !q->steps && !env && env_long))
		fields_long(
		        &q->fields, "squeue", q->long_format ? q->long_format : env_long, table, n);
	else
		fields_letters(&q->fields, "squeue",
		        q->format   ? q->format
		        : q->steps  ? FORMAT_STEPS
		        : q->start  ? FORMAT_START
		        : q->longer ? FORMAT_LONG
		        : env       ? env
		                    : FORMAT,
		        table, n);
	rows_order(&q->rows, "squeue",
	        order      ? order
	        : q->start ? "S"
	        : q->steps ? "i"
	                   : ORDER,
	        table, n);
}

/* One id alone that there is not is an error; of several the others are listed. */
static int missing(const struct squeue *q)
{
	if (q->filter.ids.n != 1 || q->seen || q->filter.ids.n_some)
		return 0;
	fprintf(stderr, "slurm_load_jobs error: Invalid job id specified\n");
	return SLURM_CMD_FAILED;
}

static int list(struct squeue *q, struct client *c)
{
	struct error err = { .code = ERR_NONE };
	bool was_ended = q->filter.ended;
	Gpusched__JobFilter filter;
	int rc, status;

	q->seen = 0;
	q->states = q->filter.lists[FILTER_STATES];
	if (q->filter.ids.n) { /* whether it is known shows only where its state does not matter */
		q->filter.ended = true;
		q->filter.lists[FILTER_STATES] = (struct cmd_list){ .n = 0 };
	}
	rc = q->no_state ? 0 : ask_jobs(c, &q->filter, q->json, on_job, q, &err);
	q->filter.ended = was_ended;
	q->filter.lists[FILTER_STATES] = q->states;
	if (rc < 0 && err.code == ERR_NO_NODE)
		return slurm_cmd_say("squeue", "Invalid node name %s",
		               q->filter.lists[FILTER_NODES].v[0]),
		       SLURM_CMD_FAILED;
	if (rc < 0 && error_exit_status(err.code) != EXIT_NO_OBJECT)
		return slurm_cmd_fail_load("squeue", "slurm_load_jobs error", &err);
	status = missing(q);
	if (status)
		return status;
	if (q->steps) {
		filter_message(&q->filter, &filter);
		if (steplist_running(c, &filter, on_step, q, &err) < 0)
			return slurm_cmd_fail_load("squeue", "slurm_load_jobs error", &err);
	}
	if (q->json) {
		slurmjson_end(&q->out);
		return 0;
	}
	if (q->clusters)
		printf("CLUSTER: %s\n", q->out.cluster);
	if (!q->no_heading)
		fields_heading(&q->fields, q->longer || q->iterate);
	rows_print(&q->rows, stdout);
	return 0;
}

static int run(struct squeue *q)
{
	struct client *c = slurm_cmd_client("squeue", "slurm_load_jobs error", q->clusters);
	int status;

	if (!c)
		return SLURM_CMD_FAILED;
	q->out.cluster = client_conf(c)->cluster;
	choose_format(q);
	status = list(q, c);
	while (!status && q->iterate && fflush(stdout) == 0) {
		sleep((unsigned)q->iterate);
		rows_clear(&q->rows);
		fields_clear(&q->fields);
		choose_format(q);
		putchar('\n');
		status = list(q, c);
	}
	client_free(c);
	return status;
}

static void take_environment(struct squeue *q, struct error *err)
{
	static const struct {
		const char *name;
		int key;
	} variables[] = {
		{ "SQUEUE_ACCOUNT", 'A' },
		{ "SQUEUE_NAMES", 'n' },
		{ "SQUEUE_PARTITION", 'p' },
		{ "SQUEUE_QOS", 'q' },
		{ "SQUEUE_STATES", 't' },
		{ "SQUEUE_USERS", 'u' },
		{ "SQUEUE_ARRAY", 'r' },
	};

	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
		const char *value = getenv(variables[i].name);
		bool given = (variables[i].key == 'u' && q->any_user) ||
		             (variables[i].key == 't' &&
		                     (q->all_states || q->filter.lists[FILTER_STATES].n));

		if (value && *value && !given)
			slurm_cmd_set(options, variables[i].key, value, q, err);
	}
}

int squeue_main(int argc, char **argv)
{
	struct squeue q = { .format = NULL };
	struct error err = { .code = ERR_NONE };
	int status = slurm_cmd_parse("squeue", NULL, argc, argv, &q);

	if (status == CMD_GO_ON) {
		take_environment(&q, &err);
		if (err.code)
			status = slurm_cmd_fail("squeue", &err);
		else if (q.format && q.long_format)
			status = (slurm_cmd_say("squeue",
			                  "-O (--Format) is incompatible with -o (--format)"),
			        SLURM_CMD_FAILED);
		else
			status = run(&q);
		status = slurm_cmd_finish("squeue", status);
	}
	rows_clear(&q.rows);
	fields_clear(&q.fields);
	filter_clear(&q.filter);
	return status;
}

SLURM_CMD_TABLE(option, squeue_options, options)
