/* accounts.h - what accounts and their users hold now, beside their shares
 *
 * Pure. A line of an account has the sums of all below it, as its share has.
 */
#ifndef CMDS_TOP_MODEL_ACCOUNTS_H
#define CMDS_TOP_MODEL_ACCOUNTS_H

#include "cmds/cli/view.h"
#include "cmds/top/model/model.h"

/* An account or a user in it, with what runs and waits now. */
struct account_line {
	const Gpusched__Share *share;
	uint64_t held, running, waiting; /* GPUs; jobs */
};

/* As many as the model has shares, in their order; the caller frees. */
struct account_line *accounts_make(const struct model *m);

extern const struct view_kind account_kind; /* of struct account_line */

#endif
