/* jobspec.c - see jobspec.h */
#include "cmds/drmaa/jobspec.h"

#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmds/cli/parse_time.h"
#include "cmds/drmaa/attribute_values.h"
#include "cmds/drmaa/native_spec.h"
#include "cmds/options/export.h"
#include "cmds/options/tasks.h"
#include "cmds/slurm/slurmenv.h"
#include "common/base/each.h"
#include "common/base/xalloc.h"

extern char **environ;

/* What is made of one template. */
struct making {
	struct jobspec *job;
	const drmaa_job_template_t *jt;
	struct value_places places;
	char *home, *here, *wd; /* owned */
	char *into; /* a line of the script that goes to a folder with an index; NULL: none */
	char host[256];
	struct diagnosis d;
};

static const char *text(const struct making *m, enum attribute a)
{
	return template_text(m->jt, a);
}

/* The attribute's value is wrong, because of the text of `err`. */
static int blame(const struct making *m, enum attribute a, const struct error *err)
{
	return fail_with(m->d, DRMAA_ERRNO_INVALID_ATTRIBUTE_VALUE, "%s: %s%s%s", attribute_name(a),
	        err->text, *err->hint ? "; " : "", err->hint);
}

static void replace(char **to, char *text)
{
	free(*to);
	*to = text;
}

/* --- places --------------------------------------------------------------------------------- */

static char *home_folder(void)
{
	const char *home = getenv("HOME");
	struct passwd pw, *found = NULL;
	char buf[4096];

	if (!home || !*home)
		getpwuid_r(getuid(), &pw, buf, sizeof(buf), &found);
	return xstrdup(home && *home ? home : found ? found->pw_dir : "/");
}

/* The job's working directory, which the names of its files may refer to. */
static int find_places(struct making *m, const char *array)
{
	char buf[PATH_MAX];
	struct error err;

	if (gethostname(m->host, sizeof(m->host) - 1) < 0)
		m->host[0] = '\0';
	if (!getcwd(buf, sizeof(buf)))
		return fail_with(
		        m->d, DRMAA_ERRNO_INTERNAL_ERROR, "current directory: %s", strerror(errno));
	m->home = home_folder();
	m->here = xstrdup(buf);
	m->places = (struct value_places){ m->home, m->here, m->host, array != NULL };
	if (!text(m, ATTRIBUTE_WD)) {
		m->job->cwd = xstrdup(m->here);
		return DRMAA_ERRNO_SUCCESS;
	}
	if (value_folder(text(m, ATTRIBUTE_WD), &m->places, &m->wd, &m->into, &err) < 0)
		return blame(m, ATTRIBUTE_WD, &err);
	m->places.wd = m->wd;
	m->job->cwd = xstrdup(m->into ? "/" : m->wd);
	return DRMAA_ERRNO_SUCCESS;
}

/* --- options of attributes ------------------------------------------------------------------ */

/* A path that is a folder, as the job would see it, gets the name of a file in it. */
static void name_in_folder(const struct making *m, char **path, char kind)
{
	char *whole = **path == '/' ? xstrdup(*path) : xasprintf("%s/%s", m->job->cwd, *path);
	size_t len = strlen(*path);
	struct stat st;
	bool folder = (*path)[len - 1] == '/' || (stat(whole, &st) == 0 && S_ISDIR(st.st_mode));

	free(whole);
	if (folder)
		replace(path,
		        xasprintf("%s/%%x.%c%s", *path, kind, m->places.bulk ? "%A.%a" : "%j"));
}

static int set_path(const struct making *m, enum attribute a, char **path, char kind)
{
	const char *value = text(m, a);
	struct error err;
	char *made;

	if (!value)
		return DRMAA_ERRNO_SUCCESS;
	if (value_path(value, &m->places, &made, &err) < 0)
		return blame(m, a, &err);
	replace(path, made);
	if (kind)
		name_in_folder(m, path, kind);
	return DRMAA_ERRNO_SUCCESS;
}

static int set_paths(const struct making *m)
{
	struct submit_options *o = &m->job->o;
	const char *join = text(m, ATTRIBUTE_JOIN_FILES);
	int code = set_path(m, ATTRIBUTE_INPUT_PATH, &o->input, 0);

	if (code == DRMAA_ERRNO_SUCCESS)
		code = set_path(m, ATTRIBUTE_OUTPUT_PATH, &o->output, 'o');
	if (code == DRMAA_ERRNO_SUCCESS)
		code = set_path(m, ATTRIBUTE_ERROR_PATH, &o->error, 'e');
	if (join && *join == 'y')
		replace(&o->error, NULL);
	return code;
}

