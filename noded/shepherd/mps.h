/* mps.h - NVIDIA's MPS of one user on one GPU: a duty of gshepherd's besides runs
 *
 * `gshepherd mps`, with the result's pipe as SHEPHERD_RESULT_FD and what to do (MpsOrder) as
 * MPS_ORDER_FD: start the control daemon (nvidia-cuda-mps-control -d), or stop it, and tell "ok" or
 * what is wrong. The daemon outlives this process, the launcher and the agent; lmps.c says for
 * whom it is there.
 *
 * The daemon is a process of the user's, whom nothing keeps from looking into it and doing what it
 * may do. So it is in a cgroup of its own, MpsOrder.leaf, that opens the one GPU and nothing else,
 * and so is every other process that talks to it. Its sockets and its log are in MpsOrder.dir,
 * which is the user's and private to him.
 *
 * To start what is there already is no error: it is asked whether it answers, and if it does not,
 * killed and started anew. To stop means: quit, wait, kill what is left, remove leaf and directory.
 */
#ifndef NODED_MPS_H
#define NODED_MPS_H

#define MPS_ORDER_FD 4
#define MPS_PIPE_DIR "pipe" /* in MpsOrder.dir: CUDA_MPS_PIPE_DIRECTORY */
#define MPS_LOG_DIR  "log"

/* The whole of it; returns an exit status. */
int mps_main(void);

#endif
