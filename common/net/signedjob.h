/* signedjob.h - the signed job: what binds a job to its owner
 *
 * The client serialises a SignedSpec once. One munge credential signs up to SIGNEDJOB_MAX specs:
 * its payload is the tag and the BLAKE2b-256 of each spec's bytes, in order:
 *
 *      +-------------------+----------+----------+-----
 *      | 14 gpusched-job-1 | 32 bytes | 32 bytes | ...
 *      +-------------------+----------+----------+-----
 *
 * The same bytes are checked twice: by the controller, which demands a fresh credential, and by the
 * launcher on the node, which takes one that has expired or was seen before (munge vouches for
 * payload, uid and gid all the same) but limits its age. What is signed is in gpusched.proto; what
 * makes a spec acceptable is here, once, for client, controller and launcher.
 *
 * Every user may decode a job credential (the nodes' launchers must); it has hashes and no secret.
 *
 * Pure functions. Errors: ERR_SIGNATURE (credential and job do not belong together), ERR_JOB_SPEC
 * (signed, but not acceptable), ERR_MUNGE_CLOCK (not fresh).
 */
#ifndef COMMON_SIGNEDJOB_H
#define COMMON_SIGNEDJOB_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/arena.h"
#include "common/base/error.h"
#include "common/gpusched.pb-c.h"
#include "common/net/msg.h"
#include "common/net/munge.h"

#define SIGNEDJOB_TAG         "gpusched-job-1"
#define SIGNEDJOB_TAG_LEN     14 /* no NUL */
#define SIGNEDJOB_VERSION     1
#define SIGNEDJOB_INTERACTIVE 2 /* the version of a spec that is interactive, and of no other */
#define SIGNEDJOB_STEPS       3 /* the version of a spec with steps, and of no other */
#define SIGNEDJOB_HASH_LEN    32
#define SIGNEDJOB_NONCE_LEN   16
#define SIGNEDJOB_MAX         MSG_SUBMIT_JOBS
#define SIGNEDJOB_PAYLOAD_MAX (SIGNEDJOB_TAG_LEN + SIGNEDJOB_MAX * SIGNEDJOB_HASH_LEN)

#define SIGNEDJOB_NAME_MAX     255
#define SIGNEDJOB_PATH_MAX     4095             /* PATH_MAX with its NUL */
#define SIGNEDJOB_ARG_MAX      (128 * 1024 - 1) /* the kernel's MAX_ARG_STRLEN, for execve(2) */
#define SIGNEDJOB_ARGS_MAX     (1024 * 1024) /* arguments and environment: half of ARG_MAX */
#define SIGNEDJOB_ATTEMPTS_MAX 1000
#define SIGNEDJOB_ATTEMPT_LAST 1000000           /* orders lost once a second for eleven days */
#define SIGNEDJOB_WINDOW_MAX   65535             /* rows or columns */
#define SIGNEDJOB_SPEC_MAX     (2 * 1024 * 1024) /* a whole spec, serialised */

struct signedjob_hash {
	uint8_t b[SIGNEDJOB_HASH_LEN];
};

/* BLAKE2b-256 of `len` bytes: of a serialised spec, and of a script for its script_hash. */
struct signedjob_hash signedjob_hash(const void *bytes, size_t len);

/* What the credential of `n` (1 to SIGNEDJOB_MAX) specs signs. Returns its length. */
size_t signedjob_payload(
        const struct signedjob_hash *hashes, size_t n, uint8_t out[SIGNEDJOB_PAYLOAD_MAX]);

/* Is it a job credential at all: the tag, whole hashes, AES-256? Returns the number of specs that
 * it signs, -1 with ERR_SIGNATURE. */
int signedjob_cred_check(const struct mcred *cred, struct error *err);

/* May it be used for a submit now? A credential seen before is fine, since a repeated submit is
 * answered and not repeated. -1 with ERR_MUNGE_CLOCK. */
int signedjob_cred_fresh(const struct mcred *cred, struct error *err);

/* Is a job that was signed then still to be started? -1 with ERR_SIGNATURE when its age is more
 * than `max_age_s` or it is more than five minutes from the future. */
int signedjob_cred_age(
        const struct mcred *cred, int64_t now_s, uint64_t max_age_s, struct error *err);

/* One job as it travels: borrowed bytes. */
struct signedjob {
	const void *spec;
	size_t spec_len;
	const void *script;
	size_t script_len;
};

/* Everything that both ends demand of a job: its hash is signed by `cred`, it decodes without an
 * unknown field, it was signed for `cluster` by the credential's uid and gid, the script is the one
 * that was signed, and every field is acceptable (signedjob_spec_check). On success *spec lives in
 * `arena` (which is not reset) and *hash is the spec's. Call signedjob_cred_check() first. */
int signedjob_check(const struct mcred *cred, const char *cluster, const struct signedjob *job,
        struct arena *arena, Gpusched__SignedSpec **spec, struct signedjob_hash *hash,
        struct error *err);

/* The same for a spec without its script, which is not available: for a spec that its owner puts
 * in place of another (Resign), which must have the same script_hash. */
int signedjob_check_spec(const struct mcred *cred, const char *cluster, const void *bytes,
        size_t len, struct arena *arena, Gpusched__SignedSpec **spec, struct signedjob_hash *hash,
        struct error *err);

/* The fields alone: version, lengths, an absolute cwd, NAME=value, no NULs, sizes that execve(2)
 * can take, a service (signedservice.h). For the client before it signs. -1 with ERR_JOB_SPEC
 * naming the field. */
int signedjob_spec_check(const Gpusched__SignedSpec *spec, struct error *err);

/* Is it a script: not empty, at most `max` bytes, begins with #! and a program, no CR at the end of
 * that line, no NUL anywhere? -1 with ERR_JOB_SPEC. */
int signedjob_script_check(const void *script, size_t len, uint64_t max, struct error *err);

/* Can such a job have this run: a task of its array, or task 0 of a job that is none, and an
 * attempt from 1 to SIGNEDJOB_ATTEMPT_LAST? -1 with ERR_SIGNATURE. Attempts whose order was lost
 * do not count, so the number says nothing about max_attempts: the launcher counts the starts
 * (noded/runs/signature_uses.h). */
int signedjob_run_check(
        const Gpusched__SignedSpec *spec, uint32_t task, uint32_t attempt, struct error *err);

#endif
