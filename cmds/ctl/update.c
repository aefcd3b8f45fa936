/* update.c - see update.h
 *
 * The options are rows of gsubmit's table (options.h): what can be asked for at a submit and
 * changed afterwards has a row in `changes` here. What is signed is changed by its owner, who signs
 * it anew (renew_signature.h); the rest by a JobControl.
 */
#include "cmds/ctl/update.h"

#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmds/api/renew_signature.h"
#include "cmds/api/spec.h"
#include "cmds/cli/cmd.h"
#include "cmds/options/export.h"
#include "cmds/options/options.h"
#include "cmds/views/send_job_control.h"
#include "common/base/taskset.h"
#include "common/base/units.h"
#include "common/base/xalloc.h"

#define FIELD(name) GPUSCHED__JOB_CONTROL__FIELD__##name
#define SIGNED      FIELD(FIELD_NONE)                 /* by the owner, who signs it again */
#define FIXED       ((Gpusched__JobControl__Field)-1) /* signed, and an essential part of the job:
						       * refused */

static const struct {
	const char *option;
	Gpusched__JobControl__Field field;
} changes[] = {
	{ "partition", FIELD(PARTITION) },
	{ "account", FIELD(ACCOUNT) },
	{ "qos", FIELD(QOS) },
	{ "gpus", FIELD(GPUS) },
	{ "gpus-per-node", FIELD(GPUS) },
	{ "gpu-mem-min", FIELD(GPU_MEM_MIN) },
	{ "gpu-link", FIELD(GPU_LINK) },
	{ "gpu-mem", FIELD(GPU_MEM) },
	{ "gpu-mem-burst", FIELD(GPU_MEM_BURST) },
	{ "gpu-share", FIELD(GPU_SHARE) },
	{ "nodes", FIELD(NODES) },
	{ "cpus-per-task", FIELD(CPUS) },
	{ "mem", FIELD(MEM) },
	{ "tmp", FIELD(TMP) },
	{ "time", FIELD(TIME) },
	{ "constraint", FIELD(CONSTRAINT) },
	{ "prefer", FIELD(PREFER) },
	{ "nodelist", FIELD(NODELIST) },
	{ "exclude", FIELD(EXCLUDE) },
	{ "exclusive", FIELD(EXCLUSIVE) },
	{ "no-exclusive", FIELD(EXCLUSIVE) },
	{ "licenses", FIELD(LICENCES) },
	{ "licences", FIELD(LICENCES) },
	{ "max-wait", FIELD(MAX_WAIT) },
	{ "nice", FIELD(NICE) },
	{ "begin", FIELD(BEGIN) },
	{ "comment", FIELD(REMARK) },
	{ "mail-type", FIELD(MAIL_TYPE) },
	{ "mail-user", FIELD(MAIL_USER) },
	{ "requeue-on", FIELD(REQUEUE_ON) },
	{ "requeue-delay", FIELD(REQUEUE_DELAY) },
	{ "requeue", FIELD(NO_REQUEUE) },
	{ "no-requeue", FIELD(NO_REQUEUE) },
	{ "signal", FIELD(WARNING) },
	{ "label", FIELD(LABELS) },
	{ "deadline", FIELD(DEADLINE) },
	{ "dependency", FIELD(DEPENDENCY) },
	{ "kill-on-invalid-dep", FIELD(KILL_INVALID_DEP) },
	{ "job-name", SIGNED },
	{ "output", SIGNED },
	{ "error", SIGNED },
	{ "input", SIGNED },
	{ "open-mode", SIGNED },
	{ "no-summary", SIGNED },
	{ "show-output", SIGNED },
	{ "no-show-output", SIGNED },
	{ "chdir", SIGNED },
	{ "export", SIGNED },
	{ "max-attempts", SIGNED },
	{ "array", FIXED },
	{ "ntasks-per-node", FIXED },
};
#define N_CHANGES (sizeof(changes) / sizeof(changes[0]))

struct update {
	struct filter filter;
	struct submit_options options;
	Gpusched__JobControl__Field fields[N_CHANGES + 1];
	size_t n_fields;
	bool is_signed;
	bool open_mode, show_output; /* given; their values do not say so */
	const char *reason;
	uint64_t throttle; /* of an array; 0: any number */
};

/* The change that an option of gsubmit is; N_CHANGES: none. */
static size_t change_of(const struct option_row *row)
{
	size_t i = 0;

	while (i < N_CHANGES && strcmp(changes[i].option, row->name))
		i++;
	return i;
}