static int set_time(const struct making *m, enum attribute a, int64_t *us)
{
	struct error err;

	return !text(m, a) || value_time(text(m, a), parse_time_now(), us, &err) == 0
	               ? DRMAA_ERRNO_SUCCESS
	               : blame(m, a, &err);
}

/* The shorter one of two limits; 0: there is none. */
static uint32_t shorter(const struct making *m, enum attribute a, enum attribute b)
{
	uint32_t x = 0, y = 0;

	if (text(m, a))
		value_duration(text(m, a), &x, NULL);
	if (text(m, b))
		value_duration(text(m, b), &y, NULL);
	return !x || (y && y < x) ? y : x;
}

static int set_limits(const struct making *m)
{
	struct submit_options *o = &m->job->o;
	uint32_t hard = shorter(m, ATTRIBUTE_WCT_HLIMIT, ATTRIBUTE_DURATION_HLIMIT);
	uint32_t soft = shorter(m, ATTRIBUTE_WCT_SLIMIT, ATTRIBUTE_DURATION_SLIMIT);

	if (hard)
		o->time_limit_s = hard;
	if (!soft)
		return DRMAA_ERRNO_SUCCESS;
	if (!hard || soft >= hard)
		return fail_with(m->d, DRMAA_ERRNO_CONFLICTING_ATTRIBUTE_VALUES,
		        "a soft limit needs a hard one that is longer");
	o->warn_signal = SIGUSR1;
	o->warn_before_s = hard - soft;
	return DRMAA_ERRNO_SUCCESS;
}

static int set_option(const struct making *m, enum attribute a, const char *name, const char *value)
{
	struct error err;

	return options_set(&m->job->o, option_by_name(name, strlen(name)), value, &err) < 0
	               ? blame(m, a, &err)
	               : DRMAA_ERRNO_SUCCESS;
}

static int set_mail(const struct making *m)
{
	const struct text_list *to = &m->jt->values[ATTRIBUTE_V_EMAIL];
	const char *block = text(m, ATTRIBUTE_BLOCK_EMAIL);
	int code;

	if (block && *block == '1')
		return set_option(m, ATTRIBUTE_BLOCK_EMAIL, "mail-type", "NONE");
	if (!to->n)
		return DRMAA_ERRNO_SUCCESS;
	if (to->n > 1)
		return fail_with(m->d, DRMAA_ERRNO_INVALID_ATTRIBUTE_VALUE,
		        DRMAA_V_EMAIL ": mail goes to one address");
	code = set_option(m, ATTRIBUTE_V_EMAIL, "mail-user", to->v[0]);
	return code != DRMAA_ERRNO_SUCCESS
	               ? code
	               : set_option(m, ATTRIBUTE_V_EMAIL, "mail-type", "END,FAIL");
}

static int set_attributes(const struct making *m)
{
	struct submit_options *o = &m->job->o;
	const char *state = text(m, ATTRIBUTE_JS_STATE), *name = text(m, ATTRIBUTE_JOB_NAME);
	int code = set_paths(m);

	if (state)
		o->hold = !strcmp(state, DRMAA_SUBMISSION_STATE_HOLD);
	if (code == DRMAA_ERRNO_SUCCESS && name)
		code = set_option(m, ATTRIBUTE_JOB_NAME, "job-name", name);
	if (code == DRMAA_ERRNO_SUCCESS)
		code = set_time(m, ATTRIBUTE_START_TIME, &o->begin_time);
	if (code == DRMAA_ERRNO_SUCCESS)
		code = set_time(m, ATTRIBUTE_DEADLINE_TIME, &o->deadline_time);
	if (code == DRMAA_ERRNO_SUCCESS)
		code = set_limits(m);
	return code == DRMAA_ERRNO_SUCCESS ? set_mail(m) : code;
}

/* All sources, the weakest first. */
static int gather(const struct making *m)
{
	struct submit_options *o = &m->job->o;
	const char *category = text(m, ATTRIBUTE_JOB_CATEGORY);
	const char *native = text(m, ATTRIBUTE_NATIVE_SPECIFICATION);
	struct error err;
	int code;

	if (options_from_environment(o, environ, &err) < 0)
		return fail_as(m->d, &err, DRMAA_ERRNO_DENIED_BY_DRM);
	o->source++;
	if (category && native_apply_category(o, category, &err) < 0)
		return blame(m, ATTRIBUTE_JOB_CATEGORY, &err);
	o->source++;
	code = set_attributes(m);
	if (code != DRMAA_ERRNO_SUCCESS)
		return code;
	o->source++;
	if (native && native_apply(o, native, &err) < 0)
		return blame(m, ATTRIBUTE_NATIVE_SPECIFICATION, &err);
	if (o->array)
		return fail_with(m->d, DRMAA_ERRNO_INVALID_ATTRIBUTE_VALUE,
		        "%s: --array: drmaa_run_bulk_jobs() submits arrays",
		        attribute_name(ATTRIBUTE_NATIVE_SPECIFICATION));
	return DRMAA_ERRNO_SUCCESS;
}

