/* sacct.c - jobs of the past and of now, as Slurm's sacct lists them */
#include <inttypes.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "cmds/api/reassemble.h"
#include "cmds/api/steplist.h"
#include "cmds/cli/parse_time.h"
#include "cmds/slurm_commands/acctfields.h"
#include "cmds/slurm_commands/program_table.h"
#include "cmds/slurm_commands/slurm_command_line.h"
#include "cmds/slurm_commands/slurmjson.h"
#include "cmds/slurm_commands/state_codes.h"
#include "cmds/slurm_commands/value_formats.h"
#include "common/base/each.h"
#include "common/base/units.h"
#include "common/base/xalloc.h"

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
static CMD_SETTER(set_jobs)
{
	struct sacct *s = field;
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

static CMD_SETTER(set_users)
{
	char *list = xstrdup(value), *at = list, *one;
	uint64_t uid;
	int rc = 0;

	while (rc == 0 && (one = strsep(&at, ","))) {
		if (!getpwnam(one) && count_parse(one, 0, UINT32_MAX, &uid, NULL) < 0)
			rc = error_set(err, ERR_USAGE, "Invalid user id: %s", one);
		else
			rc = filter_add(field, FILTER_USERS, "--user", one, err);
	}
	free(list);
	return rc;
}

static CMD_SETTER(set_moment)
{
	slurm_moment(value, field, err);
	return err->code
	               ? error_set(err, ERR_USAGE, "Invalid time specification (pos=0): %s", value)
	               : 0;
}

static CMD_SETTER(set_units)
{
	if (!value[0] || value[1] || !strchr("KMGTP", value[0]))
		return error_set(err, ERR_USAGE, "Invalid units type: %s", value);
	acct_fields_units(value[0]);
	return 0;
}

/* What is being started or ended is shown as what runs. */
static CMD_SETTER(set_states)
{
	struct sacct *s = field;
	const struct cmd_list *states = &s->filter.lists[FILTER_STATES];

	if (slurm_filter_states(&s->filter, value, &s->none, &s->all, err) < 0)
		return error_set(err, ERR_USAGE, "unrecognized job state value '%s'", value);
	if (!states->n || !cmd_list_fits(states, "RUNNING"))
		return 0;
	return filter_add(
	        &s->filter, FILTER_STATES, "--state", "CONFIGURING,COMPLETING", err);
}

static CMD_SETTER(set_brief)
{
	*(const char **)field = FORMAT_BRIEF;
	return 0;
}

static CMD_SETTER(set_long)
{
	*(const char **)field = FORMAT_LONG;
	return 0;
}

static CMD_SETTER(set_parsable2)
{
	struct fields_style *style = field;

	style->parsable = true;
	style->ended = false;
	return 0;
}

#define FEW                                                                                       \
	"a listing is restricted by jobs, users, accounts, partitions, states, names, nodes and " \
	"time"

static const struct slurm_cmd_option options[] = {
	SLURM_CMD_ROW(struct sacct, accounts, "accounts", 'A', SLURM_CMD_VALUE, cmd_set_list),
	SLURM_CMD_SAME("allclusters", 'L', SLURM_CMD_PLAIN),
	SLURM_CMD_ROW(struct sacct, no_steps, "allocations", 'X', SLURM_CMD_PLAIN, cmd_set_flag),
	SLURM_CMD_ROW(struct sacct, all_users, "allusers", 'a', SLURM_CMD_PLAIN, cmd_set_flag),
	SLURM_CMD_NONE("associations", 'x', SLURM_CMD_VALUE, FEW),
	SLURM_CMD_NONE("batch-script", 'B', SLURM_CMD_PLAIN,
	        "gctl show job ID --script prints the script of a job"),
	SLURM_CMD_ROW(struct sacct, format, "brief", 'b', SLURM_CMD_PLAIN, set_brief),
	{ "cluster", 'M', SLURM_CMD_VALUE, SLURM_CMD_DIFFERS,
	        "this cluster, or all; of another one there is nothing", cmd_set_text,
	        offsetof(struct sacct, out.cluster), 0 },
	{ "clusters", 'M', SLURM_CMD_VALUE, SLURM_CMD_DIFFERS,
	        "this cluster, or all; of another one there is nothing", cmd_set_text,
	        offsetof(struct sacct, out.cluster), 0 },
	SLURM_CMD_NONE("completion", 'c', SLURM_CMD_PLAIN,
	        "there is no other record of jobs that have ended"),
	SLURM_CMD_ROW(struct sacct, style.between, "delimiter", 0, SLURM_CMD_VALUE, cmd_set_text),
	{ "duplicates", 'D', SLURM_CMD_PLAIN, SLURM_CMD_DIFFERS,
	        "the last attempt of a job alone; gacct --runs has all", NULL, 0, 0 },
	SLURM_CMD_ROW(struct sacct, until, "endtime", 'E', SLURM_CMD_VALUE, set_moment),
	SLURM_CMD_NONE("env-vars", 0, SLURM_CMD_PLAIN,
	        "gctl show job ID --env prints the environment of a job"),
	SLURM_CMD_NONE("federation", 0, SLURM_CMD_PLAIN, "there are no federations"),
	SLURM_CMD_NONE("file", 'f', SLURM_CMD_VALUE, "gacct --file reads what gctl archive wrote"),
	SLURM_CMD_NONE("flags", 'F', SLURM_CMD_VALUE, FEW),
	SLURM_CMD_ROW(struct sacct, format, "format", 'o', SLURM_CMD_VALUE, cmd_set_text),
	SLURM_CMD_NONE("gid", 'g', SLURM_CMD_VALUE, FEW),
	SLURM_CMD_NONE("group", 'g', SLURM_CMD_VALUE, FEW),
	SLURM_CMD_ROW(struct sacct, help_format, "helpformat", 'e', SLURM_CMD_PLAIN, cmd_set_flag),
	{ "jobs", 'j', SLURM_CMD_VALUE, SLURM_CMD_YES, NULL, set_jobs, 0, 0 },
	{ "json", 0, SLURM_CMD_PLAIN, SLURM_CMD_DIFFERS, "fewer fields", cmd_set_flag,
	        offsetof(struct sacct, json), 0 },
	SLURM_CMD_SAME("local", 0, SLURM_CMD_PLAIN),
	SLURM_CMD_ROW(struct sacct, format, "long", 'l', SLURM_CMD_PLAIN, set_long),
	SLURM_CMD_FILTER(struct sacct, filter, "name", 0, FILTER_NAMES),
	SLURM_CMD_NONE("ncpus", 'I', SLURM_CMD_VALUE, FEW),
	SLURM_CMD_NONE("nnodes", 'i', SLURM_CMD_VALUE, FEW),
	SLURM_CMD_SAME("noconvert", 0, SLURM_CMD_PLAIN),
	SLURM_CMD_FILTER(struct sacct, filter, "nodelist", 'N', FILTER_NODES),
	SLURM_CMD_ROW(
	        struct sacct, style.no_heading, "noheader", 'n', SLURM_CMD_PLAIN, cmd_set_flag),
	SLURM_CMD_ROW(
	        struct sacct, style, "parsable", 'p', SLURM_CMD_PLAIN, slurm_cmd_set_parsable),
	SLURM_CMD_ROW(struct sacct, style, "parsable2", 'P', SLURM_CMD_PLAIN, set_parsable2),
	SLURM_CMD_FILTER(struct sacct, filter, "partition", 'r', FILTER_PARTITIONS),
	SLURM_CMD_ROW(struct sacct, qos, "qos", 'q', SLURM_CMD_VALUE, cmd_set_list),
	SLURM_CMD_NONE("reason", 'R', SLURM_CMD_VALUE, FEW),
	SLURM_CMD_ROW(struct sacct, since, "starttime", 'S', SLURM_CMD_VALUE, set_moment),
	{ "state", 's', SLURM_CMD_VALUE, SLURM_CMD_DIFFERS, "with no time said: of today",
	        set_states, 0, 0 },
	SLURM_CMD_NONE("timelimit-max", 'K', SLURM_CMD_VALUE, FEW),
	SLURM_CMD_NONE("timelimit-min", 'k', SLURM_CMD_VALUE, FEW),
	SLURM_CMD_NONE("truncate", 'T', SLURM_CMD_PLAIN, "times are shown as they were"),
	SLURM_CMD_ROW(struct sacct, filter, "uid", 'u', SLURM_CMD_VALUE, set_users),
	{ "units", 0, SLURM_CMD_VALUE, SLURM_CMD_YES, NULL, set_units, 0, 0 },
	SLURM_CMD_SAME("use-local-uid", 0, SLURM_CMD_PLAIN),
	SLURM_CMD_ROW(struct sacct, filter, "user", 'u', SLURM_CMD_VALUE, set_users),
	SLURM_CMD_SAME("verbose", 'v', SLURM_CMD_PLAIN),
	SLURM_CMD_NONE(
	        "wckeys", 'W', SLURM_CMD_VALUE, "there are no workload characterization keys"),
	SLURM_CMD_SAME("whole-hetjob", 0, SLURM_CMD_MAY),
	SLURM_CMD_NONE("yaml", 0, SLURM_CMD_PLAIN, "--json says the same"),
};

static int take_argument(const char *value, void *input, struct error *err)
{
	(void)input;
	return error_set(err, ERR_USAGE, "Unknown arguments: %s", value);
}

/* --- lines ----------------------------------------------------------------------------------- */

/* `step`: of tasks, which follow the job and its script. */
static void add_line(
        struct sacct *s, const Gpusched__Acct *j, bool batch, const Gpusched__StepReport *step)
{
	const struct acct_line object = { j, batch, step };
	struct line *l = XADD(s->lines, s->n, s->size);

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
	if (j->has_steps && (!named || s->jobs_named))
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
	COPY_FIELDS(&j, step, user, account, partition, state);
	j.nodes = r->nodelist;
	j.n_nodes = r->nodes;
	j.cpus = r->nodes ? r->cpus / r->nodes : r->cpus;
	j.submit_time = j.start_time = j.first_start_time = r->start_time;
	j.end_time = r->end_time;
	j.elapsed_s = end > r->start_time ? (uint64_t)(end - r->start_time) / 1000000 : 0;
	COPY_FIELDS(&j, r, exit_code, exit_signal, cpu_time_us, max_rss_kb);
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
	struct reassembly jobs = { GPUSCHED__MSG_TYPE__MSG_ACCT_CHUNK, on_job, s, NULL };
	char name[256];

	if (!s->filter.lists[FILTER_USERS].n && !s->all_users && geteuid() != 0 &&
	        !s->filter.ids.n && !s->filter.lists[FILTER_NODES].n &&
	        filter_add(&s->filter, FILTER_USERS, "--user", cmd_user(name, sizeof(name)), err) <
	                0)
		return -1;
	/* Jobs that wait are told only where their state is asked for, so all are. */
	if (!s->filter.lists[FILTER_STATES].n && slurm_filter_every_state(&s->filter, err) < 0)
		return -1;
	filter_message(&s->filter, &filter);
	request.filter = &filter;
	request.accounts = s->accounts.v;
	request.n_accounts = s->accounts.n;
	request.qos = s->qos.v;
	request.n_qos = s->qos.n;
	request.since_time =
	        s->since || s->filter.ids.n ? s->since : parse_time_today(parse_time_now());
	request.until_time = s->until;
	request.whole = s->filter.ids.n > 0;
	return reassembly_ask(c, GPUSCHED__MSG_TYPE__MSG_LIST_ACCT, &request.base, &jobs, err);
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
	const struct slurm_cmd_field *table = sacct_fields(&n);
	const char *env = getenv("SACCT_FORMAT"), *clusters = s->out.cluster;
	struct client *c;
	int rc = 0;

	if (fields_names(&s->fields,
	            s->format     ? s->format
	            : env && *env ? env
	                          : FORMAT,
	            table, n, &err) < 0)
		return slurm_cmd_fail("sacct", &err);
	c = slurm_cmd_client("sacct", "sacct: error", NULL);
	if (!c)
		return SLURM_CMD_FAILED;
	s->out.cluster = client_conf(c)->cluster;
	if (!s->none && !is_elsewhere(clusters, s->out.cluster))
		rc = ask(s, c, &err);
	if (rc >= 0 && s->n_steps_of)
		rc = steplist_all(c, NULL, s->steps_of, s->n_steps_of, on_step, s, &err);
	if (rc < 0 && error_exit_status(err.code) == EXIT_NO_OBJECT)
		rc = 0; /* of what there is not, there is nothing */
	if (rc >= 0)
		print_all(s);
	client_free(c);
	return rc < 0 ? slurm_cmd_fail_load("sacct", "sacct: error", &err) : 0;
}

int sacct_main(int argc, char **argv)
{
	struct sacct s = { .format = NULL };
	size_t n;
	const struct slurm_cmd_field *table = sacct_fields(&n);
	int status = slurm_cmd_parse("sacct", take_argument, argc, argv, &s);

	if (status == CMD_GO_ON)
		status = slurm_cmd_finish(
		        "sacct", s.help_format ? fields_print_names(table, n) : run(&s));
	free(s.lines);
	free(s.steps_of);
	strbuf_free(&s.text);
	fields_clear(&s.fields);
	filter_clear(&s.filter);
	cmd_list_clear(&s.accounts);
	cmd_list_clear(&s.qos);
	return status;
}

SLURM_CMD_TABLE(option, sacct_options, options)
