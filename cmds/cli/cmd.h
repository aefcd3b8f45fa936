/* cmd.h - what all commands do alike: options, --help, errors, exit status
 *
 * An error is one line on stderr, "COMMAND: error: TEXT", and perhaps a line "hint: ...". The exit
 * status comes from its code (common/base/error.h). Warnings go to stderr as errors do. Advice goes to
 * stderr too, but only to a terminal.
 */
#ifndef CMDS_CMD_H
#define CMDS_CMD_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "cmds/api/client.h"
#include "common/base/error.h"
#include "common/base/taskset.h"
#include "common/gpusched.pb-c.h"

struct cmd {
	const char *name;
	const char *arguments; /* "[ID...]" */
	const char *about;     /* one paragraph */
	const char *examples;  /* and what else stands below the options */
	const struct argp_option *options;
	/* An option's key with its value, or ARGP_KEY_ARG with an argument. -1 with `err`. */
	int (*take)(int key, char *value, struct argp_state *state, void *input, struct error *err);
	void (*more_help)(FILE *out); /* below all of it; may be NULL */
	bool in_order;                /* options end at the first argument */
};

#define CMD_GO_ON (-1)

/* Read the command line. CMD_GO_ON, or the status to exit with: --help and --version are done, or
 * an error was printed. `input` is handed to cmd->take. */
int cmd_parse(const struct cmd *cmd, int argc, char **argv, void *input);

/* Print it; returns the exit status. */
int cmd_fail(const struct cmd *cmd, const struct error *err);

/* One line of advice, if stderr is a terminal. */
void cmd_advise(const struct cmd *cmd, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* One line that must not be missed, whatever stderr is: "COMMAND: warning: ...". */
void cmd_warn(const struct cmd *cmd, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Say it that way when a client has to try again. `cmd` is borrowed as long as the client lives. */
void cmd_tell_retry(const struct cmd *cmd, struct client *c);

/* Print the warnings of answers. `cmd` is borrowed likewise. */
void cmd_tell_warnings(const struct cmd *cmd, struct client *c);

/* Everything that was printed must have arrived. Returns `status`, or what a failure asks for. */
int cmd_finish(const struct cmd *cmd, int status);

/* All of a command that lists, in the user's locale: takes the options, runs, and says what went
 * wrong. Returns the exit status. */
int cmd_list(const struct cmd *cmd, int argc, char **argv, void *input,
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

/* Jobs by number; of an array perhaps only some tasks: 123_7, 123_[3-9,12].
 *
 * One rule for all commands that take several: what there is of them is shown or done, each that
 * there is not is named (of an array each task), and the exit status is that of ERR_NO_JOB (3). */
struct cmd_id {
	uint64_t id;
	bool some; /* only tasks of it, `left` of which were not seen */
	bool seen; /* cmd_ids_saw() was told of all of it */
	struct taskset left;
};
struct cmd_ids {
	struct cmd_id *v; /* all of them */
	size_t n;
	uint64_t *whole; /* those that are meant as a whole */
	size_t n_whole;
	Gpusched__JobTasks **some; /* the others */
	size_t n_some;
};

/* Ids with commas between. */
int cmd_ids_add(struct cmd_ids *ids, const char *text, struct error *err);
void cmd_ids_clear(struct cmd_ids *ids);

/* The answer has this job; of an array these tasks ("" in any other). */
void cmd_ids_saw(struct cmd_ids *ids, uint64_t id, const char *tasks);
/* Was it asked for, and not seen yet? */
bool cmd_ids_miss(const struct cmd_ids *ids, uint64_t id, const char *tasks);
/* The end of the answer, which was `rc` with its error: as it is, or ERR_NO_JOB with the numbers
 * that were not seen and `why` ("not known"). */
int cmd_ids_end(struct cmd_ids *ids, int rc, const char *why, struct error *err);

/* What the end of a job is as an exit status: its own, 128 + signal, EXIT_OWN_FAILURE where it did
 * not end by itself. Of an array the highest. */
int cmd_job_status(const char *state, uint32_t exit_code, uint32_t exit_signal);

/* Two options of which only one can be given: the rows of a table, one a command. */
struct cmd_pair {
	bool one, other; /* was it given? */
	const char *one_name, *other_name;
	const char *because; /* NULL: it goes without saying */
};

/* ERR_USAGE, of the first that are both given: "--one and --other exclude each other: because" */
int cmd_check_pairs(const struct cmd_pair *pairs, size_t n, struct error *err);
#define CMD_PAIRS(pairs) (pairs), sizeof(pairs) / sizeof((pairs)[0])

/* For cmd->take: an argument where there can be none. */
int cmd_no_argument(const char *value, struct error *err);

/* The name of the user that runs this, or the uid if there is none. */
const char *cmd_user(char *buf, size_t size);

#endif
