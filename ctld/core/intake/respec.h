/* respec.h - an owner puts another spec in place of the one that he had signed
 *
 * Only he can: what runs is what its owner signed. The world has checked both specs and says in a
 * struct respec what differs; here it is decided whether that may be so now.
 *
 *	what the program is started with (folder, files, arguments, environment, umask)
 *		of what waits; of an array, of all its tasks that wait: one that runs goes on as it
 *		began, and is started with the new spec when it waits again
 *	the name
 *		also of what runs
 *	max_attempts
 *		also of what has ended, so that it can be requeued; never fewer than there were
 *
 * The nonce stays, and with it what launchers have counted (noded/launcher/uses.h).
 */
#ifndef CTLD_CORE_RESPEC_H
#define CTLD_CORE_RESPEC_H

#include "ctld/core/internal.h"

/* `own` is no array's part, and its spec is r->was. `names` gets what was changed: "job-name,
 * output". ERR_JOB_STATE, ERR_JOB_SPEC: nothing was. */
int job_respec(struct core *core, struct job *own, const struct respec *r, char *names, size_t size,
        struct error *err);

#endif
