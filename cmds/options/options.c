/* options.c - see options.h */
#include "cmds/options/options.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cmds/cli/begin.h"
#include "cmds/cli/gpus.h"
#include "cmds/cli/sig.h"
#include "cmds/options/export.h"
#include "common/base/hostlist.h"
#include "common/base/label.h"
#include "common/base/strbuf.h"
#include "common/base/taskset.h"
#include "common/base/text.h"
#include "common/base/units.h"
#include "common/base/xalloc.h"
#include "common/job/depend.h"
#include "common/job/mail_types.h"
#include "common/job/requeue_on.h"
#include "common/job/run.h"

#define FIELD(o, row, type) ((type *)((char *)(o) + (row)->offset))

/* --- setters: one for each kind of value ---------------------------------------------------- */

static int take_text(struct submit_options *o, const struct option_row *row, const char *value)
{
	char **field = FIELD(o, row, char *);

	free(*field);
	*field = xstrdup(value);
	return 0;
}

/* text_check() names the value, which here stands before the text anyway. */
static int check_plain(const char *value, struct error *err)
{
	size_t len = strlen(value);

	if (len > OPTIONS_TEXT_MAX)
		return error_set(err, ERR_USAGE, "at most %d bytes", OPTIONS_TEXT_MAX);
	if (text_plain_prefix(value, len) != len)
		return error_set(err, ERR_USAGE, "must be UTF-8 text without control characters");
	return 0;
}

static int set_text(struct submit_options *o, const struct option_row *row, const char *value,
        struct error *err)
{
	if (!*value)
		return error_set(err, ERR_USAGE, "needs a value");
	if (check_plain(value, err) < 0)
		return -1;
	return take_text(o, row, value);
}

static int set_path(struct submit_options *o, const struct option_row *row, const char *value,
        struct error *err)
{
	size_t len = strlen(value);

	if (!len)
		return error_set(err, ERR_USAGE, "needs a path");
	if (len > OPTIONS_PATH_MAX)
		return error_set(
		        err, ERR_USAGE, "a path of %zu bytes; at most %d", len, OPTIONS_PATH_MAX);
	return take_text(o, row, value);
}

/* As sbatch has it: "none" is no file. */
static int set_file(struct submit_options *o, const struct option_row *row, const char *value,
        struct error *err)
{
	return set_path(o, row, strcasecmp(value, "none") ? value : "/dev/null", err);
}

static int set_command(struct submit_options *o, const struct option_row *row, const char *value,
        struct error *err)
{
	if (!value[strspn(value, " \t\n")])
		return error_set(err, ERR_USAGE, "needs a command");
	return take_text(o, row, value);
}

/* Nothing is a value too: it takes back what a weaker source said. */
static int set_text_or_none(struct submit_options *o, const struct option_row *row,
        const char *value, struct error *err)
{
	return check_plain(value, err) < 0 ? -1 : take_text(o, row, value);
}

static int no_matter(const char *name, void *arg)
{
	(void)name, (void)arg;
	return 0;
}

static int set_hosts(struct submit_options *o, const struct option_row *row, const char *value,
        struct error *err)
{
	if (strlen(value) > OPTIONS_PATH_MAX)
		return error_set(err, ERR_USAGE, "at most %d bytes", OPTIONS_PATH_MAX);
	if (*value && hostlist_each(value, HOSTLIST_MAX, no_matter, NULL, err) < 0)
		return -1;
	return take_text(o, row, value);
}

/* The strongest source counts. What it says in several ways is kept, for tasks_settle(). */
static int take_gpus(struct submit_options *o, const struct option_row *row, const char *value,
        enum options_gpus way, struct error *err)
{
	struct gpus gpus;

	if (gpus_parse(value, &gpus, err) < 0)
		return -1;
	for (size_t i = 0; i < OPTIONS_GPUS_WAYS; i++)
		if (i == way || o->gpus_said[i].source != o->source) {
			free(o->gpus_said[i].text);
			o->gpus_said[i].text = NULL;
		}
	o->gpus_said[way].text = xstrdup(value);
	o->gpus_said[way].source = o->source;
	o->gpus_per_node = way == OPTIONS_GPUS_PER_NODE || way == OPTIONS_GRES;
	o->gpus_per_task = way == OPTIONS_GPUS_PER_TASK;
	o->gres = way == OPTIONS_GRES;
	if (o->share_of_gres) {
		o->gpu_share_milli = 0;
		o->share_of_gres = false;
	}
	return take_text(o, row, value);
}

static int set_gpus(struct submit_options *o, const struct option_row *row, const char *value,
        struct error *err)
{
	return take_gpus(o, row, value, OPTIONS_GPUS, err);
}

