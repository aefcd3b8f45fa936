/* sbatch_options.c - see sbatch_options.h */
#include "cmds/slurm/sbatch_options.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "cmds/cli/cmd.h"
#include "cmds/options/directives.h"
#include "cmds/options/het.h"
#include "common/base/text.h"
#include "common/base/xalloc.h"

/* --- values that become others -------------------------------------------------------------- */

static const char *no_limit(const char *value, struct sbatch_value *out, struct error *err)
{
	(void)out, (void)err;
	return !*value || value[strspn(value, "0")] ? value : "unlimited";
}

static const char *whole_nodes(const char *value, struct sbatch_value *out, struct error *err)
{
	(void)out;
	if (!value)
		return "yes";
	error_set(err, ERR_USAGE, "nodes cannot be kept for the jobs of one user; use "
	        "--exclusive alone");
	return NULL;
}

static const char *no_brackets(const char *value, struct sbatch_value *out, struct error *err)
{
	(void)out;
	if (!strpbrk(value, "[]*"))
		return value;
	error_set(err, ERR_USAGE,
	        "a feature for so many of the nodes, or one of several for all of "
	        "them, cannot be asked for");
	error_hint(err, "features are joined by & (and), | (or), ! (not) and parentheses");
	return NULL;
}

static const char *no_reservation(const char *value, struct sbatch_value *out, struct error *err)
{
	(void)out;
	if (!strchr(value, ':') || !strncasecmp(value, "B:", 2))
		return value;
	error_set(err, ERR_USAGE, "expected [B:]SIGNAL[@SECONDS]; there are no reservations");
	return NULL;
}

/* "-d 4812" alone means afterany. */
static const char *known_relation(const char *value, struct sbatch_value *out, struct error *err)
{
	(void)err;
	if (!isdigit((unsigned char)*value) ||
	        strlen(value) + sizeof("afterany:") > sizeof(out->text))
		return value;
	snprintf(out->text, sizeof(out->text), "afterany:%s", value);
	return out->text;
}

/* Slurm's words for what there is not are left out, and named. */
static const char *known_mail(const char *value, struct sbatch_value *out, struct error *err)
{
	static const char *const unknown[] = { "STAGE_OUT", "TIME_LIMIT_50", "TIME_LIMIT_80",
		"TIME_LIMIT_90" };
	const size_t n_unknown = sizeof(unknown) / sizeof(unknown[0]);
	size_t used = 0, noted = 0;

	(void)err;
	if (strlen(value) >= sizeof(out->text))
		return value; /* refused as it is */
	for (const char *p = value; *p;) {
		size_t n = strcspn(p, ","), i = 0;

		while (i < n_unknown &&
		        (strlen(unknown[i]) != n || strncasecmp(unknown[i], p, n) != 0))
			i++;
		if (i < n_unknown && noted < sizeof(out->note)) {
			noted += (size_t)snprintf(out->note + noted, sizeof(out->note) - noted,
			        "%s%s", noted ? ", " : "there is no mail for ", unknown[i]);
		} else if (i == n_unknown) {
			out->text[used] = ',';
			memcpy(out->text + used + (used > 0), p, n);
			used += n + (used > 0);
		}
		p += n;
		p += *p == ',';
	}
	out->text[used] = '\0';
	return used ? out->text : noted ? "NONE" : value;
}

/* --- the table ------------------------------------------------------------------------------ */

#define PLACEMENT "where processes run on a node is left to the kernel and to the script"
#define CLOSE     "nodes are chosen as close together as the topology allows"
#define STEPS     "steps are kept by the first node of their job"

