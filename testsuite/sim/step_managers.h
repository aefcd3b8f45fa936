/* step_managers.h - simulated step managers: what gstepd does of a job's steps, but for the tasks
 *
 * A manager comes with the first rank of an attempt, as a process of the job's owner, and has a
 * session of its own. It starts and ends steps at random and reports them as
 * cmds/steps/bridge_process.c does: one message at a time, repeated on a new session until it is
 * answered; on a new session also the steps that run. Some are impatient: they give a session up
 * while a message is under way, which may then come behind what the next session says. When its
 * run ends a manager dies with it, or has some seconds for its last words.
 *
 * What each reports, and what it was answered, are facts for the checker. Some of the reports are
 * hostile: names that no terminal should see, numbers that are too high, jobs of others. Where one
 * of these is taken, or a proper one refused for what it says, the simulation stops.
 */
#ifndef TESTSUITE_SIM_STEP_MANAGERS_H
#define TESTSUITE_SIM_STEP_MANAGERS_H

#include "testsuite/sim/controller.h"

#define STEP_MANAGERS_MAX_STEPS 40 /* controller.max_steps, as they expect it */

struct step_managers;

struct step_managers_options {
	struct engine *engine;
	struct checker *checker;
	struct sim_controller *controller;
	unsigned ppm;           /* of the attempts have steps */
	unsigned hostile_ppm;   /* of the messages are hostile */
	unsigned impatient_ppm; /* of the messages have a session that is given up with them */
};

struct step_managers_count {
	uint64_t steps;
	uint64_t repeats; /* reports of what was reported before */
	uint64_t refused; /* hostile messages */
};

struct step_managers *step_managers_new(const struct step_managers_options *options);
void step_managers_free(struct step_managers *s); /* NULL is fine */

/* The first rank of an attempt will start, as that user; has started; is over. `at_once`: with its
 * node. */
void step_managers_expect(struct step_managers *s, struct run_id run, uint32_t uid);
void step_managers_begin(struct step_managers *s, struct run_id run);
void step_managers_end(struct step_managers *s, struct run_id run, bool at_once);

/* Adds to it. */
void step_managers_count(const struct step_managers *s, struct step_managers_count *count);

/* A sum of what is said of a step beside its end: in a report, or in a row. */
struct step_looks {
	const char *name, *nodelist;
	size_t name_len, nodelist_len;
	int64_t numbers[7]; /* nodes, tasks, cpus, gpus, start, time of CPUs, memory */
};
uint64_t step_looks(const struct step_looks *looks);

#endif