static int set_gpus_per_node(struct submit_options *o, const struct option_row *row,
        const char *value, struct error *err)
{
	return take_gpus(o, row, value, OPTIONS_GPUS_PER_NODE, err);
}

static int set_gpus_per_task(struct submit_options *o, const struct option_row *row,
        const char *value, struct error *err)
{
	return take_gpus(o, row, value, OPTIONS_GPUS_PER_TASK, err);
}

static int set_gres(struct submit_options *o, const struct option_row *row, const char *value,
        struct error *err)
{
	char gpus[256];
	uint32_t milli;

	if (gpus_from_gres(value, gpus, sizeof(gpus), &milli, err) < 0 ||
	        take_gpus(o, row, gpus, OPTIONS_GRES, err) < 0)
		return -1;
	if (milli) {
		o->gpu_share_milli = milli;
		o->share_of_gres = true;
	}
	return 0;
}

/* "4" or "2-8" */
static int set_nodes(struct submit_options *o, const struct option_row *row, const char *value,
        struct error *err)
{
	const char *dash = strchr(value, '-');
	uint64_t min, max;
	char first[24];
	(void)row;

	snprintf(first, sizeof(first), "%.*s", dash ? (int)(dash - value) : 23, value);
	if (count_parse(first, 1, HOSTLIST_MAX, &min, err) < 0 ||
	        count_parse(dash ? dash + 1 : first, 1, HOSTLIST_MAX, &max, err) < 0)
		return -1;
	if (max < min)
		return error_set(err, ERR_USAGE, "expected a range from low to high");
	o->nodes_min = (uint32_t)min;
	o->nodes_max = (uint32_t)max;
	o->nodes_ours = !o->of_sbatch;
	return 0;
}

static int set_export(struct submit_options *o, const struct option_row *row, const char *value,
        struct error *err)
{
	if (export_check(value, err) < 0)
		return -1;
	return take_text(o, row, value);
}

static int set_tasks(struct submit_options *o, const struct option_row *row, const char *value,
        struct error *err)
{
	uint64_t n;

	if (count_parse(value, 1, 1000000, &n, err) < 0)
		return -1;
	*FIELD(o, row, uint32_t) = (uint32_t)n;
	return 0;
}

/* One of the options that exclude each other: what a weaker source said in another way is gone. */
static int say_one(struct submit_options *o, const struct option_row *row, enum options_one one,
        struct error *err)
{
	const char *other = o->said[one].option;

	if (other && o->said[one].source == o->source && strcmp(other, row->name))
		return error_set(err, ERR_USAGE, "cannot be together with --%s", other);
	o->said[one].option = row->name;
	o->said[one].source = o->source;
	switch (one) {
	case OPTIONS_ONE_CPUS:
		o->cpus = o->cpus_per_gpu = 0;
		break;
	case OPTIONS_ONE_MEM:
		o->mem_mb = o->mem_per_cpu_mb = o->mem_per_gpu_mb = 0;
		o->all_mem = false;
		break;
	default: /* OPTIONS_ONE_AGAIN */
		o->no_requeue = false;
		free(o->requeue_on);
		o->requeue_on = NULL;
	}
	return 0;
}

static int set_cpus(struct submit_options *o, const struct option_row *row, const char *value,
        struct error *err)
{
	uint64_t n;

	if (count_parse(value, 1, 1000000, &n, err) < 0 ||
	        say_one(o, row, OPTIONS_ONE_CPUS, err) < 0)
		return -1;
	*FIELD(o, row, uint32_t) = (uint32_t)n;
	return 0;
}

static int set_mem(struct submit_options *o, const struct option_row *row, const char *value,
        struct error *err)
{
	uint64_t mb;

	if (size_parse_mb(value, SIZE_BARE_MB, &mb, err) < 0)
		return -1;
	if (!mb && row->offset != offsetof(struct submit_options, mem_mb))
		return error_set(err, ERR_USAGE, "must be more than nothing");
	if (say_one(o, row, OPTIONS_ONE_MEM, err) < 0)
		return -1;
	*FIELD(o, row, uint64_t) = mb;
	o->all_mem = !mb;
	return 0;
}

static int set_time(struct submit_options *o, const struct option_row *row, const char *value,
        struct error *err)
{
	uint64_t s;