static const struct sbatch_row rows[] = {
	{ "account", 'A', SBATCH_ARG, SBATCH_SAME, "", NULL },
	{ "acctg-freq", 0, SBATCH_ARG, SBATCH_IGNORED, "use is measured anyway", NULL },
	{ "array", 'a', SBATCH_ARG, SBATCH_SAME, "", NULL },
	{ "batch", 0, SBATCH_ARG, SBATCH_REFUSED, "there is no node that differs from the others",
	        NULL },
	{ "bb", 0, SBATCH_ARG, SBATCH_REFUSED, "there are no burst buffers", NULL },
	{ "bbf", 0, SBATCH_ARG, SBATCH_REFUSED, "there are no burst buffers", NULL },
	{ "begin", 'b', SBATCH_ARG, SBATCH_SAME, "", NULL },
	{ "chdir", 'D', SBATCH_ARG, SBATCH_SAME, "", NULL },
	{ "cluster-constraint", 0, SBATCH_ARG, SBATCH_REFUSED, "there is one cluster", NULL },
	{ "clusters", 'M', SBATCH_ARG, SBATCH_SAME, "", NULL },
	{ "comment", 0, SBATCH_ARG, SBATCH_SAME, "", NULL },
	{ "consolidate-segments", 0, SBATCH_NO_ARG, SBATCH_IGNORED, CLOSE, NULL },
	{ "constraint", 'C', SBATCH_ARG, SBATCH_BECOMES,
	        "the same; brackets and counts of nodes are refused", no_brackets },
	{ "container", 0, SBATCH_ARG, SBATCH_REFUSED, "the script has to start the container",
	        NULL },
	{ "container-id", 0, SBATCH_ARG, SBATCH_REFUSED, "the script has to start the container",
	        NULL },
	{ "contiguous", 0, SBATCH_NO_ARG, SBATCH_IGNORED, CLOSE, NULL },
	{ "core-spec", 'S', SBATCH_ARG, SBATCH_IGNORED, PLACEMENT, NULL },
	{ "cores-per-socket", 0, SBATCH_ARG, SBATCH_REFUSED,
	        "nodes are chosen by features: --constraint", NULL },
	{ "cpu-freq", 0, SBATCH_ARG, SBATCH_IGNORED, "frequencies are left to the node", NULL },
	{ "cpus-per-gpu", 0, SBATCH_ARG, SBATCH_SAME, "", NULL },
	{ "cpus-per-task", 'c', SBATCH_ARG, SBATCH_SAME, "", NULL },
	{ "deadline", 0, SBATCH_ARG, SBATCH_SAME, "", NULL },
	{ "delay-boot", 0, SBATCH_ARG, SBATCH_IGNORED, "no node is booted for a job", NULL },
	{ "dependency", 'd', SBATCH_ARG, SBATCH_BECOMES, "the same; an id alone is afterany",
	        known_relation },
	{ "distribution", 'm', SBATCH_ARG, SBATCH_IGNORED, PLACEMENT, NULL },
	{ "error", 'e', SBATCH_ARG, SBATCH_SAME, "", NULL },
	{ "exclude", 'x', SBATCH_ARG, SBATCH_SAME, "", NULL },
	{ "exclusive", 0, SBATCH_ARG_MAY_MISS, SBATCH_BECOMES,
	        "the same without a value; with one it is refused", whole_nodes },
	{ "export", 0, SBATCH_ARG, SBATCH_SAME, "", NULL },
	{ "export-file", 0, SBATCH_ARG, SBATCH_REFUSED, "--export names variables", NULL },
	{ "extra-node-info", 'B', SBATCH_ARG, SBATCH_REFUSED,
	        "nodes are chosen by features: --constraint", NULL },
	{ "get-user-env", 0, SBATCH_ARG_MAY_MISS, SBATCH_IGNORED,
	        "the environment is that of gsubmit, by --export", NULL },
	{ "gid", 0, SBATCH_ARG, SBATCH_REFUSED, "a job is of who submits it", NULL },
	{ "gpu-bind", 0, SBATCH_ARG, SBATCH_IGNORED, PLACEMENT, NULL },
	{ "gpu-freq", 0, SBATCH_ARG, SBATCH_IGNORED, "frequencies are left to the node", NULL },
	{ "gpus", 'G', SBATCH_ARG, SBATCH_SAME, "", NULL },
	{ "gpus-per-node", 0, SBATCH_ARG, SBATCH_SAME, "", NULL },
	{ "gpus-per-socket", 0, SBATCH_ARG, SBATCH_REFUSED, "--gpus-per-node says how many", NULL },
	{ "gpus-per-task", 0, SBATCH_ARG, SBATCH_SAME, "", NULL },
	{ "gres", 0, SBATCH_ARG, SBATCH_SAME, "", NULL },
	{ "gres-flags", 0, SBATCH_ARG, SBATCH_IGNORED, PLACEMENT, NULL },
	{ "hint", 0, SBATCH_ARG, SBATCH_IGNORED, PLACEMENT, NULL },
	{ "hold", 'H', SBATCH_NO_ARG, SBATCH_SAME, "", NULL },
	{ "ignore-pbs", 0, SBATCH_NO_ARG, SBATCH_IGNORED, "lines for PBS are never read", NULL },
	{ "input", 'i', SBATCH_ARG, SBATCH_SAME, "", NULL },
	{ "job-name", 'J', SBATCH_ARG, SBATCH_SAME, "", NULL },
	{ "kill-on-invalid-dep", 0, SBATCH_ARG, SBATCH_SAME, "", NULL },
	{ "licenses", 'L', SBATCH_ARG, SBATCH_SAME, "", NULL },
	{ "mail-type", 0, SBATCH_ARG, SBATCH_BECOMES,
	        "the same; what is not known is left out, with a warning", known_mail },
	{ "mail-user", 0, SBATCH_ARG, SBATCH_SAME, "", NULL },
	{ "mcs-label", 0, SBATCH_ARG, SBATCH_REFUSED, "there are no labels of security", NULL },
	{ "mem", 0, SBATCH_ARG, SBATCH_SAME, "", NULL },
	{ "mem-bind", 0, SBATCH_ARG, SBATCH_IGNORED, PLACEMENT, NULL },
	{ "mem-per-cpu", 0, SBATCH_ARG, SBATCH_SAME, "", NULL },
	{ "mem-per-gpu", 0, SBATCH_ARG, SBATCH_SAME, "", NULL },
	{ "mincpus", 0, SBATCH_ARG, SBATCH_REFUSED, "--cpus-per-task says how many", NULL },
	{ "network", 0, SBATCH_ARG, SBATCH_IGNORED, "networks are not scheduled", NULL },
	{ "nice", 0, SBATCH_ARG_MAY_MISS, SBATCH_SAME, "", NULL },
	{ "no-kill", 'k', SBATCH_ARG_MAY_MISS, SBATCH_REFUSED,
	        "a job ends on all of its nodes when one fails", NULL },
	{ "no-requeue", 0, SBATCH_NO_ARG, SBATCH_SAME, "", NULL },
	{ "nodefile", 'F', SBATCH_ARG, SBATCH_REFUSED, "--nodelist names nodes", NULL },
	{ "nodelist", 'w', SBATCH_ARG, SBATCH_SAME, "", NULL },
	{ "nodes", 'N', SBATCH_ARG, SBATCH_SAME, "", NULL },
	{ "ntasks", 'n', SBATCH_ARG, SBATCH_SAME, "", NULL },
	{ "ntasks-per-core", 0, SBATCH_ARG, SBATCH_IGNORED, PLACEMENT, NULL },
	{ "ntasks-per-gpu", 0, SBATCH_ARG, SBATCH_SAME, "", NULL },
	{ "ntasks-per-node", 0, SBATCH_ARG, SBATCH_SAME, "", NULL },
	{ "ntasks-per-socket", 0, SBATCH_ARG, SBATCH_IGNORED, PLACEMENT, NULL },
	{ "oom-kill-step", 0, SBATCH_ARG_MAY_MISS, SBATCH_IGNORED, STEPS, NULL },
	{ "open-mode", 0, SBATCH_ARG, SBATCH_SAME, "", NULL },
	{ "output", 'o', SBATCH_ARG, SBATCH_SAME, "", NULL },
	{ "overcommit", 'O', SBATCH_NO_ARG, SBATCH_IGNORED, "each task gets its CPUs", NULL },
	{ "oversubscribe", 's', SBATCH_NO_ARG, SBATCH_IGNORED, "the job gets CPUs of its own",
	        NULL },
	{ "parsable", 0, SBATCH_NO_ARG, SBATCH_SAME, "", NULL },
	{ "partition", 'p', SBATCH_ARG, SBATCH_SAME, "", NULL },
	{ "power", 0, SBATCH_ARG, SBATCH_IGNORED, "power is not managed", NULL },
	{ "prefer", 0, SBATCH_ARG, SBATCH_SAME, "", NULL },
	{ "priority", 0, SBATCH_ARG, SBATCH_TAKEN,
	        "operators alone set priorities in Slurm; --nice moves a job", NULL },
	{ "profile", 0, SBATCH_ARG, SBATCH_IGNORED, "use is measured anyway", NULL },
	{ "propagate", 0, SBATCH_ARG_MAY_MISS, SBATCH_IGNORED, "limits are those of the node",
	        NULL },
	{ "qos", 'q', SBATCH_ARG, SBATCH_SAME, "", NULL },
	{ "quiet", 'Q', SBATCH_NO_ARG, SBATCH_IGNORED, "gsubmit prints one line", NULL },
	{ "reboot", 0, SBATCH_NO_ARG, SBATCH_REFUSED, "no node is booted for a job", NULL },
	{ "requeue", 0, SBATCH_NO_ARG, SBATCH_SAME, "", NULL },
	{ "reservation", 0, SBATCH_ARG, SBATCH_REFUSED, "there are no reservations yet", NULL },
	{ "segment", 0, SBATCH_ARG, SBATCH_IGNORED, CLOSE, NULL },
	{ "signal", 0, SBATCH_ARG, SBATCH_BECOMES, "the same; R: is refused", no_reservation },
	{ "sockets-per-node", 0, SBATCH_ARG, SBATCH_REFUSED,
	        "nodes are chosen by features: --constraint", NULL },
	{ "spread-job", 0, SBATCH_NO_ARG, SBATCH_IGNORED, "--nodes says on how many", NULL },
	{ "spread-segments", 0, SBATCH_NO_ARG, SBATCH_IGNORED, CLOSE, NULL },
	{ "stepmgr", 0, SBATCH_NO_ARG, SBATCH_IGNORED, STEPS, NULL },
	{ "switches", 0, SBATCH_ARG, SBATCH_IGNORED, CLOSE, NULL },
	{ "tasks", 0, SBATCH_ARG, SBATCH_BECOMES, "--ntasks", NULL },
	{ "tasks-per-node", 0, SBATCH_ARG, SBATCH_BECOMES, "--ntasks-per-node", NULL },
	{ "test-only", 0, SBATCH_NO_ARG, SBATCH_REFUSED, "only on the command line", NULL },
	{ "thread-spec", 0, SBATCH_ARG, SBATCH_IGNORED, PLACEMENT, NULL },
	{ "threads-per-core", 0, SBATCH_ARG, SBATCH_IGNORED, PLACEMENT, NULL },
	{ "time", 't', SBATCH_ARG, SBATCH_BECOMES, "the same; 0 is unlimited", no_limit },
	{ "time-min", 0, SBATCH_ARG, SBATCH_IGNORED, "a job keeps the time it asks for", NULL },
	{ "tmp", 0, SBATCH_ARG, SBATCH_SAME, "", NULL },
	{ "tres-bind", 0, SBATCH_ARG, SBATCH_IGNORED, PLACEMENT, NULL },
	{ "tres-per-task", 0, SBATCH_ARG, SBATCH_REFUSED,
	        "--cpus-per-task and --gpus-per-task say how many", NULL },
	{ "uid", 0, SBATCH_ARG, SBATCH_REFUSED, "a job is of who submits it", NULL },
	{ "use-min-nodes", 0, SBATCH_NO_ARG, SBATCH_IGNORED, "--nodes says on how many", NULL },
	{ "verbose", 'v', SBATCH_NO_ARG, SBATCH_IGNORED, "gsubmit --test-only tells more", NULL },
	{ "wait", 'W', SBATCH_NO_ARG, SBATCH_SAME, "", NULL },
	{ "wait-all-nodes", 0, SBATCH_ARG, SBATCH_IGNORED, "all nodes are there when it starts",
	        NULL },
	{ "wckey", 0, SBATCH_ARG, SBATCH_TAKEN, "a --label can hold it", NULL },
	{ "wrap", 0, SBATCH_ARG, SBATCH_REFUSED, "only on the command line", NULL },
};
#define N_ROWS (sizeof(rows) / sizeof(rows[0]))

