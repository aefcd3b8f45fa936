/* mps_daemon.h - NVIDIA's MPS for one user on one GPU: a task of gshepherd besides runs
 *
 * `gshepherd mps` has the pipe for its result as SHEPHERD_RESULT_FD and its task (MpsOrder) as
 * MPS_ORDER_FD: start the control daemon (nvidia-cuda-mps-control -d), or stop it. It writes "ok"
 * or an error to the pipe. The daemon outlives this process, the launcher and the agent; mps_pool.c
 * decides which users need one.
 *
 * The daemon is a process of the user, who can debug it and do everything that it may do. So it is
 * in a cgroup of its own, MpsOrder.leaf, that allows the one GPU and no other device, and every
 * process that talks to the daemon is in that cgroup too. Its sockets and its log are in
 * MpsOrder.dir, which belongs to the user and is closed to all others.
 *
 * Starting a daemon that exists already is no error: it is probed, and if it does not answer,
 * killed and started anew. Stopping means: send quit, wait, kill what is left, remove leaf and
 * directory.
 */
#ifndef NODED_MPS_DAEMON_H
#define NODED_MPS_DAEMON_H

#define MPS_ORDER_FD 4
#define MPS_LOG_DIR  "log"

/* The whole task; returns an exit status. */
int mps_daemon_main(void);

#endif