	if (duration_parse(value, DURATION_BARE_MINUTES, &s, err) < 0)
		return -1;
	if (!s) {
		error_set(err, ERR_USAGE, "a job needs some time");
		return error_hint(err, "--time=unlimited asks for no limit");
	}
	if (s != DURATION_FOREVER && s >= UINT32_MAX)
		return error_set(err, ERR_USAGE, "must be under 136 years");
	*FIELD(o, row, uint32_t) = s == DURATION_FOREVER ? UINT32_MAX : (uint32_t)s;
	return 0;
}

static int set_gpu_mem(struct submit_options *o, const struct option_row *row, const char *value,
        struct error *err)
{
	return size_parse_mb(value, SIZE_BARE_MB, FIELD(o, row, uint64_t), err);
}

static int set_gpu_link(struct submit_options *o, const struct option_row *row, const char *value,
        struct error *err)
{
	if (!*value)
		return error_set(err, ERR_USAGE, "must be nvlink, pcie, numa or any");
	return near_link_parse(value, FIELD(o, row, enum near_link), err);
}

/* In per cent, with one digit behind the point at most: 12.5%. */
static int set_gpu_share(struct submit_options *o, const struct option_row *row, const char *value,
        struct error *err)
{
	unsigned long whole = 0, tenth = 0;
	char *end = (char *)value;

	if (*value >= '0' && *value <= '9')
		whole = strtoul(value, &end, 10);
	if (end > value && *end == '.' && end[1] >= '0' && end[1] <= '9') {
		tenth = (unsigned long)(end[1] - '0');
		end += 2;
	}
	if (end == value || strcmp(end, "%") != 0)
		return error_set(err, ERR_USAGE, "want per cent of a GPU, as in 25%% or 12.5%%");
	if (whole > 100 || whole * 10 + tenth < 1 || whole * 10 + tenth > 1000)
		return error_set(err, ERR_USAGE, "must be 0.1%% to 100%%");
	*FIELD(o, row, uint32_t) = (uint32_t)(whole * 10 + tenth);
	o->share_of_gres = false;
	return 0;
}

static int set_max_wait(struct submit_options *o, const struct option_row *row, const char *value,
        struct error *err)
{
	uint64_t s;

	if (duration_parse(value, DURATION_BARE_MINUTES, &s, err) < 0)
		return -1;
	if (s > INT32_MAX)
		return error_set(err, ERR_USAGE, "must be under 68 years");
	*FIELD(o, row, uint32_t) = (uint32_t)s;
	return 0;
}

/* Nothing is a value too: whenever. */
static int set_when(struct submit_options *o, const struct option_row *row, const char *value,
        struct error *err)
{
	struct timespec now;

	*FIELD(o, row, int64_t) = 0;
	if (!*value)
		return 0;
	clock_gettime(CLOCK_REALTIME, &now);
	return begin_parse(value, (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000,
	        FIELD(o, row, int64_t), err);
}

static int set_dependency(struct submit_options *o, const struct option_row *row, const char *value,
        struct error *err)
{
	struct depend depend;

	if (depend_parse(value, false, &depend, err) < 0)
		return -1;
	depend_clear(&depend);
	return take_text(o, row, value);
}

static int set_remark(struct submit_options *o, const struct option_row *row, const char *value,
        struct error *err)
{
	if (strlen(value) > OPTIONS_REMARK_MAX)
		return error_set(err, ERR_USAGE, "at most %d bytes", OPTIONS_REMARK_MAX);
	if (text_plain_prefix(value, strlen(value)) != strlen(value))
		return error_set(err, ERR_USAGE, "must be UTF-8 text without control characters");
	return take_text(o, row, value);
}

static int set_mail_type(struct submit_options *o, const struct option_row *row, const char *value,
        struct error *err)
{
	char text[MAIL_TEXT_MAX];
	uint32_t types;

	if (mail_types_parse(value, &types, err) < 0)
		return -1;
	return take_text(o, row, mail_types_format(text, types));
}

static int set_mail_user(struct submit_options *o, const struct option_row *row, const char *value,
        struct error *err)
{
	return mail_address_check(value, err) < 0 ? -1 : take_text(o, row, value);
}

/* Signals go by number: names are the node's. */
static int set_requeue_on(struct submit_options *o, const struct option_row *row, const char *value,
        struct error *err)
{
	struct strbuf text = { .s = NULL };
	const char *p = value;
	char *all;
	int rc = 0;