const struct sbatch_row *sbatch_rows(size_t *n)
{
	*n = N_ROWS;
	return rows;
}

const struct option_row *sbatch_ours(const struct sbatch_row *row)
{
	const char *name = row->kind == SBATCH_BECOMES && !row->convert ? row->text + 2 : row->name;
	const struct option_row *o = option_by_name(name, strlen(name));

	return o && (o->where & OPTION_IN_SCRIPT) ? o : NULL;
}

enum sbatch_kind sbatch_kind(const struct sbatch_row *row)
{
	return row->kind >= SBATCH_IGNORED && sbatch_ours(row) ? SBATCH_SAME : row->kind;
}

/* --- words ---------------------------------------------------------------------------------- */

struct scan {
	struct submit_options *o; /* of the component that is read */
	struct submit_options *first;
	unsigned components; /* behind the first */
	sbatch_warn *warn;
	void *arg;
	unsigned line;
};

static int no_such_option(const char *word, const char *why, struct error *err)
{
	char shown[80];

	text_escape(shown, sizeof(shown), word, strlen(word));
	return error_set(err, ERR_USAGE, "'%s': %s", shown, why);
}

/* By its name or the beginning of one name alone. NULL with `err`. */
static const struct sbatch_row *find_long(const char *word, size_t len, struct error *err)
{
	const struct sbatch_row *found = NULL;
	const char *names[N_ROWS + 1], *near;
	char name[64];

	for (size_t i = 0; i < N_ROWS; i++) {
		if (strncmp(rows[i].name, word + 2, len))
			continue;
		if (!rows[i].name[len])
			return &rows[i];
		if (found) {
			no_such_option(word, "could be several options", err);
			error_hint(err, "--%s or --%s", found->name, rows[i].name);
			return NULL;
		}
		found = &rows[i];
	}
	if (found)
		return found;
	no_such_option(word, "neither sbatch nor gsubmit has such an option", err);
	for (size_t i = 0; i < N_ROWS; i++)
		names[i] = rows[i].name;
	names[N_ROWS] = NULL;
	snprintf(name, sizeof(name), "%.*s", (int)(len < sizeof(name) ? len : 0), word + 2);
	near = text_nearest(name, names);
	if (near)
		error_hint(err, "--%s", near);
	return NULL;
}

