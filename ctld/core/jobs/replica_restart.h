/* replica_restart.h - a slot of a service, whose replica has ended: when the next one may start */
#ifndef CTLD_CORE_REPLICA_RESTART_H
#define CTLD_CORE_REPLICA_RESTART_H

struct core;
struct job;
struct run;

#define REPLICA_RESTART_DELAY_S \
	10 /* after the first failure in a row; then twice as long each time */
#define REPLICA_RESTART_DELAY_MAX_S 300
#define REPLICA_RESTART_GOOD_S      600 /* a replica that was READY for so long ends the row */
#define REPLICA_RUNS_KEPT           3   /* attempts of a slot that stay in memory */

/* `run` of the slot's last attempt is over, and the slot is to wait again: sets its delay if the
 * replica ended by itself, and says why. Runs of older attempts move to history. */
void replica_restart(struct core *core, struct job *job, const struct run *run);

#endif
