/* signature_uses.h - how often a signature was used on this node
 *
 * A controller that an attacker has taken over can repeat what a user signed. So the launcher
 * counts, for each (uid, nonce, task), the runs that it started, and refuses more than the owner
 * allowed. The counts are in memory and in a file on disk (not synced: a power loss may take the
 * last seconds); entries are dropped when the signature is too old to be used anyway.
 *
 * The file is a list of rows of 40 bytes, each a change of one count, network byte order:
 *
 *      +----------+---------+--------------+---------------------+------------------+
 *      | 16 nonce | u32 uid | i32 change   | u64 signed at (UTC) | u64 checksum     |
 *      +----------+---------+--------------+---------------------+------------------+
 *
 * The highest 24 bits of the time are the task. In memory 64 neighbouring tasks share one entry: an
 * array of a million tasks costs as much as ten thousand jobs.
 *
 * Rows that do not match their checksum are skipped. A file that has grown is rewritten, shorter.
 *
 * The owner of a service allows so many starts a day instead, of all its tasks together. They are
 * counted as those of one task, whose number is that of the day, signed when the day began: so the
 * counts of past days are dropped like those of signatures that are too old.
 */
#ifndef NODED_SIGNATURE_USES_H
#define NODED_SIGNATURE_USES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/base/error.h"

#define SIGNATURE_NONCE_LEN 16
#define SIGNATURE_FILE      "starts"

#define SIGNATURE_DAY_S 86400 /* a day of UTC, since 1970 */

struct signature_uses;

/* The task under which starts of a service at this time are counted, and its time of signing. */
static inline uint32_t signature_uses_day(int64_t now_s)
{
	return now_s > 0 ? (uint32_t)(now_s / SIGNATURE_DAY_S) & 0xffffff : 0;
}

static inline int64_t signature_uses_day_began(int64_t now_s)
{
	return (int64_t)signature_uses_day(now_s) * SIGNATURE_DAY_S;
}

/* The oldest signature whose starts still matter, if signatures count up to this age. */
static inline int64_t signature_uses_oldest(int64_t now_s, uint64_t age_s)
{
	return age_s < SIGNATURE_DAY_S ? now_s - SIGNATURE_DAY_S : now_s - (int64_t)age_s;
}

/* Read the file in the directory, whose descriptor must outlive the result; drop signatures from
 * before `oldest` (seconds of UTC). NULL with ERR_SYSTEM or ERR_NO_SPACE. */
struct signature_uses *signature_uses_new(int dirfd, int64_t oldest, struct error *err);
void signature_uses_free(struct signature_uses *u); /* NULL is fine */

/* Count one more, or (change -1) one less, if nothing was executed after all. -1 with ERR_SYSTEM or
 * ERR_NO_SPACE, and the count is unchanged. */
int signature_uses_add(struct signature_uses *u, uid_t uid,
        const uint8_t nonce[SIGNATURE_NONCE_LEN], uint32_t task, int64_t signed_at, int change,
        struct error *err);

uint32_t signature_uses_of(const struct signature_uses *u, uid_t uid,
        const uint8_t nonce[SIGNATURE_NONCE_LEN], uint32_t task);

size_t signature_uses_entries(const struct signature_uses *u);

/* Drop signatures from before `oldest` and rewrite the file, if that makes it much shorter. */
int signature_uses_prune(struct signature_uses *u, int64_t oldest, struct error *err);

#endif
