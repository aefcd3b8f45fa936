/* filter.h - which jobs: the selecting options that gqueue, gcancel and gctl share */
#ifndef CMDS_FILTER_H
#define CMDS_FILTER_H

#include <stdbool.h>

#include "cmds/cli/cmd.h"
#include "cmds/cli/job_ids.h"
#include "common/base/error.h"
#include "common/gpusched.pb-c.h"

enum filter_what {
	FILTER_USERS,
	FILTER_ACCOUNTS,
	FILTER_PARTITIONS,
	FILTER_QOS,
	FILTER_STATES,
	FILTER_NAMES,
	FILTER_NODES,
	FILTER_LISTS,
	FILTER_IDS = FILTER_LISTS,
};

struct filter {
	struct cmd_list lists[FILTER_LISTS];
	struct cmd_ids ids;
	bool ended; /* also jobs that have ended */
	bool me;    /* the user is the one that runs this */
};

/* Add the value of `option` ("--user"). States are checked and made their long names, and a state
 * that is an end asks for ended jobs; nodes are checked, and left as they are written. ERR_USAGE;
 * the text begins with the option and its value. */
int filter_add(struct filter *f, enum filter_what what, const char *option, const char *value,
        struct error *err);

/* Only the user that runs this: ERR_USAGE if users are named too. */
int filter_add_me(struct filter *f, struct error *err);

/* The same for rows of tables (cmd.h), with enum filter_what as the row's `what`. */
CMD_SETTER(filter_set);
CMD_SETTER(filter_set_me);

/* Rows of a command's table that select jobs; `member` is its struct filter. */
#define FILTER_HEADING \
	CMD_HEADING("Which jobs (several restrict together; LIST has commas between):")
#define FILTER_ROW(type, member, name, letter, arg, what, help) \
	{ name, letter, arg, help, filter_set, offsetof(type, member), what, 0 }
#define FILTER_ME(type, member) \
	{ "me", 0, NULL, "My own", filter_set_me, offsetof(type, member), 0, 0 }
#define FILTER_USER(type, member) \
	FILTER_ROW(type, member, "user", 'u', "LIST", FILTER_USERS, "Of these users")
#define FILTER_ACCOUNT(type, member)                                       \
	FILTER_ROW(type, member, "account", 'A', "LIST", FILTER_ACCOUNTS, \
	        "Of these accounts, and all below them")
#define FILTER_PARTITION(type, member) \
	FILTER_ROW(type, member, "partition", 'p', "LIST", FILTER_PARTITIONS, "In these partitions")
#define FILTER_QOS_ROW(type, member) \
	FILTER_ROW(type, member, "qos", 'q', "LIST", FILTER_QOS, "With these qualities of service")
#define FILTER_STATE(type, member, name)                          \
	FILTER_ROW(type, member, name, 't', "LIST", FILTER_STATES, \
	        "In these states: PENDING or PD, RUNNING or R, ...")
#define FILTER_NAME(type, member) \
	FILTER_ROW(type, member, "name", 'n', "LIST", FILTER_NAMES, "With these names")
#define FILTER_NODE(type, member) \
	FILTER_ROW(type, member, "nodes", 'w', "NODES", FILTER_NODES, "On these nodes: n[01-04],m1")

bool filter_is_empty(const struct filter *f); /* it restricts nothing */

/* After a listing. A user that is not known on this host may have jobs all the same; if no job was
 * found (`any` is false) the name is a mistake: ERR_USAGE. */
int filter_check_users(const struct filter *f, bool any, struct error *err);

/* Some named objects do not exist: is the rest shown all the same? */
bool filter_is_partial(const struct error *err, bool any);

/* As a message that borrows from the filter. */
void filter_message(const struct filter *f, Gpusched__JobFilter *out);

void filter_clear(struct filter *f);

#endif
