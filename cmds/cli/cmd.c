/* cmd.c - see cmd.h */
#include "cmds/cli/cmd.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <locale.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmds/cli/habits.h"
#include "common/base/hostlist.h"
#include "common/base/taskset.h"
#include "common/base/text.h"
#include "common/base/units.h"
#include "common/base/xalloc.h"
#include "common/net/msgfit.h"

#include "config.h"

#define KEY_HELP    '?'
#define KEY_USAGE   0x7001
#define KEY_VERSION 'V'

static const struct argp_option standard_options[] = {
	{ "help", KEY_HELP, NULL, 0, "Print this", -1 },
	{ "usage", KEY_USAGE, NULL, 0, "Print the options in short", -1 },
	{ "version", KEY_VERSION, NULL, 0, "Print the version", -1 },
	{ 0 },
};

/* One reading of a command line. */
struct parse {
	const struct cmd *cmd;
	void *input;
	struct error err;
	bool failed, done;
};

/* --- errors --------------------------------------------------------------------------------- */

int cmd_fail(const struct cmd *cmd, const struct error *err)
{
	char *text = text_escape_dup(err->text), *hint = text_escape_dup(err->hint);

	fflush(stdout);
	fprintf(stderr, "%s: error: %s\n", cmd->name, text);
	if (*hint)
		fprintf(stderr, "hint: %s\n", hint);
	free(text);
	free(hint);
	return error_exit_status(err->code);
}

static void __attribute__((format(printf, 3, 0)))
print_note(const struct cmd *cmd, const char *kind, const char *fmt, va_list ap)
{
	char text[1024], *plain;

	vsnprintf(text, sizeof(text), fmt, ap);
	plain = text_escape_dup(text);
	fprintf(stderr, "%s: %s%s\n", cmd->name, kind, plain);
	free(plain);
}

void cmd_advise(const struct cmd *cmd, const char *fmt, ...)
{
	va_list ap;

	if (!isatty(STDERR_FILENO))
		return;
	va_start(ap, fmt);
	print_note(cmd, "", fmt, ap);
	va_end(ap);
}

void cmd_warn(const struct cmd *cmd, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	print_note(cmd, "warning: ", fmt, ap);
	va_end(ap);
}

static void tell(const struct error *why, void *arg)
{
	cmd_advise(arg, "%s; trying again", why->text);
}

void cmd_tell_retry(const struct cmd *cmd, struct client *c)
{
	client_on_retry(c, tell, (void *)cmd);
}

static void warn(const char *text, void *arg)
{
	cmd_warn(arg, "%s", text);
}

void cmd_tell_warnings(const struct cmd *cmd, struct client *c)
{
	client_on_warning(c, warn, (void *)cmd);
}

int cmd_finish(const struct cmd *cmd, int status)
{
	bool bad = ferror(stdout);
	struct error err;

	errno = 0;
	if (fclose(stdout) == 0 && !bad)
		return status;
	error_set(&err, ERR_SYSTEM, "standard output: %s",
	        errno ? strerror(errno) : "not all could be written");
	return status ? status : cmd_fail(cmd, &err);
}

int cmd_list(const struct cmd *cmd, int argc, char **argv, void *input,
        int (*run)(void *input, struct error *err))
{
	struct error err = { .code = ERR_NONE };
	int status;

	setlocale(LC_ALL, "");
	status = cmd_parse(cmd, argc, argv, input);
	if (status != CMD_GO_ON)
		return status;
	return cmd_finish(cmd, run(input, &err) < 0 ? cmd_fail(cmd, &err) : EXIT_DONE);
}

/* --- options -------------------------------------------------------------------------------- */

static const struct argp_option *find_option(const struct cmd *cmd, const char *name, size_t len)
{
	const struct argp_option *const tables[] = { cmd->options, standard_options };

	for (size_t t = 0; t < 2; t++)
		for (const struct argp_option *o = tables[t]; o && (o->name || o->key || o->doc);
		        o++)
			if (o->name && !strncmp(o->name, name, len) && !o->name[len])
				return o;
	return NULL;
}

static const char *near_option(const struct cmd *cmd, const char *name)
{
	const char *names[128];
	size_t n = 0;

	for (const struct argp_option *o = cmd->options; o && (o->name || o->key || o->doc); o++)
		if (o->name && !(o->flags & OPTION_HIDDEN) && n < 127)
			names[n++] = o->name;
	names[n] = NULL;
	return text_nearest(name, names);
}