static bool has_change(const struct option_row *row)
{
	return change_of(row) < N_CHANGES || row->group == OPTION_SERVICE;
}

/* Those that cannot be changed are refused by name. */
static bool is_refused(const struct option_row *row)
{
	return row->group == OPTION_SERVICE || changes[change_of(row)].field == FIXED;
}

static int refuse(const struct option_row *row, struct error *err)
{
	if (row->group == OPTION_SERVICE) {
		error_set(err, ERR_USAGE, "--%s: that is an option of a service", row->name);
		return error_hint(err, "gserve scale NAME MIN-MAX, or gserve update NAME --%s%s SCRIPT",
		        row->name, row->arg ? "=..." : "");
	}
	error_set(err, ERR_USAGE,
	        "--%s: that is part of what the job's owner signed, and cannot be changed",
	        row->name);
	return error_hint(err, "cancel the job, and submit another");
}

static void add_field(struct update *u, Gpusched__JobControl__Field field)
{
	for (size_t i = 0; i < u->n_fields; i++)
		if (u->fields[i] == field)
			return;
	u->fields[u->n_fields++] = field;
}

static CMD_SETTER(set_throttle)
{
	struct update *u = field;

	add_field(u, FIELD(ARRAY_THROTTLE));
	return count_parse(value, 0, TASK_MAX, &u->throttle, err);
}

static int take_change(
        int key, char *value, struct argp_state *state, void *input, struct error *err)
{
	struct update *u = input;
	const struct option_row *row;
	size_t change;

	(void)state;
	if (key == ARGP_KEY_ARG)
		return filter_add(&u->filter, FILTER_IDS, "ID", value, err);
	row = options_by_key(key);
	if (is_refused(row))
		return refuse(row, err);
	change = change_of(row);
	if (options_set(&u->options, row, value, err) < 0)
		return -1;
	if (changes[change].field == SIGNED)
		u->is_signed = true;
	else
		add_field(u, changes[change].field);
	u->open_mode |= !strcmp(changes[change].option, "open-mode");
	u->show_output |= strstr(changes[change].option, "show-output") != NULL;
	return 0;
}

#define ROW(member, name, letter, arg, set, help) \
	CMD_ROW(struct update, member, name, letter, arg, set, help)

static const struct cmd_option table[] = {
	CMD_HEADING("Of an array, and of the change:"),
	{ "array-throttle", 0, "N",
	        "At most N tasks of the array run at a time, 0: any number; also while it runs",
	        set_throttle, 0, 0, 0 },
	ROW(reason, "reason", 0, "TEXT", cmd_set_reason,
	        "Recorded with the job, next to who changed it"),
	CMD_TABLE_END,
};

/* Those that cannot be changed are refused by name, and not listed. */
static struct argp_option *make_options(void)
{
	size_t n;
	struct argp_option *o = options_for_argp(has_change, &n);

	for (size_t i = 0; i < n; i++)
		if (o[i].name ? is_refused(options_by_key(o[i].key)) :
		                o[i].group == OPTION_SERVICE + 1)
			o[i].flags |= OPTION_HIDDEN;
	return o;
}

static struct cmd cmd = {
	.name = "gctl update",
	.arguments = "ID...",
	.about = "Change what waiting jobs ask for, how many tasks of an array run at a time, and, "
	         "of "
	         "your own jobs, names and files, which you sign anew.",
	.examples =
	        "The options are gsubmit's. All changes of a job are made, or none: a change is "
	        "refused where gsubmit would refuse the job as a whole. What gqueue --why says "
	        "would start a job can be given here as it stands there.\n"
	        "\n"
	        "What a job's owner signed (job-name, chdir, input, output, error, open-mode, "
	        "no-summary, show-output, export, max-attempts) he alone can change; of an array "
	        "it is all tasks'. It is changed first, and when that is refused nothing else is.\n"
	        "\n"
	        "Examples:\n"
	        "  gctl update 4812 --gpus=h100:4\n"
	        "  gctl update 4812 4813 --partition=small --gpus=l40s:5 --time=2:00:00\n"
	        "  gctl update 4812 --constraint= --nice=50\n"
	        "  gctl update 4812_[100-199] --time=30\n"
	        "  gctl update 4812 --array-throttle=20\n"
	        "  gctl update 4812 --job-name=again --output=again-%j.out\n"
	        "\n"
	        "Exit status: 0 done; 1 refused; 2 usage; 3 no such job, partition or GPU type; 4 "
	        "the controller was not reached; 5 not permitted.",
	.table = table,
	.take = take_change,
};

