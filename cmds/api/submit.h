/* submit.h - jobs on their way to the controller
 *
 * A group of specs is checked, serialised, signed by one credential and packed into one frame. The
 * frame is kept until its answer is there: after a break the frames without an answer are sent
 * again as they are, which is safe because each job carries a nonce. Only a credential that has
 * become too old is made anew; the signed bytes never change.
 *
 * A queue uses its client's connection alone while anything is under way.
 */
#ifndef CMDS_SUBMIT_H
#define CMDS_SUBMIT_H

#include <stddef.h>
#include <stdint.h>

#include "cmds/api/client.h"
#include "cmds/api/gpusched.h"
#include "cmds/api/spec.h"
#include "common/gpusched.pb-c.h"

struct submit_queue;

struct submit_queue *submit_queue_new(struct client *c); /* `c` is borrowed */
void submit_queue_free(struct submit_queue *q);          /* NULL is fine */

size_t submit_under_way(const struct submit_queue *q); /* groups without an answer taken */

/* As gpusched_submit_send() and gpusched_submit_receive(). */
int submit_send(struct submit_queue *q, const struct gpusched_spec *specs, size_t n, uint64_t tag,
        struct error *err);

/* The same of a part of a bulk (bulk.h): its answer has no ids. */
int submit_send_part(struct submit_queue *q, const struct gpusched_spec *specs, size_t n,
        uint64_t tag, uint64_t bulk, struct error *err);

struct submit_answer {
	uint64_t tag;
	const uint64_t *ids; /* of the queue, until the next call */
	size_t n;
	struct error error; /* code 0: accepted */
};
int submit_receive(
        struct submit_queue *q, struct submit_answer *out, int timeout_ms, struct error *err);

/* Send one, wait for the answer, and set `id`. `service`: of a job that is a generation of one;
 * else NULL. */
int submit_one(struct client *c, const struct gpusched_spec *spec,
        const struct spec_service *service, uint64_t *id, struct error *err);

/* As gpusched_submit_poll(). */
int submit_poll(const struct submit_queue *q, short *events);

/* Forget the groups that are under way, and the connection with them. */
void submit_forget(struct submit_queue *q);

/* Sign one, and send nothing: the Submit that would be sent, packed, for another program that hands
 * it in within the life of a munge credential (5 minutes). *body is the caller's. */
int submit_sign(struct client *c, const struct gpusched_spec *spec,
        const struct spec_service *service, uint8_t **body, size_t *len, struct error *err);

/* Ask what would become of such a job; the result is gone when on_result returns. */
int submit_test(struct client *c, const struct gpusched_spec *spec,
        const struct spec_service *service,
        void (*on_result)(const Gpusched__SubmitResult *result, void *arg), void *arg,
        struct error *err);

#endif
