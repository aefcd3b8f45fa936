/* sim_launcher.h - a launcher whose runs only seem to run
 *
 * Takes the core's orders and answers as the real launcher does (launcher.h), without starting
 * anything: a run starts and ends when its simulated time has come, or ends when it is told to.
 * Used by `gnoded --simulate`, by the agent's random test and by the fault simulation; pure: no
 * clock, no chance, no I/O. Like the real one it refuses lower epochs, other incarnations and GPUs
 * that another run holds, keeps tombstones, and tells again what it is asked for again. What is
 * suspended neither ends by itself nor at its limit, which both come later by as much.
 *
 * How a run goes, its world says. Where that says nothing, the job does with the label
 * `sim=SECONDS[:EXIT]` (SECONDS may have a fraction, EXIT is 0..255): without it a run ends at once
 * with exit code 0. A time limit ends it as usual.
 *
 * What a run with a burst borrows of its GPUs' memory its world says too: that, and how large cards
 * are. A start waits until its part is there, as with the real one, and noded/usage/burst.h says who is
 * asked to give back. Where the size of cards is not said nobody has borrowed anything.
 *
 * What it keeps stands for the records in tmpfs and for the shepherds: sim_launcher_restart() is
 * the death of the process, which they outlive, sim_launcher_reboot() that of the node.
 */
#ifndef NODED_SIM_LAUNCHER_H
#define NODED_SIM_LAUNCHER_H

#include "common/gpusched.pb-c.h"
#include "noded/core/agent.h"

#define SIM_SYNC ((usec_t)1000000) /* an end is on disk after this, and outlives a reboot */

struct sim_launcher;

/* How a run goes if nothing ends it: STARTING for `begin_after`, then RUNNING for `duration`. TERM
 * ends it after `obey_after`; one that ignores it ends with KILL, after the grace. */
struct sim_course {
	usec_t begin_after, duration, obey_after;
	uint32_t exit_code, exit_signal;
	bool ignores_term;
	/* It uses so much memory of each GPU, or what of it is there, `takes_after` it runs; less
	 * than its part counts as that. When it is asked it gives back after `obey_after`, or not.
	 */
	uint64_t own_mb;
	usec_t takes_after;
	bool gives_back;
};

/* What happened with memory of GPUs. */
enum sim_memory {
	SIM_MEMORY_NEEDED, /* an order has come; it is started once its part is there */
	SIM_MEMORY_WAIVED, /* that is never to be */
	SIM_MEMORY_USED,   /* by what runs: so much of each, from now on */
	SIM_MEMORY_ASKED,  /* to give back what it has borrowed */
	SIM_MEMORY_LEFT,   /* it need not any more */
};

struct sim_world {
	/* May it be started? Asked last: what is accepted starts. -1: refused. NULL: yes. */
	int (*accept)(void *arg, const Gpusched__StartRun *order, struct error *err);
	/* How it will go. NULL: as its label says. */
	struct sim_course (*course)(void *arg, const Gpusched__StartRun *order);
	/* What really happened, as opposed to what is told: REPORT_STARTING when a run is started,
	 * REPORT_RUNNING when it was suspended or goes on, REPORT_ENDED when it has ended
	 * (END_NODE_FAIL: with its node). NULL: nobody asks. */
	void (*fact)(void *arg, const struct run_report *report, struct clocks now);
	/* MiB of a GPU; 0: not known. NULL: of none. */
	uint64_t (*card_mb)(void *arg, unsigned gpu);
	/* NULL: nobody asks. */
	void (*memory)(
	        void *arg, enum sim_memory what, const struct run_report *report, uint64_t used_mb);
	/* What the controller is told of it: burst_job and burst_time. NULL: nothing. */
	void (*used)(void *arg, struct run_id run, const struct run_used *used);
	void *arg;
};

/* `world` is copied; NULL: all as the labels say. */
struct sim_launcher *sim_launcher_new(const char *incarnation, const struct sim_world *world);
void sim_launcher_free(struct sim_launcher *l); /* NULL is fine */

/* An AGENT_TELL_* effect of the core; the order of a start is a Gpusched__StartRun. */
void sim_launcher_tell(
        struct sim_launcher *l, const struct agent_effect *effect, struct clocks now);

/* What it has to say next: its hello first, then one change of one run after another. False:
 * nothing now. Borrows until the next call. */
bool sim_launcher_next(struct sim_launcher *l, struct agent_event *event, struct clocks now);

/* When it will have something to say (mono); INT64_MAX: never by itself. */
usec_t sim_launcher_next_timer(const struct sim_launcher *l);

/* The shepherds' part of sim_launcher_next(), for a launcher that is dead: what is due begins and
 * ends, and nobody is told. sim_launcher_next_due() says when that is (mono; INT64_MAX: never). */
void sim_launcher_pass(struct sim_launcher *l, struct clocks now);
usec_t sim_launcher_next_due(const struct sim_launcher *l);

/* It was killed and has been started again: says hello next, with all that it has on record. */
void sim_launcher_restart(struct sim_launcher *l);

/* The node went down and came up with another incarnation. What ran is dead and its records are
 * lost with tmpfs; ends older than SIM_SYNC are on disk and still told. */
void sim_launcher_reboot(struct sim_launcher *l, const char *incarnation, struct clocks now);

/* What was said to `used` and still is so, once more: messages get lost. */
void sim_launcher_tell_used(struct sim_launcher *l);

/* Records held: runs, ends not forgotten, tombstones. */
size_t sim_launcher_records(const struct sim_launcher *l);

/* The record after `*at` (NULL: the first), NULL at the end. `*at` is good until the next order. */
const struct run_report *sim_launcher_each(const struct sim_launcher *l, const void **at);

#endif