	while (*p && rc == 0) {
		size_t n = strcspn(p, ",");
		uint32_t sig;
		char name[16];

		snprintf(name, sizeof(name), "%.*s", n > 7 && n < 7 + sizeof(name) ? (int)n - 7 : 0,
		        n > 7 ? p + 7 : "");
		if (!strncmp(p, "signal:", 7) && (rc = sig_parse(name, &sig, err)) == 0)
			strbuf_addf(&text, "signal:%u", sig);
		else if (rc == 0)
			strbuf_add(&text, p, n);
		p += n;
		if (*p)
			strbuf_add(&text, p++, 1);
	}
	all = strbuf_take(&text);
	if (rc == 0)
		rc = requeue_on_check(all, err);
	if (rc == 0 && *all)
		rc = say_one(o, row, OPTIONS_ONE_AGAIN, err);
	if (rc == 0)
		take_text(o, row, all);
	free(all);
	return rc;
}

static int set_attempts(struct submit_options *o, const struct option_row *row, const char *value,
        struct error *err)
{
	uint64_t n;

	if (count_parse(value, 1, OPTIONS_ATTEMPTS_MAX, &n, err) < 0)
		return -1;
	*FIELD(o, row, uint32_t) = (uint32_t)n;
	return 0;
}

static int set_kill_invalid(struct submit_options *o, const struct option_row *row,
        const char *value, struct error *err)
{
	bool yes = !strcasecmp(value, "yes");

	if (!yes && strcasecmp(value, "no"))
		return error_set(err, ERR_USAGE, "expected yes or no");
	*FIELD(o, row, uint32_t) =
	        yes ? GPUSCHED__KILL_INVALID__KILL_YES : GPUSCHED__KILL_INVALID__KILL_NO;
	return 0;
}

static int set_array(struct submit_options *o, const struct option_row *row, const char *value,
        struct error *err)
{
	struct taskset set;
	uint32_t at_once;

	if (taskset_parse_array(value, &set, &at_once, err) < 0)
		return -1;
	taskset_clear(&set);
	free(*FIELD(o, row, char *));
	*FIELD(o, row, char *) = xstrdup(value);
	return 0;
}

static int set_signal(struct submit_options *o, const struct option_row *row, const char *value,
        struct error *err)
{
	(void)row;
	return sig_parse_warning(value, &o->warn_signal, &o->warn_before_s, err);
}

static int set_nice(struct submit_options *o, const struct option_row *row, const char *value,
        struct error *err)
{
	const char *digits = value && *value == '-' ? value + 1 : value;
	uint64_t n = 100; /* as in sbatch */

	if (value && count_parse(digits, 0, NICE_MAX, &n, err) < 0)
		return error_set(err, ERR_USAGE, "must be a whole number from -%d to %d", NICE_MAX,
		        NICE_MAX);
	*FIELD(o, row, int32_t) = digits == value ? (int32_t)n : -(int32_t)n;
	return 0;
}

static int set_open_mode(struct submit_options *o, const struct option_row *row, const char *value,
        struct error *err)
{
	size_t n = strlen(value);

	if (!n || (strncasecmp(value, "append", n) && strncasecmp(value, "truncate", n)))
		return error_set(err, ERR_USAGE, "expected append or truncate");
	*FIELD(o, row, bool) = tolower((unsigned char)value[0]) == 'a';
	return 0;
}

static int set_label(struct submit_options *o, const struct option_row *row, const char *value,
        struct error *err)
{
	size_t key_len = strcspn(value, "="), i;

