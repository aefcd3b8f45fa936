/* sacct.c - jobs of the past and of now, as Slurm's sacct lists them */
#include <inttypes.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <strings.h>
#include <unistd.h>

#include "cmds/api/steplist.h"
#include "cmds/api/whole.h"
#include "cmds/cli/when.h"
#include "cmds/fronts/acctfields.h"
#include "cmds/fronts/front.h"
#include "cmds/fronts/programs.h"
#include "cmds/fronts/slurmjson.h"
#include "common/base/units.h"
#include "common/base/xalloc.h"

enum {
	KEY_DELIMITER = FRONT_KEY,
	KEY_NAME,
	KEY_UNITS,
	KEY_NOCONVERT,
	KEY_JSON,
	KEY_YAML,
	KEY_LOCAL,
	KEY_FEDERATION,
	KEY_ENV_VARS,
	KEY_LOCAL_UID,
	KEY_WHOLE,
	KEY_TRES,
};

#define FEW                                                                                       \
	"a listing is restricted by jobs, users, accounts, partitions, states, names, nodes and " \
	"time"

static const struct front_option options[] = {
	{ "accounts", 'A', FRONT_VALUE, FRONT_YES, NULL },
	{ "allclusters", 'L', FRONT_PLAIN, FRONT_YES, NULL },
	{ "allocations", 'X', FRONT_PLAIN, FRONT_YES, NULL },
	{ "allusers", 'a', FRONT_PLAIN, FRONT_YES, NULL },
	{ "associations", 'x', FRONT_VALUE, FRONT_NO, FEW },
	{ "batch-script", 'B', FRONT_PLAIN, FRONT_NO,
	        "gctl show job ID --script prints the script of a job" },
	{ "brief", 'b', FRONT_PLAIN, FRONT_YES, NULL },
	{ "cluster", 'M', FRONT_VALUE, FRONT_DIFFERS,
	        "this cluster, or all; of another one there is nothing" },
	{ "clusters", 'M', FRONT_VALUE, FRONT_DIFFERS,
	        "this cluster, or all; of another one there is nothing" },
	{ "completion", 'c', FRONT_PLAIN, FRONT_NO,
	        "there is no other record of jobs that have ended" },
	{ "delimiter", KEY_DELIMITER, FRONT_VALUE, FRONT_YES, NULL },
	{ "duplicates", 'D', FRONT_PLAIN, FRONT_DIFFERS,
	        "the last attempt of a job alone; gacct --runs has all" },
	{ "endtime", 'E', FRONT_VALUE, FRONT_YES, NULL },
	{ "env-vars", KEY_ENV_VARS, FRONT_PLAIN, FRONT_NO,
	        "gctl show job ID --env prints the environment of a job" },
	{ "federation", KEY_FEDERATION, FRONT_PLAIN, FRONT_NO, "there are no federations" },
	{ "file", 'f', FRONT_VALUE, FRONT_NO, "gacct --file reads what gctl archive wrote" },
	{ "flags", 'F', FRONT_VALUE, FRONT_NO, FEW },
	{ "format", 'o', FRONT_VALUE, FRONT_YES, NULL },
	{ "gid", 'g', FRONT_VALUE, FRONT_NO, FEW },
	{ "group", 'g', FRONT_VALUE, FRONT_NO, FEW },
	{ "helpformat", 'e', FRONT_PLAIN, FRONT_YES, NULL },
	{ "jobs", 'j', FRONT_VALUE, FRONT_YES, NULL },
	{ "json", KEY_JSON, FRONT_PLAIN, FRONT_DIFFERS, "fewer fields" },
	{ "local", KEY_LOCAL, FRONT_PLAIN, FRONT_YES, NULL },
	{ "long", 'l', FRONT_PLAIN, FRONT_YES, NULL },
	{ "name", KEY_NAME, FRONT_VALUE, FRONT_YES, NULL },
	{ "ncpus", 'I', FRONT_VALUE, FRONT_NO, FEW },
	{ "nnodes", 'i', FRONT_VALUE, FRONT_NO, FEW },
	{ "noconvert", KEY_NOCONVERT, FRONT_PLAIN, FRONT_YES, NULL },
	{ "nodelist", 'N', FRONT_VALUE, FRONT_YES, NULL },
	{ "noheader", 'n', FRONT_PLAIN, FRONT_YES, NULL },
	{ "parsable", 'p', FRONT_PLAIN, FRONT_YES, NULL },
	{ "parsable2", 'P', FRONT_PLAIN, FRONT_YES, NULL },
	{ "partition", 'r', FRONT_VALUE, FRONT_YES, NULL },
	{ "qos", 'q', FRONT_VALUE, FRONT_YES, NULL },
	{ "reason", 'R', FRONT_VALUE, FRONT_NO, FEW },
	{ "starttime", 'S', FRONT_VALUE, FRONT_YES, NULL },
	{ "state", 's', FRONT_VALUE, FRONT_DIFFERS, "with no time said: of today" },
	{ "timelimit-max", 'K', FRONT_VALUE, FRONT_NO, FEW },
	{ "timelimit-min", 'k', FRONT_VALUE, FRONT_NO, FEW },
	{ "truncate", 'T', FRONT_PLAIN, FRONT_NO, "times are shown as they were" },
	{ "uid", 'u', FRONT_VALUE, FRONT_YES, NULL },
	{ "units", KEY_UNITS, FRONT_VALUE, FRONT_YES, NULL },
	{ "use-local-uid", KEY_LOCAL_UID, FRONT_PLAIN, FRONT_YES, NULL },
	{ "user", 'u', FRONT_VALUE, FRONT_YES, NULL },
	{ "verbose", 'v', FRONT_PLAIN, FRONT_YES, NULL },
	{ "wckeys", 'W', FRONT_VALUE, FRONT_NO, "there are no workload characterization keys" },
	{ "whole-hetjob", KEY_WHOLE, FRONT_MAY, FRONT_YES, NULL },
	{ "yaml", KEY_YAML, FRONT_PLAIN, FRONT_NO, "--json says the same" },
};

