/* gsubmit.c - submit one batch job */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "cmds/api/gpusched.h"
#include "cmds/api/submit.h"
#include "cmds/cli/cmd.h"
#include "cmds/cli/jsonout.h"
#include "cmds/options/directives.h"
#include "cmds/options/export.h"
#include "cmds/options/file_checks.h"
#include "cmds/options/options.h"
#include "cmds/options/script.h"
#include "cmds/options/tasks.h"
#include "cmds/slurm/sbatch_command_line.h"
#include "cmds/slurm/sbatch_options.h"
#include "cmds/slurm/script_warnings.h"
#include "cmds/slurm/slurmenv.h"
#include "cmds/submit/gsubmit.h"
#include "common/base/each.h"
#include "common/base/progress.h"
#include "common/base/text.h"
#include "common/base/xalloc.h"

extern char **environ;

#define WAIT_RETRY_MS      (15 * 60 * 1000) /* --wait sits out a controller that is away so long */
#define OUTPUT_SLURM       "slurm-%j.out"   /* where programs written for Slurm expect it */
#define OUTPUT_SLURM_ARRAY "slurm-%A_%a.out"

/* --- the command line ------------------------------------------------------------------------- */

static int take_option(
        int key, char *value, struct argp_state *state, void *input, struct error *err)
{
	struct gsubmit *g = input;
	struct sbatch_arg_taken taken;
	struct given *given;

	if (key == ARGP_KEY_ARG && g->manner->update && !g->update) {
		g->update = value;
		return 0;
	}
	if (key == ARGP_KEY_ARG) {
		g->script = value;
		g->args = (const char *const *)(state->argv + state->next);
		state->next = state->argc;
		return 0;
	}
	if (g->n_given == sizeof(g->given) / sizeof(g->given[0]))
		return error_set(err, ERR_USAGE, "more than %zu options", g->n_given);
	if (sbatch_args_take(key, value, &taken, err) < 0)
		return mistakes_add(&g->mistakes, err);
	if (*taken.warning)
		cmd_warn(&gsubmit_cmd, "%s", taken.warning);
	if (!taken.row)
		return 0;
	if (options_set(&g->checked, taken.row, taken.value, err) < 0)
		return mistakes_add(&g->mistakes, err);
	given = &g->given[g->n_given++];
	*given = (struct given){ .row = taken.row, .value = taken.value };
	if (taken.value == taken.room.text)
		given->value = given->made = xstrdup(taken.value);
	return 0;
}

static const char examples[] =
        "SCRIPT begins with #!; without one, and without --wrap, it is read from the standard "
        "input. It can hold options itself:\n"
        "\n"
        "  #!/bin/bash\n"
        "  #GPUSCHED -J embed --gpus=h100:2 --time=8:00:00\n"
        "  python embed.py --resume\n"
        "\n"
        "An option counts from the first of these that has it: the command line, GSUBMIT_* "
        "variables (GSUBMIT_TIME=2:00:00), sbatch's variables (SBATCH_PARTITION, "
        "SBATCH_TIMELIMIT, ...), #GPUSCHED lines, #SBATCH lines.\n"
        "\n"
        "Examples:\n"
        "  gsubmit --gpus=1 job.sh input.json\n"
        "  gsubmit --gpus='h100:2|l40s:4' -t 45 --wrap './serve --once'\n"
        "  gsubmit --test-only --gpus=h100:4 job.sh    would it start now, and where?\n"
        "  id=$(gsubmit --parsable job.sh)\n"
        "  gsubmit --wait job.sh && echo good\n"
        "\n"
        "Exit status: 0 submitted; 1 refused; 2 usage; 3 no such partition or GPU type; 4 the "
        "controller was not reached (then --token=TOKEN, which is printed, makes a repeat safe); 5 "
        "not permitted. With --wait: the job's own, 128 + signal, or 125 for a failure of gsubmit.";

struct cmd gsubmit_cmd = {
	.name = "gsubmit",
	.arguments = "[SCRIPT [ARGUMENT...]]",
	.about = "Submit a batch job.",
	.examples = examples,
	.take = take_option,
	.in_order = true,
};

/* --- the script and its options --------------------------------------------------------------- */

static const char *script_name(const struct gsubmit *g)
{
	return g->script ? g->script : "standard input";
}