	(void)row;
	if (!key_len || !value[key_len])
		return error_set(err, ERR_USAGE, "expected k=v");
	if (check_plain(value, err) < 0)
		return -1;
	if (label_key_check(value, key_len, err) < 0)
		return -1;
	if (strlen(value + key_len + 1) > LABEL_VALUE_MAX)
		return error_set(err, ERR_USAGE, "a value has at most %d bytes", LABEL_VALUE_MAX);
	for (i = 0; i < o->n_labels; i++)
		if (!strncmp(o->labels[i], value, key_len + 1))
			break;
	if (i == LABELS_MAX)
		return error_set(err, ERR_USAGE, "more than %d labels", LABELS_MAX);
	free(o->labels[i]);
	o->labels[i] = xstrdup(value);
	o->n_labels += i == o->n_labels;
	return 0;
}

/* Options without an argument. From a variable they come with a value: "yes" sets, "no" unsets. */
static int set_flag_to(struct submit_options *o, const struct option_row *row, const char *value,
        bool sense, struct error *err)
{
	static const char *const words[] = { "yes", "1", "true", "no", "0", "false" };
	size_t i = 0;

	for (; value && i < 6 && strcasecmp(value, words[i]); i++)
		;
	if (i == 6)
		return error_set(err, ERR_USAGE, "expected yes or no");
	*FIELD(o, row, bool) = i < 3 ? sense : !sense;
	return 0;
}

static int set_flag(struct submit_options *o, const struct option_row *row, const char *value,
        struct error *err)
{
	return set_flag_to(o, row, value, true, err);
}

static int unset_flag(struct submit_options *o, const struct option_row *row, const char *value,
        struct error *err)
{
	return set_flag_to(o, row, value, false, err);
}

static int set_no_requeue(struct submit_options *o, const struct option_row *row, const char *value,
        struct error *err)
{
	if (set_flag(o, row, value, err) < 0 ||
	        (o->no_requeue && say_one(o, row, OPTIONS_ONE_AGAIN, err) < 0))
		return -1;
	return set_flag(o, row, value, err);
}

/* --- the table ------------------------------------------------------------------------------ */

#define EVERYWHERE (OPTION_IN_SCRIPT | OPTION_IN_ENV)
#define AT(field)  offsetof(struct submit_options, field)

static const struct option_row rows[] = {
	{ "job-name", 'J', OPTION_WHAT, EVERYWHERE, "NAME", set_text, AT(name),
	        "Name of the job (default: the script's)" },
	{ "wrap", 0, OPTION_WHAT, 0, "COMMAND", set_command, AT(wrap),
	        "Run COMMAND with sh instead of a script" },
	{ "bulk", 0, OPTION_WHAT, 0, "FILE", set_path, AT(bulk),
	        "Submit the jobs of FILE, one JSON object a line: all or none" },
	{ "export", 0, OPTION_WHAT, EVERYWHERE, "LIST", set_export, AT(export),
	        "Variables that the job gets: ALL (default), NONE, or NAME and NAME=VALUE with "
	        "commas between" },
	{ "slurm-env", 0, OPTION_WHAT, EVERYWHERE, NULL, set_flag, AT(slurm_env),
	        "The job sees SLURM_* variables, and writes slurm-%j.out (default with #SBATCH "
	        "lines)" },
	{ "no-slurm-env", 0, OPTION_WHAT, EVERYWHERE, NULL, unset_flag, AT(slurm_env),
	        "The job sees no SLURM_* variables (default without #SBATCH lines)" },
	{ "array", 'a', OPTION_WHAT, EVERYWHERE, "SET", set_array, AT(array),
	        "A job of many tasks: 0-9, 1,3,5-7, 0-15:4; with %N at most N run at a time" },
	{ "chdir", 'D', OPTION_WHAT, EVERYWHERE, "DIR", set_path, AT(chdir),
	        "Run in DIR (default: where gsubmit is run)" },
	{ "label", 0, OPTION_WHAT, EVERYWHERE, "KEY=VALUE", set_label, AT(labels),
	        "Attach a label; may be given several times" },
	{ "account", 'A', OPTION_WHAT, EVERYWHERE, "ACCOUNT", set_text, AT(account),
	        "Account that the job belongs to" },

	{ "partition", 'p', OPTION_NEEDS, EVERYWHERE, "PARTITION", set_text, AT(partition),
	        "Partition to run in" },
	{ "qos", 'q', OPTION_NEEDS, EVERYWHERE, "QOS", set_text, AT(qos), "Quality of service" },
	{ "gpus", 'G', OPTION_NEEDS, EVERYWHERE, "[TYPE:]COUNT", set_gpus, AT(gpus),
	        "GPUs of the whole job, on one node unless --nodes says more; alternatives with "
	        "'|' between, best liked first: 'h100:2|l40s:4'" },
	{ "gpus-per-node", 0, OPTION_NEEDS, EVERYWHERE, "[TYPE:]COUNT", set_gpus_per_node, AT(gpus),
	        "GPUs on each node; in place of --gpus" },
	{ "gpus-per-task", 0, OPTION_NEEDS, EVERYWHERE, "[TYPE:]COUNT", set_gpus_per_task, AT(gpus),
	        "GPUs for each of --ntasks; in place of --gpus" },
	{ "gres", 0, OPTION_NEEDS, EVERYWHERE, "gpu:[TYPE:]COUNT", set_gres, AT(gpus),
	        "The same as --gpus-per-node, as sbatch has it" },
	{ "gpu-mem-min", 0, OPTION_NEEDS, EVERYWHERE, "SIZE", set_gpu_mem, AT(gpu_mem_min_mb),
	        "Only GPUs with so much memory by name: 80G" },
	{ "gpu-link", 0, OPTION_NEEDS, EVERYWHERE, "LINK", set_gpu_link, AT(gpu_link),
	        "Only GPUs of which each two on a node are linked so, or closer: nvlink, pcie "
	        "(switches, no host bridge), numa" },
	{ "gpu-mem", 0, OPTION_NEEDS, EVERYWHERE, "SIZE", set_gpu_mem, AT(gpu_mem_mb),
	        "So much memory of each GPU, which others may share: 20G; without --gpus of one "
	        "GPU" },
	{ "gpu-mem-burst", 0, OPTION_NEEDS, EVERYWHERE, "SIZE", set_gpu_mem, AT(gpu_mem_burst_mb),
	        "Up to so much of it while nobody else needs that: 30G; then it is interrupted, "
	        "and "
	        "goes on if it gives back; --gpu-mem is there always" },
	{ "gpu-share", 0, OPTION_NEEDS, EVERYWHERE, "PERCENT", set_gpu_share, AT(gpu_share_milli),
	        "That part of each GPU's compute, and of its memory unless --gpu-mem says it: "
	        "25%" },
	{ "nodes", 'N', OPTION_NEEDS, EVERYWHERE, "N[-M]", set_nodes, AT(nodes_min),
	        "So many nodes, or as many of N to M as fit (default 1); all start, or none" },
	{ "cpus-per-task", 'c', OPTION_NEEDS, EVERYWHERE, "COUNT", set_cpus, AT(cpus),
	        "CPUs for each task: on each node, unless there are --ntasks (default 1, or what "
	        "the "
	        "partition gives for each GPU)" },
	{ "ntasks", 'n', OPTION_NEEDS, EVERYWHERE, "COUNT", set_tasks, AT(ntasks),
	        "So many tasks, which srun starts in the script, or the script itself" },
	{ "ntasks-per-node", 0, OPTION_NEEDS, EVERYWHERE, "COUNT", set_tasks, AT(ntasks_per_node),
	        "So many tasks on each node" },
	{ "ntasks-per-gpu", 0, OPTION_NEEDS, EVERYWHERE, "COUNT", set_tasks, AT(ntasks_per_gpu),
	        "So many tasks for each GPU" },
	{ "cpus-per-gpu", 0, OPTION_NEEDS, EVERYWHERE, "COUNT", set_cpus, AT(cpus_per_gpu),
	        "CPUs for each GPU; in place of --cpus-per-task" },
	{ "mem", 0, OPTION_NEEDS, EVERYWHERE, "SIZE", set_mem, AT(mem_mb),
	        "Host memory on each node: 16G; a bare number is MiB; with --exclusive 0 is all" },
	{ "mem-per-cpu", 0, OPTION_NEEDS, EVERYWHERE, "SIZE", set_mem, AT(mem_per_cpu_mb),
	        "Host memory for each CPU; in place of --mem" },
	{ "mem-per-gpu", 0, OPTION_NEEDS, EVERYWHERE, "SIZE", set_mem, AT(mem_per_gpu_mb),
	        "Host memory for each GPU; in place of --mem" },
	{ "time", 't', OPTION_NEEDS, EVERYWHERE, "TIME", set_time, AT(time_limit_s),
	        "Time limit: MINUTES, M:S, H:M:S, D-H:M:S, 90s, 2h or unlimited" },

	{ "constraint", 'C', OPTION_NEEDS, EVERYWHERE, "FEATURES", set_text_or_none, AT(constraint),
	        "Only nodes with these features: 'nvlink&ib'" },
	{ "prefer", 0, OPTION_NEEDS, EVERYWHERE, "FEATURES", set_text_or_none, AT(prefer),
	        "Rather nodes with these features" },
	{ "nodelist", 'w', OPTION_NEEDS, EVERYWHERE, "NODES", set_hosts, AT(nodelist),
	        "On all of these nodes: h[01-04]" },
	{ "exclude", 'x', OPTION_NEEDS, EVERYWHERE, "NODES", set_hosts, AT(exclude),
	        "On none of these nodes" },
	{ "exclusive", 0, OPTION_NEEDS, EVERYWHERE, NULL, set_flag, AT(exclusive),
	        "Alone on its nodes, with all that they have" },
	{ "no-exclusive", 0, OPTION_NEEDS, EVERYWHERE, NULL, unset_flag, AT(exclusive),
	        "Beside other jobs (default)" },
	{ "licenses", 'L', OPTION_NEEDS, EVERYWHERE, "LIST", set_text_or_none, AT(licences),
	        "Licences that it holds while it runs: trtllm:2,other" },
	{ "licences", 0, OPTION_NEEDS, EVERYWHERE | OPTION_IS_ALIAS, "LIST", set_text_or_none,
	        AT(licences), "Another name of --licenses" },
	{ "max-wait", 0, OPTION_NEEDS, EVERYWHERE, "TIME", set_max_wait, AT(max_wait_s),
	        "Wishes to start within TIME: its priority climbs as that nears" },

	{ "begin", 'b', OPTION_LIFE, EVERYWHERE, "TIME", set_when, AT(begin_time),
	        "Not before: now+2hours, 16:00, tomorrow, 2027-01-31T16:00" },
	{ "deadline", 0, OPTION_LIFE, EVERYWHERE, "TIME", set_when, AT(deadline_time),
	        "End it (DEADLINE) when it cannot have ended by then" },
	{ "dependency", 'd', OPTION_LIFE, EVERYWHERE, "LIST", set_dependency, AT(dependency),
	        "Wait for other jobs: after:ID[+MINUTES], afterok:ID, afternotok:ID, afterany:ID, "
	        "singleton; ',' all of them, '?' any" },
	{ "kill-on-invalid-dep", 0, OPTION_LIFE, EVERYWHERE, "yes|no", set_kill_invalid,
	        AT(kill_invalid), "Cancel the job when its dependency can never come true" },
	{ "comment", 0, OPTION_LIFE, EVERYWHERE, "TEXT", set_remark, AT(remark),
	        "A remark that is kept with the job" },
	{ "mail-type", 0, OPTION_LIFE, EVERYWHERE, "LIST", set_mail_type, AT(mail_type),
	        "Send mail: BEGIN, END, FAIL, REQUEUE, INVALID_DEPEND, TIME_LIMIT, ALL or NONE; "
	        "ARRAY_TASKS: of each task" },
	{ "mail-user", 0, OPTION_LIFE, EVERYWHERE, "ADDRESS", set_mail_user, AT(mail_user),
	        "To this address (default: the user's name)" },
	{ "requeue-on", 0, OPTION_LIFE, EVERYWHERE, "LIST", set_requeue_on, AT(requeue_on),
	        "Run it again after these ends: exit:75,exit:80-90,signal:KILL" },
	{ "requeue-delay", 0, OPTION_LIFE, EVERYWHERE, "TIME", set_max_wait, AT(requeue_delay_s),
	        "Wait so long before it runs again after a failure, twice as long each time" },
	{ "max-attempts", 0, OPTION_LIFE, EVERYWHERE, "COUNT", set_attempts, AT(max_attempts),
	        "Start it at most so often (default 100)" },
	{ "hold", 'H', OPTION_LIFE, EVERYWHERE, NULL, set_flag, AT(hold),
	        "Wait until `gctl release` says to go" },
	{ "nice", 0, OPTION_LIFE, EVERYWHERE | OPTION_ARG_MAY_MISS, "N", set_nice, AT(nice),
	        "Lower the priority by N (100 if N is left out)" },
	{ "requeue", 0, OPTION_LIFE, EVERYWHERE, NULL, unset_flag, AT(no_requeue),
	        "Run again if the node fails (default)" },
	{ "no-requeue", 0, OPTION_LIFE, EVERYWHERE, NULL, set_no_requeue, AT(no_requeue),
	        "Never run it a second time" },
	{ "signal", 0, OPTION_LIFE, EVERYWHERE, "[B:]SIG[@SECONDS]", set_signal, AT(warn_signal),
	        "Send SIG so many seconds (default 60) before the time limit" },
	{ "token", 0, OPTION_LIFE, 0, "TOKEN", set_text, AT(token),
	        "Name of this submit: the same job with the same token is never submitted twice" },

	{ "output", 'o', OPTION_FILES, EVERYWHERE, "FILE", set_file, AT(output),
	        "Standard output (default gpusched-%j.out); %j job id, %x name, %u user, %N node" },
	{ "error", 'e', OPTION_FILES, EVERYWHERE, "FILE", set_file, AT(error),
	        "Standard error (default: where output goes)" },
	{ "input", 'i', OPTION_FILES, EVERYWHERE, "FILE", set_file, AT(input),
	        "Standard input (default /dev/null)" },
	{ "open-mode", 0, OPTION_FILES, EVERYWHERE, "MODE", set_open_mode, AT(append),
	        "append to output files or truncate them (default)" },
	{ "no-summary", 0, OPTION_FILES, EVERYWHERE, NULL, set_flag, AT(no_summary),
	        "Do not write what a job with GPUs has used to the end of its output" },

	{ "wait", 'W', OPTION_ANSWER, EVERYWHERE, NULL, set_flag, AT(wait),
	        "Wait for the end of the job and exit as it did" },
	{ "parsable", 0, OPTION_ANSWER, EVERYWHERE, NULL, set_flag, AT(parsable),
	        "Print the job id alone" },
	{ "json", 0, OPTION_ANSWER, OPTION_IN_ENV, NULL, set_flag, AT(json), "Answer in JSON" },
	{ "test-only", 0, OPTION_ANSWER, 0, NULL, set_flag, AT(test_only),
	        "Say whether, where and when it would start; submit nothing" },
};
#define N_ROWS (sizeof(rows) / sizeof(rows[0]))

const struct option_row *option_rows(size_t *n)
{
	*n = N_ROWS;
	return rows;
}

const struct option_row *option_by_name(const char *name, size_t len)
{
	for (size_t i = 0; i < N_ROWS; i++)
		if (!strncmp(rows[i].name, name, len) && !rows[i].name[len])
			return &rows[i];
	return NULL;
}

const struct option_row *option_by_letter(char letter)
{
	for (size_t i = 0; i < N_ROWS; i++)
		if (letter && rows[i].letter == letter)
			return &rows[i];
	return NULL;
}

void options_init(struct submit_options *o)
{
	*o = (struct submit_options){ .requeue_delay_s = REQUEUE_DELAY_DEFAULT };
}

void options_clear(struct submit_options *o)
{
	char *texts[] = { o->name, o->partition, o->account, o->qos, o->gpus, o->input, o->output,
		o->error, o->chdir, o->export, o->token, o->wrap, o->bulk, o->constraint, o->prefer,
		o->nodelist, o->exclude, o->licences, o->dependency, o->remark, o->mail_user,
		o->mail_type, o->requeue_on, o->array };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		free(texts[i]);
	for (size_t i = 0; i < o->n_labels; i++)
		free(o->labels[i]);
	for (size_t i = 0; i < OPTIONS_GPUS_WAYS; i++)
		free(o->gpus_said[i].text);
	options_init(o);
}

/* "--time=5x: what is wrong": the option as it was given, before the error's text. */
int options_blame(const char *option, const char *value, struct error *err)
{
	char shown[160];

	if (!value)
		return error_wrap(err, "%s", option);
	text_escape(shown, sizeof(shown), value, strlen(value));
	return error_wrap(err, "%s=%s", option, shown);
}

int options_set(struct submit_options *o, const struct option_row *row, const char *value,
        struct error *err)
{
	char option[80];

