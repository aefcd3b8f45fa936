/* srun_options.c - see srun_options.h */
#include "cmds/srun/srun_options.h"

#include <ctype.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "cmds/slurm/sbatch_options.h"
#include "cmds/steps/cpubind.h"
#include "common/base/text.h"
#include "common/base/units.h"
#include "common/base/xalloc.h"

#define FIELD(type, o, row) ((type *)(void *)((char *)(o) + (row)->offset))
#define OWN_KEY             0x1000
#define JOB_KEY             0x2000

/* The head of a `set`, which need not look at all that it is handed. */
#define SETTER(name)                                                 \
	int name(struct srun_options *o __attribute__((unused)),     \
	        const struct srun_row *row __attribute__((unused)),  \
	        const char *value __attribute__((unused)),           \
	        struct error *err __attribute__((unused)))

/* --- setters ---------------------------------------------------------------------------------- */

/* Slurm's text. */
static int bad_number(const struct srun_row *row, const char *value, struct error *err)
{
	return error_set(
	        err, ERR_USAGE, "Invalid numeric value \"%s\" for --%s.", value, row->name);
}

static SETTER(set_number)
{
	uint64_t n;

	if (count_parse(value, 1, INT32_MAX, &n, NULL) < 0)
		return bad_number(row, value, err);
	*FIELD(uint32_t, o, row) = (uint32_t)n;
	return 0;
}

static SETTER(set_number_or_0)
{
	uint64_t n;

	if (count_parse(value, 0, INT32_MAX, &n, NULL) < 0)
		return bad_number(row, value, err);
	*FIELD(uint32_t, o, row) = (uint32_t)n;
	return 0;
}

static SETTER(set_text)
{
	char **field = FIELD(char *, o, row);

	free(*field);
	*field = xstrdup(value ? value : "");
	return 0;
}

static bool is_no(const char *value)
{
	return value && (!strcmp(value, "0") || !strcmp(value, "no"));
}

static SETTER(set_flag)
{
	*FIELD(bool, o, row) = !is_no(value);
	return 0;
}

static SETTER(set_nodes)
{
	char *end;
	unsigned long min = strtoul(value, &end, 10), max = min;

	if (end != value && *end == '-')
		max = strtoul(end + 1, &end, 10);
	if (!isdigit((unsigned char)*value) || *end || !min || max < min || max > INT32_MAX)
		return error_set(err, ERR_USAGE, "\"%s\" is not a valid node count", value);
	o->nodes_min = (uint32_t)min;
	o->nodes_max = (uint32_t)max;
	return 0;
}

static SETTER(set_cpus)
{
	o->cpus_said = o->exact = true;
	return set_number(o, row, value, err);
}

/* "4", "h100:4": the job has GPUs of one type. */
static int gpu_count(
        const char *value, const struct srun_row *row, uint32_t *count, struct error *err)
{
	const char *colon = strrchr(value, ':');
	uint64_t n;

	if (count_parse(colon ? colon + 1 : value, 0, UINT16_MAX, &n, NULL) < 0)
		return bad_number(row, value, err);
	*count = (uint32_t)n;
	return 0;
}

static SETTER(set_gpus)
{
	uint32_t *field = FIELD(uint32_t, o, row);

	if (gpu_count(value, row, field, err) < 0)
		return -1;
	o->no_gpus = *field == 0;
	return 0;
}

static SETTER(set_gres)
{
	if (!strcmp(value, "none")) {
		o->no_gpus = true;
		return 0;
	}
	if (strncmp(value, "gpu", 3) != 0 || (value[3] && value[3] != ':'))
		return error_set(err, ERR_USAGE,
		        "Invalid generic resource (gres) specification: %s; there is gpu", value);
	if (!value[3]) {
		o->gpus_per_node = 1;
		return 0;
	}
	return isdigit((unsigned char)value[strlen(value) - 1])
	               ? gpu_count(value + 4, row, &o->gpus_per_node, err)
	               : (o->gpus_per_node = 1, 0);
}

static SETTER(set_immediate)
{
	uint64_t s = 1;

	if (value && !is_no(value) && count_parse(value, 0, INT32_MAX, &s, NULL) < 0)
		return bad_number(row, value, err);
	o->immediate = !is_no(value);
	o->immediate_s = (uint32_t)s;
	return 0;
}

static SETTER(set_exclusive)
{
	o->exact = true;
	return 0;
}

