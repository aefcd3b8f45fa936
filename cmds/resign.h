/* resign.h - the owner of jobs signs them anew, before their signature is too old or when it is
 *
 * What is to be signed comes from the controller, and it is not believed: the old credential comes
 * with it, munge says who made that, and the job is checked against it as the launcher would do
 * (signedjob.h). So nothing is signed that this user has not signed before, for this cluster and
 * byte by byte. What a controller that lies can do is to have another job of the same user's signed
 * once more; hence name and time of what was signed are told.
 */
#ifndef CMDS_RESIGN_H
#define CMDS_RESIGN_H

#include <stddef.h>
#include <stdint.h>

#include "cmds/client.h"

/* What became of one job. */
struct resigned {
	uint64_t job;
	const char *name;          /* as it was signed */
	int64_t before;            /* when that was, s UTC */
	const struct error *error; /* NULL: it is signed anew; else name is "" and before 0 */
};

/* Each job is told of once, in any order; those that cannot be signed hinder no other. `reason`,
 * for the audit trail, may be "". Returns how many were signed; -1 with `err` if the controller was
 * lost or makes no sense. */
int resign_jobs(struct client *c, const uint64_t *jobs, size_t n, const char *reason,
        void (*tell)(const struct resigned *r, void *arg), void *arg, struct error *err);

#endif