	snprintf(option, sizeof(option), "--%s", row->name);
	if (row->arg && !value && !(row->where & OPTION_ARG_MAY_MISS))
		return error_set(
		        err, ERR_USAGE, "%s: needs a value: %s=%s", option, option, row->arg);
	return row->set(o, row, value, err) < 0 ? options_blame(option, value, err) : 0;
}

void options_ask(const struct submit_options *o, struct gpusched_spec *s)
{
	s->partition = o->partition;
	s->account = o->account;
	s->qos = o->qos;
	s->gpus = o->gpus;
	s->gpus_per_node = o->gpus_per_node;
	s->gpu_mem_min_mb = o->gpu_mem_min_mb;
	s->gpu_link = o->gpu_link;
	s->gpu_mem_mb = o->gpu_mem_mb;
	s->gpu_mem_burst_mb = o->gpu_mem_burst_mb;
	s->gpu_share_milli = o->gpu_share_milli;
	s->nodes_min = o->nodes_min;
	s->nodes_max = o->nodes_max;
	s->cpus = o->cpus;
	s->mem_mb = o->mem_mb;
	s->time_limit_s = o->time_limit_s;
	s->constraint = o->constraint;
	s->prefer = o->prefer;
	s->nodelist = o->nodelist;
	s->exclude = o->exclude;
	s->exclusive = o->exclusive;
	s->licences = o->licences;
	s->max_wait_s = o->max_wait_s;
	s->begin_time = o->begin_time;
	s->deadline_time = o->deadline_time;
	s->dependency = o->dependency;
	s->comment = o->remark;
	s->mail_type = o->mail_type;
	s->mail_user = o->mail_user;
	s->requeue_on = o->requeue_on;
	s->steps = o->steps ? 1 : 0;
	s->requeue_delay_s = o->requeue_delay_s;
	if (o->requeue_delay_s == REQUEUE_DELAY_DEFAULT)
		s->requeue_delay_s = o->requeue_on && *o->requeue_on ? REQUEUE_DELAY_S : 0;
	s->max_attempts = o->max_attempts;
	s->kill_invalid_dep = (int32_t)o->kill_invalid;
	s->hold = o->hold;
	s->no_requeue = o->no_requeue;
	s->warn_signal = o->warn_signal;
	s->warn_before_s = o->warn_before_s;
	s->nice = o->nice;
	s->labels = (const char *const *)o->labels;
}
