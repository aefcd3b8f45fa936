/* controller_impl.h - the inside of controller.h, for its files
 *
 *	controller.c		the tick, commits, agents, its life
 *	controller_submit.c	what ctld/rpc does with submits, bulks, signatures, reports of steps
 *	controller_services.c	services: requests of their owners, and what it says of them
 *	controller_look.c	what it says, lists and keeps, as facts
 */
#ifndef TESTSUITE_SIM_CONTROLLER_IMPL_H
#define TESTSUITE_SIM_CONTROLLER_IMPL_H

#include "common/base/arena.h"
#include "common/gpusched.pb-c.h"
#include "ctld/core/core.h"
#include "ctld/loop/commit_gate.h"
#include "ctld/store/store.h"
#include "testsuite/sim/controller.h"

struct sim_bulk;

struct peer {
	uint64_t link;
	int node; /* -1: a user */
	uint32_t uid;
	bool open;
};

/* A start that waits for its signed bytes. */
struct pending_start {
	struct commit_gate_slot *slot;
	uint8_t *bytes; /* the order, packed, without them */
	size_t len;
	struct pending_start *next;
};

struct blob {
	struct store_blob b; /* `resigned`: its credential alone, in place of the one before */
	bool resigned;
	void *bytes; /* that `b` points to; owned */
	struct blob *next;
};

/* A replica's row that is on its way to the database. */
struct kept_run {
	struct run_id id;
	bool ending, over;
	struct kept_run *next;
};

struct sim_controller {
	struct sim_controller_options o;
	struct core *core; /* NULL: it is down */
	struct store *store;
	struct commit_gate *gate;
	struct arena *in, *out, *spec;
	unsigned life;
	struct peer *peers;
	size_t n_peers;
	struct blob *blobs;           /* for the next batch, in their order */
	struct pending_start *starts; /* wanted with the next batch */
	struct pending_start *wanted; /* wanted with the batch in flight */
	struct store_batch *in_flight, *sealing;
	uint64_t sealed_change, sealed_hash;
	uint64_t committed_hash;
	bool has_committed;
	bool restored;          /* the next start is that of a state that was restored, */
	uint64_t lost_next_job; /* of a cluster in which this was the next id */
	struct kept_run *kept; /* in the batch in flight */
	/* In this tick: a READY replica was ordered to end; an owner asked for an undo; older orders
	 * were sent again. */
	bool ordered, undoing, repeating;
	usec_t timer;
	/* Parts that wait to be asked for, and bulks in the order in which they were; the first of
	 * those is in the core. */
	struct sim_bulk *parts, *bulks;
	struct sim_controller_stats stats;
};

void sim_bug(const char *what, const struct error *err) __attribute__((noreturn));
struct peer *sim_peer(struct sim_controller *c, uint64_t link); /* NULL: it has gone */
struct caller sim_caller(const struct peer *peer);
void sim_tick(struct sim_controller *c);

/* To a peer, once that change is committed. */
void sim_put(struct sim_controller *c, uint64_t session, uint64_t change, unsigned type,
        const void *message);
void sim_reply(struct sim_controller *c, uint64_t link, uint64_t change, const struct error *err);

/* --- controller_submit.c --------------------------------------------------------------------- */

int sim_take_submit(struct sim_controller *c, const struct peer *peer, const Gpusched__Submit *m,
        struct error *err);
/* All parts of it are here (one, in this world): it goes through the core in slices, one after
 * another and behind other bulks. */
int sim_take_bulk(struct sim_controller *c, const struct peer *peer, const Gpusched__SubmitBulk *m,
        struct error *err);
/* A job that was accepted is signed anew. */
int sim_take_resign(struct sim_controller *c, const struct peer *peer, const Gpusched__Resign *m,
        struct error *err);
/* What is new of the steps of a job. */
int sim_take_step_reports(struct sim_controller *c, const struct peer *peer,
        const Gpusched__StepReports *m, struct error *err);
void sim_bulk_stepped(struct sim_controller *c, const struct effect *effect);
void sim_bulks_free(struct sim_controller *c);

/* --- controller_services.c ------------------------------------------------------------------- */

int sim_take_service_control(struct sim_controller *c, const struct peer *peer,
        const Gpusched__ServiceControl *m, struct error *err);
int sim_take_list_services(struct sim_controller *c, const struct peer *peer,
        const Gpusched__ListServices *m, struct error *err);
/* An order of a run is on its way: it is a replica, or one is to end. */
void sim_service_start(struct sim_controller *c, struct run_id run);
void sim_service_end(struct sim_controller *c, const struct effect *f);
/* All effects of a tick are on their way. */
void sim_services_ticked(struct sim_controller *c);
/* A row is on its way to the database; all of those are there, or (lost) will never be. */
void sim_service_row(struct sim_controller *c, const struct row *row);
void sim_services_committed(struct sim_controller *c, bool lost);

#endif
