/* controller.h - a simulated gctld: the real core, gate, conversions and store around virtual time
 *
 * What gctld's main.c, tick.c and agents.c wire with libevent is wired here with the engine: the
 * same core, the same gate in front of everything that leaves, the same messages (really encoded),
 * the same SQL. The store runs without its thread: a batch is sealed, takes a while, and is then
 * committed; a crash in between either has it or has it not.
 *
 * After each event the core must pass core_check(). After each commit, and after each restart, a
 * core loaded from the database must have the core_hash() of the one that was sealed; after a
 * commit it must also start and pass core_check(): whatever instant a crash comes at, that is what
 * it leaves.
 */
#ifndef TESTSUITE_SIM_CONTROLLER_H
#define TESTSUITE_SIM_CONTROLLER_H

#include <stdio.h>

#include "common/conf/conf.h"
#include "common/net/munge.h"
#include "testsuite/sim/checker.h"
#include "testsuite/sim/engine.h"
#include "testsuite/sim/fault_vfs.h"

struct sim_controller;

struct sim_controller_options {
	struct engine *engine;
	struct checker *checker;
	const struct conf *conf;
	const char *dir; /* where state.db is (its lock is a real file) */
	const char *vfs_name;
	struct fault_vfs *vfs;
	const struct mcred_ops *mcred;  /* the controller's user */
	usec_t commit_low, commit_high; /* how long a commit takes */
	struct link_faults faults;      /* of new links */
	bool services;                  /* there are some */
	/* The site's fence program was called for a node: make sure it is off, then
	 * sim_controller_fenced. */
	void (*fence)(void *arg, unsigned node);
	void *arg;
};

struct sim_controller *sim_controller_new(const struct sim_controller_options *options);
void sim_controller_free(struct sim_controller *c);

void sim_controller_start(struct sim_controller *c); /* nothing if it is up */
/* Die at once. `power`: what was not synced is lost too (in part). */
void sim_controller_crash(struct sim_controller *c, bool power);
/* Keep a copy of state.db as it is; false if the controller is down. */
bool sim_controller_back_up(struct sim_controller *c);
/* Die, lose state.db, get that copy back and take charge all the same. */
void sim_controller_restore(struct sim_controller *c);
bool sim_controller_is_up(const struct sim_controller *c);

/* Open a link to it; 0 when it is down. Node -1: a user, who is `uid`. */
uint64_t sim_controller_connect(
        struct sim_controller *c, int node, uint32_t uid, const struct link_ops *ops, void *owner);

/* An operator gives a GPU back, or (GPU -1) all of a node that is drained; nothing if it is down.
 */
void sim_controller_resume(struct sim_controller *c, unsigned node, int gpu);
/* The GPUs of the node that it gives to nobody though they are there; all, if the node is drained.
 */
uint64_t sim_controller_kept(const struct sim_controller *c, unsigned node);

/* It is up, and this link is open. */
bool sim_controller_hears(struct sim_controller *c, uint64_t link);
/* Tells the checker of what is booked on the node ("books"). It must be up. */
void sim_controller_tell_runs(const struct sim_controller *c, unsigned node);

/* Tells the checker of its services, their slots and endpoints. It must be up. */
void sim_controller_tell_services(struct sim_controller *c);
/* Tells the checker which steps it lists ("lists"). It must be up. */
void sim_controller_tell_steps(const struct sim_controller *c);
/* Tells the checker which steps its databases have ("keptstep"); so does each start. It must be
 * up. */
void sim_controller_tell_kept_steps(struct sim_controller *c);
void sim_controller_flush(struct sim_controller *c); /* what has ended moves to history.db */

void sim_controller_fenced(struct sim_controller *c, unsigned node, bool off);

/* What it believes, for whoever looks into a failed seed: jobs that have not ended. */
void sim_controller_print(const struct sim_controller *c, FILE *out);

struct sim_controller_stats {
	uint64_t commits, restarts, hash_checks;
	uint64_t answers; /* parts of listings that were made and fit */
};
void sim_controller_stats(const struct sim_controller *c, struct sim_controller_stats *stats);

#endif