static const struct sbatch_row *find_letter(const char *word, char letter, struct error *err)
{
	for (size_t i = 0; i < N_ROWS; i++)
		if (rows[i].letter == letter)
			return &rows[i];
	no_such_option(word, "neither sbatch nor gsubmit has such an option", err);
	return NULL;
}

const char *sbatch_convert(const struct sbatch_row *row, const char *value,
        struct sbatch_value *out, struct error *err)
{
	const char *taken = value;
	char option[64];

	out->note[0] = '\0';
	if (row->convert)
		taken = row->convert(value, out, err);
	if (row->convert && !taken) {
		snprintf(option, sizeof(option), "--%s", row->name);
		cmd_blame(option, value, err);
	}
	return taken;
}

static int set_ours(
        const struct scan *s, const struct sbatch_row *row, const char *value, struct error *err)
{
	struct sbatch_value converted;
	const char *taken = sbatch_convert(row, value, &converted, err);
	char text[sizeof(converted.note) + 80];

	if (!taken && row->convert)
		return -1;
	if (options_set(s->o, sbatch_ours(row), taken, err) < 0)
		return -1;
	if (*converted.note) {
		snprintf(text, sizeof(text), "--%s: %s", row->name, converted.note);
		s->warn(s->arg, s->line, text);
	}
	return 0;
}

