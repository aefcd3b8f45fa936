/* cmd.c - see cmd.h */
#include "cmds/cli/cmd.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmds/cli/help.h"
#include "cmds/cli/slurm_hints.h"
#include "cmds/cli/view.h"
#include "common/base/text.h"
#include "common/base/xalloc.h"

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
#define N_STANDARD (sizeof(standard_options) / sizeof(standard_options[0]))

/* One reading of a command line. */
struct parse {
	const struct cmd *cmd;
	void *input;
	const struct argp_option *options; /* all of them */
	struct error err;
	bool failed, done;
};

/* --- errors --------------------------------------------------------------------------------- */

int cmd_fail(const struct cmd *cmd, const struct error *err)
{
	return tool_fail(cmd->name, err);
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

	if (cmd->quiet && !isatty(STDERR_FILENO))
		return;
	va_start(ap, fmt);
	print_note(cmd, "warning: ", fmt, ap);
	va_end(ap);
}

static void print_retry(const struct error *why, void *arg)
{
	cmd_advise(arg, "%s; trying again", why->text);
}

void cmd_tell_retry(const struct cmd *cmd, struct client *c)
{
	client_on_retry(c, print_retry, (void *)cmd);
}

static void print_warning(const char *text, void *arg)
{
	cmd_warn(arg, "%s", text);
}

void cmd_tell_warnings(const struct cmd *cmd, struct client *c)
{
	client_on_warning(c, print_warning, (void *)cmd);
}

int cmd_finish(const struct cmd *cmd, int status)
{
	bool bad = ferror(stdout);
	struct error err;

	errno = 0;
	if (fclose(stdout) == 0 && !bad)
		return status;
	error_set(&err, ERR_SYSTEM, "standard output: %s",
	        errno ? strerror(errno) : "not everything could be written");
	return status ? status : cmd_fail(cmd, &err);
}

int cmd_blame(const char *option, const char *value, struct error *err)
{
	char shown[160];

	if (!value)
		return error_wrap(err, "%s", option);
	text_escape(shown, sizeof(shown), value, strlen(value));
	return error_wrap(err, "%s=%s", option, shown);
}

int cmd_main(const struct cmd *cmd, int argc, char **argv, void *input,
        int (*run)(void *input, struct error *err))
{
	struct error err = { .code = ERR_NONE };
	int status;

	setlocale(LC_ALL, "");
	status = cmd_parse(cmd, argc, argv, input);
	if (status != CMD_GO_ON)
		return status;
	status = run(input, &err);
	return cmd_finish(cmd, status < 0 ? cmd_fail(cmd, &err) : status);
}

/* --- options -------------------------------------------------------------------------------- */

/* All options of a command as one table, the standard ones last; the caller frees. */
static struct argp_option *all_options(const struct cmd *cmd)
{
	size_t n = 0, m = tool_argp(cmd->table, 0, NULL);
	struct argp_option *all;
	int group = 1;

	while (cmd->options && !help_is_end(&cmd->options[n]))
		n++;
	all = xcalloc(n + m + N_STANDARD, sizeof(*all));
	for (size_t i = 0; i < n; i++) {
		all[i] = cmd->options[i];
		group = all[i].group > group ? all[i].group : group;
	}
	tool_argp(cmd->table, group, all + n);
	memcpy(all + n + m, standard_options, sizeof(standard_options));
	return all;
}

static int set_row(struct parse *p, const struct cmd_option *o, const char *value)
{
	char name[80];

	if (p->cmd->given)
		p->cmd->given(p->input, o);
	if (o->set((char *)p->input + o->offset, o, value, &p->err) >= 0)
		return 0;
	if (!strncmp(p->err.text, "--", 2))
		return -1;
	snprintf(name, sizeof(name), "--%s", o->name);
	return cmd_blame(name, value, &p->err);
}

static const struct argp_option *find_option(const struct parse *p, const char *name, size_t len)
{
	for (const struct argp_option *o = p->options; !help_is_end(o); o++)
		if (o->name && !strncmp(o->name, name, len) && !o->name[len])
			return o;
	return NULL;
}

static const char *near_option(const struct parse *p, const char *name)
{
	const char *names[128];
	size_t n = 0;

	for (const struct argp_option *o = p->options; !help_is_end(o); o++)
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
	known = !strncmp(word, "--", 2) ? find_option(p, word + 2, len - 2) : NULL;
	if (known && word[len]) {
		error_set(&p->err, ERR_USAGE, "--%s: takes no value", known->name);
	} else if (known || (word[0] == '-' && word[1] && !word[2])) {
		error_set(&p->err, ERR_USAGE, "'%s': %s", shown,
		        known ? "needs a value" : "no such option, or it needs a value");
	} else {
		strncat(name, word + strspn(word, "-"), sizeof(name) - 1);
		name[strcspn(name, "=")] = '\0';
		near = near_option(p, name);
		error_set(&p->err, ERR_USAGE, "'%s': no such option%s%s%s", shown,
		        near ? "; did you mean --" : "", near ? near : "", near ? "?" : "");
	}
	near = slurm_hint(p->cmd->name, word);
	if (near)
		error_hint(&p->err, "%s", near);
	if (!p->err.hint[0])
		error_hint(&p->err, "%s --help", p->cmd->name);
}

