/* replica_status.h - what replicas of services say of themselves, on its way to the agent
 *
 * A shepherd writes it into the run's notes (shepherd/gprobe_messages.h). A change of health
 * becomes a report of the run at once. Load goes in one message for all runs, RunsLoad, at most
 * once in REPLICAS_PAUSE; a load that stays the same is repeated after REPLICAS_AGAIN, for a
 * controller that has come up meanwhile.
 */
#ifndef NODED_REPLICA_STATUS_H
#define NODED_REPLICA_STATUS_H

#include <stdbool.h>

#include "common/gpusched.pb-c.h"
#include "common/job/run.h"

#define REPLICAS_PAUSE ((usec_t)1000000)
#define REPLICAS_AGAIN ((usec_t)10000000)

struct launcher;
struct replicas;
struct run;

struct replicas *replicas_new(struct launcher *l);
void replicas_free(struct replicas *p); /* NULL is fine */

/* Take over a run's notes, which were just read. True: its health has changed. */
bool replicas_take(struct run *r, const Gpusched__NotesRecord *notes);

#endif
