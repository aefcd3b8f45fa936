/* slurm_command_line.h - programs under Slurm's names: what all of them do alike
 *
 * All of them are one program (main.c), which goes by the name that it was started with. Each is a
 * row of `slurm_cmds`: its options as a table, its fields, and one function. They print what Slurm
 * 22.05 prints, since other programs parse it to the byte, and end with Slurm's exit statuses.
 *
 * An option has one of three verdicts: it means what it means in Slurm; it differs, and the row
 * says how; or there is none such, and the row says why: that sentence is the error. No option is
 * ignored in silence. gpusched-slurm(7) is made of these tables (manual.c).
 */
#ifndef CMDS_SLURM_COMMAND_LINE_H
#define CMDS_SLURM_COMMAND_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmds/api/client.h"
#include "cmds/cli/cmd.h"
#include "cmds/slurm_commands/field_format.h"
#include "cmds/views/filter.h"
#include "common/base/error.h"

#define SLURM_CMD_VERSION "slurm 22.05.8" /* whose words and formats these are */
#define SLURM_CMD_FAILED  1

/* NEXT: the value may miss; it may also be the next word. */
enum slurm_cmd_arg { SLURM_CMD_PLAIN, SLURM_CMD_VALUE, SLURM_CMD_MAY, SLURM_CMD_NEXT };
enum slurm_cmd_says { SLURM_CMD_YES, SLURM_CMD_DIFFERS, SLURM_CMD_NO };

struct slurm_cmd_option {
	const char *name;
	int letter; /* or 0 */
	enum slurm_cmd_arg arg;
	enum slurm_cmd_says says;
	const char *text; /* how it differs, or why there is none; NULL: as in Slurm */
	/* As a cmd_option has them (cmd.h): the same setters serve. An error's text stays as it is.
	 * NULL: there is nothing to set, because it is so anyway. */
	int (*set)(
	        void *field, const struct cmd_option *option, const char *value, struct error *err);
	size_t offset;
	unsigned what;
};
#define SLURM_CMD_ROW(type, member, name, letter, arg, set)                            \
	{                                                                              \
		name, letter, arg, SLURM_CMD_YES, NULL, set, offsetof(type, member), 0 \
	}
#define SLURM_CMD_FILTER(type, member, name, letter, what)                      \
	{                                                                       \
		name, letter, SLURM_CMD_VALUE, SLURM_CMD_YES, NULL, filter_set, \
		        offsetof(type, member), what                            \
	}
#define SLURM_CMD_CLUSTERS(type, member, name)                                         \
	{                                                                              \
		name, 'M', SLURM_CMD_VALUE, SLURM_CMD_DIFFERS, "this cluster, or all", \
		        cmd_set_text, offsetof(type, member), 0                        \
	}
#define SLURM_CMD_SAME(name, letter, arg)                          \
	{                                                          \
		name, letter, arg, SLURM_CMD_YES, NULL, NULL, 0, 0 \
	}
#define SLURM_CMD_NONE(name, letter, arg, text)                   \
	{                                                         \
		name, letter, arg, SLURM_CMD_NO, text, NULL, 0, 0 \
	}

CMD_SETTER(slurm_cmd_set_iterate);  /* uint64_t, seconds */
CMD_SETTER(slurm_cmd_set_parsable); /* struct fields_style: "|", also behind the last */

/* A word after the name: of scontrol, sacctmgr, sreport. */
struct slurm_cmd_word {
	const char *name;
	enum slurm_cmd_says says;
	const char *text;
};

struct slurm_cmd {
	const char *name, *about;
	const char *usage; /* behind "[OPTIONS]"; NULL: nothing */
	int (*run)(int argc, char **argv); /* the exit status */
	const struct slurm_cmd_option *(*options)(size_t *n);
	const struct slurm_cmd_field *(*fields)(size_t *n); /* NULL: it has none */
	const struct slurm_cmd_word *(*words)(size_t *n);   /* likewise */
};

extern const struct slurm_cmd slurm_cmds[];
extern const size_t n_slurm_cmds;
const struct slurm_cmd *slurm_cmd_find(const char *name);

/* Set what the option with that letter sets, as a variable of the environment does. */
int slurm_cmd_set(const struct slurm_cmd_option *options, int letter, const char *value,
        void *input, struct error *err);

/* Read the command line of the program with that name. `argument` takes what is no option; NULL:
 * there is nothing else. CMD_GO_ON, or the status to exit with. */
typedef int slurm_cmd_argument(const char *value, void *input, struct error *err);
int slurm_cmd_parse(
        const char *name, slurm_cmd_argument *argument, int argc, char **argv, void *input);

/* "NAME: error: TEXT". Returns SLURM_CMD_FAILED. */
int slurm_cmd_fail(const char *name, const struct error *err);
/* The same for a failed request: if the controller was not reached, the text is that of Slurm
 * ("slurm_load_jobs error: Unable to contact slurm controller (connect failure)"). */
int slurm_cmd_fail_load(const char *name, const char *call, const struct error *err);
bool slurm_cmd_unreachable(const struct error *err);
void slurm_cmd_say(const char *name, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Flush; `status`, or SLURM_CMD_FAILED with a message if not all could be written. */
int slurm_cmd_finish(const char *name, int status);

/* --clusters: 1 `value` is this cluster, or all; 0 with a message: it is another. */
int slurm_cmd_clusters(const char *name, const char *value, const char *cluster);

/* A client of the controller; `call` as for slurm_cmd_fail_load(), `clusters` the value of
 * --clusters or NULL. NULL with a message: there is none, or another cluster is meant. */
struct client *slurm_cmd_client(const char *name, const char *call, const char *clusters);
/* The name of that client's cluster, which lives as long as it does; before one is made "". */
const char *slurm_cmd_cluster(void);

/* For the field Cluster of any listing. */
void slurm_cmd_show_cluster(const void *object, struct view_cell *cell);

#endif
