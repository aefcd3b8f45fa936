/* sim_launcher.h - a launcher whose runs only seem to run
 *
 * Takes the core's orders and answers as the real launcher does (launcher.h), without starting
 * anything: a run ends when its simulated duration has passed, or when it is told to. Used by
 * `gnoded --simulate` and by the fault simulation; pure: no clock, no chance, no I/O.
 *
 * The job says how its run goes with the label `sim=SECONDS[:EXIT]` (SECONDS may have a fraction,
 * EXIT is 0..255): without it a run ends at once with exit code 0. A time limit ends it as usual.
 *
 * What it keeps stands for the records in tmpfs: sim_launcher_restart() is the death of the
 * process, sim_launcher_reboot() that of the node.
 */
#ifndef NODED_SIM_LAUNCHER_H
#define NODED_SIM_LAUNCHER_H

#include "common/gpusched.pb-c.h"
#include "noded/core/agent.h"

struct sim_launcher;

/* What really happened, as opposed to what is told: for the checker. REPORT_RUNNING when a run
 * starts, REPORT_ENDED when it ends, at a time of `now.mono`. May be NULL. */
typedef void sim_fact_fn(void *arg, const struct run_report *report, struct clocks now);

struct sim_launcher *sim_launcher_new(const char *incarnation, sim_fact_fn *fact, void *arg);
void sim_launcher_free(struct sim_launcher *l); /* NULL is fine */

/* An AGENT_TELL_* effect of the core; the order of a start is a Gpusched__StartRun. */
void sim_launcher_tell(
        struct sim_launcher *l, const struct agent_effect *effect, struct clocks now);

/* What it has to say next: its hello first, then one change of one run after another. False:
 * nothing now. Borrows until the next call. */
bool sim_launcher_next(struct sim_launcher *l, struct agent_event *event, struct clocks now);

/* When it will have something to say (mono); INT64_MAX: never by itself. */
usec_t sim_launcher_next_timer(const struct sim_launcher *l);

/* It was killed and has been started again: says hello next, with all that it has on record. */
void sim_launcher_restart(struct sim_launcher *l);

/* The node went down and came up with another incarnation: what ran has ended with NODE_FAIL. */
void sim_launcher_reboot(struct sim_launcher *l, const char *incarnation, struct clocks now);

/* Records held: runs, ends not forgotten, tombstones. */
size_t sim_launcher_records(const struct sim_launcher *l);

#endif
