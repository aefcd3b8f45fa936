/* grun.c - run a command now, as the job of a cluster, with our input and output */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmds/api/gpusched.h"
#include "cmds/api/submit.h"
#include "cmds/cli/terminal.h"
#include "cmds/options/export.h"
#include "cmds/options/tasks.h"
#include "cmds/run/grun.h"
#include "cmds/slurm/slurmenv.h"
#include "common/base/text.h"
#include "common/base/units.h"
#include "common/base/xalloc.h"

extern char **environ;

/* What the node executes: the command's words are its arguments, and are signed with it. */
static const char script[] = "#!/bin/sh\nexec \"$@\"\n";

/* --- the command line ------------------------------------------------------------------------- */

/* gsubmit's options but for those that make no sense with a command that is run once and now. */
static bool has_row(const struct option_row *row)
{
	static const char *const not_ours[] = { "wrap", "bulk", "array", "hold", "token", "requeue",
		"no-requeue", "requeue-on", "requeue-delay", "max-attempts" };

	return row->group != OPTION_FILES && row->group != OPTION_SERVICE &&
	       row->group != OPTION_ANSWER &&
	       !text_among(row->name, not_ours, sizeof(not_ours) / sizeof(not_ours[0]));
}

static int parse_seconds(const char *value, uint64_t least, uint64_t *s, struct error *err)
{
	if (duration_parse(value, DURATION_BARE_S, s, err) < 0)
		return -1;
	if (*s < least)
		return error_set(err, ERR_USAGE, "must be more than nothing");
	return *s > INT32_MAX ? error_set(err, ERR_USAGE, "must be under 68 years") : 0;
}

static CMD_SETTER(set_immediate)
{
	uint64_t s = 1;

	if (value && parse_seconds(value, 0, &s, err) < 0)
		return -1;
	*(int64_t *)field = (int64_t)s * 1000;
	return 0;
}

static CMD_SETTER(set_patience)
{
	uint64_t s;

	if (parse_seconds(value, 1, &s, err) < 0)
		return -1;
	*(uint32_t *)field = (uint32_t)s;
	return 0;
}

static CMD_SETTER(set_attach)
{
	return count_parse(value, 1, UINT64_MAX, field, err);
}

#define ROW(member, name, letter, arg, set, help) \
	CMD_ROW(struct grun, member, name, letter, arg, set, help)

static const struct cmd_option own[] = {
	CMD_HEADING("How the command is run:"),
	ROW(pty, "pty", 0, NULL, cmd_set_flag, "In a terminal of its own, which is this one"),
	ROW(immediate_ms, "immediate", 'I', "[TIME]", set_immediate,
	        "Give up if it does not start within TIME (seconds, default 1)"),
	ROW(detach_on_loss, "detach-on-loss", 0, NULL, cmd_set_flag,
	        "Go on without a client, should this one be killed or lose its connection"),
	ROW(patience_s, "loss-timeout", 0, "TIME", set_patience,
	        "Otherwise end it when it had no client for TIME (seconds, default 30)"),
	ROW(attach, "attach", 0, "JOB", set_attach,
	        "Run nothing: take over the input and output of a job that grun has started"),
	ROW(disable_status, "disable-status", 'X', NULL, cmd_set_flag,
	        "Pass on the first ^C too, instead of printing the state"),
	ROW(quiet, "quiet", 'Q', NULL, cmd_set_flag, "Say nothing of waiting and connections"),
	CMD_TABLE_END,
};

static int take_word(int key, char *value, struct argp_state *state, void *input, struct error *err)
{
	struct grun *g = input;

	if (key == ARGP_KEY_ARG) {
		g->command = (const char *const *)(state->argv + state->next - 1);
		state->next = state->argc;
		return 0;
	}
	if (g->n_given == GRUN_GIVEN_MAX)
		return error_set(err, ERR_USAGE, "more than %d options", GRUN_GIVEN_MAX);
	g->given[g->n_given] = (struct grun_given){ options_by_key(key), value };
	return options_set(&g->checked, g->given[g->n_given++].row, value, err);
}