static SETTER(set_whole)
{
	o->exact = false;
	return 0;
}

static SETTER(set_time)
{
	uint64_t s;

	if (!strcasecmp(value, "infinite") || !strcasecmp(value, "unlimited") ||
	        !strcmp(value, "0"))
		return o->time_s = 0, 0;
	if (duration_parse(value, DURATION_BARE_MINUTES, &s, NULL) < 0 || s > INT32_MAX)
		return error_set(err, ERR_USAGE, "Invalid time limit specification");
	o->time_s = (uint32_t)s;
	return 0;
}

static SETTER(set_distribution)
{
	size_t len = strcspn(value, ":,");

	if (len == 6 && !strncasecmp(value, "cyclic", len))
		return o->cyclic = true, 0;
	if (len == 0 || (len == 1 && *value == '*') ||
	        (len == 5 && !strncasecmp(value, "block", len)))
		return o->cyclic = false, 0;
	return error_set(err, ERR_USAGE,
	        "Invalid --distribution specification: %s; block and cyclic are there", value);
}

static SETTER(set_mode)
{
	o->append = *value == 'a';
	if (*value == 'a' || *value == 't')
		return 0;
	return error_set(err, ERR_USAGE, "Invalid --open-mode argument: %s", value);
}

static SETTER(set_bind)
{
	if (!cpubind_is_known(value))
		return error_set(err, ERR_USAGE, "unrecognized --cpu-bind argument \"%s\"", value);
	return set_text(o, row, value, err);
}

static SETTER(set_mpi)
{
	if (!strcmp(value, "list"))
		return o->mpi_list = true, 0;
	if (!SRUN_HAS_PMIX && !strncmp(value, "pmix", 4)) {
		error_set(err, ERR_USAGE, "--mpi=%s: there is no PMIx here", value);
		return error_hint(err, "--mpi=pmi2, or the library's own mpirun");
	}
	if (strcmp(value, "none") != 0 && strcmp(value, "pmi2") != 0 &&
	        strcmp(value, "pmix") != 0 && strcmp(value, "pmix_v4") != 0)
		return error_set(err, ERR_USAGE,
		        "Invalid MPI type '%s', --mpi=list for acceptable types", value);
	return set_text(o, row, value, err);
}

static SETTER(set_jobid)
{
	const char *task = strchr(value, '_');
	char *job = task ? xstrndup(value, (size_t)(task - value)) : xstrdup(value);
	uint64_t number = 0;
	bool good = count_parse(job, 1, UINT64_MAX, &o->jobid, NULL) == 0 &&
	            (!task || count_parse(task + 1, 0, UINT32_MAX - 1, &number, NULL) == 0);

	o->job_of_array = task;
	o->job_task = (uint32_t)number;
	free(job);
	return good ? 0 : bad_number(row, value, err);
}

static SETTER(add_verbose)
{
	o->verbose += value ? (uint32_t)strtoul(value, NULL, 10) : 1;
	return 0;
}

static SETTER(set_mem)
{
	if (size_parse_mb(value, SIZE_BARE_MB, &o->mem_mb, NULL) < 0 && strcmp(value, "0") != 0)
		return error_set(err, ERR_USAGE, "Invalid --%s specification", row->name);
	return 0;
}

static SETTER(set_refused)
{
	return error_set(err, ERR_USAGE, "--%s: %s", row->name, row->text);
}

/* --- the table -------------------------------------------------------------------------------- */

#define AT(field) offsetof(struct srun_options, field)
#define NO_BOARDS "nodes are chosen by features: --constraint"

