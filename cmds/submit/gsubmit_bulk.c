/* gsubmit_bulk.c - gsubmit --bulk: a file of jobs, all or none
 *
 * The whole file is read and turned into jobs before anything is sent: a mistake is reported with
 * its line number, and nothing is submitted. A refusal of the controller is reported in the same
 * way.
 */
#include <inttypes.h>
#include <limits.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "cmds/cli/jsonout.h"
#include "cmds/options/bulkfile.h"
#include "cmds/options/export.h"
#include "cmds/slurm/sbatch_options.h"
#include "cmds/submit/gsubmit.h"
#include "common/base/progress.h"
#include "common/base/text.h"
#include "common/base/xalloc.h"

extern char **environ;

#define FILE_MAX ((size_t)1 << 30)

struct bulk_job {
	struct submit_options o;
	struct job job;
	char **args; /* one block */
	unsigned line;
};

/* A script that many jobs have: in a tree of tsearch(3), by its path. */
struct known_script {
	const char *path; /* owned */
	struct script script;
};

/* What one rule of --export makes of our environment. */
struct known_env {
	struct known_env *next;
	char **env;
	char rule[];
};

struct bulk {
	const struct gsubmit *g;
	struct gsubmit line; /* the command line, and behind it what a line says */
	struct bulk_job **v;
	size_t n, room;
	void *scripts; /* of known_script */
	struct known_env *envs;
	char **options; /* owned, borrowed texts */
	char here[PATH_MAX];
	struct progress *progress;
};

/* --- what many jobs share ------------------------------------------------------------------ */

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct known_script *)a)->path, ((const struct known_script *)b)->path);
}

static struct known_script *find_script(struct bulk *b, const char *path, struct error *err)
{
	struct known_script key = { .path = path }, *s, **found = tfind(&key, &b->scripts, by_path);
	struct script script;

	b->line.quiet = found != NULL;
	if (found)
		return *found;
	if (script_read(path, &script, err) < 0)
		return NULL;
	s = xcalloc(1, sizeof(*s));
	s->script = script;
	s->path = xstrdup(path);
	tsearch(s, &b->scripts, by_path);
	return s;
}

static void free_script(void *script)
{
	struct known_script *s = script;

	script_clear(&s->script);
	free((char *)s->path);
	free(s);
}

static char **find_env(struct bulk *b, const char *rule)
{
	struct known_env *e = b->envs;
	const char *missing;

	while (e && strcmp(e->rule, rule))
		e = e->next;
	if (e)
		return e->env;
	e = xcalloc(1, sizeof(*e) + strlen(rule) + 1);
	strcpy(e->rule, rule);
	e->env = export_apply(rule, environ, &missing);
	if (*missing)
		cmd_advise(&gsubmit_cmd, "--export: %s is not set", missing);
	e->next = b->envs;
	b->envs = e;
	return e->env;
}

/* Those of our variables that can be options, and where we are. */
static void look_around(struct bulk *b)
{
	static const char *const prefixes[] = { OPTIONS_ENV_PREFIX, SBATCH_ENV_PREFIX };
	size_t n = 0;

	while (environ[n])
		n++;
	b->options = xcalloc(n + 1, sizeof(*b->options));
	n = 0;
	for (char **v = environ; *v; v++)
		for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
			if (!strncmp(*v, prefixes[i], strlen(prefixes[i])))
				b->options[n++] = *v;
	b->line.environment = b->options;
	b->line.here = getcwd(b->here, sizeof(b->here));
}

/* --- one job ------------------------------------------------------------------------------- */

static char **copy_args(const char *const *args)
{
	size_t n = 0, bytes = 0;
	char **v, *at;

	for (; args[n]; n++)
		bytes += strlen(args[n]) + 1;
	if (!n)
		return NULL;
	v = xcalloc(1, (n + 1) * sizeof(*v) + bytes);
	at = (char *)(v + n + 1);
	for (size_t i = 0; i < n; i++) {
		v[i] = at;
		at = stpcpy(at, args[i]) + 1;
	}
	return v;
}

