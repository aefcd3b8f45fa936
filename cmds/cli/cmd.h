/* cmd.h - what all commands do alike: options, --help, errors, exit status
 *
 * An error is one line on stderr, "COMMAND: error: TEXT", and perhaps a line "hint: ...". The exit
 * status comes from its code (common/base/error.h). Warnings go to stderr as errors do. Advice goes
 * to stderr too, but only to a terminal.
 */
#ifndef CMDS_CMD_H
#define CMDS_CMD_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "cmds/api/client.h"
#include "common/base/command_line.h"
#include "common/base/error.h"

struct view_kind;

#define CMD_LISTS 4

struct cmd {
	const char *name;
	const char *arguments; /* "[ID...]" */
	const char *about;     /* one paragraph */
	const char *examples;  /* and what else stands below the options */
	const struct cmd_option *table; /* may be NULL */
	/* Rows of a command that makes its table itself; in --help they stand before `table`. */
	const struct argp_option *options;
	/* The key of one of `options` with its value, or ARGP_KEY_ARG with an argument. -1 with
	 * `err`. NULL: there are neither. */
	int (*take)(int key, char *value, struct argp_state *state, void *input, struct error *err);
	/* Called for each option of `table` that is given, before its field is set; may be NULL. */
	void (*given)(void *input, const struct cmd_option *option);
	/* The kinds of listing that the command prints; --help lists their columns below the
	 * heading: "Columns of nodes". */
	struct {
		const char *heading;
		const struct view_kind *kind;
	} lists[CMD_LISTS];
	void (*more_help)(FILE *out); /* below all of it; may be NULL */
	bool in_order;                /* options end at the first argument */
	const char *version;          /* what --version prints; NULL: its name and ours */
	bool quiet;                   /* warnings are for people: only to a terminal */
};

#define CMD_GO_ON (-1)

/* If stdin, stdout or stderr is closed at the start, the connection to the controller would get its
 * number, and printed text would go to the controller. So a descriptor takes its place that fails
 * like a closed one. cmd_parse() does this; programs that read their command line in another way
 * call it first. */
void cmd_occupy_standard_files(void);

/* Read the command line. CMD_GO_ON, or the status to exit with: --help and --version are done, or
 * an error was printed. `input` is handed to cmd->take. */
int cmd_parse(const struct cmd *cmd, int argc, char **argv, void *input);

/* --help of a subcommand: `one` has its own texts and no table yet. Of the `n` rows of the whole
 * command's table it gets those with a bit of `takes` in `own`, in whose help the subcommands that
 * take them stand in brackets and at the end: these are left out. Afterwards `one` has no table
 * again. Returns the exit status. */
int cmd_help_subcommand(
        struct cmd *one, const struct cmd_option *table, size_t n, unsigned takes);

/* Where --help or -? stands among the arguments of a subcommand, in front of any "--"; 0: nowhere.
 * For commands whose subcommands are their first argument. */
int cmd_help_at(int argc, char **argv);

/* Print it; returns the exit status. */
int cmd_fail(const struct cmd *cmd, const struct error *err);

/* One line of advice, if stderr is a terminal. */
void cmd_advise(const struct cmd *cmd, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* One line that must not be missed, whatever stderr is: "COMMAND: warning: ...". */
void cmd_warn(const struct cmd *cmd, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Print that line when a client has to try again. `cmd` is borrowed as long as the client lives. */
void cmd_tell_retry(const struct cmd *cmd, struct client *c);

/* Print the warnings of answers. `cmd` is borrowed likewise. */
void cmd_tell_warnings(const struct cmd *cmd, struct client *c);

/* Everything that was printed must have arrived. Returns `status`, or what a failure asks for. */
int cmd_finish(const struct cmd *cmd, int status);

/* Run a whole command in the user's locale: read the command line, call `run`, print its error.
 * `run` returns the exit status, or -1 with `err`. Returns the exit status. */
int cmd_main(const struct cmd *cmd, int argc, char **argv, void *input,
        int (*run)(void *input, struct error *err));

/* --- values of options ---------------------------------------------------------------------- */

/* A list that grows; the texts are owned. */
struct cmd_list {
	char **v; /* NULL behind the last, once there is one */
	size_t n;
};

#define CMD_NAME_MAX 255 /* bytes of one name */

/* Add the parts between commas; empty and longer parts, and what is no plain text, are refused
 * (ERR_USAGE). */
int cmd_list_add(struct cmd_list *list, const char *text, struct error *err);
/* Add names of nodes as they are written, in short: n[0001-9999],m1. */
int cmd_hosts_add(struct cmd_list *list, const char *text, struct error *err);
void cmd_list_clear(struct cmd_list *list);
/* Is `text`, or one of the `n` texts at `v`, in the list? An empty list stands for all. */
bool cmd_list_fits(const struct cmd_list *list, const char *text);
bool cmd_list_fits_one_of(const struct cmd_list *list, char *const *v, size_t n);

#define CMD_REASON_MAX 255 /* bytes of a --reason */

/* For the rows of tables, each with the type of its field. */
CMD_SETTER(cmd_set_reason); /* as cmd_set_text() */
CMD_SETTER(cmd_set_list);   /* struct cmd_list */
CMD_SETTER(cmd_set_hosts);  /* struct cmd_list */
CMD_SETTER(cmd_set_past);   /* int64_t, us UTC (parse_time.h) */

/* "OPTION=VALUE: " before the error; value NULL: "OPTION: ". -1. */
int cmd_blame(const char *option, const char *value, struct error *err);

/* The exit status that stands for the end of a job: its own, 128 + signal, EXIT_OWN_FAILURE where
 * it did not end by itself. Of an array the highest. */
int cmd_job_status(const char *state, uint32_t exit_code, uint32_t exit_signal);

/* Two options of which only one can be given: the rows of a table, one a command. */
struct cmd_pair {
	bool one, other; /* was it given? */
	const char *one_name, *other_name;
	const char *because; /* NULL: it is obvious */
};

/* ERR_USAGE, of the first that are both given: "--one and --other exclude each other: because" */
int cmd_check_pairs(const struct cmd_pair *pairs, size_t n, struct error *err);
#define CMD_PAIRS(pairs) (pairs), sizeof(pairs) / sizeof((pairs)[0])

/* The name of the user that runs this, or the uid if there is none. */
const char *cmd_user(char *buf, size_t size);

#endif
