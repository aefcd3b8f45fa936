/* scancel.c - cancel jobs, or send them a signal, as Slurm's scancel does
 *
 * Jobs that have ended or that there are not are no error, and nothing is printed: clients cancel
 * what they started, whatever became of it.
 */
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmds/cli/signal_names.h"
#include "cmds/slurm_commands/controller_queries.h"
#include "cmds/slurm_commands/program_table.h"
#include "cmds/slurm_commands/slurm_command_line.h"
#include "cmds/slurm_commands/state_codes.h"
#include "cmds/srun/steps_signal.h"
#include "common/base/units.h"
#include "common/base/xalloc.h"

struct scancel {
	struct filter filter;
	struct steps_target *steps; /* owned */
	size_t n_steps;
	uint32_t signal;
	bool batch, full, quiet, verbose, none;
	bool any; /* some jobs were named, if only such as there cannot be */
	const char *clusters;
	int status;
};

static CMD_SETTER(set_signal)
{
	if (sig_parse(value, field, NULL) >= 0)
		return 0;
	return error_set(err, ERR_USAGE, "Unknown job signal: %s", value);
}

static CMD_SETTER(set_state)
{
	struct scancel *s = field;
	bool all;

	s->any = true;
	if (slurm_filter_states(&s->filter, value, &s->none, &all, err) < 0)
		return error_wrap(err, "Invalid job state specified");
	return 0;
}

static CMD_SETTER(set_user)
{
	uint64_t uid;

	if (!getpwnam(value) && count_parse(value, 0, UINT32_MAX, &uid, NULL) < 0)
		return error_set(err, ERR_USAGE, "Invalid user name: %s", value);
	return filter_add(field, FILTER_USERS, "--user", value, err);
}

static CMD_SETTER(set_name)
{
	return filter_add(field, FILTER_NAMES, "--name", value, err);
}

static const struct slurm_cmd_option options[] = {
	SLURM_CMD_FILTER(struct scancel, filter, "account", 'A', FILTER_ACCOUNTS),
	SLURM_CMD_ROW(struct scancel, batch, "batch", 'b', SLURM_CMD_PLAIN, cmd_set_flag),
	SLURM_CMD_CLUSTERS(struct scancel, clusters, "clusters"),
	SLURM_CMD_SAME("ctld", 0, SLURM_CMD_PLAIN),
	SLURM_CMD_ROW(struct scancel, full, "full", 'f', SLURM_CMD_PLAIN, cmd_set_flag),
	SLURM_CMD_SAME("hurry", 'H', SLURM_CMD_PLAIN),
	SLURM_CMD_NONE(
	        "interactive", 'i', SLURM_CMD_PLAIN, "nothing is asked before a job is cancelled"),
	SLURM_CMD_ROW(struct scancel, filter, "jobname", 'n', SLURM_CMD_VALUE, set_name),
	SLURM_CMD_ROW(struct scancel, filter, "name", 'n', SLURM_CMD_VALUE, set_name),
	SLURM_CMD_ROW(struct scancel, filter, "me", 0, SLURM_CMD_PLAIN, filter_set_me),
	SLURM_CMD_FILTER(struct scancel, filter, "nodelist", 'w', FILTER_NODES),
	SLURM_CMD_FILTER(struct scancel, filter, "partition", 'p', FILTER_PARTITIONS),
	SLURM_CMD_FILTER(struct scancel, filter, "qos", 'q', FILTER_QOS),
	SLURM_CMD_ROW(struct scancel, quiet, "quiet", 'Q', SLURM_CMD_PLAIN, cmd_set_flag),
	SLURM_CMD_NONE("reservation", 'R', SLURM_CMD_VALUE, "there are no reservations"),
	SLURM_CMD_NONE("sibling", 0, SLURM_CMD_VALUE, "there are no federations"),
	SLURM_CMD_ROW(struct scancel, signal, "signal", 's', SLURM_CMD_VALUE, set_signal),
	{ "state", 't', SLURM_CMD_VALUE, SLURM_CMD_YES, NULL, set_state, 0, 0 },
	SLURM_CMD_ROW(struct scancel, filter, "user", 'u', SLURM_CMD_VALUE, set_user),
	SLURM_CMD_ROW(struct scancel, verbose, "verbose", 'v', SLURM_CMD_PLAIN, cmd_set_flag),
	SLURM_CMD_NONE("wckey", 0, SLURM_CMD_VALUE, "there are no workload characterization keys"),
};

