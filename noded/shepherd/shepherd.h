/* shepherd.h - what gshepherd inherits from the launcher
 *
 * It is started as `gshepherd RUNDIR/runs/ID`, or forked as if it had been, with an environment of no meaning, 0 to 2 on
 * /dev/null, and these.
 */
#ifndef NODED_SHEPHERD_H
#define NODED_SHEPHERD_H

#define SHEPHERD_LAUNCH_FD 3 /* the launch record, locked: the lock is the shepherd's life */
#define SHEPHERD_CTL_FD    4 /* the order socket, bound */
#define SHEPHERD_HOLD_FD   5 /* of an interactive run: to ghold (hold.h) */

/* Other duties (site.h): `gshepherd RUNDIR/runs/ID again`, with the locked launch record alone, and
 * `gshepherd check PATH MILLISECONDS NODE LEAF`, whose result goes to SHEPHERD_RESULT_FD. */
#define SHEPHERD_AGAIN     "again"
#define SHEPHERD_CHECK     "check"
#define SHEPHERD_MPS       "mps" /* mps.h */
#define SHEPHERD_TEMPLATE  "template" /* template.h: what most are forked from */
#define SHEPHERD_RESULT_FD 3
#define SHEPHERD_CHECK_OK  "ok" /* else it is what is wrong */

#endif