static const struct srun_row rows[] = {
	{ "accel-bind", 0, SRUN_ARG, SRUN_NOTHING, NULL, NULL, 0, "" },
	{ "acctg-freq", 0, SRUN_ARG, SRUN_NOTHING, NULL, NULL, 0, "" },
	{ "bcast", 0, SRUN_ARG_MAY_MISS, SRUN_STEP, NULL, set_text, AT(bcast),
	        "Copy the program to the nodes first" },
	{ "bcast-exclude", 0, SRUN_ARG, SRUN_NOTHING, NULL, NULL, 0, "" },
	{ "chdir", 'D', SRUN_ARG, SRUN_STEP, "SLURM_WORKING_DIR", set_text, AT(chdir),
	        "Run in that folder" },
	{ "compress", 0, SRUN_ARG_MAY_MISS, SRUN_NOTHING, NULL, NULL, 0, "" },
	{ "container", 0, SRUN_ARG, SRUN_REFUSED, NULL, set_refused, 0,
	        "the command has to start the container" },
	{ "cores-per-socket", 0, SRUN_ARG, SRUN_REFUSED, NULL, set_refused, 0, NO_BOARDS },
	{ "cpu-bind", 0, SRUN_ARG, SRUN_STEP, "SLURM_CPU_BIND", set_bind, AT(cpu_bind),
	        "CPUs of each task: none, cores, map_cpu:..., mask_cpu:..." },
	{ "cpu-freq", 0, SRUN_ARG, SRUN_NOTHING, NULL, NULL, 0, "" },
	{ "cpus-per-task", 'c', SRUN_ARG, SRUN_STEP, "SRUN_CPUS_PER_TASK", set_cpus,
	        AT(cpus_per_task), "CPUs of each task" },
	{ "disable-status", 'X', SRUN_NO_ARG, SRUN_STEP, "SLURM_DISABLE_STATUS", set_flag,
	        AT(disable_status), "Pass on the first ^C" },
	{ "distribution", 'm', SRUN_ARG, SRUN_STEP, "SLURM_DISTRIBUTION", set_distribution, 0,
	        "Order of tasks on nodes: block, cyclic" },
	{ "epilog", 0, SRUN_ARG, SRUN_REFUSED, NULL, set_refused, 0,
	        "the site's programs run around jobs" },
	{ "error", 'e', SRUN_ARG, SRUN_STEP, "SLURM_STDERRMODE", set_text, AT(error),
	        "Where standard error goes" },
	{ "exact", 0, SRUN_NO_ARG, SRUN_STEP, "SLURM_EXACT", set_flag, AT(exact),
	        "No more CPUs than the tasks need" },
	{ "exclude", 'x', SRUN_ARG, SRUN_STEP, NULL, set_text, AT(exclude), "Not on these nodes" },
	{ "exclusive", 0, SRUN_ARG_MAY_MISS, SRUN_STEP, "SLURM_EXCLUSIVE", set_exclusive, 0,
	        "As --exact; of a job: whole nodes" },
	{ "export", 0, SRUN_ARG, SRUN_STEP, "SLURM_EXPORT_ENV", set_text, AT(rule),
	        "Variables of the tasks: ALL, NONE, NAME=VALUE,..." },
	{ "gpu-bind", 0, SRUN_ARG, SRUN_NOTHING, NULL, NULL, 0, "" },
	{ "gpu-freq", 0, SRUN_ARG, SRUN_NOTHING, NULL, NULL, 0, "" },
	{ "gpus", 'G', SRUN_ARG, SRUN_STEP, "SLURM_GPUS", set_gpus, AT(gpus), "GPUs of the step" },
	{ "gpus-per-node", 0, SRUN_ARG, SRUN_STEP, "SLURM_GPUS_PER_NODE", set_gpus,
	        AT(gpus_per_node), "GPUs of each node" },
	{ "gpus-per-task", 0, SRUN_ARG, SRUN_STEP, "SLURM_GPUS_PER_TASK", set_gpus,
	        AT(gpus_per_task), "GPUs of each task" },
	{ "gres", 0, SRUN_ARG, SRUN_STEP, "SLURM_STEP_GRES", set_gres, 0,
	        "gpu:N of each node; none" },
	{ "gres-flags", 0, SRUN_ARG, SRUN_NOTHING, NULL, NULL, 0, "" },
	{ "help", 'h', SRUN_NO_ARG, SRUN_STEP, NULL, set_flag, AT(help), "Print this" },
	{ "het-group", 0, SRUN_ARG, SRUN_STEP, NULL, set_number_or_0, AT(het_group),
	        "Part of a heterogeneous job: 0" },
	{ "hint", 0, SRUN_ARG, SRUN_NOTHING, NULL, NULL, 0, "" },
	{ "immediate", 'I', SRUN_ARG_MAY_MISS, SRUN_STEP, "SLURM_IMMEDIATE",
	        set_immediate, 0, "Fail where it would have to wait" },
	{ "input", 'i', SRUN_ARG, SRUN_STEP, "SLURM_STDINMODE", set_text, AT(input),
	        "Where standard input comes from" },
	{ "interactive", 0, SRUN_NO_ARG, SRUN_NOTHING, NULL, NULL, 0, "" },
	{ "job-name", 'J', SRUN_ARG, SRUN_STEP, NULL, set_text, AT(name), "The step's name" },
	{ "jobid", 0, SRUN_ARG, SRUN_STEP, NULL, set_jobid, 0, "The job in which the step runs" },
	{ "kill-on-bad-exit", 'K', SRUN_ARG_MAY_MISS, SRUN_STEP, "SLURM_KILL_BAD_EXIT", set_flag,
	        AT(kill_on_bad_exit), "End all tasks when one fails" },
	{ "label", 'l', SRUN_NO_ARG, SRUN_STEP, "SLURM_LABELIO", set_flag, AT(label),
	        "The task's number before each line" },
	{ "mem", 0, SRUN_ARG, SRUN_STEP, NULL, set_mem, 0,
	        "Memory of a node: the job's holds all of its steps" },
	{ "mem-bind", 0, SRUN_ARG, SRUN_NOTHING, NULL, NULL, 0, "" },
	{ "mem-per-cpu", 0, SRUN_ARG, SRUN_STEP, NULL, set_mem, 0, "Memory of a CPU, likewise" },
	{ "mem-per-gpu", 0, SRUN_ARG, SRUN_STEP, NULL, set_mem, 0, "Memory of a GPU, likewise" },
	{ "mpi", 0, SRUN_ARG, SRUN_STEP, "SLURM_MPI_TYPE", set_mpi, AT(mpi), "none, pmi2, pmix; list" },
	{ "msg-timeout", 0, SRUN_ARG, SRUN_NOTHING, NULL, NULL, 0, "" },
	{ "multi-prog", 0, SRUN_NO_ARG, SRUN_STEP, "SLURM_SRUN_MULTI", set_flag, AT(multi_prog),
	        "The argument is a file of tasks and their programs" },
	{ "network", 0, SRUN_ARG, SRUN_NOTHING, NULL, NULL, 0, "" },
	{ "no-allocate", 'Z', SRUN_NO_ARG, SRUN_REFUSED, NULL, set_refused, 0,
	        "nothing runs outside of a job" },
	{ "no-kill", 'k', SRUN_ARG_MAY_MISS, SRUN_NOTHING, NULL, NULL, 0, "" },
	{ "nodefile", 'F', SRUN_ARG, SRUN_REFUSED, NULL, set_refused, 0, "--nodelist names nodes" },
	{ "nodelist", 'w', SRUN_ARG, SRUN_STEP, NULL, set_text, AT(nodelist),
	        "On these nodes of the job" },
	{ "nodes", 'N', SRUN_ARG, SRUN_STEP, NULL, set_nodes, 0, "On so many nodes: N, MIN-MAX" },
	{ "ntasks", 'n', SRUN_ARG, SRUN_STEP, NULL, set_number, AT(ntasks), "So many tasks" },
	{ "ntasks-per-core", 0, SRUN_ARG, SRUN_NOTHING, NULL, NULL, 0, "" },
	{ "ntasks-per-gpu", 0, SRUN_ARG, SRUN_NOTHING, NULL, NULL, 0, "" },
	{ "ntasks-per-node", 0, SRUN_ARG, SRUN_STEP, NULL, set_number, AT(ntasks_per_node),
	        "So many tasks on each node" },
	{ "ntasks-per-socket", 0, SRUN_ARG, SRUN_NOTHING, NULL, NULL, 0, "" },
	{ "open-mode", 0, SRUN_ARG, SRUN_STEP, "SLURM_OPEN_MODE", set_mode, 0, "append, truncate" },
	{ "output", 'o', SRUN_ARG, SRUN_STEP, "SLURM_STDOUTMODE", set_text, AT(output),
	        "Where standard output goes: a file (%j %J %t %n %N ...), all, none, a task's "
	        "number" },
	{ "overcommit", 'O', SRUN_NO_ARG, SRUN_STEP, "SLURM_OVERCOMMIT", set_flag, AT(overcommit),
	        "More tasks than CPUs" },
	{ "overlap", 0, SRUN_NO_ARG, SRUN_STEP, "SLURM_OVERLAP", set_flag, AT(overlap),
	        "Share CPUs and GPUs with other steps" },
	{ "preserve-env", 'E', SRUN_NO_ARG, SRUN_NOTHING, NULL, NULL, 0, "" },
	{ "prolog", 0, SRUN_ARG, SRUN_REFUSED, NULL, set_refused, 0,
	        "the site's programs run around jobs" },
	{ "propagate", 0, SRUN_ARG_MAY_MISS, SRUN_NOTHING, NULL, NULL, 0, "" },
	{ "pty", 0, SRUN_ARG_MAY_MISS, SRUN_STEP, NULL, set_flag, AT(pty),
	        "Task 0 has a terminal, which is this one" },
	{ "quiet", 'Q', SRUN_NO_ARG, SRUN_STEP, NULL, set_flag, AT(quiet),
	        "Say nothing but errors" },
	{ "quit-on-interrupt", 'q', SRUN_NO_ARG, SRUN_STEP, NULL, set_flag, AT(quit_on_interrupt),
	        "End the step at the first ^C" },
	{ "relative", 'r', SRUN_ARG, SRUN_STEP, NULL, set_number_or_0, AT(relative),
	        "Not on the first so many nodes" },
	{ "resv-ports", 0, SRUN_ARG_MAY_MISS, SRUN_NOTHING, NULL, NULL, 0, "" },
	{ "send-libs", 0, SRUN_ARG_MAY_MISS, SRUN_NOTHING, NULL, NULL, 0, "" },
	{ "slurmd-debug", 0, SRUN_ARG, SRUN_NOTHING, NULL, NULL, 0, "" },
	{ "task-epilog", 0, SRUN_ARG, SRUN_REFUSED, NULL, set_refused, 0,
	        "the command has to call it" },
	{ "task-prolog", 0, SRUN_ARG, SRUN_REFUSED, NULL, set_refused, 0,
	        "the command has to call it" },
	{ "test-only", 0, SRUN_NO_ARG, SRUN_STEP, NULL, set_flag, AT(test_only),
	        "Say when a job would start; run nothing" },
	{ "threads", 'T', SRUN_ARG, SRUN_NOTHING, NULL, NULL, 0, "" },
	{ "time", 't', SRUN_ARG, SRUN_STEP, NULL, set_time, 0,
	        "The step's limit: minutes, H:M:S, D-H" },
	{ "unbuffered", 'u', SRUN_NO_ARG, SRUN_STEP, "SLURM_UNBUFFEREDIO", set_flag, AT(unbuffered),
	        "Output as it comes, not line by line" },
	{ "verbose", 'v', SRUN_NO_ARG, SRUN_STEP, NULL, add_verbose, 0, "Say more" },
	{ "version", 'V', SRUN_NO_ARG, SRUN_STEP, NULL, set_flag, AT(version),
	        "Print the version" },
	{ "wait", 'W', SRUN_ARG, SRUN_STEP, "SLURM_WAIT", set_number_or_0, AT(wait_s),
	        "End the step so many seconds after its first task" },
	{ "whole", 0, SRUN_NO_ARG, SRUN_STEP, "SLURM_WHOLE", set_whole, 0,
	        "All CPUs of its nodes" },
	{ "x11", 0, SRUN_ARG_MAY_MISS, SRUN_REFUSED, NULL, set_refused, 0,
	        "ssh -X to the node, or a port forward" },
};
#define N_ROWS (sizeof(rows) / sizeof(rows[0]))