/* "12.0", "12_3.0" */
static void add_step(struct scancel *s, const char *id, const char *step)
{
	struct steps_target to = { .array = strchr(id, '_') };
	const char *task = to.array ? strchr(id, '_') + 1 : "0";
	char *end;

	to.job = strtoull(id, NULL, 10);
	to.task = (uint32_t)strtoul(task, NULL, 10);
	to.step = (uint32_t)strtoul(step, &end, 10);
	if (*end || end == step || !to.job)
		return; /* there are no other steps */
	s->steps = xrealloc(s->steps, s->n_steps + 1, sizeof(*s->steps));
	s->steps[s->n_steps++] = to;
}

/* "12", "12_3", "12_[3-5]", and a step of one; of "12.batch" the script. */
static int take_job(const char *value, void *input, struct error *err)
{
	struct scancel *s = input;
	char *id = xstrdup(value), *dot = strchr(id, '.');
	int rc = 0;

	s->any = true;
	if (dot)
		*dot = '\0';
	if (!dot || !strcmp(dot + 1, "batch"))
		rc = filter_add(&s->filter, FILTER_IDS, "ID", id, err);
	else
		add_step(s, id, dot + 1);
	if (dot && rc == 0 && !strcmp(dot + 1, "batch"))
		s->batch = true;
	free(id);
	return rc < 0 ? error_set(err, ERR_USAGE, "Invalid job id %s", value) : 0;
}

/* What of a failure is one. */
static void on_error(const Gpusched__JobError *e, void *arg)
{
	struct scancel *s = arg;
	bool gone = e->code == ERR_NO_JOB || e->code == ERR_JOB_STATE;

	if (gone && !s->verbose)
		return;
	if (!s->quiet)
		slurm_cmd_say("scancel", "Kill job error on job id %llu: %s",
		        (unsigned long long)e->job,
		        gone                           ? "Job/step already completing or completed"
		        : e->code == ERR_NOT_PERMITTED ? "Access/permission denied"
		                                       : e->text);
	if (!gone)
		s->status = SLURM_CMD_FAILED;
}

static int carry_out(struct scancel *s, struct client *c)
{
	Gpusched__JobControl request = GPUSCHED__JOB_CONTROL__INIT;
	struct error err;
	uint32_t done;

	request.verb = GPUSCHED__JOB_CONTROL__VERB__CANCEL;
	if (s->signal && s->signal != SIGKILL) {
		request.verb = GPUSCHED__JOB_CONTROL__VERB__SIGNAL;
		request.signal = s->signal;
		request.script_only = s->batch;
		request.steps_only = !s->batch && !s->full;
	}
	if (ask_control(c, &request, &s->filter, on_error, s, &done, &err) >= 0)
		return s->status;
	/* Of names that there are not there are no jobs. */
	if (error_exit_status(err.code) == EXIT_NO_OBJECT)
		return s->status;
	return slurm_cmd_fail_load("scancel", "scancel: error", &err);
}

static int run(struct scancel *s)
{
	struct error err;
	struct client *c;
	int status;

	if (filter_is_empty(&s->filter) && !s->any) {
		slurm_cmd_say("scancel", "No job identification provided");
		return SLURM_CMD_FAILED;
	}
	for (size_t i = 0; i < s->n_steps; i++) {
		if (steps_signal(&s->steps[i], s->signal, &err) < 0 && !s->quiet && s->verbose)
			slurm_cmd_say("scancel", "Kill job error on job step id %llu.%u: %s",
			        (unsigned long long)s->steps[i].job, s->steps[i].step, err.text);
	}
	if (filter_is_empty(&s->filter) || s->none)
		return 0; /* only steps, or what there cannot be */
	if (!s->filter.ids.n && !s->filter.lists[FILTER_USERS].n && geteuid() != 0 &&
	        filter_add_me(&s->filter, &err) < 0)
		return slurm_cmd_fail("scancel", &err);
	c = slurm_cmd_client("scancel", "scancel: error", s->clusters);
	if (!c)
		return SLURM_CMD_FAILED;
	status = carry_out(s, c);
	client_free(c);
	return status;
}

int scancel_main(int argc, char **argv)
{
	struct scancel s = { .signal = 0 };
	int status = slurm_cmd_parse("scancel", take_job, argc, argv, &s);

	if (status == CMD_GO_ON)
		status = slurm_cmd_finish("scancel", run(&s));
	free(s.steps);
	filter_clear(&s.filter);
	return status;
}

SLURM_CMD_TABLE(option, scancel_options, options)
