/* spec_changes.h - two specs of one job side by side: what has its owner changed, and may it be
 * changed?
 *
 * One table in spec_changes.c has a row for each field of SignedSpec and says whether it may
 * differ. Fields that other decisions rely on (array, script) may not, nor those that identify the
 * job (nonce, uid, gid, cluster). Pure: runs in a worker.
 */
#ifndef CTLD_RPC_SPEC_CHANGES_H
#define CTLD_RPC_SPEC_CHANGES_H

#include "common/base/arena.h"
#include "common/base/error.h"
#include "common/net/munge.h"
#include "ctld/core/rows/event.h"

/* A spec as it travels, borrowed. */
struct spec_bytes {
	const void *p; /* NULL: there is none */
	size_t len;
};

/* `is`, which `cred` must sign, in place of `was`, which was checked when it came. What is in *out
 * borrows from `arena`. ERR_SIGNATURE, ERR_JOB_SPEC. Call signedjob_cred_check() first. */
int respec_compare(const struct mcred *cred, const char *cluster, struct spec_bytes was,
        struct spec_bytes is, struct arena *arena, struct respec *out, struct error *err);

#endif
