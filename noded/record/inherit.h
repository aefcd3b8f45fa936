/* inherit.h - what gshepherd inherits from the launcher
 *
 * The launcher starts it as `gshepherd RUNDIR/runs/ID`, or has it forked (fork_server.h) with
 * the same result. Its environment has no meaning, descriptors 0 to 2 are /dev/null, and it has
 * these:
 */
#ifndef NODED_INHERIT_H
#define NODED_INHERIT_H

/* the launch record, locked; the lock shows that the shepherd is alive */
#define SHEPHERD_LAUNCH_FD 3
#define SHEPHERD_CTL_FD    4 /* the order socket, bound */
#define SHEPHERD_HOLD_FD   5 /* of an interactive run: socket to ghold (ghold.h) */

/* What gprobe inherits from its shepherd, besides input, output and error: the pipe into which it
 * says how its replica is (shepherd/gprobe_messages.h). */
#define PROBE_FD 3

/* Other tasks (site_program_tasks.h): `gshepherd RUNDIR/runs/ID again`, with only the locked launch
 * record, and `gshepherd check PATH MILLISECONDS NODE LEAF`, whose result goes to
 * SHEPHERD_RESULT_FD. */
#define SHEPHERD_AGAIN     "again"
#define SHEPHERD_CHECK     "check"
#define SHEPHERD_MPS       "mps"      /* mps_daemon.h */
#define SHEPHERD_TEMPLATE  "template" /* fork_server.h: most shepherds are forked from it */
#define SHEPHERD_RESULT_FD 3
#define SHEPHERD_CHECK_OK  "ok" /* any other result is an error text */

#define MPS_PIPE_DIR "pipe" /* in MpsOrder.dir: CUDA_MPS_PIPE_DIRECTORY */

#endif
