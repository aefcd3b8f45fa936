/* option_values.c - see option_values.h */
#include "cmds/options/option_values.h"

#include <ctype.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cmds/api/gpus.h"
#include "cmds/cli/parse_time.h"
#include "cmds/cli/signal_names.h"
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

#define OPTIONS_COUNT_MAX 1000000 /* tasks, CPUs */

#define FIELD(o, row, type) ((type *)((char *)(o) + (row)->offset))
#define SETTER(name)                                                                         \
	int name(struct submit_options *o, const struct option_row *row, const char *value, \
	        struct error *err)

int option_keep(struct submit_options *o, const struct option_row *row, const char *value)
{
	char **field = FIELD(o, row, char *);

	free(*field);
	*field = xstrdup(value);
	return 0;
}

/* text_check() names the value, which here stands before the text anyway. */
static int check_plain(const char *value, size_t max, struct error *err)
{
	size_t len = strlen(value);

	if (len > max)
		return error_set(err, ERR_USAGE, "at most %zu bytes", max);
	if (text_plain_prefix(value, len) != len)
		return error_set(err, ERR_USAGE, "must be UTF-8 text without control characters");
	return 0;
}

SETTER(option_set_text)
{
	if (!*value)
		return error_set(err, ERR_USAGE, "needs a value");
	if (check_plain(value, OPTIONS_TEXT_MAX, err) < 0)
		return -1;
	return option_keep(o, row, value);
}

SETTER(option_set_path)
{
	size_t len = strlen(value);

	if (!len)
		return error_set(err, ERR_USAGE, "needs a path");
	if (len > OPTIONS_PATH_MAX)
		return error_set(
		        err, ERR_USAGE, "a path of %zu bytes; at most %d", len, OPTIONS_PATH_MAX);
	return option_keep(o, row, value);
}

/* As in sbatch, "none" means no file. */
SETTER(option_set_file)
{
	return option_set_path(o, row, strcasecmp(value, "none") ? value : "/dev/null", err);
}

SETTER(option_set_command)
{
	if (!value[strspn(value, " \t\n")])
		return error_set(err, ERR_USAGE, "needs a command");
	return option_keep(o, row, value);
}

/* The empty value is allowed: it cancels the value of a weaker source. */
SETTER(option_set_text_or_none)
{
	return check_plain(value, OPTIONS_TEXT_MAX, err) < 0 ? -1 : option_keep(o, row, value);
}

static int accept_name(const char *name, void *arg)
{
	(void)name, (void)arg;
	return 0;
}

SETTER(option_set_hosts)
{
	if (strlen(value) > OPTIONS_PATH_MAX)
		return error_set(err, ERR_USAGE, "at most %d bytes", OPTIONS_PATH_MAX);
	if (*value && hostlist_each(value, HOSTLIST_MAX, accept_name, NULL, err) < 0)
		return -1;
	return option_keep(o, row, value);
}

/* The strongest source counts. What it says in several ways is kept, for tasks_settle(). */
static int keep_gpus(struct submit_options *o, const struct option_row *row, const char *value,
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
	return option_keep(o, row, value);
}

SETTER(option_set_gpus)
{
	return keep_gpus(o, row, value, OPTIONS_GPUS, err);
}

SETTER(option_set_gpus_per_node)
{
	return keep_gpus(o, row, value, OPTIONS_GPUS_PER_NODE, err);
}

SETTER(option_set_gpus_per_task)
{
	return keep_gpus(o, row, value, OPTIONS_GPUS_PER_TASK, err);
}

SETTER(option_set_gres)
{
	char gpus[256];
	uint32_t milli;

	if (gpus_from_gres(value, gpus, sizeof(gpus), &milli, err) < 0 ||
	        keep_gpus(o, row, gpus, OPTIONS_GRES, err) < 0)
		return -1;
	if (milli) {
		o->gpu_share_milli = milli;
		o->share_of_gres = true;
	}
	return 0;
}

/* "4" or "2-8" */
SETTER(option_set_nodes)
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