struct cmd grun_cmd = {
	.name = "grun",
	.arguments = "COMMAND [ARGUMENT...]\n--attach=JOB",
	.about = "Run a command now on a node of the cluster, with this input and output.",
	.examples = "The command is a job like any other: it waits its turn, has what it asked "
	            "for, and "
	            "is seen by gqueue. GSUBMIT_* variables count for the options that are here.\n"
	            "\n"
	            "Examples:\n"
	            "  grun --gpus=1 nvidia-smi\n"
	            "  grun --gpus=h100:1 --time=2:00:00 --pty bash -l\n"
	            "  sort data | grun -c 8 --mem=32G ./count > counts\n"
	            "  grun --immediate --gpus=4 ./train || gsubmit --gpus=4 train.sh\n"
	            "  grun --detach-on-loss ./serve;  grun --attach=4812\n"
	            "\n"
	            "Exit status: the command's own, 128 + signal, or 125 for a failure of grun.",
	.table = own,
	.take = take_word,
	.in_order = true,
};

/* What a job that runs already has is as it is. */
static int check_pairs(const struct grun *g, struct error *err)
{
	static const char runs[] = "its job is there already";
	char given[80] = "";
	const struct cmd_pair pairs[] = {
		{ g->detach_on_loss, g->patience_s, "--detach-on-loss", "--loss-timeout", NULL },
		{ g->attach, g->n_given, "--attach", given, runs },
		{ g->attach, g->pty, "--attach", "--pty", runs },
		{ g->attach, g->immediate_ms >= 0, "--attach", "--immediate", runs },
		{ g->attach, g->patience_s, "--attach", "--loss-timeout", runs },
	};

	if (g->n_given)
		snprintf(given, sizeof(given), "--%s", g->given[0].row->name);
	return cmd_check_pairs(CMD_PAIRS(pairs), err);
}

/* One process has the terminal, and one client is in the place of another. */
static int check_several(const struct grun *g, struct error *err)
{
	const char *option = g->pty ? "--pty" : g->detach_on_loss ? "--detach-on-loss" : NULL;

	if (!option)
		return 0;
	error_set(err, ERR_USAGE, "%s is for one process; --ntasks and --nodes ask for several",
	        option);
	return error_hint(err, "salloc gives a shell in which srun starts tasks");
}

static int check_options(const struct grun *g, struct error *err)
{
	if (check_pairs(g, err) < 0)
		return -1;
	if (g->attach && g->command)
		return error_set(err, ERR_USAGE,
		        "--attach: the command '%s' is not expected", g->command[0]);
	if (!g->attach && !g->command) {
		error_set(err, ERR_USAGE, "a command is required");
		return error_hint(err, "grun OPTIONS COMMAND ARGUMENT...; grun --pty bash");
	}
	return !g->attach && tasks_several(&g->o) ? check_several(g, err) : 0;
}

/* --- the job ---------------------------------------------------------------------------------- */

char *grun_make_name(const struct grun *g)
{
	return g->o.name ? xstrdup(g->o.name) : options_name(g->command[0]);
}

int grun_make_cwd(const struct grun *g, char **cwd, struct error *err)
{
	char here[PATH_MAX];

	if (g->o.chdir && g->o.chdir[0] == '/') {
		*cwd = xstrdup(g->o.chdir);
		return 0;
	}
	if (!getcwd(here, sizeof(here))) {
		error_set(err, ERR_USAGE, "current directory: %s", strerror(errno));
		return error_hint(err, "--chdir=DIR says where to run, from the root on");
	}
	*cwd = g->o.chdir ? xasprintf("%s/%s", here, g->o.chdir) : xstrdup(here);
	return 0;
}

