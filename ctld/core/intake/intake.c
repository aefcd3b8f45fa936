/* intake.c - see intake.h
 *
 * One way in for every request. intake_fill() reports all mistakes at once and not the first one,
 * so each check runs whose preconditions have passed; the errors are joined. What a job holds
 * while it is checked (references, a charge for memory, a place among the queued) belongs to
 * struct intake_job and is released by intake_clear() whatever became of it: a job that was
 * accepted has taken its references over.
 */
#include "ctld/core/intake/intake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/each.h"
#include "common/base/text.h"
#include "common/base/xalloc.h"
#include "ctld/core/accounts/roles.h"
#include "ctld/core/attempts/limit_usage.h"
#include "ctld/core/intake/admit.h"
#include "ctld/core/jobs/effects.h"
#include "ctld/core/intake/never_fits.h"
#include "ctld/core/intake/start_conditions.h"
#include "ctld/core/jobs/notifications.h"
#include "ctld/core/place/ledger.h"
#include "ctld/core/records/per_user_budget.h"
#include "ctld/core/rows/state.h"
#include "ctld/core/sched/sched.h"
#include "ctld/core/services/services.h"

#define MAX_NAME      255
#define MAX_PATH_TEXT 4096
#define MAX_SIGNAL    64

/* --- checks ---------------------------------------------------------------------------------- */

/* Always -1, with the partitions as a hint. */
static int hint_partitions(const struct conf *conf, struct error *err)
{
	char list[200] = "";
	size_t used = 0;

	for (size_t p = 0; p < conf->n_partitions && used < sizeof(list); p++)
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", p ? ", " : "",
		        conf->partitions[p].name);
	return error_hint(err, "partitions here: %s", list);
}

static int no_partition(const struct core *core, const char *name, struct error *err)
{
	char escaped[80];

	text_escape(escaped, sizeof(escaped), name, strlen(name));
	error_set(err, ERR_NO_PARTITION, "--partition=%s: there is no such partition", escaped);
	return hint_partitions(core->conf, err);
}

static void add_choice(const struct core *core, struct intake *t, uint32_t partition)
{
	struct intake_choice *c = &t->choices[t->n_choices++];
	const char *name = core->conf->partitions[partition].name;

	c->partition = partition;
	memcpy(c->has.partition, name, strnlen(name, sizeof(c->has.partition) - 1));
}

/* Add a name of the list, once. A job that waits loses those of its partitions that are gone. */
static int add_partition(
        const struct core *core, struct intake *t, const char *name, struct error *err)
{
	uint32_t partition = sched_partition(core->sched, name), k;

	if (partition == CONF_NONE) {
		if (t->updated && *t->updated->partitions && job_may_choose(t->updated, name))
			return 0;
		return no_partition(core, name, err);
	}
	for (k = 0; k < t->n_choices; k++) {
		if (t->choices[k].partition == partition)
			return 0;
	}
	if (t->n_choices == JOB_CHOICES_MAX)
		return error_set(err, ERR_JOB_SPEC,
		        "--partition: a list of more than %d partitions", JOB_CHOICES_MAX);
	add_choice(core, t, partition);
	return 0;
}

static int find_partitions(const struct core *core, struct intake *t, struct error *err)
{
	const char *list = t->in->partition, *name;
	uint32_t partition = core->conf->default_partition;
	char *copy;
	size_t n;
	int rc = 0;

	t->choices = xcalloc(strchr(list, ',') ? JOB_CHOICES_MAX : 1,
	        sizeof(*t->choices));
	if (!*list && partition == UINT32_MAX)
		return error_set(err, ERR_NO_PARTITION,
		        "no partition was given, and none is the default");
	if (!*list) {
		add_choice(core, t, partition);
		return 0;
	}
	while (rc == 0 && (name = partition_list_next(&list, &n))) {
		copy = xstrndup(name, n);
		rc = add_partition(core, t, copy, err);
		free(copy);
	}
	return rc < 0 || t->n_choices ? rc : no_partition(core, t->in->partition, err);
}

void intake_choose(struct intake *t, uint32_t k)
{
	const struct intake_choice *c = &t->choices[k];

	t->partition = c->partition;
	COPY_FIELDS(&t->info, &c->has, cpus, mem_mb, time_limit_s);
}

const char *intake_left_out(struct core *core, const struct intake *t)
{
	char text[sizeof(t->left_out->text) + 16];

	if (!t->left_out || !t->n_choices)
		return NULL;
	snprintf(text, sizeof(text), "left out: %s", t->left_out->text);
	return effects_text(core->effects, text);
}

static void keep_choice(struct intake *t, uint32_t k)
{
	struct job_choice *has = &t->choices[k].has;

	COPY_FIELDS(has, &t->info, cpus, mem_mb, time_limit_s);
}