/* argp could not make sense of a word: which, and why? */
static void blame_word(struct parse *p, const struct argp_state *state)
{
	const char *word = state->next > 1 ? state->argv[state->next - 1] : "";
	const struct argp_option *known;
	char shown[80], name[80] = "";
	const char *near;
	size_t len;

	if (word[0] != '-' && state->next < state->argc)
		word = state->argv[state->next];
	text_escape(shown, sizeof(shown), word, strlen(word));
	len = strcspn(word, "=");
	known = !strncmp(word, "--", 2) ? find_option(p->cmd, word + 2, len - 2) : NULL;
	if (known && word[len]) {
		error_set(&p->err, ERR_USAGE, "--%s: has no value", known->name);
	} else if (known || (word[0] == '-' && word[1] && !word[2])) {
		error_set(&p->err, ERR_USAGE, "'%s': %s", shown,
		        known ? "needs a value" : "no such option, or it needs a value");
	} else {
		strncat(name, word + strspn(word, "-"), sizeof(name) - 1);
		name[strcspn(name, "=")] = '\0';
		near = near_option(p->cmd, name);
		error_set(&p->err, ERR_USAGE, "'%s': no such option%s%s%s", shown,
		        near ? "; did you mean --" : "", near ? near : "", near ? "?" : "");
	}
	near = habits_find(p->cmd->name, word);
	if (near)
		error_hint(&p->err, "%s", near);
	if (!p->err.hint[0])
		error_hint(&p->err, "%s --help", p->cmd->name);
}

static error_t standard(struct parse *p, int key, const struct argp_state *state)
{
	unsigned how = key == KEY_USAGE ? ARGP_HELP_USAGE
	                                : ARGP_HELP_SHORT_USAGE | ARGP_HELP_PRE_DOC |
	                                          ARGP_HELP_LONG | ARGP_HELP_POST_DOC;

	struct argp_state loud;

	p->done = true;
	if (key == KEY_VERSION) {
		printf("%s (gpusched) %s\n", p->cmd->name, PACKAGE_VERSION);
		return ECANCELED;
	}
	loud = *state;
	loud.flags = 0; /* ARGP_NO_ERRS keeps help back too */
	loud.name = (char *)p->cmd->name;
	argp_state_help(&loud, stdout, how);
	if (key == KEY_HELP && p->cmd->more_help)
		p->cmd->more_help(stdout);
	return ECANCELED;
}

static error_t parser(int key, char *value, struct argp_state *state)
{
	struct parse *p = state->input;

	switch (key) {
	case KEY_HELP:
	case KEY_USAGE:
	case KEY_VERSION:
		return standard(p, key, state);
	case ARGP_KEY_ERROR:
		if (!p->done && !p->failed)
			blame_word(p, state);
		return 0;
	case ARGP_KEY_INIT:
	case ARGP_KEY_ARGS:
	case ARGP_KEY_NO_ARGS:
	case ARGP_KEY_END:
	case ARGP_KEY_SUCCESS:
	case ARGP_KEY_FINI:
		return ARGP_ERR_UNKNOWN;
	default:
		if (p->cmd->take(key, value, state, p->input, &p->err) >= 0)
			return 0;
		p->failed = true;
		return EINVAL;
	}
}

/* argp's note about arguments of short options says nothing new. */
static char *filter(int key, const char *text, void *input)
{
	(void)input;
	return key == ARGP_KEY_HELP_DUP_ARGS_NOTE ? NULL : (char *)text;
}

/* Our options and the standard ones in one table; the caller frees. */
static struct argp_option *all_options(const struct cmd *cmd)
{
	size_t n = 0, m = sizeof(standard_options) / sizeof(standard_options[0]);
	struct argp_option *all;

	while (cmd->options && (cmd->options[n].name || cmd->options[n].key || cmd->options[n].doc))
		n++;
	all = xcalloc(n + m, sizeof(*all));
	memcpy(all, cmd->options, n * sizeof(*all));
	memcpy(all + n, standard_options, sizeof(standard_options));
	return all;
}

/* Where we were started with one of them closed, the connection to the controller would get its
 * number, and what is printed would go there. What is put in its place fails as a closed one. */
static void occupy_standard_files(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF &&
		        open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0)
			return;
}

int cmd_parse(const struct cmd *cmd, int argc, char **argv, void *input)
{
	struct argp_option *options = all_options(cmd);
	char *doc = xasprintf("%s\v%s", cmd->about, cmd->examples);
	struct argp argp = { options, parser, cmd->arguments, doc, NULL, filter, NULL };
	struct parse p = { .cmd = cmd, .input = input };
	error_t rc;

	occupy_standard_files();
	rc = argp_parse(&argp, argc, argv,
	        ARGP_NO_ERRS | ARGP_NO_HELP | (cmd->in_order ? ARGP_IN_ORDER : 0), NULL, &p);
	free(doc);
	free(options);
	if (p.done)
		return cmd_finish(cmd, EXIT_DONE);
	if (!rc)
		return CMD_GO_ON;
	if (!p.err.code)
		error_set(&p.err, ERR_USAGE, "%s", strerror(rc));
	return cmd_fail(cmd, &p.err);
}