/* --- what is signed ------------------------------------------------------------------------- */

static bool same_name(const char *a, const char *b)
{
	size_t n = strcspn(a, "=");

	return !strncmp(a, b, n + 1);
}

/* The environment of the process by --export, with the template's variables in the place of its
 * own. */
static void make_env(const struct making *m)
{
	const struct text_list *set = &m->jt->values[ATTRIBUTE_V_ENV];
	struct jobspec *job = m->job;
	const char *missing;
	size_t n = 0;

	job->env = export_apply(job->o.export ? job->o.export : "ALL", environ, &missing);
	while (job->env[n])
		n++;
	job->own_env = xcalloc(n + set->n + 1, sizeof(*job->own_env));
	n = 0;
	for (char **e = job->env; *e; e++) {
		size_t i = 0;

		while (i < set->n && !same_name(*e, set->v[i]))
			i++;
		if (i == set->n)
			job->own_env[n++] = *e;
	}
	for (size_t i = 0; i < set->n; i++)
		job->own_env[n++] = set->v[i];
	if (job->o.slurm_env) {
		char **with = slurmenv_add(job->own_env, &job->o);

		free(job->own_env);
		job->own_env = with;
	}
}

static void make_args(const struct making *m)
{
	const struct text_list *argv = &m->jt->values[ATTRIBUTE_V_ARGV];
	struct jobspec *job = m->job;

	job->args = xcalloc(argv->n + 2, sizeof(*job->args));
	job->args[0] = text(m, ATTRIBUTE_REMOTE_COMMAND);
	for (size_t i = 0; i < argv->n; i++)
		job->args[i + 1] = argv->v[i];
	job->script = xasprintf(
	        "#!/bin/sh\n%s%sexec \"$@\"\n", m->into ? m->into : "", m->into ? "\n" : "");
}

static int fill(const struct making *m, const char *array)
{
	struct jobspec *job = m->job;
	struct submit_options *o = &job->o;
	struct gpusched_spec *s = &job->spec;
	struct error err;

	make_env(m);
	make_args(m);
	if (tasks_settle(o, &err) < 0)
		return fail_as(m->d, &err, DRMAA_ERRNO_INVALID_ATTRIBUTE_VALUE);
	if (o->chdir)
		replace(&job->cwd, *o->chdir == '/' ? xstrdup(o->chdir)
		                                    : xasprintf("%s/%s", m->here, o->chdir));
	job->name = o->name ? xstrdup(o->name) : options_name(job->args[0]);
	s->script = job->script;
	s->script_len = strlen(job->script);
	s->args = job->args;
	s->env = (const char *const *)job->own_env;
	s->name = job->name;
	s->cwd = job->cwd;
	COPY_FIELDS(s, o, input, output, error, append, no_summary, show_output);
	s->array = array;
	options_ask(o, s);
	return DRMAA_ERRNO_SUCCESS;
}

int jobspec_make(
        struct jobspec *job, const drmaa_job_template_t *jt, const char *array, struct diagnosis d)
{
	struct making m = { .job = job, .jt = jt, .d = d };
	int code;

	*job = (struct jobspec){ .script = NULL };
	options_init(&job->o);
	gpusched_spec_init(&job->spec);
	if (!text(&m, ATTRIBUTE_REMOTE_COMMAND))
		return fail_with(d, DRMAA_ERRNO_CONFLICTING_ATTRIBUTE_VALUES,
		        DRMAA_REMOTE_COMMAND " is not set");
	code = find_places(&m, array);
	if (code == DRMAA_ERRNO_SUCCESS)
		code = gather(&m);
	if (code == DRMAA_ERRNO_SUCCESS)
		code = fill(&m, array);
	free(m.home);
	free(m.here);
	free(m.wd);
	free(m.into);
	return code;
}

void jobspec_clear(struct jobspec *job)
{
	options_clear(&job->o);
	free(job->script);
	free(job->cwd);
	free(job->name);
	free(job->env);
	free(job->own_env);
	free(job->args);
}