/* The job's own shape: what a step has that says nothing. */
static const struct {
	const char *variable, *option;
} shape[] = {
	{ "SLURM_NNODES", "nodes" },
	{ "SLURM_JOB_NUM_NODES", "nodes" },
	{ "SLURM_NPROCS", "ntasks" },
	{ "SLURM_NTASKS", "ntasks" },
	{ "SLURM_NTASKS_PER_NODE", "ntasks-per-node" },
	{ "SLURM_TIMELIMIT", "time" },
	{ "SLURM_REMOTE_CWD", "chdir" },
	{ "SRUN_EXPORT_ENV", "export" },
	{ "SLURM_DEBUG", "verbose" },
};

const struct srun_row *srun_rows(size_t *n)
{
	*n = N_ROWS;
	return rows;
}

bool srun_is_of_step(const char *name)
{
	static const char *const names[] = { "output", "error", "input", "export", "test-only",
		"wait", "open-mode", "quiet", "verbose", "help", "usage", "version", "overcommit",
		"distribution", "gpu-bind", "hint", "mem-bind" };

	return text_among(name, names, sizeof(names) / sizeof(names[0]));
}

void srun_options_init(struct srun_options *o)
{
	*o = (struct srun_options){ .ntasks = 0 };
}

void srun_options_clear(struct srun_options *o)
{
	char **texts[] = { &o->nodelist, &o->exclude, &o->rule, &o->output, &o->error, &o->input,
		&o->cpu_bind, &o->mpi, &o->name, &o->chdir, &o->bcast };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		free(*texts[i]);
	free(o->command);
}