static void make_spec(struct grun *g, struct gpusched_spec *s)
{
	uint16_t rows = 0, cols = 0;

	gpusched_spec_init(s);
	options_ask(&g->o, s);
	s->script = script;
	s->script_len = sizeof(script) - 1;
	s->args = g->command;
	s->no_requeue = true;
	s->max_attempts = 0;
	s->requeue_on = NULL;
	s->hold = false;
	s->steps = 0;
	s->interactive = g->pty ? 2 : 1;
	if (g->pty)
		terminal_window(&rows, &cols);
	s->rows = rows;
	s->cols = cols;
	s->patience_s = g->detach_on_loss ? GPUSCHED_UNLIMITED
	                : g->patience_s   ? g->patience_s
	                                  : GRUN_PATIENCE_S;
}

static int submit(struct grun *g, struct client *c, uint64_t *id, struct error *err)
{
	struct gpusched_spec spec;
	const char *missing;
	char **env = export_apply(g->o.export ? g->o.export : "ALL", environ, &missing);
	char **slurm = g->o.slurm_env ? slurmenv_add(env, &g->o) : NULL;
	char *name = grun_make_name(g), *cwd = NULL;
	int rc = -1;

	if (*missing)
		cmd_advise(&grun_cmd, "--export: %s is not set", missing);
	if (tasks_settle(&g->o, err) == 0 && grun_make_cwd(g, &cwd, err) == 0) {
		make_spec(g, &spec);
		spec.env = (const char *const *)(slurm ? slurm : env);
		spec.name = name;
		spec.cwd = cwd;
		rc = submit_one(c, &spec, NULL, id, err);
	}
	free(slurm);
	free(env);
	free(cwd);
	free(name);
	return rc;
}

/* --- all of it -------------------------------------------------------------------------------- */

/* What is missing of 0 to 2 must not be taken by a socket of ours. */
static void fill_descriptors(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
			(void)open("/dev/null", O_RDONLY);
}

/* GSUBMIT_* variables, and then what the command line says. */
static int gather(struct grun *g, struct error *err)
{
	if (options_from_environment(&g->o, environ, err) < 0)
		return -1;
	g->o.source++;
	for (size_t i = 0; i < g->n_given; i++)
		if (options_set(&g->o, g->given[i].row, g->given[i].value, err) < 0)
			return -1;
	return check_options(g, err);
}

static int run(struct grun *g, struct error *err)
{
	struct client *c;
	uint64_t id = g->attach;
	int status = -1;

	if (gather(g, err) < 0)
		return -1;
	if (!g->attach && tasks_several(&g->o))
		return grun_tasks(g, err);
	if (!(c = client_new(NULL, err)))
		return -1;
	cmd_tell_retry(&grun_cmd, c);
	cmd_tell_warnings(&grun_cmd, c);
	/* Until here ^C ends us as any command; from here on it must not leave a job behind. */
	if (client_dial(c, err) && grun_catch_signals(g, err) == 0 &&
	        (id || submit(g, c, &id, err) == 0)) {
		runlink_begin(&g->link, c, &g->io, id);
		g->link.retry_ms = getenv(CLIENT_RETRY_VARIABLE) ? client_retry(c) : GRUN_RETRY_MS;
		status = grun_attached(g, err);
		runlink_clear(&g->link);
	}
	client_free(c);
	return status;
}

int main(int argc, char **argv)
{
	struct argp_option *options = options_for_argp(has_row, NULL);
	struct grun *g = xcalloc(1, sizeof(*g));
	struct error err = { .code = ERR_NONE };
	int status;

	fill_descriptors();
	signal(SIGPIPE, SIG_IGN);
	g->immediate_ms = -1;
	g->signals = -1;
	options_init(&g->o);
	options_init(&g->checked);
	grun_cmd.options = options;
	status = cmd_parse(&grun_cmd, argc, argv, g);
	if (status == CMD_GO_ON) {
		status = run(g, &err);
		if (status < 0) {
			terminal_restore();
			cmd_fail(&grun_cmd, &err);
			status = EXIT_OWN_FAILURE;
		}
	} else if (status) {
		status = EXIT_OWN_FAILURE;
	}
	options_clear(&g->o);
	options_clear(&g->checked);
	free(g);
	free(options);
	return status;
}