int sbatch_refuse(const struct sbatch_row *row, struct error *err)
{
	return error_set(err, ERR_USAGE, "--%s: %s", row->name, row->text);
}

const char *sbatch_ignored(const struct sbatch_row *row, char text[SBATCH_TEXT])
{
	snprintf(text, SBATCH_TEXT, "--%s is ignored: %s", row->name, row->text);
	return text;
}

static int set(
        const struct scan *s, const struct sbatch_row *row, const char *value, struct error *err)
{
	char text[SBATCH_TEXT];
	struct sbatch_value room;

	switch (sbatch_kind(row)) {
	case SBATCH_SAME:
	case SBATCH_BECOMES:
		return set_ours(s, row, value, err);
	case SBATCH_TAKEN:
		return sbatch_convert(row, value, &room, err) || !row->convert ? 0 : -1;
	case SBATCH_REFUSED:
		return sbatch_refuse(row, err);
	default:
		s->warn(s->arg, s->line, sbatch_ignored(row, text));
		return 0;
	}
}

/* `value` stands with the option, or is NULL and may be the next word. Returns the words used. */
static int give(const struct scan *s, const struct sbatch_row *row, const char *value, size_t n,
        char **words, struct error *err)
{
	int used = 1;

	if (value && row->arg == SBATCH_NO_ARG)
		return error_set(err, ERR_USAGE, "--%s: takes no value", row->name);
	if (!value && row->arg == SBATCH_ARG) {
		if (n < 2)
			return error_set(
			        err, ERR_USAGE, "--%s: needs a value on its line", row->name);
		value = words[1];
		used = 2;
	}
	return set(s, row, value, err) < 0 ? -1 : used;
}

