/* gpu_faults.h - faults of the node's GPUs, reported until the controller has acknowledged them */
#ifndef NODED_LAUNCHER_GPU_FAULTS_H
#define NODED_LAUNCHER_GPU_FAULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/gpu/gpufault.h"
#include "noded/gpu/gpus.h"

struct gpu_faults;
struct launcher;

struct gpu_faults *gpu_faults_new(struct launcher *l);
void gpu_faults_free(struct gpu_faults *f); /* NULL is fine */

/* A probe has ended; `old` and `now` may be equal. True: GPUs are left out, or no longer, because
 * they need a reset, so samplers must be started anew. */
bool gpu_faults_probed(struct launcher *l, const struct gpus *old, const struct gpus *now);
/* A lasting fault of the GPU has appeared or disappeared: report it if that is new. */
void gpu_faults_condition(
        struct launcher *l, const char *uuid, enum gpu_fault_kind kind, bool is, const char *text);

/* The last Xid of a slot, and when it came; 0: none. */
uint32_t gpu_faults_last_xid(const struct launcher *l, const char *uuid, int64_t *wall_us);

/* Report all faults to a network half that has just connected. */
void gpu_faults_send(struct launcher *l);
/* The controller has committed the reports up to `seq`. */
void gpu_faults_ack(struct launcher *l, uint64_t seq);
/* Report all faults, and what is wrong with these GPUs now, which were examined. */
void gpu_faults_answer(struct launcher *l, char (*uuids)[GPUS_TEXT], size_t n);

#endif
