/* nonce.h - which submits have been accepted: (uid, nonce) -> job
 *
 * A submit that is repeated with its nonce gets the job id of the first time; with other bytes it
 * is refused. The accepted bytes are those that were submitted, and those by which the owner has
 * replaced them since (replace_spec.h). A nonce is kept as long as its job is in memory, and at
 * least NONCE_KEEP after the submit. A job borrows its nonce, and its row has nonce and hash; the
 * nonce gets a row of its own only if its job leaves memory before the nonce expires.
 */
#ifndef CTLD_CORE_NONCE_H
#define CTLD_CORE_NONCE_H

#include "common/base/error.h"
#include "common/job/run.h"
#include "ctld/core/rows/dirty.h"

#define NONCE_KEEP ((usec_t)3600 * 1000000)

#define NONCE_BYTES 16
#define HASH_BYTES  32

struct nonce {
	struct mark mark;
	uint32_t uid;
	uint32_t slot; /* in the heap of what expires; HEAP_NOWHERE: has */
	bool job_gone;
	uint8_t nonce[NONCE_BYTES];
	uint8_t spec_hash[HASH_BYTES];
	/* NULL, or owned: its owner has replaced the submitted spec by another one. In the form of
	 * the rows: spec_hash, followed by the hash of what was submitted. */
	uint8_t *changed;
	uint64_t job;
	usec_t expires; /* wall */
};

struct nonces;

struct nonces *nonces_new(struct dirty *dirty, uint64_t seed);
void nonces_free(struct nonces *ns); /* NULL is fine */

const struct nonce *nonces_find(const struct nonces *ns, uint32_t uid, const uint8_t *nonce);
const struct nonce *nonces_add(struct nonces *ns, uint32_t uid, const uint8_t *nonce,
        const uint8_t *spec_hash, uint64_t job, struct clocks now);
/* Is this the spec's hash, or that of what was submitted? */
bool nonce_is_of(const struct nonce *nonce, const uint8_t *spec_hash);
/* Its owner has signed another spec. */
void nonces_respec(const struct nonce *nonce, const uint8_t *spec_hash);
/* What rows have as spec_hash: HASH_BYTES, or two hashes. Borrowed. */
struct value nonce_hashes(const struct nonce *nonce);
bool nonce_hashes_fit(const struct value *v);
/* The same for a job that has no id yet: `job` is 0 until it gets one, or the nonce is removed. */
const struct nonce *nonces_stage(
        struct nonces *ns, uint32_t uid, const uint8_t *nonce, const uint8_t *spec_hash);
void nonces_settle(struct nonces *ns, const struct nonce *nonce, uint64_t job, struct clocks now);
void nonces_unstage(struct nonces *ns, const struct nonce *nonce);
/* The job has left memory: the nonce goes too, now or when it expires. */
void nonces_job_gone(struct nonces *ns, const struct nonce *nonce);

/* Forget up to `max` that have expired; when the next one will (mono), INT64_MAX: never. */
void nonces_expire(struct nonces *ns, struct clocks now, unsigned max);
usec_t nonces_next(const struct nonces *ns);

/* Rows. A job's row comes before its nonce's: it creates the nonce, with the submit time. Earlier
 * versions also wrote a row for each nonce. */
const struct nonce *nonces_load_job(struct nonces *ns, uint32_t uid, const uint8_t *nonce,
        const struct value *hashes, uint64_t job, usec_t submit_time, struct error *err);
int nonces_load(struct nonces *ns, const struct row *row, struct error *err);
void nonces_start(struct nonces *ns, struct clocks now);
void nonce_encode(const struct nonce *nonce, struct row *row, enum row_change change);
void nonce_free(struct nonce *nonce);

uint64_t nonces_hash(const struct nonces *ns);

#endif