/* --- the environment -------------------------------------------------------------------------- */

static const char *variable(char *const *environment, const char *name)
{
	size_t len = strlen(name);

	for (; *environment; environment++)
		if (!strncmp(*environment, name, len) && (*environment)[len] == '=')
			return *environment + len + 1;
	return NULL;
}

static const struct srun_row *find_row(const char *name)
{
	for (size_t i = 0; i < N_ROWS; i++)
		if (!strcmp(rows[i].name, name))
			return &rows[i];
	return NULL;
}

static int set_variable(struct srun_options *o, const char *name, const struct srun_row *row,
        const char *value, struct error *err)
{
	if (row->set && row->set(o, row, value, err) < 0)
		return error_wrap(err, "%s=%s", name, value);
	return 0;
}

int srun_options_from_environment(
        struct srun_options *o, char *const *environment, struct error *err)
{
	const char *value;

	for (size_t i = 0; i < sizeof(shape) / sizeof(shape[0]); i++)
		if ((value = variable(environment, shape[i].variable)) && *value &&
		        set_variable(o, shape[i].variable, find_row(shape[i].option), value, err) <
		                0)
			return -1;
	for (size_t i = 0; i < N_ROWS; i++)
		if (rows[i].variable && (value = variable(environment, rows[i].variable)) &&
		        *value && set_variable(o, rows[i].variable, &rows[i], value, err) < 0)
			return -1;
	return 0;
}