/* A check of a job in one partition: the present choice. */
typedef int partition_check(
        struct core *core, const struct caller *caller, struct intake *t, struct error *err);

/* Make the check in each partition of the list; those that refuse the job are left out. -1: all
 * did, and *err names each. */
static int in_each(partition_check *check, struct core *core, const struct caller *caller,
        struct intake *t, struct error *err)
{
	uint32_t k, n = 0;

	for (k = 0; k < t->n_choices; k++) {
		intake_choose(t, k);
		if (check(core, caller, t, err) >= 0) {
			keep_choice(t, k);
			t->choices[n++] = t->choices[k];
			continue;
		}
		if (t->n_choices == 1 && !t->left_out)
			return -1;
		error_wrap(err, "partition %s", t->choices[k].has.partition);
		if (!t->left_out)
			t->left_out = xcalloc(1, sizeof(*t->left_out));
		error_also(t->left_out, err);
	}
	t->n_choices = n;
	if (n)
		return 0;
	*err = *t->left_out;
	return -1;
}

int intake_signed_texts(
        const char *name, const char *cwd, const char *output, const char *error, struct error *err)
{
	if (text_check("--job-name", name, MAX_NAME, err) < 0) {
		err->code = ERR_JOB_SPEC;
		return -1;
	}
	if (strlen(cwd) > MAX_PATH_TEXT || strlen(output) > MAX_PATH_TEXT ||
	        strlen(error) > MAX_PATH_TEXT)
		return error_set(err, ERR_JOB_SPEC, "a path of more than %d bytes", MAX_PATH_TEXT);
	return 0;
}

/* Texts go into rows, logs and terminals, so what is not plain text is refused. */
static int check_texts(const struct submit_job *in, struct error *err)
{
	const struct {
		const char *what, *text;
		size_t max;
	} texts[] = {
		{ "--account", in->account, MAX_NAME },
		{ "the submit host", in->submit_host, MAX_NAME },
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (text_check(texts[i].what, texts[i].text, texts[i].max, err) < 0) {
			err->code = ERR_JOB_SPEC;
			return -1;
		}
	}
	for (size_t i = 0; i < in->n_labels; i++) {
		if (text_check("--label", in->labels[i].key, MAX_NAME, err) < 0 ||
		        text_check("--label", in->labels[i].value, MAX_PATH_TEXT, err) < 0) {
			err->code = ERR_JOB_SPEC;
			return -1;
		}
	}
	return intake_signed_texts(in->name, in->cwd, in->output, in->error, err);
}

/* What the protocol allows and no job can have; a negative nice needs a permission. */
static int check_numbers(
        const struct submit_job *in, const struct caller *caller, struct error *err)
{
	if (in->warn_signal > MAX_SIGNAL)
		return error_set(err, ERR_JOB_SPEC, "--signal=%u: signals are 1 to %d",
		        in->warn_signal, MAX_SIGNAL);
	if (in->nice < -NICE_MAX || in->nice > NICE_MAX)
		return error_set(err, ERR_JOB_SPEC, "--nice=%d: expected -%d to %d", in->nice,
		        NICE_MAX, NICE_MAX);
	if (in->nice < 0 && !verb_permits(VERB_BOOST, standing(caller))) {
		verb_refuse(VERB_BOOST, err);
		return error_wrap(err, "--nice=%d", in->nice);
	}
	if (in->mem_mb > INT64_MAX)
		return error_set(err, ERR_JOB_SPEC, "--mem: too much");
	return 0;
}

/* --- taking in ------------------------------------------------------------------------------- */

/* An update is of the tasks that the record has; a new array is all of them. */
static int take_tasks(struct intake *t, struct error *err)
{
	if (t->updated) {
		t->weight = t->weight ? t->weight : 1;
		return 0;
	}
	t->weight = 1;
	if (!*t->in->array)
		return 0;
	if (taskset_parse_array(t->in->array, &t->tasks, &t->at_once, err) < 0) {
		err->code = ERR_JOB_SPEC;
		return error_wrap(err, "--array");
	}
	t->weight = t->tasks.count;
	return 0;
}

/* A check has been made: keep its mistake, and say whether there was none. */
static bool passed(int rc, const struct error *mistake, struct error *all)
{
	if (rc < 0)
		error_also(all, mistake);
	return rc >= 0;
}

static int check_policy(
        struct core *core, const struct caller *caller, struct intake *t, struct error *err)
{
	(void)caller;
	return admit_partition(core, t, err) < 0 ? -1 : admit_time(core, t, err);
}

static int check_amounts(
        struct core *core, const struct caller *caller, struct intake *t, struct error *err)
{
	struct ask ask;