/* --chdir, from the root on; owned. NULL: not given, or with `err`. */
static char *folder(const struct submit_options *o, struct error *err)
{
	char here[PATH_MAX];

	if (!o->chdir || o->chdir[0] == '/')
		return o->chdir ? xstrdup(o->chdir) : NULL;
	if (!getcwd(here, sizeof(here))) {
		error_set(err, ERR_USAGE, "current directory: %s", strerror(errno));
		return NULL;
	}
	return xasprintf("%s/%s", here, o->chdir);
}

/* What is signed. Returns the exit status, or -1. */
static int respecify(const struct update *u, int *done, struct error *err)
{
	const struct submit_options *o = &u->options;
	const char *missing = "";
	char **env = o->export ? export_apply(o->export, environ, &missing) : NULL;
	char *cwd = folder(o, err);
	struct respecification change = { .name = o->name,
		.cwd = cwd,
		.input = o->input,
		.output = o->output,
		.error = o->error,
		.env = env,
		.open_mode = u->open_mode,
		.append = o->append,
		.no_summary = o->no_summary,
		.said_show_output = u->show_output,
		.show_output = o->show_output,
		.max_attempts = o->max_attempts };
	struct renew_request wish = { .change = &change, .reason = u->reason ? u->reason : "" };
	struct client *client = cwd || !o->chdir ? client_new(NULL, err) : NULL;
	int status = -1;

	if (*missing)
		cmd_advise(&cmd, "--export: %s is not set", missing);
	if (client) {
		cmd_tell_retry(&cmd, client);
		cmd_tell_warnings(&cmd, client);
		status = gctl_renew_ids(client, &u->filter.ids, &wish, done, err);
		client_free(client);
	}
	free(cwd);
	free(env);
	return status;
}

/* What is asked of the scheduler. Returns the exit status, or -1. */
static int change_request(const struct update *u, struct error *err)
{
	struct control control = { .verb = GPUSCHED__JOB_CONTROL__VERB__UPDATE,
		.done = "Updated",
		.reason = u->reason,
		.fields = u->fields,
		.n_fields = u->n_fields };
	struct gpusched_spec spec;
	Gpusched__JobRequest *change;
	int status;

	gpusched_spec_init(&spec);
	options_ask(&u->options, &spec);
	change = spec_request(&spec, err);
	if (!change)
		return -1;
	change->array_throttle = (uint32_t)u->throttle;
	control.change = change;
	status = control_jobs(&cmd, &control, &u->filter);
	gpusched__job_request__free_unpacked(change, NULL);
	return status;
}

static int run(void *input, struct error *err)
{
	const struct update *u = input;
	/* How many nodes the job has, which would join them, is not known here. */
	const struct cmd_pair pairs[] = {
		{ u->options.gpus_said[OPTIONS_GPUS].text,
		        u->options.gpus_said[OPTIONS_GPUS_PER_NODE].text, "--gpus",
		        "--gpus-per-node", NULL },
	};
	int status = EXIT_DONE, done = 0;

	if (cmd_check_pairs(CMD_PAIRS(pairs), err) < 0)
		return -1;
	if (filter_is_empty(&u->filter))
		return error_set(err, ERR_USAGE, "ids of jobs are required");
	if (!u->n_fields && !u->is_signed) {
		error_set(err, ERR_USAGE, "no change is given");
		return error_hint(err, "%s --help lists the options", cmd.name);
	}
	if (u->options.all_mem)
		return error_set(err, ERR_USAGE, "--mem=0: must be more than nothing");
	if (u->is_signed)
		status = respecify(u, &done, err);
	if (status == EXIT_DONE && u->n_fields)
		return change_request(u, err);
	if (done > 0)
		printf("Updated %d job%s\n", done, done == 1 ? "" : "s");
	return status;
}

int update_main(int argc, char **argv)
{
	struct argp_option *options = make_options();
	struct update u = { .reason = NULL };
	int status;

	options_init(&u.options);
	cmd.options = options;
	status = cmd_main(&cmd, argc, argv, &u, run);
	options_clear(&u.options);
	filter_clear(&u.filter);
	free(options);
	return status;
}
