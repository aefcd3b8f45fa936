/* filter.h - which jobs: the selecting options that gqueue, gcancel and gctl share */
#ifndef CMDS_FILTER_H
#define CMDS_FILTER_H

#include <stdbool.h>

#include "cmds/cli/cmd.h"
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

bool filter_is_empty(const struct filter *f); /* it restricts nothing */

/* After a listing. A user that is not known on this host may have jobs all the same; if no job was
 * found (`any` is false) the name is a mistake: ERR_USAGE. */
int filter_check_users(const struct filter *f, bool any, struct error *err);

/* Of what was named some is not there: is the rest shown all the same? */
bool filter_is_partial(const struct error *err, bool any);

/* As a message that borrows from the filter. */
void filter_message(const struct filter *f, Gpusched__JobFilter *out);

void filter_clear(struct filter *f);

#endif