SETTER(option_set_export)
{
	if (export_check(value, err) < 0)
		return -1;
	return option_keep(o, row, value);
}

static int set_count(struct submit_options *o, const struct option_row *row, const char *value,
        uint64_t max, struct error *err)
{
	uint64_t n;

	if (count_parse(value, 1, max, &n, err) < 0)
		return -1;
	*FIELD(o, row, uint32_t) = (uint32_t)n;
	return 0;
}

SETTER(option_set_tasks)
{
	return set_count(o, row, value, OPTIONS_COUNT_MAX, err);
}

SETTER(option_set_attempts)
{
	return set_count(o, row, value, OPTIONS_ATTEMPTS_MAX, err);
}

/* One of the options that exclude each other: what a weaker source said in another way is gone. */
static int choose_one(struct submit_options *o, const struct option_row *row, enum options_one one,
        struct error *err)
{
	const char *other = o->said[one].option;

	if (other && o->said[one].source == o->source && strcmp(other, row->name))
		return error_set(err, ERR_USAGE, "conflicts with --%s", other);
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

SETTER(option_set_cpus)
{
	uint64_t n;

	if (count_parse(value, 1, OPTIONS_COUNT_MAX, &n, err) < 0 ||
	        choose_one(o, row, OPTIONS_ONE_CPUS, err) < 0)
		return -1;
	*FIELD(o, row, uint32_t) = (uint32_t)n;
	return 0;
}

SETTER(option_set_mem)
{
	uint64_t mb;

	if (size_parse_mb(value, SIZE_BARE_MB, &mb, err) < 0)
		return -1;
	if (!mb && row->offset != offsetof(struct submit_options, mem_mb))
		return error_set(err, ERR_USAGE, "must be more than nothing");
	if (choose_one(o, row, OPTIONS_ONE_MEM, err) < 0)
		return -1;
	*FIELD(o, row, uint64_t) = mb;
	o->all_mem = !mb;
	return 0;
}

SETTER(option_set_time)
{
	uint64_t s;

	if (duration_parse(value, DURATION_BARE_MINUTES, &s, err) < 0)
		return -1;
	if (!s) {
		error_set(err, ERR_USAGE, "must be more than nothing");
		return error_hint(err, "--time=unlimited asks for no limit");
	}
	if (s != DURATION_FOREVER && s >= UINT32_MAX)
		return error_set(err, ERR_USAGE, "must be under 136 years");
	*FIELD(o, row, uint32_t) = s == DURATION_FOREVER ? UINT32_MAX : (uint32_t)s;
	return 0;
}

SETTER(option_set_gpu_mem)
{
	return size_parse_mb(value, SIZE_BARE_MB, FIELD(o, row, uint64_t), err);
}

SETTER(option_set_gpu_link)
{
	if (!*value)
		return error_set(err, ERR_USAGE, "must be nvlink, pcie, numa or any");
	return near_link_parse(value, FIELD(o, row, enum near_link), err);
}

/* In per cent, with one digit behind the point at most: 12.5%. */
SETTER(option_set_gpu_share)
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
		return error_set(
		        err, ERR_USAGE, "expected per cent of a GPU, as in 25%% or 12.5%%");
	if (whole > 100 || whole * 10 + tenth < 1 || whole * 10 + tenth > 1000)
		return error_set(err, ERR_USAGE, "must be 0.1%% to 100%%");
	*FIELD(o, row, uint32_t) = (uint32_t)(whole * 10 + tenth);
	o->share_of_gres = false;
	return 0;
}

SETTER(option_set_max_wait)
{
	uint64_t s;

	if (duration_parse(value, DURATION_BARE_MINUTES, &s, err) < 0)
		return -1;
	if (s > INT32_MAX)
		return error_set(err, ERR_USAGE, "must be under 68 years");
	*FIELD(o, row, uint32_t) = (uint32_t)s;
	return 0;
}

/* The empty value is allowed: it sets no time. */
SETTER(option_set_when)
{
	*FIELD(o, row, int64_t) = 0;
	return *value ? parse_time_next(value, parse_time_now(), FIELD(o, row, int64_t), err) : 0;
}

