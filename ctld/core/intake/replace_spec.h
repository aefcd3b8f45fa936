/* replace_spec.h - a job's owner replaces its signed spec by another one
 *
 * Only the owner can do this: a job runs exactly what its owner signed. The world has checked both
 * specs and lists their differences in a struct respec; the code here decides whether they are
 * allowed now:
 *
 *	what the program is started with (folder, files, arguments, environment, umask)
 *		of a waiting job; of an array, of all its waiting tasks: a running task continues
 *		as it was started, and uses the new spec if it is requeued
 *	the name
 *		of a running job, too
 *	max_attempts
 *		of an ended job, too, so that it can be requeued; never fewer than it has had
 *
 * The nonce stays, and with it the counts of the launchers (noded/runs/signature_uses.h).
 */
#ifndef CTLD_CORE_REPLACE_SPEC_H
#define CTLD_CORE_REPLACE_SPEC_H

#include <stddef.h>

struct core;
struct error;
struct job;
struct respec;

/* `own` is not a part of an array, and its spec is r->was. `names` becomes the list of changed
 * fields: "job-name, output". ERR_JOB_STATE, ERR_JOB_SPEC: nothing was changed. */
int job_respec(struct core *core, struct job *own, const struct respec *r, char *names, size_t size,
        struct error *err);

#endif