	admit_defaults(core, t);
	ask = (struct ask){
		.gpus = t->info.gpus, .cpus = t->info.cpus, .mem_mb = t->info.mem_mb
	};
	return never_fits(core, t->partition, &ask, err) < 0 ? -1
	                                                     : admit_limits(core, caller, t, err);
}

/* What stands in the job alone, and what it is to be charged to. True: account, QOS and partition
 * are known, so that their limits can be asked for. */
static bool fill_names(
        struct core *core, const struct caller *caller, struct intake *t, struct error *all)
{
	const struct submit_job *in = t->in;
	struct error e;
	bool account, partition;

	passed(notifications_take(in, &t->info, &e), &e, all);
	passed(check_numbers(in, caller, &e), &e, all);
	passed(take_tasks(t, &e), &e, all);
	if (in->service && !t->updated)
		passed(service_check(core, caller, in, &e), &e, all);
	partition = passed(find_partitions(core, t, &e), &e, all);
	account = passed(admit_account(core, caller, t, &e), &e, all);
	return account && passed(admit_qos(core, t, &e), &e, all) && partition &&
	       passed(in_each(check_policy, core, caller, t, &e), &e, all);
}

/* The job's texts, when it is known which partitions accept it. */
static void keep_partitions(const struct core *core, struct intake *t)
{
	struct job_choice v[JOB_CHOICES_MAX];

	intake_choose(t, 0);
	t->info.partition = core->conf->partitions[t->partition].name;
	t->info.partitions = t->info.partition_needs = "";
	if (t->n_choices < 2)
		return;
	for (uint32_t k = 0; k < t->n_choices; k++)
		v[k] = t->choices[k].has;
	t->info.partitions = t->partitions = xcalloc(1, JOB_PARTITIONS_SIZE);
	t->info.partition_needs = t->needs = xcalloc(1, JOB_NEEDS_SIZE);
	job_choices_write(v, t->n_choices, t->partitions, t->needs);
}

/* All mistakes are reported at once: each check is made whose preconditions have passed. */
int intake_fill(struct core *core, const struct caller *caller, struct intake *t, struct error *err)
{
	const struct submit_job *in = t->in;
	struct job_info *i = &t->info;
	struct error e, all = { .code = ERR_NONE };
	bool names;

	if (check_texts(in, err) < 0)
		return -1;
	names = fill_names(core, caller, t, &all);
	i->gpus = requests_intern(core->requests, in, &e);
	passed(i->gpus ? 0 : -1, &e, &all);
	i->labels = labels_intern(core->labels, in->labels, in->n_labels, &e);
	passed(i->labels ? 0 : -1, &e, &all);
	passed(conditions_take(core, caller, t, &e), &e, &all);
	if (names && i->gpus)
		passed(in_each(check_amounts, core, caller, t, &e), &e, &all);
	if (all.code != ERR_NONE) {
		if (err)
			*err = all;
		return -1;
	}
	i->uid = caller->uid;
	keep_partitions(core, t);
	job_count(core, i, (int)t->weight);
	t->counted = true;
	return 0;
}

/* What the job will take in memory, before it exists. jobs_add() charges the job itself, and
 * intake_clear() releases this. */
int intake_charge(
        struct core *core, const struct caller *caller, struct intake *t, struct error *err)
{
	const struct submit_job *in = t->in;
	const char *const texts[] = { in->account, in->partition, in->name, in->submit_host, in->cwd,
		in->output, in->error, in->array, in->qos, in->remark, in->mail_user,
		in->requeue_on, t->info.partitions, t->info.partition_needs };
	size_t bytes = job_memory(&(struct job_size){ .texts = texts,
	        .n_texts = sizeof(texts) / sizeof(*texts),
	        .ranges = 2 * t->tasks.n,
	        .labels = t->info.labels->text,
	        .depends = t->depends });

	if (budget_check(core->budget, caller->uid, BUDGET_MEMORY, bytes, err) < 0)
		return -1;
	budget_add(core->budget, caller->uid, BUDGET_MEMORY, (int64_t)bytes);
	t->memory = bytes;
	t->info.uid = caller->uid;
	return 0;
}

/* May be called whatever has been filled in, and again. */
void intake_clear(struct core *core, struct intake *t)
{
	budget_add(core->budget, t->info.uid, BUDGET_MEMORY, -(int64_t)t->memory);
	t->memory = 0;
	if (t->counted)
		job_count(core, &t->info, -(int)t->weight);
	t->counted = false;
	free(t->depends);
	t->depends = NULL;
	requests_drop(core->requests, t->info.gpus);
	labels_drop(core->labels, t->info.labels);
	taskset_clear(&t->tasks);
	free(t->choices);
	free(t->left_out);
	free(t->partitions);
	free(t->needs);
	t->choices = NULL;
	t->left_out = NULL;
	t->partitions = t->needs = NULL;
	t->info.gpus = NULL;
	t->info.labels = NULL;
}
