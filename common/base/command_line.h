/* command_line.h - programs with a command line: their options as a table, and how one of them
 * fails
 *
 * Commands add much to that (cmds/cli/cmd.h); gsim and gdemand need no more; gnoded has the table
 * and reads it itself.
 */
#ifndef COMMON_COMMAND_LINE_H
#define COMMON_COMMAND_LINE_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/base/error.h"

/* A row of a program's table of options: how it is written, and the field of the program's input
 * that it sets. The table ends with a row of nothing. */
struct cmd_option {
	const char *name; /* "user"; NULL: `help` is the heading of the rows below */
	int letter;       /* or 0 */
	const char *arg;  /* its value in the help, "[TIME]" if it may miss; NULL: it has none */
	const char *help; /* NULL: another name of the row above */
	/* Set `field`, at `offset` of the input. -1 with `err`, whose text gets "--NAME=VALUE: " in
	 * front. */
	int (*set)(void *field, const struct cmd_option *option, const char *value,
	        struct error *err);
	size_t offset;
	unsigned what; /* for `set` */
	unsigned own;  /* for the command */
};

/* A row of that: `member` of a `type`. */
#define CMD_ROW(type, member, name, letter, arg, set, help) \
	{ name, letter, arg, help, set, offsetof(type, member), 0, 0 }
/* The head of a `set`, which need not look at all that it is handed. */
#define CMD_SETTER(name)                                                     \
	int name(void *field __attribute__((unused)),                        \
	        const struct cmd_option *option __attribute__((unused)),     \
	        const char *value __attribute__((unused)),                   \
	        struct error *err __attribute__((unused)))
#define CMD_HEADING(text) { NULL, 0, NULL, text, NULL, 0, 0, 0 }
#define CMD_ALIAS(name, letter) { name, letter, NULL, NULL, NULL, 0, 0, 0 }
#define CMD_TABLE_END { NULL, 0, NULL, NULL, NULL, 0, 0, 0 }

CMD_SETTER(cmd_set_flag); /* bool */
CMD_SETTER(cmd_set_text); /* const char *, borrowed of the command line */
CMD_SETTER(cmd_set_count);  /* unsigned: 1 to `what` */
CMD_SETTER(cmd_set_number); /* uint64_t: `what` to INT64_MAX */
CMD_SETTER(cmd_set_ms);     /* uint64_t: a time; a bare number is seconds */

/* The rows as argp has them: written to `out`, unless that is NULL. Each heading begins a group;
 * the rows above the first are of `group`. Returns how many there are. */
size_t tool_argp(const struct cmd_option *table, int group, struct argp_option *out);

/* The row that an argp key means; NULL: none. `table` may be NULL. */
const struct cmd_option *tool_option(const struct cmd_option *table, int key);

/* "NAME: error: TEXT" on stderr, and perhaps "hint: ...". Returns the exit status. */
int tool_fail(const char *name, const struct error *err);

struct tool {
	const char *name;
	const struct cmd_option *table;
	const char *args, *doc; /* args_doc and doc of an argp */
	void (*argument)(void *input, const char *value); /* what is no option */
};

/* Read the command line. Ends the program after --help, and if an option is wrong. */
void tool_parse(const struct tool *tool, int argc, char **argv, void *input);

/* Add a borrowed text to an owned array. */
void tool_add(const char ***list, size_t *n, const char *text);

#endif
