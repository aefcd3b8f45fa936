/* sim_launcher.h - a launcher whose runs are only simulated
 *
 * It takes the core's orders and answers as the real launcher does (launcher.h), without starting
 * anything: a run starts and ends at its simulated time, or ends when it is ordered to. It is used
 * by `gnoded --simulate`, by the agent's random test and by the fault simulation. Pure: no clock,
 * no randomness, no I/O. Like the real launcher it refuses lower epochs, other incarnations and
 * GPUs that another run holds, keeps tombstones, and answers a repeated order again. A suspended
 * run neither ends by itself nor at its limit; both come later by the length of the suspension.
 *
 * The world decides how a run goes. Without a world the job's label `sim=SECONDS[:EXIT]` does
 * (SECONDS may have a fraction, EXIT is 0..255): without it a run ends at once with exit code 0. A
 * time limit ends a run as usual. A replica of a service runs without end instead, and is READY at
 * once, or after the seconds of its job's label `sim-load`.
 *
 * The world also says how much of its GPUs' memory a run with a burst borrows, and how large the
 * GPUs are. A start waits until its part is available, as with the real launcher, and
 * noded/usage/borrowed_gpu_memory.h chooses the runs that must give back. If the size of the GPUs
 * is not given no run borrows anything.
 *
 * Its data stands for the records in tmpfs and for the shepherds: sim_launcher_restart() is the
 * death of the launcher process, which they outlive, sim_launcher_reboot() that of the node.
 */
#ifndef NODED_SIM_LAUNCHER_H
#define NODED_SIM_LAUNCHER_H

#include "common/gpusched.pb-c.h"
#include "noded/core/agent.h"

#define SIM_SYNC ((usec_t)1000000) /* an end is on disk after this, and outlives a reboot */

struct sim_launcher;

/* How a run goes if nothing ends it: STARTING for `begin_after`, then RUNNING for `duration`. TERM
 * ends it after `obey_after`; a run that ignores TERM ends with KILL, after the grace. */
struct sim_course {
	usec_t begin_after, duration, obey_after;
	usec_t load_time; /* a replica of a service is READY after it */
	uint32_t exit_code, exit_signal;
	bool ignores_term;
	/* After running for `takes_after` it uses this much memory of each GPU, or as much as is
	 * available; at least its part. When it is asked to give back it does so after
	 * `obey_after`, or (gives_back false) not at all. */
	uint64_t own_mb;
	usec_t takes_after;
	bool gives_back;
};

/* Events of GPU memory. */
enum sim_memory {
	SIM_MEMORY_NEEDED, /* a start has come; it waits until its part is available */
	SIM_MEMORY_WAIVED, /* that start will not happen */
	SIM_MEMORY_USED,   /* a running run uses this much of each GPU from now on */
	SIM_MEMORY_ASKED,  /* a run must give back what it has borrowed */
	SIM_MEMORY_LEFT,   /* it need not give back any more */
};

struct sim_world {
	/* May it be started? The last check: what is accepted starts. -1: refused. NULL: yes. */
	int (*accept)(void *arg, const Gpusched__StartRun *order, struct error *err);
	/* How it will go. NULL: as its label says. */
	struct sim_course (*course)(void *arg, const Gpusched__StartRun *order);
	/* What really happened, as opposed to what is reported: REPORT_STARTING when a run is
	 * started, REPORT_RUNNING when it was suspended or resumed, REPORT_ENDED when it has ended
	 * (END_NODE_FAIL: with its node). NULL: not needed. */
	void (*fact)(void *arg, const struct run_report *report, struct clocks now);
	/* MiB of a GPU; 0: not known. NULL: not known of any GPU. */
	uint64_t (*card_mb)(void *arg, unsigned gpu);
	/* NULL: not needed. */
	void (*memory)(
	        void *arg, enum sim_memory what, const struct run_report *report, uint64_t used_mb);
	/* What the controller is told of it: burst_job and burst_time. NULL: not needed. */
	void (*used)(void *arg, struct run_id run, const struct run_used *used);
	void *arg;
};

/* `world` is copied; NULL: all as the labels say. */
struct sim_launcher *sim_launcher_new(const char *incarnation, const struct sim_world *world);
void sim_launcher_free(struct sim_launcher *l); /* NULL is fine */

/* An AGENT_TELL_* effect of the core; the order of a start is a Gpusched__StartRun. */
void sim_launcher_tell(
        struct sim_launcher *l, const struct agent_effect *effect, struct clocks now);

/* Its next message: first its hello, then one change of one run after another. False: none now.
 * Borrows until the next call. */
bool sim_launcher_next(struct sim_launcher *l, struct agent_event *event, struct clocks now);

/* When it will have a message (mono); INT64_MAX: never by itself. */
usec_t sim_launcher_next_timer(const struct sim_launcher *l);

/* The shepherds' part of sim_launcher_next(), while the launcher is dead: runs that are due begin
 * and end, without reports. sim_launcher_next_due() says when that is (mono; INT64_MAX: never). */
void sim_launcher_pass(struct sim_launcher *l, struct clocks now);
usec_t sim_launcher_next_due(const struct sim_launcher *l);

/* The launcher was killed and has been restarted: it says hello next, with all its records. */
void sim_launcher_restart(struct sim_launcher *l);

/* The node went down and came up with another incarnation. Its runs are dead and their records are
 * lost with tmpfs; ends older than SIM_SYNC are on disk and are still reported. */
void sim_launcher_reboot(struct sim_launcher *l, const char *incarnation, struct clocks now);

/* Repeat what was last passed to `used` and still holds: messages get lost. */
void sim_launcher_tell_used(struct sim_launcher *l);

/* The number of records: runs, ends not forgotten, tombstones. */
size_t sim_launcher_records(const struct sim_launcher *l);

/* The record after `*at` (NULL: the first), NULL at the end. `*at` is good until the next order. */
const struct run_report *sim_launcher_each(const struct sim_launcher *l, const void **at);

#endif