SETTER(option_set_dependency)
{
	struct depend depend;

	if (depend_parse(value, false, &depend, err) < 0)
		return -1;
	depend_clear(&depend);
	return option_keep(o, row, value);
}

SETTER(option_set_remark)
{
	return check_plain(value, OPTIONS_REMARK_MAX, err) < 0 ? -1 : option_keep(o, row, value);
}

SETTER(option_set_mail_type)
{
	char text[MAIL_TEXT_MAX];
	uint32_t types;

	if (mail_types_parse(value, &types, err) < 0)
		return -1;
	return option_keep(o, row, mail_types_format(text, types));
}

SETTER(option_set_mail_user)
{
	return mail_address_check(value, err) < 0 ? -1 : option_keep(o, row, value);
}

/* Signals go by number: names are the node's. */
SETTER(option_set_requeue_on)
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
		rc = choose_one(o, row, OPTIONS_ONE_AGAIN, err);
	if (rc == 0)
		option_keep(o, row, all);
	free(all);
	return rc;
}

SETTER(option_set_kill_invalid)
{
	bool yes = !strcasecmp(value, "yes");

	if (!yes && strcasecmp(value, "no"))
		return error_set(err, ERR_USAGE, "expected yes or no");
	*FIELD(o, row, uint32_t) =
	        yes ? GPUSCHED__KILL_INVALID__KILL_YES : GPUSCHED__KILL_INVALID__KILL_NO;
	return 0;
}

SETTER(option_set_array)
{
	struct taskset set;
	uint32_t at_once;

	if (taskset_parse_array(value, &set, &at_once, err) < 0)
		return -1;
	taskset_clear(&set);
	return option_keep(o, row, value);
}

SETTER(option_set_signal)
{
	(void)row;
	return sig_parse_warning(value, &o->warn_signal, &o->warn_before_s, err);
}

SETTER(option_set_nice)
{
	const char *digits = value && *value == '-' ? value + 1 : value;
	uint64_t n = 100; /* as in sbatch */

	if (value && count_parse(digits, 0, NICE_MAX, &n, err) < 0)
		return error_set(err, ERR_USAGE, "must be a whole number from -%d to %d", NICE_MAX,
		        NICE_MAX);
	*FIELD(o, row, int32_t) = digits == value ? (int32_t)n : -(int32_t)n;
	return 0;
}

SETTER(option_set_open_mode)
{
	size_t n = strlen(value);

	if (!n || (strncasecmp(value, "append", n) && strncasecmp(value, "truncate", n)))
		return error_set(err, ERR_USAGE, "expected append or truncate");
	*FIELD(o, row, bool) = tolower((unsigned char)value[0]) == 'a';
	return 0;
}

SETTER(option_set_label)
{
	size_t key_len = strcspn(value, "="), i;

	(void)row;
	if (!key_len || !value[key_len])
		return error_set(err, ERR_USAGE, "expected k=v");
	if (check_plain(value, OPTIONS_TEXT_MAX, err) < 0)
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
int option_parse_flag(const char *value, bool sense, bool *out, struct error *err)
{
	static const char *const words[] = { "yes", "1", "true", "no", "0", "false" };
	size_t i = 0;

	for (; value && i < 6 && strcasecmp(value, words[i]); i++)
		;
	if (i == 6)
		return error_set(err, ERR_USAGE, "expected yes or no");
	*out = i < 3 ? sense : !sense;
	return 0;
}

SETTER(option_set_flag)
{
	return option_parse_flag(value, true, FIELD(o, row, bool), err);
}

SETTER(option_unset_flag)
{
	return option_parse_flag(value, false, FIELD(o, row, bool), err);
}

SETTER(option_set_no_requeue)
{
	if (option_set_flag(o, row, value, err) < 0 ||
	        (o->no_requeue && choose_one(o, row, OPTIONS_ONE_AGAIN, err) < 0))
		return -1;
	return option_set_flag(o, row, value, err);
}