/* "job.sh:3: ..." for a text that begins with a line's number, else "job.sh: ...". */
static int blame_script(const char *name, struct error *err)
{
	char text[sizeof(err->text)], shown[160];
	size_t digits = strspn(err->text, "0123456789");
	bool line = digits && err->text[digits] == ':';

	text_escape(shown, sizeof(shown), name, strlen(name));
	memcpy(text, err->text, sizeof(text));
	snprintf(err->text, sizeof(err->text), "%s:%s%.300s", shown, line ? "" : " ", text);
	return -1;
}

static int read_script(const struct gsubmit *g, struct script *script, struct error *err)
{
	if (g->checked.wrap && g->script)
		return error_set(err, ERR_USAGE,
		        "--wrap and the script '%s' exclude each other", g->script);
	if (g->checked.wrap) {
		script_wrap(g->checked.wrap, script);
		return 0;
	}
	if (!g->script && g->update && isatty(STDIN_FILENO)) {
		error_set(err, ERR_USAGE, "the script of the next generation is required");
		return error_hint(err, "gserve scale %s MIN-MAX needs none", g->update);
	}
	if (!g->script && isatty(STDIN_FILENO))
		cmd_advise(
		        &gsubmit_cmd, "reading the script from the terminal; end it with Ctrl-D");
	return script_read(g->script ? g->script : "-", script, err);
}

static void on_ignored(void *arg, unsigned line, const char *text)
{
	const struct gsubmit *g = arg;

	if (g->quiet)
		return;
	if (line)
		cmd_warn(&gsubmit_cmd, "%s:%u: %s", script_name(g), line, text);
	else
		cmd_warn(&gsubmit_cmd, "SBATCH_* variables: %s", text);
}

/* The head of the script: #SBATCH lines, and then #GPUSCHED lines. */
static int gather_script(const struct gsubmit *g, const struct script *script,
        struct submit_options *o, struct error *err)
{
	const char *name = script_name(g);
	unsigned late[2] = { 0, 0 }, srun, others;
	const char *mark;

	if (sbatch_from_script(o, script->text, script->len, on_ignored, (void *)g, &late[0], err) <
	        0)
		return blame_script(name, err);
	o->source++;
	if (options_from_script(o, script->text, script->len, &late[1], err) < 0)
		return blame_script(name, err);
	o->source++;
	for (int i = 0; i < 2; i++)
		if (late[i] && !g->quiet)
			cmd_advise(&gsubmit_cmd, "%s:%u: %s after the first command is ignored",
			        name, late[i],
			        directives_mark(i ? DIRECTIVES_GPUSCHED : DIRECTIVES_SBATCH));
	others = g->quiet ? 0 : script_finds_others(script->text, script->len, &mark);
	if (others)
		cmd_warn(&gsubmit_cmd,
		        "%s:%u: %s lines are ignored; use #SBATCH or #GPUSCHED lines", name,
		        others, mark);
	srun = g->quiet ? 0 : script_finds_srun(script->text, script->len);
	if (srun)
		cmd_warn(&gsubmit_cmd,
		        "%s:%u: srun is not available inside jobs; remove it: on one node "
		        "its command runs as it is",
		        name, srun);
	return 0;
}

static int check_pairs(const struct gsubmit *g, const struct submit_options *o, struct error *err)
{
	const struct cmd_pair pairs[] = {
		{ o->test_only, o->wait, "--test-only", "--wait", "there is nothing to wait for" },
		{ g->checked.parsable, g->checked.json, "--parsable", "--json", NULL },
		{ o->sign_only, o->wait, "--sign-only", "--wait", "nothing is submitted" },
		{ o->sign_only, o->test_only, "--sign-only", "--test-only", NULL },
	};

	return cmd_check_pairs(CMD_PAIRS(pairs), err);
}

/* All sources, the weakest first. */
int gsubmit_gather(const struct gsubmit *g, const struct script *script, struct submit_options *o,
        struct error *err)
{
	char *const *environment = g->environment ? g->environment : environ;
	const char *name = script_name(g);

	if (script_check(script, err) < 0)
		return blame_script(g->checked.wrap ? "--wrap" : name, err);
	if (o->mistakes)
		o->mistakes->file = name;
	if (!g->checked.wrap && gather_script(g, script, o, err) < 0)
		return -1;
	if (o->mistakes)
		o->mistakes->file = NULL;
	if (sbatch_from_environment(o, environment, on_ignored, (void *)(uintptr_t)g, err) < 0)
		return -1;
	o->source++;
	if (options_from_environment(o, environment, err) < 0)
		return -1;
	o->source++;
	for (size_t i = 0; i < g->n_given; i++)
		if (options_set(o, g->given[i].row, g->given[i].value, err) < 0)
			return -1;
	return check_pairs(g, o, err) < 0 ? -1 : gsubmit_check_service(g, o, err);
}