static int long_word(const struct scan *s, size_t n, char **words, struct error *err)
{
	size_t len = strcspn(words[0] + 2, "=");
	const struct sbatch_row *row = find_long(words[0], len, err);

	if (!row)
		return -1;
	return give(s, row, words[0][2 + len] ? words[0] + 2 + len + 1 : NULL, n, words, err);
}

static int short_word(const struct scan *s, size_t n, char **words, struct error *err)
{
	for (const char *p = words[0] + 1; *p; p++) {
		const struct sbatch_row *row = find_letter(words[0], *p, err);

		if (!row)
			return -1;
		if (row->arg == SBATCH_ARG)
			return give(s, row, p[1] ? p + 1 : NULL, n, words, err);
		if (set(s, row, NULL, err) < 0)
			return -1;
	}
	return 1;
}

/* In sbatch's words, which people look for. */
static int stray_word(const char *word, struct error *err)
{
	char shown[80];

	text_escape(shown, sizeof(shown), word, strlen(word));
	return error_set(err, ERR_USAGE, "Invalid directive found in batch script: %s", shown);
}

/* `hetjob`: the words behind it are the next component's. Returns the words used. */
static int begin_component(struct scan *s, size_t n, struct error *err)
{
	if (n > 1)
		return error_set(err, ERR_USAGE, "hetjob stands alone on its line");
	if (++s->components == HET_COMPONENTS_MAX)
		return error_set(err, ERR_USAGE, "more than %d components", HET_COMPONENTS_MAX);
	s->o = s->o->component = xcalloc(1, sizeof(*s->o));
	options_init(s->o);
	s->o->mistakes = s->first->mistakes;
	s->o->of_sbatch = true;
	return 1;
}

static int refuse_colon(struct error *err)
{
	error_set(err, ERR_USAGE, "':' separates components on srun's command line alone");
	return error_hint(err, "#SBATCH hetjob");
}