static struct bulk_job *add_job(struct bulk *b)
{
	struct bulk_job *e = xcalloc(1, sizeof(*e));

	options_init(&e->o);
	*XADD(b->v, b->n, b->room) = e;
	return e;
}

static int take_own(struct bulk *b, const struct bulkfile_job *job, struct error *err)
{
	struct gsubmit *line = &b->line;

	line->n_given = b->g->n_given;
	if (line->n_given + job->n_given > GSUBMIT_GIVEN_MAX)
		return error_set(err, ERR_USAGE, "more than %d options", GSUBMIT_GIVEN_MAX);
	for (size_t i = 0; i < job->n_given; i++)
		line->given[line->n_given++] =
		        (struct given){ .row = job->given[i].row, .value = job->given[i].value };
	line->script = job->script;
	line->checked.wrap = (char *)job->wrap;
	return 0;
}

static int on_job(void *arg, const struct bulkfile_job *job, struct error *err)
{
	struct bulk *b = arg;
	struct bulk_job *e = add_job(b);
	struct known_script *known = NULL;
	const struct script *script;
	struct script wrap;

	progress_at(b->progress, b->n);
	e->line = job->line;
	e->args = copy_args(job->args);
	if (take_own(b, job, err) < 0)
		return -1;
	if (job->script) {
		known = find_script(b, job->script, err);
		if (!known)
			return -1;
		script = &known->script;
	} else {
		script_wrap(job->wrap, &wrap);
		e->o.wrap = wrap.text; /* it is the entry's now */
		script = &wrap;
	}
	b->line.args = (const char *const *)e->args;
	if (gsubmit_gather(&b->line, script, &e->o, err) < 0)
		return -1;
	if (e->o.service.name)
		return error_set(err, ERR_USAGE, "--service: a service is submitted by itself");
	e->job.bulk = true;
	e->job.env = find_env(b, e->o.export ? e->o.export : "ALL");
	return gsubmit_make_job(&b->line, &e->o, script, &e->job, err);
}

/* --- all of them --------------------------------------------------------------------------- */

static int read_jobs(struct bulk *b, const char *path, struct error *err)
{
	struct script file;
	char shown[160];
	long n;

	if (script_read_max("--bulk: file", path, FILE_MAX, &file, err) < 0)
		return -1;
	n = bulkfile_each(file.text, file.len, on_job, b, err);
	script_clear(&file);
	text_escape(shown, sizeof(shown), path, strlen(path));
	if (n < 0) {
		char text[sizeof(err->text)];

		memcpy(text, err->text, sizeof(text));
		snprintf(err->text, sizeof(err->text), "%s:%.300s", shown, text);
		return -1;
	}
	return n ? 0 : error_set(err, ERR_USAGE, "%s: the file has no job", shown);
}

static void print_ids(const struct gsubmit *g, struct gpusched *gs, const uint64_t *ids, size_t n)
{
	struct jsonout j;

	if (g->checked.json) {
		jsonout_begin(&j, stdout, gpusched_cluster(gs), "jobs");
		for (size_t i = 0; i < n; i++)
			jsonout_object(&j, json_pack("{s:I}", "id", (json_int_t)ids[i]));
		jsonout_end(&j, NULL);
	} else if (g->checked.parsable) {
		for (size_t i = 0; i < n; i++)
			printf("%" PRIu64 "\n", ids[i]);
	} else if (n == 1) {
		printf("Submitted batch job %" PRIu64 "\n", ids[0]);
	} else if (ids[n - 1] - ids[0] == n - 1) {
		printf("Submitted %zu batch jobs %" PRIu64 "-%" PRIu64 "\n", n, ids[0], ids[n - 1]);
	} else {
		printf("Submitted %zu batch jobs; --parsable prints their ids\n", n);
	}
}

/* The error of a job is that of its line. */
static int blame(const struct bulk *b, size_t bad, struct error *err)
{
	const char *text = err->text;
	char shown[160], rest[sizeof(err->text)];
	const char *colon = strstr(text, ": ");

	if (bad >= b->n)
		return -1;
	if (!strncmp(text, "job ", 4) && colon)
		text = colon + 2;
	snprintf(rest, sizeof(rest), "%s", text);
	text_escape(shown, sizeof(shown), b->g->checked.bulk, strlen(b->g->checked.bulk));
	snprintf(err->text, sizeof(err->text), "%s:%u: %.300s", shown, b->v[bad]->line, rest);
	return -1;
}

