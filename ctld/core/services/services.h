/* services.h - services: replicas that stay up, as many as are wanted, over updates
 *
 * A service is reconciled in steps: when a replica, its load, its node or the service has changed,
 * and when something is due. A step counts the replicas, asks the scaler how many are wanted
 * (scaler.h), divides them between the generations (rolling_update.h), allows so many slots of each
 * to run (array.h, at_once), and drains replicas beyond. The scheduler starts them: slots are tasks
 * of an array that wait, with their QOS, account and place in the queue.
 *
 *	PENDING -> CONFIGURING -> LOADING -> READY <-> UNREADY -> DRAINING -> PENDING
 *
 * A replica is LOADING from its start to its first READY, and DRAINING from the order to end. What
 * is READY or not is durable (run.h), so a restart of the controller changes no endpoint.
 */
#ifndef CTLD_CORE_SERVICES_H
#define CTLD_CORE_SERVICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/job/run.h"
#include "ctld/core/records/service.h"

struct caller;
struct core;
struct core_event;
struct error;
struct job;
struct run;
struct submit_job;

/* At the start, when jobs and runs are known. */
int services_start(struct core *core, struct error *err);
/* Steps of services that were touched or for which something is due, a slice of them. */
void services_apply(struct core *core);
usec_t services_due(const struct core *core); /* mono; INT64_MAX: nothing is due */

/* Can this job be the first or the next generation of the service that it names? */
int service_check(const struct core *core, const struct caller *caller, const struct submit_job *in,
        struct error *err);
/* Makes the new job the first or the next generation of the service that it names. */
void service_join(struct core *core, const struct caller *caller, struct job *own,
        const struct submit_job *in);

void service_control_apply(struct core *core, const struct core_event *e); /* EV_SERVICE_CONTROL */
void runs_load_apply(struct core *core, const struct core_event *e);       /* EV_RUNS_LOAD */

/* --- states and replicas --------------------------------------------------------------------- */

/* X(symbol, name) */
#define SERVICE_STATES(X)         \
	X(SERVICE_WAKING, "WAKING")     \
	X(SERVICE_SERVING, "SERVING")   \
	X(SERVICE_DEGRADED, "DEGRADED") \
	X(SERVICE_ROLLING, "ROLLING")   \
	X(SERVICE_IDLE, "IDLE")         \
	X(SERVICE_FAILING, "FAILING")   \
	X(SERVICE_PAUSED, "PAUSED")     \
	X(SERVICE_STOPPED, "STOPPED")

#define X(sym, name) sym,
enum service_state { SERVICE_STATES(X) SERVICE_STATE_COUNT };
#undef X

const char *service_state_name(enum service_state state);
/* `text` gets a sentence that says why it is not SERVING; "": it is. */
enum service_state service_state(
        const struct core *core, const struct service *s, char *text, size_t size);

/* X(symbol, name): also the order in which they are given up, first to last. */
#define REPLICA_STATES(X)                   \
	X(REPLICA_PENDING, "PENDING")         \
	X(REPLICA_CONFIGURING, "CONFIGURING") \
	X(REPLICA_LOADING, "LOADING")         \
	X(REPLICA_UNREADY, "UNREADY")         \
	X(REPLICA_READY, "READY")             \
	X(REPLICA_DRAINING, "DRAINING")

#define X(sym, name) sym,
enum replica_state { REPLICA_STATES(X) REPLICA_STATE_COUNT };
#undef X

const char *replica_state_name(enum replica_state state);

struct replica {
	const struct job *job; /* its slot */
	const struct run *run; /* NULL: PENDING */
	uint32_t slot;
	enum generation_role role;
	enum replica_state state;
	bool lost;   /* its node is unknown */
	bool serves; /* it is an endpoint */
	bool of_kept; /* for service_reconcile.c: its QOS is that of replicas that are kept */
};

/* Each slot of a service that has a record of its own, generation by generation, in no order within
 * it. `at` is all 0 at first. False: no more. */
struct replica_walk {
	int role;
	uint32_t part;
};
bool service_each(const struct service *s, struct replica_walk *at, struct replica *r);

/* The number of slots in a partition that are pending but that no service wants at present; `most`
 * at most. */
uint32_t services_in_reserve(const struct core *core, const char *partition, uint32_t most);

#endif
