/* renew_signature.h - the owner signs jobs again, before or after their signature is too old
 *
 * The controller sends what is to be signed, and it is not trusted: the old credential comes with
 * it, munge says which user made that, and the job is checked against it as the launcher would do
 * (signedjob.h). So this user signs only what the same user has signed before, for this cluster
 * and byte by byte. A false controller can at most have another job of the same user signed again;
 * therefore the command prints the name and time of what was signed.
 *
 * A job that was signed with a munge key that this host no longer has cannot be checked in this
 * way. It is signed as the controller shows it only if its owner says `unchecked`.
 *
 * A job that was checked may be changed before it is signed: then the owner signs another spec in
 * its place, which the controller accepts where it is allowed (ctld/core/intake/replace_spec.h).
 */
#ifndef CMDS_RENEW_SIGNATURE_H
#define CMDS_RENEW_SIGNATURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmds/api/client.h"

/* The changes to the spec; NULL or 0: unchanged. */
struct respecification {
	const char *name, *cwd, *input, *output, *error; /* borrowed */
	char *const *env;                                /* NULL behind the last */
	bool open_mode, append;                          /* append, if open_mode says so */
	bool no_summary;
	bool said_show_output, show_output; /* the second, if the first says so */
	uint32_t max_attempts;
};

/* The result for one job. */
struct renewed_signature {
	uint64_t job;
	const char *name;          /* as it was signed */
	int64_t before;            /* when that was, s UTC; 0: nothing says so (unchecked) */
	const struct error *error; /* NULL: it is signed anew; else name is "" and before 0 */
};

/* The request. `change` NULL: the spec stays as it is; `reason`, for the audit trail, may be "". */
struct renew_request {
	const struct respecification *change;
	const char *reason;
	bool unchecked;
};

/* Each job is reported once, in any order; a job that cannot be signed does not stop the others.
 * Returns how many were signed; -1 with `err` if the controller was lost or makes no sense. */
int renew_signatures(struct client *c, const uint64_t *jobs, size_t n,
        const struct renew_request *wish,
        void (*tell)(const struct renewed_signature *r, void *arg), void *arg, struct error *err);

/* The same of ids as a user names them, for gctl (gctl_renew.c): prints the result for each.
 * Returns the exit status, with *done as above, or -1. */
struct cmd_ids;
int gctl_renew_ids(struct client *client, const struct cmd_ids *ids,
        const struct renew_request *wish, int *done, struct error *err);

#endif
