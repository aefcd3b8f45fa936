/* gcancel.c - cancel jobs, or send them a signal */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmds/cli/cmd.h"
#include "cmds/cli/signal_names.h"
#include "cmds/srun/srun.h"
#include "cmds/srun/steps_signal.h"
#include "cmds/views/filter.h"
#include "cmds/views/send_job_control.h"
#include "common/base/taskset.h"
#include "common/base/units.h"
#include "common/base/xalloc.h"

const char *srun_name = "gcancel";

struct gcancel {
	struct filter filter;
	struct steps_target *steps; /* owned */
	size_t n_steps;
	uint32_t signal;
	const char *signal_text, *reason;
	bool batch, full;
};

static CMD_SETTER(set_signal)
{
	struct gcancel *g = field;

	g->signal_text = value;
	return sig_parse(value, &g->signal, err);
}

#define ROW(member, name, letter, arg, set, help) \
	CMD_ROW(struct gcancel, member, name, letter, arg, set, help)
#define SELECTS(which) FILTER_##which(struct gcancel, filter)

static const struct cmd_option table[] = {
	FILTER_HEADING,
	SELECTS(ME),
	SELECTS(USER),
	SELECTS(ACCOUNT),
	SELECTS(PARTITION),
	SELECTS(QOS_ROW),
	FILTER_STATE(struct gcancel, filter, "state"),
	SELECTS(NAME),
	SELECTS(NODE),
	CMD_HEADING("What is done:"),
	{ "signal", 's', "SIGNAL", "Send this signal, and cancel nothing: USR1, HUP, 12",
	        set_signal, 0, 0, 0 },
	ROW(batch, "batch", 'b', NULL, cmd_set_flag,
	        "To the script alone, not to what it has started"),
	ROW(full, "full", 'f', NULL, cmd_set_flag,
	        "To the script and all that it has started (default)"),
	ROW(reason, "reason", 0, "TEXT", cmd_set_reason,
	        "Recorded with the job, next to who did it"),
	CMD_TABLE_END,
};

/* "12.0", "12_7.0" */
static int add_step(struct gcancel *g, const char *value, struct error *err)
{
	const char *dot = strchr(value, '.'), *line = memchr(value, '_', (size_t)(dot - value));
	char *job = xstrndup(value, (size_t)((line ? line : dot) - value));
	char *task = line ? xstrndup(line + 1, (size_t)(dot - line - 1)) : NULL;
	struct steps_target to = { .array = line };
	uint64_t number = 0, step = 0;
	int rc = 0;

	if (count_parse(job, 1, ((uint64_t)1 << 40) - 1, &to.job, NULL) < 0 ||
	        (task && count_parse(task, 0, TASK_MAX, &number, NULL) < 0) ||
	        count_parse(dot + 1, 0, UINT32_MAX - 1, &step, NULL) < 0)
		rc = error_set(err, ERR_USAGE,
		        "ID %.40s: a step is JOB.STEP or JOB_TASK.STEP, as 12.0 or 12_7.0", value);
	free(job);
	free(task);
	if (rc < 0)
		return -1;
	to.task = (uint32_t)number;
	to.step = (uint32_t)step;
	g->steps = xrealloc(g->steps, g->n_steps + 1, sizeof(*g->steps));
	g->steps[g->n_steps++] = to;
	return 0;
}

static int take_id(int key, char *value, struct argp_state *state, void *input, struct error *err)
{
	struct gcancel *g = input;

	(void)key, (void)state;
	if (strchr(value, '.'))
		return add_step(g, value, err);
	return filter_add(&g->filter, FILTER_IDS, "ID", value, err);
}

static const struct cmd cmd = {
	.name = "gcancel",
	.arguments = "[ID...]",
	.about = "Cancel jobs: waiting ones never start, running ones are stopped.",
	.examples =
	        "There is no question first. Without ids and users only your own jobs are "
	        "cancelled; as root, those of all users.\n"
	        "\n"
	        "Examples:\n"
	        "  gcancel 4812 4813\n"
	        "  gcancel --me -t PENDING\n"
	        "  gcancel -n embed --reason='wrong model'\n"
	        "  gcancel --signal=USR1 --batch 4812\n"
	        "  gcancel 4812.0                     a step alone; the job goes on\n"
	        "\n"
	        "Exit status: 0 done; 1 refused (it has ended already); 2 usage; 3 no such job, "
	        "account, partition, QOS or node; 4 the controller was not reached; 5 not "
	        "permitted.",
	.table = table,
	.take = take_id,
};

/* Without ids and users only root means the jobs of all users. */
static int restrict_to_own(struct filter *f, struct error *err)
{
	if (f->ids.n || f->lists[FILTER_USERS].n || geteuid() == 0)
		return 0;
	return filter_add_me(f, err);
}

/* Each by the owner's own word to the job's step manager: the controller has no part in it. Returns
 * the exit status. */
static int signal_steps(const struct gcancel *g)
{
	struct error err;
	int status = 0;

	for (size_t i = 0; i < g->n_steps; i++) {
		if (steps_signal(&g->steps[i], g->signal, &err) < 0) {
			int one = cmd_fail(&cmd, &err);

			status = status ? status : one;
		}
	}
	return status;
}

static int run(void *input, struct error *err)
{
	struct gcancel *g = input;
	struct control control = { .verb = GPUSCHED__JOB_CONTROL__VERB__CANCEL,
		.done = "Cancelled",
		.reason = g->reason };
	char done[64];
	int status, of_jobs;

	if (filter_is_empty(&g->filter) && !g->n_steps) {
		error_set(err, ERR_USAGE, "no jobs are named");
		return error_hint(err, "gcancel ID..., or gcancel --me for all of your own");
	}
	if ((g->batch || g->full) && !g->signal)
		return error_set(err, ERR_USAGE, "--batch and --full say where a --signal goes");
	if (g->batch && g->full)
		return error_set(err, ERR_USAGE, "--batch and --full exclude each other");
	if (g->batch && g->n_steps)
		return error_set(err, ERR_USAGE, "--batch: a step has no script");
	status = g->n_steps ? signal_steps(g) : 0;
	if (filter_is_empty(&g->filter))
		return status;
	if (restrict_to_own(&g->filter, err) < 0)
		return -1;
	if (g->signal) {
		const char *name = sig_name(g->signal);

		control.verb = GPUSCHED__JOB_CONTROL__VERB__SIGNAL;
		control.signal = g->signal;
		control.script_only = g->batch;
		snprintf(done, sizeof(done), "Sent %s to", name ? name : g->signal_text);
		control.done = done;
	}
	of_jobs = control_jobs(&cmd, &control, &g->filter);
	return status ? status : of_jobs;
}

int main(int argc, char **argv)
{
	struct gcancel g = { .signal = 0 };
	int status = cmd_main(&cmd, argc, argv, &g, run);

	filter_clear(&g.filter);
	free(g.steps);
	return status;
}