/* --- the command line ------------------------------------------------------------------------- */

static int has_arg(enum srun_arg arg)
{
	return arg == SRUN_NO_ARG ? no_argument
	       : arg == SRUN_ARG  ? required_argument
	                          : optional_argument;
}

struct table {
	struct option *options;
	char *letters;
};

static void add_letter(struct table *t, size_t *n, char letter, enum srun_arg arg)
{
	if (!letter || strchr(t->letters, letter))
		return;
	t->letters[(*n)++] = letter;
	for (int i = 0; i < (int)arg; i++)
		t->letters[(*n)++] = ':';
}

static void make_table(struct table *t)
{
	size_t n_job, n = 0, letters = 1;
	const struct sbatch_row *job = sbatch_rows(&n_job);

	t->options = xcalloc(N_ROWS + n_job + 1, sizeof(*t->options));
	t->letters = xcalloc(3 * (N_ROWS + n_job) + 2, 1);
	t->letters[0] = '+';
	for (size_t i = 0; i < N_ROWS; i++) {
		t->options[n++] = (struct option){ rows[i].name, has_arg(rows[i].arg), NULL,
			OWN_KEY + (int)i };
		add_letter(t, &letters, rows[i].letter, rows[i].arg);
	}
	for (size_t i = 0; i < n_job; i++) {
		if (find_row(job[i].name))
			continue;
		t->options[n++] = (struct option){ job[i].name, has_arg((enum srun_arg)job[i].arg),
			NULL, JOB_KEY + (int)i };
		add_letter(t, &letters, job[i].letter, (enum srun_arg)job[i].arg);
	}
}

static void note_given(struct srun_options *o, const char *name, const char *value)
{
	if (o->n_given == SRUN_GIVEN_MAX)
		return;
	o->given[o->n_given].name = name;
	o->given[o->n_given++].value = value;
}

static int take_own(
        struct srun_options *o, const struct srun_row *row, const char *value, struct error *err)
{
	size_t n_job;
	const struct sbatch_row *job = sbatch_rows(&n_job);

	for (size_t i = 0; i < n_job; i++)
		if (!strcmp(job[i].name, row->name))
			note_given(o, row->name, value);
	o->ntasks_said |= !strcmp(row->name, "ntasks");
	o->nodes_said |= !strcmp(row->name, "nodes");
	return row->set ? row->set(o, row, value, err) : 0;
}