#define FORMAT       "jobid,jobname,partition,account,alloccpus,state,exitcode"
#define FORMAT_BRIEF "jobid,state,exitcode"
#define FORMAT_LONG                                                                                \
	"jobid,jobidraw,jobname,partition,maxvmsize,maxvmsizenode,maxvmsizetask,avevmsize,maxrss," \
	"maxrssnode,maxrsstask,averss,maxpages,maxpagesnode,maxpagestask,avepages,mincpu,"         \
	"mincpunode,mincputask,avecpu,ntasks,alloccpus,elapsed,state,exitcode,avecpufreq,"         \
	"reqcpufreqmin,reqcpufreqmax,reqcpufreqgov,reqmem,consumedenergy,maxdiskread,"             \
	"maxdiskreadnode,maxdiskreadtask,avediskread,maxdiskwrite,maxdiskwritenode,"               \
	"maxdiskwritetask,avediskwrite,reqtres,alloctres,tresusageinave,tresusageinmax,"           \
	"tresusageinmaxnode,tresusageinmaxtask,tresusageinmin,tresusageinminnode,"                 \
	"tresusageinmintask,tresusageintot,tresusageoutmax,tresusageoutmaxnode,"                   \
	"tresusageoutmaxtask,tresusageoutave,tresusageouttot"

/* A line that was made, and what it is sorted by. */
struct line {
	uint64_t id;
	uint64_t task; /* of an array; those that wait are last */
	size_t at, len;
};

struct sacct {
	struct filter filter;
	struct cmd_list accounts, qos;
	int64_t since, until;
	const char *format;
	struct fields_style style;
	bool no_steps, help_format, all_users, none, all, json, elsewhere;
	struct steplist_job *steps_of; /* owned */
	size_t n_steps_of;
	bool jobs_named, scripts_named; /* of what -j says: jobs, their step "batch" */
	struct fields fields;
	struct slurmjson out;
	struct strbuf text;
	struct line *lines;
	size_t n, size;
};

/* "12,13_4.batch,14.0" */
static int take_jobs(struct sacct *s, const char *value, struct error *err)
{
	char *list = xstrdup(value), *dot;
	bool inside = false;
	int rc;

	for (char *c = list, *start = list;; c++) {
		inside = *c == '[' || (inside && *c != ']');
		if (*c && (*c != ',' || inside))
			continue;
		dot = memchr(start, '.', (size_t)(c - start));
		s->jobs_named |= !dot;
		s->scripts_named |= !dot || !strncmp(dot, ".batch", 6);
		if (dot) {
			memmove(dot, c, strlen(c) + 1);
			c = dot;
		}
		if (!*c)
			break;
		start = c + 1;
	}
	rc = filter_add(&s->filter, FILTER_IDS, "--jobs", list, err);
	free(list);
	return rc < 0 ? error_set(err, ERR_USAGE, "Bad job/step specified: %s", value) : 0;
}