static void print_usage(FILE *out, const struct cmd *cmd)
{
	const char *start = "Usage:", *a = cmd->arguments;

	do {
		size_t len = strcspn(a, "\n");

		fprintf(out, "%s %s [OPTION...]%s%.*s\n", start, cmd->name, len ? " " : "",
		        (int)len, a);
		start = "  or: ";
		a += len + (a[len] != '\0');
	} while (*a);
}

static void print_help(FILE *out, const struct cmd *cmd, const struct argp_option *options)
{
	print_usage(out, cmd);
	help_text(out, cmd->about);
	help_options(out, options);
	putc('\n', out);
	help_text(out, cmd->examples);
	for (size_t i = 0; i < CMD_LISTS && cmd->lists[i].kind; i++) {
		fprintf(out, "\n%s:\n", cmd->lists[i].heading);
		view_print_columns(cmd->lists[i].kind, out);
	}
	if (cmd->more_help)
		cmd->more_help(out);
}

static error_t print_standard(struct parse *p, int key, const struct argp_state *state)
{
	struct argp_state loud = *state;

	p->done = true;
	loud.flags = 0; /* ARGP_NO_ERRS keeps help back too */
	loud.name = (char *)p->cmd->name;
	if (key == KEY_VERSION && p->cmd->version)
		puts(p->cmd->version);
	else if (key == KEY_VERSION)
		printf("%s (gpusched) %s\n", p->cmd->name, PACKAGE_VERSION);
	else if (key == KEY_USAGE)
		argp_state_help(&loud, stdout, ARGP_HELP_USAGE);
	else
		print_help(stdout, p->cmd, p->options);
	return ECANCELED;
}

/* An argument where there can be none. */
static int refuse_argument(const char *value, struct error *err)
{
	char shown[80];

	text_escape(shown, sizeof(shown), value, strlen(value));
	return error_set(err, ERR_USAGE, "'%s': only options are expected", shown);
}

static error_t parser(int key, char *value, struct argp_state *state)
{
	struct parse *p = state->input;
	const struct cmd_option *row;
	int rc;

	switch (key) {
	case KEY_HELP:
	case KEY_USAGE:
	case KEY_VERSION:
		return print_standard(p, key, state);
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
		row = tool_option(p->cmd->table, key);
		if (row)
			rc = set_row(p, row, value);
		else if (p->cmd->take)
			rc = p->cmd->take(key, value, state, p->input, &p->err);
		else
			rc = refuse_argument(value, &p->err);
		p->failed = rc < 0;
		return rc < 0 ? EINVAL : 0;
	}
}

void cmd_occupy_standard_files(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF &&
		        open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0)
			return;
}

int cmd_parse(const struct cmd *cmd, int argc, char **argv, void *input)
{
	struct argp_option *options = all_options(cmd);
	struct argp argp = { options, parser, cmd->arguments, NULL, NULL, NULL, NULL };
	struct parse p = { .cmd = cmd, .input = input, .options = options };
	error_t rc;

	cmd_occupy_standard_files();
	rc = argp_parse(&argp, argc, argv,
	        ARGP_NO_ERRS | ARGP_NO_HELP | (cmd->in_order ? ARGP_IN_ORDER : 0), NULL, &p);
	free(options);
	if (p.done)
		return cmd_finish(cmd, EXIT_DONE);
	if (!rc)
		return CMD_GO_ON;
	if (!p.err.code)
		error_set(&p.err, ERR_USAGE, "%s", strerror(rc));
	return cmd_fail(cmd, &p.err);
}

/* The row's help without the subcommands in brackets at its end. A heading keeps the colon that
 * stands behind them. Caller frees. */
static char *help_of_subcommand(const struct cmd_option *row)
{
	size_t len = strcspn(row->help, "(");

	if (row->name || !row->help[len])
		return xstrndup(row->help, len);
	if (len && row->help[len - 1] == ' ')
		len--;
	return xasprintf("%.*s:", (int)len, row->help);
}

int cmd_help_subcommand(struct cmd *one, const struct cmd_option *table, size_t n, unsigned takes)
{
	struct cmd_option *rows = xcalloc(n + 1, sizeof(*rows));
	char name[80], flag[] = "--help", *argv[] = { name, flag, NULL };
	size_t n_rows = 0;
	int status;

	snprintf(name, sizeof(name), "%s", one->name);
	for (size_t i = 0; i < n; i++) {
		const struct cmd_option *row = &table[i];

		if (!(row->own & takes))
			continue;
		rows[n_rows] = *row;
		rows[n_rows++].help = help_of_subcommand(row);
	}
	one->table = rows;
	status = cmd_parse(one, 2, argv, NULL);
	while (n_rows)
		free((char *)(uintptr_t)rows[--n_rows].help);
	free(rows);
	one->table = NULL;
	return status;
}

int cmd_help_at(int argc, char **argv)
{
	for (int i = 2; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-?"))
			return i;
	return 0;
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

const char *cmd_user(char *buf, size_t size)
{
	struct passwd *pw = getpwuid(geteuid());

	if (pw)
		snprintf(buf, size, "%s", pw->pw_name);
	else
		snprintf(buf, size, "%u", (unsigned)geteuid());
	return buf;
}