static int on_line(void *arg, unsigned line, size_t n, char **words, struct error *err)
{
	struct scan *s = arg;

	s->line = line;
	if (s->o->mistakes)
		s->o->mistakes->line = line;
	for (size_t i = 0; i < n;) {
		const char *w = words[i];
		int used;

		if (!i && (!strcmp(w, "hetjob") || !strcmp(w, "packjob")))
			used = begin_component(s, n, err);
		else if (!strcmp(w, ":"))
			used = refuse_colon(err);
		else if (!strncmp(w, "--", 2) && w[2] && w[2] != '=')
			used = long_word(s, n - i, words + i, err);
		else if (w[0] == '-' && w[1] && w[1] != '-')
			used = short_word(s, n - i, words + i, err);
		else
			used = stray_word(w, err);
		if (used < 0 && mistakes_add(s->o->mistakes, err) < 0)
			return -1;
		i += used < 0 ? options_skip(n - i, words + i) : (size_t)used;
	}
	s->first->slurm_env = true;
	return 0;
}

int sbatch_from_script(struct submit_options *o, const char *script, size_t len, sbatch_warn *warn,
        void *arg, unsigned *late, struct error *err)
{
	struct scan s = { .o = o, .first = o, .warn = warn, .arg = arg };
	int rc;

	o->of_sbatch = true;
	rc = directives_scan(script, len, DIRECTIVES_SBATCH, on_line, &s, late, err);
	o->of_sbatch = false;
	return rc;
}

/* --- variables ------------------------------------------------------------------------------ */

/* The variables that sbatch(1) reads, and the option of each whose name is not the same in small
 * letters. */
static const struct {
	const char *name, *option;
} variables[] = {
	{ "ACCOUNT", NULL },
	{ "ACCTG_FREQ", NULL },
	{ "ARRAY_INX", "array" },
	{ "BATCH", NULL },
	{ "CLUSTERS", NULL },
	{ "CONSTRAINT", NULL },
	{ "CONTAINER", NULL },
	{ "CORE_SPEC", NULL },
	{ "CPUS_PER_GPU", NULL },
	{ "DEBUG", "verbose" },
	{ "DELAY_BOOT", NULL },
	{ "DISTRIBUTION", NULL },
	{ "ERROR", NULL },
	{ "EXCLUSIVE", NULL },
	{ "EXPORT", NULL },
	{ "GET_USER_ENV", NULL },
	{ "GPUS", NULL },
	{ "GPUS_PER_NODE", NULL },
	{ "GPUS_PER_TASK", NULL },
	{ "GPU_BIND", NULL },
	{ "GPU_FREQ", NULL },
	{ "GRES", NULL },
	{ "GRES_FLAGS", NULL },
	{ "HINT", NULL },
	{ "IGNORE_PBS", NULL },
	{ "INPUT", NULL },
	{ "JOB_NAME", NULL },
	{ "MEM_BIND", NULL },
	{ "MEM_PER_CPU", NULL },
	{ "MEM_PER_GPU", NULL },
	{ "MEM_PER_NODE", "mem" },
	{ "NETWORK", NULL },
	{ "NO_KILL", NULL },
	{ "NO_REQUEUE", NULL },
	{ "OPEN_MODE", NULL },
	{ "OUTPUT", NULL },
	{ "OVERCOMMIT", NULL },
	{ "PARTITION", NULL },
	{ "POWER", NULL },
	{ "PROFILE", NULL },
	{ "QOS", NULL },
	{ "REQUEUE", NULL },
	{ "REQ_SWITCH", "switches" },
	{ "RESERVATION", NULL },
	{ "SIGNAL", NULL },
	{ "SPREAD_JOB", NULL },
	{ "THREADS_PER_CORE", NULL },
	{ "THREAD_SPEC", NULL },
	{ "TIMELIMIT", "time" },
	{ "USE_MIN_NODES", NULL },
	{ "WAIT", NULL },
	{ "WAIT_ALL_NODES", NULL },
	{ "WCKEY", NULL },
};
#define N_VARIABLES (sizeof(variables) / sizeof(variables[0]))

