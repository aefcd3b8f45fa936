/* job_checks.c - see job_checks.h
 *
 * One way in for every request. intake_fill() reports all mistakes at once and not the first one,
 * so each check runs whose preconditions have passed; the errors are joined. What a job holds
 * while it is checked (references, a charge for memory, a place among the queued) belongs to
 * struct intake_job and is released by intake_clear() whatever became of it: a job that was
 * accepted has taken its references over.
 */
#include "ctld/core/intake/job_checks.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"
#include "ctld/core/accounts/roles.h"
#include "ctld/core/attempts/limit_usage.h"
#include "ctld/core/intake/admit.h"
#include "ctld/core/intake/never_fits.h"
#include "ctld/core/intake/partition_choices.h"
#include "ctld/core/intake/start_conditions.h"
#include "ctld/core/jobs/notifications.h"
#include "ctld/core/place/ledger.h"
#include "ctld/core/records/per_user_budget.h"
#include "ctld/core/rows/state.h"
#include "ctld/core/services/services.h"

#define MAX_NAME      255
#define MAX_PATH_TEXT 4096
#define MAX_SIGNAL    64

/* --- checks ---------------------------------------------------------------------------------- */

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
	partition = passed(partition_choices_find(core, t, &e), &e, all);
	account = passed(admit_account(core, caller, t, &e), &e, all);
	return account && passed(admit_qos(core, t, &e), &e, all) && partition &&
	       passed(partition_choices_check(check_policy, core, caller, t, &e), &e, all);
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
		passed(partition_choices_check(check_amounts, core, caller, t, &e), &e, &all);
	if (all.code != ERR_NONE) {
		if (err)
			*err = all;
		return -1;
	}
	i->uid = caller->uid;
	partition_choices_keep(core, t);
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