/* --- the job ---------------------------------------------------------------------------------- */

/* A text of 20 letters and digits: 100 bits. */
int gsubmit_make_token(char token[GSUBMIT_TOKEN], struct error *err)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz234567";
	unsigned char random[20];

	if (getentropy(random, sizeof(random)) < 0)
		return error_set(err, ERR_SYSTEM, "getentropy: %s", strerror(errno));
	for (size_t i = 0; i < sizeof(random); i++)
		token[i] = letters[random[i] % 32];
	token[sizeof(random)] = '\0';
	return 0;
}

static int make_cwd(const struct gsubmit *g, const char *dir, char **cwd, struct error *err)
{
	char buf[PATH_MAX];
	const char *here = g->here;

	if (dir && dir[0] == '/') {
		*cwd = xstrdup(dir);
		return 0;
	}
	if (!here && !(here = getcwd(buf, sizeof(buf)))) {
		error_set(err, ERR_USAGE, "current directory: %s", strerror(errno));
		return error_hint(err, "--chdir=DIR says where to run, from the root on");
	}
	*cwd = dir ? xasprintf("%s/%s", here, dir) : xstrdup(here);
	return 0;
}

int gsubmit_make_job(const struct gsubmit *g, struct submit_options *o, const struct script *script,
        struct job *job, struct error *err)
{
	struct gpusched_spec *s = &job->spec;
	const char *missing, *what = g->checked.wrap ? "wrap" : g->script ? g->script : "stdin";

	gpusched_spec_init(s);
	if (make_cwd(g, o->chdir, &job->cwd, err) < 0)
		return -1;
	if (!o->token && !job->bulk && gsubmit_make_token(job->token, err) < 0)
		return -1;
	if (!job->env) {
		job->env = export_apply(o->export ? o->export : "ALL", environ, &missing);
		if (*missing)
			cmd_advise(&gsubmit_cmd, "--export: %s is not set", missing);
	}
	if (o->slurm_env)
		job->slurm_env = slurmenv_add(job->env, o);
	if (tasks_settle(o, err) < 0)
		return -1;
	if (o->components_differ && !g->quiet)
		cmd_warn(&gsubmit_cmd, "the components of the job ask for different amounts; each "
		        "of its nodes gets the largest of each");
	job->name = o->name           ? xstrdup(o->name)
	            : o->service.name ? xstrdup(o->service.name)
	                              : options_name(what);
	s->script = script->text;
	s->script_len = script->len;
	s->args = g->args;
	s->env = (const char *const *)(job->slurm_env ? job->slurm_env : job->env);
	s->name = job->name;
	s->cwd = job->cwd;
	COPY_FIELDS(s, o, input, array, output);
	if (!o->output && o->slurm_env)
		s->output = o->array ? OUTPUT_SLURM_ARRAY : OUTPUT_SLURM;
	COPY_FIELDS(s, o, error, append, no_summary, show_output);
	options_ask(o, s);
	if (o->service.name && gsubmit_make_service(g, o, job, err) < 0)
		return -1;
	s->token = job->bulk ? NULL : o->token ? o->token : job->token;
	return 0;
}

const struct spec_service *gsubmit_job_service(const struct job *job)
{
	return job->service.spec.name ? &job->service.both : NULL;
}

void gsubmit_clear_job(struct job *job)
{
	free(job->slurm_env);
	free(job->env);
	free(job->cwd);
	free(job->name);
}

/* --- answers ---------------------------------------------------------------------------------- */

void gsubmit_take_error(const struct gpusched_error *from, struct error *to)
{
	error_set(to, from->code, "%s", from->text);
	error_hint(to, "%s", from->hint);
	if (from->code == ERR_JOB_SPEC && strstr(from->text, "environment") && !*from->hint)
		error_hint(to, "--export=NONE or --export=NAME,... exports less");
}

void gsubmit_tell(const struct gpusched_error *why, void *arg)
{
	progress_hide(arg);
	cmd_advise(&gsubmit_cmd, "%s; trying again", why->text);
}