/* --- values --------------------------------------------------------------------------------- */

static void append(struct cmd_list *list, const char *text, size_t len)
{
	list->v = xrealloc(list->v, list->n + 2, sizeof(*list->v));
	list->v[list->n++] = xstrndup(text, len);
	list->v[list->n] = NULL;
}

int cmd_list_add(struct cmd_list *list, const char *text, struct error *err)
{
	if (text_plain_prefix(text, strlen(text)) != strlen(text))
		return error_set(err, ERR_USAGE, "expected plain text in UTF-8");
	for (const char *s = text;;) {
		size_t len = strcspn(s, ",");

		if (!len)
			return error_set(
			        err, ERR_USAGE, "expected one or more names with commas between");
		if (len > CMD_NAME_MAX)
			return error_set(
			        err, ERR_USAGE, "a name has at most %d bytes", CMD_NAME_MAX);
		append(list, s, len);
		if (!s[len])
			return 0;
		s += len + 1;
	}
}

static int no_matter(const char *name, void *arg)
{
	(void)name, (void)arg;
	return 0;
}

int cmd_hosts_add(struct cmd_list *list, const char *text, struct error *err)
{
	if (hostlist_each(text, HOSTLIST_MAX, no_matter, NULL, err) < 0)
		return -1;
	append(list, text, strlen(text));
	return 0;
}

void cmd_list_clear(struct cmd_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		free(list->v[i]);
	free(list->v);
	*list = (struct cmd_list){ .n = 0 };
}

/* "7", "3-9,12", "[3-9,12]" of `len` bytes. */
static int add_some(
        struct cmd_ids *ids, struct cmd_id *id, const char *tasks, size_t len, struct error *err)
{
	Gpusched__JobTasks *t = xcalloc(1, sizeof(*t));

	gpusched__job_tasks__init(t);
	if (len >= 2 && *tasks == '[' && tasks[len - 1] == ']') {
		tasks++;
		len -= 2;
	}
	t->job = id->id;
	t->tasks = xstrndup(tasks, len);
	ids->some = xrealloc(ids->some, ids->n_some + 1, sizeof(*ids->some));
	ids->some[ids->n_some++] = t;
	id->some = true;
	return taskset_parse(t->tasks, &id->left, err) < 0 ? -1 : 0;
}

/* One of `len` bytes: "123", "123_7", "123_[3-9,12]". */
static int add_id(struct cmd_ids *ids, const char *text, size_t len, struct error *err)
{
	const char *line = memchr(text, '_', len);
	char *number = xstrndup(text, line ? (size_t)(line - text) : len);
	uint64_t id = 0;
	int rc = count_parse(number, 1, ((uint64_t)1 << 40) - 1, &id, NULL);

	free(number);
	if (rc < 0)
		return error_set(err, ERR_USAGE,
		        "expected a job id (123, 123_7, 123_[3-9,12]), or several with commas "
		        "between");
	ids->v = xrealloc(ids->v, ids->n + 1, sizeof(*ids->v));
	ids->v[ids->n] = (struct cmd_id){ .id = id };
	if (line)
		return add_some(
		        ids, &ids->v[ids->n++], line + 1, len - (size_t)(line + 1 - text), err);
	ids->n++;
	ids->whole = xrealloc(ids->whole, ids->n_whole + 1, sizeof(*ids->whole));
	ids->whole[ids->n_whole++] = id;
	return 0;
}

int cmd_ids_add(struct cmd_ids *ids, const char *text, struct error *err)
{
	const char *start = text;
	bool inside = false;

	for (;; text++) {
		inside = *text == '[' || (inside && *text != ']');
		if (*text && (*text != ',' || inside))
			continue;
		if (add_id(ids, start, (size_t)(text - start), err) < 0)
			return -1;
		if (!*text)
			return 0;
		start = text + 1;
	}
}

void cmd_ids_clear(struct cmd_ids *ids)
{
	for (size_t i = 0; i < ids->n_some; i++) {
		free(ids->some[i]->tasks);
		free(ids->some[i]);
	}
	free(ids->some);
	free(ids->whole);
	for (size_t i = 0; i < ids->n; i++)
		taskset_clear(&ids->v[i].left);
	free(ids->v);
	*ids = (struct cmd_ids){ .n = 0 };
}

/* Take what both have out of `of`. */
static void take_out(struct taskset *of, const struct taskset *both)
{
	struct taskset taken;

	taskset_take(of, both, &taken);
	taskset_clear(&taken);
}

