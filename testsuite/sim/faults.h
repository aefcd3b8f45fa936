/* faults.h - what goes wrong in a history of the fault simulation, and what puts it right again
 *
 * The controller is killed or its power cut, agents are killed, nodes reboot, links stall, clocks
 * jump, GPUs fail; each at times drawn from the engine. Whatever is killed is started again a while
 * later. Messages that are late or come twice are link_faults (engine.h).
 */
#ifndef TESTSUITE_SIM_FAULTS_H
#define TESTSUITE_SIM_FAULTS_H

#include <stdbool.h>
#include <stdint.h>

#include "testsuite/sim/controller.h"
#include "testsuite/sim/engine.h"
#include "testsuite/sim/fake_munge.h"
#include "testsuite/sim/node.h"

/* Mean times between two of a kind; 0: never. */
struct fault_means {
	usec_t kill, power, agent, reboot, stall, jump, gpu;
};

/* Filled in as its parts are made; all is borrowed. */
struct faults {
	struct engine *engine;
	struct fake_munge *munge;
	struct sim_controller *controller;
	struct sim_node **nodes;
	unsigned n_nodes;
	struct fault_means means;
	bool on;        /* false: nothing goes wrong any more */
	uint64_t count; /* of those that happened, without GPUs */
};

/* Draw when the first of each kind happens. */
void faults_begin(struct faults *f);

/* The controller's fence program (sim_controller_options); `arg` is a struct faults. It takes a
 * while, then the node is off for sure, and boots again later. */
void faults_fence(void *arg, unsigned node);

/* The operator resumes what does not come back by itself, of a node that has told all it knows. */
void faults_resume(struct faults *f, unsigned node);

#endif
