/* submit_read.h - a Submit that the workers have read and checked */
#ifndef CTLD_RPC_SUBMIT_READ_H
#define CTLD_RPC_SUBMIT_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "common/base/arena.h"
#include "common/base/error.h"
#include "common/gpusched.pb-c.h"
#include "ctld/core/rows/event.h"

struct ctld;

/* One submit, from its frame to the core's answer. The worker touches this and nothing else. */
struct submit {
	STAILQ_ENTRY(submit) next; /* of its peer, until it is applied; then of its bulk */
	bool ready, orphan;        /* the worker is through with it; the peer has gone */
	struct ctld *c;
	uint64_t session, id;
	uid_t uid;
	unsigned standing; /* of the caller */
	char *cluster;
	uint64_t max_script;
	uint8_t *body;
	size_t len;
	struct arena *arena, *specs;
	Gpusched__Submit *msg;   /* in `arena` */
	struct submit_job *jobs; /* in `specs`; as many as msg->n_jobs */
	bool wants_mail;         /* one of them does */
	uint64_t charged;        /* bytes that storing it takes, charged to the user */
	struct error error;      /* code 0: none */
};

void submit_free(void *submit);

/* In a worker: decode it, and check all that is signed. */
int submit_read(struct submit *s, struct error *err);

/* Charges the bytes that it would store to its user until the submit is freed: by then the blobs
 * are charged, or there are none. -1: the user's budget does not allow so much. */
int submit_charge(struct submit *s, struct error *err);

static inline bool submit_depends(const struct submit_job *job)
{
	return job->depends && *job->depends;
}

/* Can a job that was just taken in never start, since what it depends on ended otherwise? Then
 * `text` says what happens to it. */
#define SUBMIT_NEVER_TEXT 600
bool submit_never(struct ctld *c, uint64_t id, char text[SUBMIT_NEVER_TEXT]);

/* Passes what was signed to the script cache, for the store and for launches, except for jobs that
 * are already known. */
void submit_keep_blobs(
        struct ctld *c, const struct submit *s, const uint64_t *ids, const bool *known);

#endif