static bool is_cut(const char *text)
{
	size_t n = strlen(text), mark = strlen(MSG_CUT_MARK);

	return n >= mark && !strcmp(text + n - mark, MSG_CUT_MARK);
}

void cmd_ids_saw(struct cmd_ids *ids, uint64_t id, const char *tasks)
{
	struct taskset has = { .n = 0 };
	bool read = false;

	for (size_t i = 0; i < ids->n; i++) {
		struct cmd_id *named = &ids->v[i];

		if (named->id != id || named->seen)
			continue;
		if (named->some && is_cut(tasks)) { /* it may be in what is not told */
			named->seen = true;
			continue;
		}
		if (named->some && !read)
			read = taskset_parse_kept(tasks, &has, NULL) >= 0;
		if (named->some && read)
			take_out(&named->left, &has);
		named->seen = !named->some || !named->left.count;
	}
	taskset_clear(&has);
}

bool cmd_ids_miss(const struct cmd_ids *ids, uint64_t id, const char *tasks)
{
	bool missing = false;

	for (size_t i = 0; i < ids->n && !missing; i++) {
		const struct cmd_id *named = &ids->v[i];
		struct taskset has = { .n = 0 };

		if (named->id != id || named->seen)
			continue;
		missing = !named->some || (taskset_parse_kept(tasks, &has, NULL) >= 0 &&
		                                  taskset_meets(&named->left, &has));
		taskset_clear(&has);
	}
	return missing;
}

/* What was said of the names before is not said again. */
static bool is_missing(struct cmd_ids *ids, size_t i)
{
	struct cmd_id *named = &ids->v[i];

	for (size_t k = 0; k < i && !named->seen; k++) {
		const struct cmd_id *before = &ids->v[k];

		if (before->seen || before->id != named->id || before->some != named->some)
			continue;
		if (named->some)
			take_out(&named->left, &before->left);
		named->seen = !named->some || !named->left.count;
	}
	return !named->seen;
}

/* "12", "12_7", "12_[3-9,12]"; the caller frees it. */
static char *name_of(const struct cmd_id *named)
{
	char *tasks = named->some ? taskset_text(&named->left) : NULL, *text;
	bool one = named->left.count == 1;

	text = !tasks ? xasprintf("%" PRIu64, named->id)
	              : xasprintf("%" PRIu64 "_%s%s%s", named->id, one ? "" : "[", tasks,
	                        one ? "" : "]");
	free(tasks);
	return text;
}

int cmd_ids_end(struct cmd_ids *ids, int rc, const char *why, struct error *err)
{
	char text[150] = "";
	size_t n = 0, said = 0, used = 0;
	bool several = false;

	if (rc < 0 && err->code != ERR_NO_JOB)
		return rc;
	for (size_t i = 0; i < ids->n; i++) {
		char *name;

		if (!is_missing(ids, i))
			continue;
		name = name_of(&ids->v[i]);
		several |= n || ids->v[i].left.count > 1;
		/* A list of tasks may be as long as it likes: the first is told in any case. */
		if (n++ == said && (!used || used + strlen(name) + 2 < sizeof(text))) {
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%.140s",
			        said ? ", " : "", name);
			said++;
		}
		free(name);
	}
	if (!n)
		return rc;
	if (n == said)
		return error_set(err, ERR_NO_JOB, "%s %s: %s", several ? "jobs" : "job", text, why);
	return error_set(err, ERR_NO_JOB, "jobs %s and %zu others: %s", text, n - said, why);
}

int cmd_job_status(const char *state, uint32_t exit_code, uint32_t exit_signal)
{
	int code = (int)(exit_code & 0xff);
	int by_signal = exit_signal ? 128 + (int)exit_signal : 0;

	if (code || by_signal)
		return code > by_signal ? code : by_signal;
	return strcmp(state, "COMPLETED") == 0 ? 0 : EXIT_OWN_FAILURE;
}

int cmd_check_pairs(const struct cmd_pair *pairs, size_t n, struct error *err)
{
	for (const struct cmd_pair *p = pairs; p < pairs + n; p++)
		if (p->one && p->other)
			return error_set(err, ERR_USAGE, "%s and %s exclude each other%s%s",
			        p->one_name, p->other_name, p->because ? ": " : "",
			        p->because ? p->because : "");
	return 0;
}

int cmd_no_argument(const char *value, struct error *err)
{
	char shown[80];

	text_escape(shown, sizeof(shown), value, strlen(value));
	return error_set(err, ERR_USAGE, "'%s': only options are expected", shown);
}

const char *cmd_user(char *buf, size_t size)
{
	struct passwd *pw = getpwuid(geteuid());

	if (pw)
		snprintf(buf, size, "%s", pw->pw_name);
	else
		snprintf(buf, size, "%u", (unsigned)geteuid());
	return buf;
}