static const struct sbatch_row *row_of_variable(size_t v)
{
	const char *name = variables[v].option ? variables[v].option : variables[v].name;
	size_t i, k;

	for (i = 0; i < N_ROWS; i++) {
		for (k = 0; name[k] && rows[i].name[k] == (name[k] == '_' ? '-' : tolower(name[k]));
		        k++)
			;
		if (!name[k] && !rows[i].name[k])
			return &rows[i];
	}
	return NULL; /* an option that sbatch has no more */
}

/* Of an option without a value: empty, yes, or a number that is not 0. */
static bool is_yes(const char *value)
{
	return !*value || !strcmp(value, "yes") ||
	       (value[strspn(value, "0")] && !value[strspn(value, "0123456789")]);
}

static int from_variable(const struct scan *s, size_t v, const char *value, struct error *err)
{
	const struct sbatch_row *row = row_of_variable(v);
	int rc;

	if (!row || (row->arg == SBATCH_NO_ARG && !is_yes(value)))
		return 0;
	if (row->arg == SBATCH_NO_ARG || (row->arg == SBATCH_ARG_MAY_MISS && !*value))
		value = NULL;
	rc = set(s, row, value, err);
	return rc < 0 ? error_wrap(err, SBATCH_ENV_PREFIX "%s", variables[v].name) : 0;
}

static int scan_environment(struct scan *s, char *const *environment, struct error *err)
{
	for (size_t i = 0; environment[i]; i++) {
		const char *name = environment[i] + strlen(SBATCH_ENV_PREFIX);
		size_t len, v = 0;

		if (strncmp(environment[i], SBATCH_ENV_PREFIX, strlen(SBATCH_ENV_PREFIX)) != 0)
			continue;
		len = strcspn(name, "=");
		while (v < N_VARIABLES && (strlen(variables[v].name) != len ||
		                                  strncmp(variables[v].name, name, len) != 0))
			v++;
		/* A variable that sbatch does not read is ignored. */
		if (v < N_VARIABLES && name[len] &&
		        from_variable(s, v, name + len + 1, err) < 0 &&
		        mistakes_add(s->o->mistakes, err) < 0)
			return -1;
	}
	return 0;
}

int sbatch_from_environment(struct submit_options *o, char *const *environment, sbatch_warn *warn,
        void *arg, struct error *err)
{
	struct scan s = { .o = o, .warn = warn, .arg = arg };
	int rc;

	o->of_sbatch = true;
	rc = scan_environment(&s, environment, err);
	o->of_sbatch = false;
	return rc;
}

/* --- the manual ----------------------------------------------------------------------------- */

static void manual_kind(FILE *out, enum sbatch_kind kind, const char *title)
{
	fprintf(out, ".Pp\n%s\n.Bl -tag -width Ds -compact\n", title);
	for (size_t i = 0; i < N_ROWS; i++)
		if (sbatch_kind(&rows[i]) == kind)
			fprintf(out, ".It Cm --%s\n%s\n", rows[i].name, rows[i].text);
	fprintf(out, ".El\n");
}

void sbatch_manual(FILE *out)
{
	const char *between = ".Pp\nAs they are:\n";

	for (size_t i = 0; i < N_ROWS; i++) {
		if (sbatch_kind(&rows[i]) != SBATCH_SAME)
			continue;
		fprintf(out, "%s.Cm --%s", between, rows[i].name);
		between = " ,\n";
	}
	fprintf(out, " .\n");
	manual_kind(out, SBATCH_BECOMES, "As something else:");
	manual_kind(out, SBATCH_IGNORED, "Ignored, with a warning:");
	manual_kind(out, SBATCH_TAKEN, "Taken, without effect:");
	manual_kind(out, SBATCH_REFUSED, "Refused:");
}