static int take_users(struct sacct *s, const char *value, struct error *err)
{
	char *list = xstrdup(value), *at = list, *one;
	uint64_t uid;
	int rc = 0;

	while (rc == 0 && (one = strsep(&at, ","))) {
		if (!getpwnam(one) && count_parse(one, 0, UINT32_MAX, &uid, NULL) < 0)
			rc = error_set(err, ERR_USAGE, "Invalid user id: %s", one);
		else
			rc = filter_add(&s->filter, FILTER_USERS, "--user", one, err);
	}
	free(list);
	return rc;
}

static int take_moment(int64_t *us, const char *value, struct error *err)
{
	front_moment(value, us, err);
	return err->code
	               ? error_set(err, ERR_USAGE, "Invalid time specification (pos=0): %s", value)
	               : 0;
}

static int take_units(const char *value, struct error *err)
{
	if (!value[0] || value[1] || !strchr("KMGTP", value[0]))
		return error_set(err, ERR_USAGE, "Invalid units type: %s", value);
	acct_fields_units(value[0]);
	return 0;
}

/* What is being started or ended is shown as what runs. */
static int take_states(struct sacct *s, const char *value, struct error *err)
{
	const struct cmd_list *states = &s->filter.lists[FILTER_STATES];

	if (front_states(&s->filter, value, &s->none, &s->all, err) < 0)
		return error_set(err, ERR_USAGE, "unrecognized job state value '%s'", value);
	for (size_t i = 0; i < states->n; i++)
		if (!strcmp(states->v[i], "RUNNING"))
			return filter_add(&s->filter, FILTER_STATES, "--state",
			        "CONFIGURING,COMPLETING", err);
	return 0;
}

static bool take_flag(struct sacct *s, int key, const char *value)
{
	switch (key) {
	case 'X':
		return front_flag(&s->no_steps);
	case 'a':
		return front_flag(&s->all_users);
	case 'b':
		return front_keep(&s->format, FORMAT_BRIEF);
	case 'l':
		return front_keep(&s->format, FORMAT_LONG);
	case 'o':
		return front_keep(&s->format, value);
	case 'e':
		return front_flag(&s->help_format);
	case 'n':
		return front_flag(&s->style.no_heading);
	case 'p':
		s->style.parsable = true;
		return front_flag(&s->style.ended);
	case 'P':
		s->style.ended = false;
		return front_flag(&s->style.parsable);
	case KEY_DELIMITER:
		return front_keep(&s->style.between, value);
	case KEY_JSON:
		return front_flag(&s->json);
	default:
		return false;
	}
}

static int take(int key, const char *value, void *input, struct error *err)
{
	struct sacct *s = input;

	if (take_flag(s, key, value))
		return 0;
	switch (key) {
	case 'A':
		return cmd_list_add(&s->accounts, value, err);
	case 'q':
		return cmd_list_add(&s->qos, value, err);
	case 'r':
		return filter_add(&s->filter, FILTER_PARTITIONS, "--partition", value, err);
	case KEY_NAME:
		return filter_add(&s->filter, FILTER_NAMES, "--name", value, err);
	case 'N':
		return filter_add(&s->filter, FILTER_NODES, "--nodelist", value, err);
	case 'u':
		return take_users(s, value, err);
	case 'j':
		return take_jobs(s, value, err);
	case 'S':
		return take_moment(&s->since, value, err);
	case 'E':
		return take_moment(&s->until, value, err);
	case 's':
		return take_states(s, value, err);
	case KEY_UNITS:
		return take_units(value, err);
	case 'M':
		s->out.cluster = value; /* compared once the cluster is known */
		return 0;
	default:
		return 0; /* what is so here anyway */
	}
}

static int take_argument(const char *value, void *input, struct error *err)
{
	(void)input;
	return error_set(err, ERR_USAGE, "Unknown arguments: %s", value);
}