void gsubmit_warn(const char *text, void *arg)
{
	progress_hide(arg);
	cmd_warn(&gsubmit_cmd, "%s", text);
}

static void print_submitted(const struct submit_options *o, struct gpusched *g, uint64_t id)
{
	struct jsonout j;

	const char *cluster = gpusched_cluster(g);
	unsigned long long number = id;

	if (o->json) {
		jsonout_begin(&j, stdout, cluster, "jobs");
		jsonout_object(&j, json_pack("{s:I}", "id", (json_int_t)id));
		jsonout_end(&j, NULL);
	} else if (o->clusters) {
		printf(o->parsable ? "%llu;%s\n" : "Submitted batch job %llu on cluster %s\n", number,
		        cluster);
	} else {
		printf(o->parsable ? "%llu\n" : "Submitted batch job %llu\n", number);
	}
	if (fflush(stdout) != 0)
		cmd_warn(&gsubmit_cmd, "job %llu was submitted", (unsigned long long)id);
}

/* --- --wait ----------------------------------------------------------------------------------- */

/* The exit status that stands for the job's end. */
static int on_end(const struct gpusched_job *job, void *arg)
{
	int *status = arg;
	bool by_itself = job->exit_code || job->exit_signal;

	*status = cmd_job_status(job->state, job->exit_code, job->exit_signal);
	if (strcmp(job->state, "COMPLETED") && (strcmp(job->state, "FAILED") || !by_itself))
		fprintf(stderr, "%s: job %llu: %s%s%s\n", gsubmit_cmd.name,
		        (unsigned long long)job->id, job->state, *job->reason_text ? ": " : "",
		        job->reason_text);
	return 0;
}

static int wait_for(struct gpusched *g, uint64_t id, struct error *err)
{
	int status = EXIT_OWN_FAILURE;
	struct gpusched_error why;

	if (!getenv(CLIENT_RETRY_VARIABLE))
		gpusched_set_retry(g, WAIT_RETRY_MS);
	if (gpusched_wait(g, &id, 1, on_end, &status, &why) >= 0)
		return status;
	gsubmit_take_error(&why, err);
	return error_wrap(err, "waiting for job %llu", (unsigned long long)id);
}

/* --- all of it -------------------------------------------------------------------------------- */

/* A repeat with this token can never submit twice. */
static void print_token(const struct gsubmit_manner *manner, const struct submit_options *o,
        const struct job *job, const struct error *err)
{
	const char *token = o->token ? o->token : job->token;

	if (*token && error_exit_status(err->code) == EXIT_NO_CONTROLLER)
		fprintf(stderr, "to try again without submitting twice: %s --token=%s ...\n",
		        manner->update ? manner->name : "gsubmit", token);
}

static int submit(struct gpusched *g, const struct gsubmit_manner *manner,
        const struct submit_options *o, const struct job *job, struct error *err)
{
	struct gpusched_error why;
	uint64_t id;

	if (options_check_cluster(o, gpusched_cluster(g), err) < 0)
		return -1;
	gpusched_on_retry(g, gsubmit_tell, NULL);
	gpusched_on_warning(g, gsubmit_warn, NULL);
	files_check(&job->spec, gsubmit_warn, NULL);
	if (gpusched_submit(g, &job->spec, 1, &id, &why) < 0) {
		gsubmit_take_error(&why, err);
		if (manner->refused)
			manner->refused(err);
		return -1;
	}
	print_submitted(o, g, id);
	gsubmit_advise_waiting(g, o, id);
	return o->wait ? wait_for(g, id, err) : EXIT_DONE;
}

static void print_error_json(const struct error *err)
{
	struct jsonout j;

	jsonout_begin(&j, stdout, "", "jobs");
	jsonout_end(&j, err);
}

static void no_verdict(const Gpusched__SubmitResult *r, void *arg)
{
	(void)r;
	(void)arg;
}

/* There are mistakes already. The valid options are tried all the same, so that names that the
 * controller does not know, and folders that are missing, are reported together with the mistakes.
 * Other errors may result from the options that were left out, and an unreachable controller is no
 * mistake. */
static void look_further(
        struct gsubmit *g, struct submit_options *o, const struct script *script, struct job *job)
{
	struct error err;
	struct client *c;