static int take(struct srun_options *o, int key, const char *value, struct error *err)
{
	size_t n_job;
	const struct sbatch_row *job = sbatch_rows(&n_job);

	if (key >= JOB_KEY)
		return note_given(o, job[key - JOB_KEY].name, value), 0;
	if (key >= OWN_KEY)
		return take_own(o, &rows[key - OWN_KEY], value, err);
	for (size_t i = 0; i < N_ROWS; i++)
		if (rows[i].letter == key)
			return take_own(o, &rows[i], value, err);
	for (size_t i = 0; i < n_job; i++)
		if (job[i].letter == key)
			note_given(o, job[i].name, value);
	return 0;
}

/* What the command line says of GPUs replaces what the job's variables say in other words. */
static void forget_gpus(struct srun_options *o)
{
	o->gpus = o->gpus_per_node = o->gpus_per_task = 0;
	o->no_gpus = false;
}

static bool is_about_gpus(int key)
{
	const char *name = key >= OWN_KEY && key < JOB_KEY ? rows[key - OWN_KEY].name : "";

	return key == 'G' || !strncmp(name, "gpus", 4) || !strcmp(name, "gres");
}

int srun_options_from_words(
        struct srun_options *o, int argc, char **argv, bool *unknown, struct error *err)
{
	struct table t;
	bool gpus = false;
	int c, rc = 0;

	make_table(&t);
	optind = 0;
	*unknown = false;
	while (rc == 0 && (c = getopt_long(argc, argv, t.letters, t.options, NULL)) != -1) {
		if (c == '?') {
			*unknown = true;
			rc = error_set(
			        err, ERR_USAGE, "Try \"%s --help\" for more information", argv[0]);
			break;
		}
		if (is_about_gpus(c) && !gpus) {
			gpus = true;
			forget_gpus(o);
		}
		rc = take(o, c, optarg, err);
	}
	free(t.options);
	free(t.letters);
	if (rc < 0)
		return rc;
	o->command = xcalloc((size_t)(argc - optind) + 1, sizeof(*o->command));
	memcpy(o->command, argv + optind, (size_t)(argc - optind) * sizeof(*o->command));
	return 0;
}

int srun_options_check(struct srun_options *o, struct error *err)
{
	if (o->ntasks_said && o->ntasks_per_node && !o->nodes_said)
		o->ntasks_per_node =
		        (uint64_t)o->ntasks_per_node * (o->nodes_min ? o->nodes_min : 1) < o->ntasks
		                ? 0
		                : o->ntasks_per_node;
	if (o->nodes_said && !o->ntasks_said && o->ntasks_per_node)
		o->ntasks = o->ntasks_per_node * o->nodes_min;
	else if (o->nodes_said && !o->ntasks_said && o->ntasks < o->nodes_min)
		o->ntasks = o->nodes_min;
	if (o->het_group)
		return error_set(
		        err, ERR_USAGE, "--het-group=%u: the job has one part", o->het_group);
	if (!o->command || !o->command[0])
		return error_set(err, ERR_USAGE, "No command given to execute.");
	return 0;
}

void srun_options_help(FILE *out, const char *program)
{
	fprintf(out,
	        "Usage: %s [OPTIONS...] executable [args...] [: [OPTIONS...] executable "
	        "[args...]]\n\n"
	        "Run tasks: on the nodes of the job that it is called in, or of a job that it "
	        "makes.\n\n",
	        program);
	for (size_t i = 0; i < N_ROWS; i++) {
		char name[64];

		if (rows[i].kind != SRUN_STEP)
			continue;
		snprintf(name, sizeof(name), "--%s%s", rows[i].name,
		        rows[i].arg == SRUN_NO_ARG ? ""
		        : rows[i].arg == SRUN_ARG  ? "=VALUE"
		                                   : "[=VALUE]");
		fprintf(out, rows[i].letter ? "  -%c, " : "      ", rows[i].letter);
		fprintf(out, "%-28s %s\n", name, rows[i].text);
	}
	fprintf(out, "\nOptions of sbatch about a job count where srun makes one. Accepted without "
	             "effect:\n ");
	for (size_t i = 0; i < N_ROWS; i++)
		if (rows[i].kind == SRUN_NOTHING)
			fprintf(out, " --%s", rows[i].name);
	fprintf(out, "\nRefused:\n");
	for (size_t i = 0; i < N_ROWS; i++)
		if (rows[i].kind == SRUN_REFUSED)
			fprintf(out, "  --%s: %s\n", rows[i].name, rows[i].text);
}