/* --- lines ----------------------------------------------------------------------------------- */

/* `step`: of tasks, which follow the job and its script. */
static void add_line(struct sacct *s, const Gpusched__Acct *j, bool batch,
        const Gpusched__StepReport *step)
{
	const struct acct_line object = { j, batch, step };
	struct line *l;

	if (s->n == s->size) {
		s->size = s->size ? 2 * s->size : 64;
		s->lines = xrealloc(s->lines, s->size, sizeof(*s->lines));
	}
	l = &s->lines[s->n++];
	*l = (struct line){ j->id, 0, s->text.len, 0 };
	l->task = j->several ? UINT64_MAX
	                     : 2 * strtoull(*j->tasks ? j->tasks : "0", NULL, 10) + batch;
	fields_print(&s->fields, &s->style, &object, &s->text);
	l->len = s->text.len - l->at;
}

/* Its steps are asked for when all jobs are known. */
static void ask_steps_of(struct sacct *s, const Gpusched__Acct *j)
{
	struct steplist_job *of;

	s->steps_of = xrealloc(s->steps_of, s->n_steps_of + 1, sizeof(*s->steps_of));
	of = &s->steps_of[s->n_steps_of++];
	*of = (struct steplist_job){ .id = j->id, .array = *j->tasks };
	of->task = (uint32_t)strtoul(j->tasks, NULL, 10);
}

static int on_job(const ProtobufCMessage *m, void *arg, struct error *err)
{
	const Gpusched__Acct *j = (const Gpusched__Acct *)m;
	struct sacct *s = arg;
	bool named = s->filter.ids.n > 0;
	(void)err;

	if (s->json) {
		slurmjson_acct(&s->out, j);
		return 0;
	}
	if (!named || s->jobs_named)
		add_line(s, j, false, NULL);
	if (s->no_steps || !j->first_start_time)
		return 0;
	if (!named || s->scripts_named)
		add_line(s, j, true, NULL);
	if (!named || s->jobs_named)
		ask_steps_of(s, j);
	return 0;
}

/* A step as the accounting of a job has it. */
static int on_step(const Gpusched__Step *step, void *arg, struct error *err)
{
	const Gpusched__StepReport *r = step->report;
	int64_t end = r->end_time ? r->end_time : (int64_t)time(NULL) * 1000000;
	Gpusched__Acct j = GPUSCHED__ACCT__INIT;
	Gpusched__RunUsed used = GPUSCHED__RUN_USED__INIT;
	char tasks[16] = "";

	(void)err;
	if (step->array)
		snprintf(tasks, sizeof(tasks), "%" PRIu32, step->task);
	j.id = step->job;
	j.tasks = tasks;
	j.name = r->name;
	j.user = step->user;
	j.account = step->account;
	j.partition = step->partition;
	j.state = step->state;
	j.nodes = r->nodelist;
	j.n_nodes = r->nodes;
	j.cpus = r->nodes ? r->cpus / r->nodes : r->cpus;
	j.submit_time = j.start_time = j.first_start_time = r->start_time;
	j.end_time = r->end_time;
	j.elapsed_s = end > r->start_time ? (uint64_t)(end - r->start_time) / 1000000 : 0;
	j.exit_code = r->exit_code;
	j.exit_signal = r->exit_signal;
	j.cpu_time_us = r->cpu_time_us;
	j.max_rss_kb = r->max_rss_kb;
	j.used = &used;
	add_line(arg, &j, true, r);
	return 0;
}

static int compare(const void *x, const void *y)
{
	const struct line *a = x, *b = y;

	if (a->id != b->id)
		return a->id < b->id ? -1 : 1;
	if (a->task != b->task)
		return a->task < b->task ? -1 : 1;
	return (a->at > b->at) - (a->at < b->at);
}

static void print_all(struct sacct *s)
{
	if (s->json) {
		slurmjson_end(&s->out);
		return;
	}
	fields_print_heading(&s->fields, &s->style, stdout);
	if (s->n)
		qsort(s->lines, s->n, sizeof(*s->lines), compare);
	for (size_t i = 0; i < s->n; i++)
		fwrite(s->text.s + s->lines[i].at, 1, s->lines[i].len, stdout);
}

/* --- all of it ------------------------------------------------------------------------------- */