	if (gsubmit_make_job(g, o, script, job, &err) < 0)
		return;
	files_check(&job->spec, gsubmit_warn, NULL);
	c = client_new(NULL, &err);
	if (!c)
		return;
	client_set_retry(c, 0);
	if (submit_test(c, &job->spec, gsubmit_job_service(job), no_verdict, NULL, &err) < 0 &&
	        error_exit_status(err.code) == EXIT_NO_OBJECT)
		mistakes_add(&g->mistakes, &err);
	client_free(c);
}

/* Print each mistake, and make one of all; returns the exit status. */
static int fail(struct mistakes *m, struct error *err)
{
	int status = 0;

	if (err->code != ERR_NONE) {
		m->file = NULL;
		mistakes_add(m, err);
	}
	for (size_t i = 0; i < m->n && i < MISTAKES_MAX; i++) {
		int one = cmd_fail(&gsubmit_cmd, &m->v[i]);

		status = status ? status : one;
	}
	if (m->n > MISTAKES_MAX)
		fprintf(stderr, "gsubmit: and %zu more mistakes\n", m->n - MISTAKES_MAX);
	mistakes_join(m, err);
	return status;
}

/* -1 with `err`, or the exit status. */
static int run(struct gsubmit *g, struct submit_options *o, struct script *script,
        struct job *job, struct error *err)
{
	struct gpusched *gpusched;
	struct gpusched_error why;
	int rc;

	if (g->checked.bulk)
		return gsubmit_bulk(g, job->token, err);
	if (g->manner->update && !g->update)
		return error_set(err, ERR_USAGE, "the name of a service is required");
	if (g->update && gsubmit_find_present(g, o, err) < 0)
		return -1;
	o->mistakes = &g->mistakes;
	if (read_script(g, script, err) < 0 || gsubmit_gather(g, script, o, err) < 0)
		return -1;
	if (g->mistakes.n) {
		look_further(g, o, script, job);
		err->code = ERR_NONE; /* they are told as they are */
		return -1;
	}
	if (gsubmit_make_job(g, o, script, job, err) < 0)
		return -1;
	if (o->test_only)
		return gsubmit_test_only(g->manner, o, job, err);
	if (o->sign_only)
		return gsubmit_sign(o, job, err);
	if (o->service.name)
		return gsubmit_service(g, o, job, err);
	gpusched = gpusched_open(NULL, &why);
	if (!gpusched) {
		gsubmit_take_error(&why, err);
		if (g->manner->refused)
			g->manner->refused(err);
		return -1;
	}
	rc = submit(gpusched, g->manner, o, job, err);
	gpusched_close(gpusched);
	return rc;
}

int gsubmit_main(struct gsubmit_manner *manner, int argc, char **argv)
{
	size_t n_options;
	struct argp_option *ours = options_for_argp(NULL, &n_options);
	struct argp_option *options = sbatch_args_for_argp(ours, n_options);
	struct gsubmit *g = xcalloc(1, sizeof(*g));
	struct submit_options o;
	struct script script = { .len = 0 };
	struct job job = { .cwd = NULL };
	struct error err = { .code = ERR_NONE };
	int status;

	options_init(&o);
	options_init(&g->checked);
	o.slurm_env = o.as_sbatch = manner->slurm;
	g->manner = manner;
	gsubmit_cmd.name = manner->name;
	gsubmit_cmd.version = manner->version;
	gsubmit_cmd.quiet = manner->slurm;
	gsubmit_cmd.options = options;
	status = cmd_parse(&gsubmit_cmd, argc, argv, g);
	if (status == CMD_GO_ON) {
		status = run(g, &o, &script, &job, &err);
		if (status < 0) {
			manner->failed = true;
			status = fail(&g->mistakes, &err);
			if (o.json || g->checked.json)
				print_error_json(&err);
			print_token(manner, &g->checked, &job, &err);
			if ((o.wait || g->checked.wait) && !manner->slurm)
				status = EXIT_OWN_FAILURE;
		}
		status = cmd_finish(&gsubmit_cmd, status);
	} else if (status) {
		manner->failed = true;
		fail(&g->mistakes, &err); /* those that came before what ended the reading */
		if (g->checked.wait)
			status = EXIT_OWN_FAILURE;
	}
	options_clear(&o);
	options_clear(&g->checked);
	script_clear(&script);
	gsubmit_clear_job(&job);
	for (size_t i = 0; i < g->n_given; i++)
		free(g->given[i].made);
	if (g->present)
		gpusched__service__free_unpacked(g->present, NULL);
	free(options);
	free(g);
	return status;
}
