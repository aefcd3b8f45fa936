/* manager.h - the steps of one job: which exist, where they run, what their clients are told
 *
 * The manager is in the gstepd of the job's first node. Clients (srun) ask it for steps and are
 * identified by a number; nodes are identified by their rank in the job. Messages are those of
 * steplink.h; how they travel is the caller's (gstepd.c), as is the clock, so that a test can play
 * all of the others.
 *
 *	waits    -> a client has asked (STEP_NEW); it is tried again, in the order of asking,
 *	            whenever a step ends or a node becomes known; a later step that fits may start
 *	            first
 *	runs     -> it has a number and a place (layout.h); each of its nodes has its tasks
 *	ends     -> every node has sent STEP_DONE; the client receives STEP_END
 *
 * A client that goes away takes its step with it: its tasks are told to end, and killed later.
 */
#ifndef CMDS_STEPS_MANAGER_H
#define CMDS_STEPS_MANAGER_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/gpusched.pb-c.h"
#include "common/net/steplink.h"

#define MANAGER_STEPS_MAX   1024  /* that run at once */
#define MANAGER_NUMBERS_MAX 40000 /* of an attempt of a job */
#define MANAGER_WAITING_MAX 16384
#define MANAGER_PARTS_MAX   64    /* of A : B */
#define MANAGER_KILL_MS     30000 /* from SIGTERM to SIGKILL */

struct manager_ops {
	void (*to_client)(void *arg, uint64_t client, unsigned kind, uint32_t step,
	        const void *data, size_t len);
	void (*to_node)(void *arg, uint32_t rank, unsigned kind, uint32_t step, const void *data,
	        size_t len);
	/* A step could use that node: manager_node_known() is to follow. Called once a node. */
	void (*need_node)(void *arg, uint32_t rank);
	void (*report)(void *arg, const Gpusched__StepReport *r); /* to the controller */
	void (*quit)(void *arg, uint32_t exit_code); /* an allocation is to end; NULL: it is none */
	int64_t (*now_ms)(void *arg);
	int64_t (*time)(void *arg); /* us UTC */
	uint64_t (*random)(void *arg);
	void *arg;
};

struct manager;

/* `nodes`: names by rank, borrowed. */
struct manager *manager_new(
        const struct manager_ops *ops, const char *const *nodes, size_t n_nodes);
void manager_free(struct manager *m);

/* Steps before that number were an earlier manager's. */
void manager_go_on(struct manager *m, uint32_t number);
uint32_t manager_next_number(const struct manager *m);

void manager_node_known(struct manager *m, uint32_t rank, uint32_t cpus, uint32_t gpus);

/* It does not come back: its tasks are gone, and their steps end. */
void manager_node_lost(struct manager *m, uint32_t rank);

/* -1 with ERR_PROTOCOL: the caller must close the connection of that client or node. */
int manager_client(
        struct manager *m, uint64_t client, const struct steplink_message *msg, struct error *err);
void manager_client_gone(struct manager *m, uint64_t client);
int manager_node(
        struct manager *m, uint32_t rank, const struct steplink_message *msg, struct error *err);

void manager_tick(struct manager *m);
int64_t manager_wait_ms(const struct manager *m); /* until then; -1: nothing waits for the clock */

size_t manager_steps(const struct manager *m); /* that wait or run */

#endif