static int ask(struct sacct *s, struct client *c, struct error *err)
{
	Gpusched__ListAcct request = GPUSCHED__LIST_ACCT__INIT;
	Gpusched__JobFilter filter;
	struct whole jobs = { GPUSCHED__MSG_TYPE__MSG_ACCT_CHUNK, on_job, s, NULL };
	char name[256];

	if (!s->filter.lists[FILTER_USERS].n && !s->all_users && geteuid() != 0 &&
	        !s->filter.ids.n && !s->filter.lists[FILTER_NODES].n &&
	        filter_add(&s->filter, FILTER_USERS, "--user", cmd_user(name, sizeof(name)), err) <
	                0)
		return -1;
	/* Jobs that wait are told only where their state is asked for, so all are. */
	if (!s->filter.lists[FILTER_STATES].n && front_every_state(&s->filter, err) < 0)
		return -1;
	filter_message(&s->filter, &filter);
	request.filter = &filter;
	request.accounts = s->accounts.v;
	request.n_accounts = s->accounts.n;
	request.qos = s->qos.v;
	request.n_qos = s->qos.n;
	request.since_time = s->since || s->filter.ids.n ? s->since : when_today(when_now());
	request.until_time = s->until;
	request.whole = s->filter.ids.n > 0;
	return whole_ask(c, GPUSCHED__MSG_TYPE__MSG_LIST_ACCT, &request.base, &jobs, err);
}

/* --clusters of another cluster: it has no jobs here. */
static bool is_elsewhere(const char *list, const char *cluster)
{
	char *copy = list ? xstrdup(list) : NULL, *at = copy, *one;
	bool elsewhere = list;

	while (elsewhere && (one = strsep(&at, ",")))
		elsewhere = *one && strcasecmp(one, "all") && strcasecmp(one, cluster);
	free(copy);
	return elsewhere;
}

static int run(struct sacct *s)
{
	struct error err = { .code = ERR_NONE };
	size_t n;
	const struct front_field *table = sacct_fields(&n);
	const char *env = getenv("SACCT_FORMAT"), *clusters = s->out.cluster;
	struct client *c;
	int rc = 0;

	if (fields_names(&s->fields,
	            s->format     ? s->format
	            : env && *env ? env
	                          : FORMAT,
	            table, n, &err) < 0)
		return front_fail("sacct", &err);
	c = client_new(NULL, &err);
	if (!c)
		return front_fail_load("sacct", "sacct: error", &err);
	s->out.cluster = client_conf(c)->cluster;
	acct_fields_cluster(s->out.cluster);
	if (!s->none && !is_elsewhere(clusters, s->out.cluster))
		rc = ask(s, c, &err);
	if (rc >= 0 && s->n_steps_of)
		rc = steplist_all(c, NULL, s->steps_of, s->n_steps_of, on_step, s, &err);
	if (rc < 0 && error_exit_status(err.code) == EXIT_NO_OBJECT)
		rc = 0; /* of what there is not, there is nothing */
	if (rc >= 0)
		print_all(s);
	client_free(c);
	return rc < 0 ? front_fail_load("sacct", "sacct: error", &err) : 0;
}

static int print_formats(void)
{
	size_t n;
	const struct front_field *table = sacct_fields(&n);

	for (size_t i = 0; i < n; i++)
		printf("%-19s%s", table[i].name, i + 1 == n || i % 4 == 3 ? "\n" : " ");
	return 0;
}

int sacct_main(int argc, char **argv)
{
	const struct front_program program = { .name = "sacct",
		.usage = "[OPTIONS]",
		.options = options,
		.n = sizeof(options) / sizeof(options[0]),
		.bad = FRONT_FAILED,
		.take = take,
		.argument = take_argument };
	struct sacct s = { .format = NULL };
	int status = front_parse(&program, argc, argv, &s);

	if (status == CMD_GO_ON)
		status = front_finish("sacct", s.help_format ? print_formats() : run(&s));
	free(s.lines);
	free(s.steps_of);
	strbuf_free(&s.text);
	fields_clear(&s.fields);
	filter_clear(&s.filter);
	cmd_list_clear(&s.accounts);
	cmd_list_clear(&s.qos);
	return status;
}

const struct front_option *sacct_options(size_t *n)
{
	*n = sizeof(options) / sizeof(options[0]);
	return options;
}
