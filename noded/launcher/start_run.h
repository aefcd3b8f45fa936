/* start_run.h - StartRun, from the first check to the shepherd
 *
 * A start belongs to its run (run.start) while the run is ASKED. It waits for munge, the user
 * database, the GPUs, memory and space; every refusal is final for the attempt.
 */
#ifndef NODED_START_RUN_H
#define NODED_START_RUN_H

#include <stddef.h>
#include <stdint.h>

#include "common/gpusched.pb-c.h"

struct launcher;
struct start;
struct starts;

struct starts *starts_new(void);
/* When no answer can come any more. NULL is fine. */
void starts_free(struct starts *s);
/* The controller accepts signatures up to this age, in seconds; 0: it has not said. The node's own
 * limit holds too. */
void starts_limit_age(struct starts *s, uint64_t age_s);

/* An order, as it was received: a packed StartRun. The answer is a report of the run. */
void start_order(struct launcher *l, const void *body, size_t len);

/* End it without an answer; the run is about to be freed or refused. NULL is fine. */
void start_cancel(struct start *s);

#endif