static int check_clusters(
        const struct bulk *b, const char *cluster, size_t *bad, struct error *err)
{
	for (size_t i = 0; i < b->n; i++) {
		if (options_check_cluster(&b->v[i]->o, cluster, err) < 0) {
			*bad = i;
			return -1;
		}
	}
	return 0;
}

static void on_progress(size_t done, size_t all, void *arg)
{
	(void)all;
	progress_at(arg, done);
}

static int submit(struct bulk *b, const char *token, struct error *err)
{
	struct gpusched_spec *specs = xcalloc(b->n, sizeof(*specs));
	uint64_t *ids = xcalloc(b->n, sizeof(*ids));
	struct gpusched_error why;
	struct gpusched *gs = gpusched_open(NULL, &why);
	size_t bad = b->n;
	int rc = -1;

	for (size_t i = 0; i < b->n; i++)
		specs[i] = b->v[i]->job.spec;
	if (gs && check_clusters(b, gpusched_cluster(gs), &bad, err) < 0) {
		rc = -2;
	} else if (gs) {
		gpusched_on_retry(gs, gsubmit_tell, b->progress);
		gpusched_on_warning(gs, gsubmit_warn, b->progress);
		gpusched_on_progress(gs, on_progress, b->progress);
		progress_part(b->progress, "submitting", "jobs", PROGRESS_COUNT, b->n);
		rc = gpusched_submit_bulk(gs, specs, b->n, token, ids, &bad, &why);
	}
	progress_end(b->progress);
	b->progress = NULL;
	if (rc >= 0)
		print_ids(b->g, gs, ids, b->n);
	else if (rc == -1)
		gsubmit_take_error(&why, err);
	gpusched_close(gs);
	free(specs);
	free(ids);
	return rc < 0 ? blame(b, bad, err) : EXIT_DONE;
}

static void clear(struct bulk *b)
{
	struct known_env *e;

	progress_end(b->progress);
	for (size_t i = 0; i < b->n; i++) {
		b->v[i]->job.env = NULL;
		gsubmit_clear_job(&b->v[i]->job);
		options_clear(&b->v[i]->o);
		free(b->v[i]->args);
		free(b->v[i]);
	}
	free(b->v);
	free(b->options);
	tdestroy(b->scripts, free_script);
	while ((e = b->envs)) {
		b->envs = e->next;
		free(e->env);
		free(e);
	}
}

static int check(const struct gsubmit *g, struct error *err)
{
	const struct submit_options *o = &g->checked;
	const struct cmd_pair pairs[] = {
		{ true, o->wrap, "--bulk", "--wrap", NULL },
		{ true, o->wait, "--bulk", "--wait", NULL },
		{ true, o->test_only, "--bulk", "--test-only", NULL },
		{ true, o->sign_only, "--bulk", "--sign-only", NULL },
		{ o->parsable, o->json, "--parsable", "--json", NULL },
	};

	if (g->script)
		return error_set(err, ERR_USAGE, "--bulk: scripts are named in the file");
	return cmd_check_pairs(CMD_PAIRS(pairs), err);
}

int gsubmit_bulk(const struct gsubmit *g, char token[GSUBMIT_TOKEN], struct error *err)
{
	struct bulk *b = xcalloc(1, sizeof(*b));
	int rc = check(g, err);

	b->g = g;
	b->line = *g;
	look_around(b);
	b->progress = progress_new("reading", "jobs", PROGRESS_COUNT, 0, g->checked.quiet);
	if (rc >= 0)
		rc = read_jobs(b, g->checked.bulk, err);
	if (rc >= 0 && !g->checked.token)
		rc = gsubmit_make_token(token, err);
	if (rc >= 0)
		rc = submit(b, g->checked.token ? g->checked.token : token, err);
	clear(b);
	free(b);
	return rc;
}
