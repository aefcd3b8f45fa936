/* run_orders.h - orders to the shepherds of runs
 *
 * An order that finds the shepherd's socket full waits in the run until its timer sends it again.
 * Only the latest order of each kind counts.
 */
#ifndef NODED_RUN_ORDERS_H
#define NODED_RUN_ORDERS_H

#include <protobuf-c/protobuf-c.h>

#include "common/gpusched.pb-c.h"
#include "noded/runs/runs.h"
#include "noded/usage/gpu_memory_limit.h"

/* Send an order of this type (enum of gpusched.proto, or ORDER_SOCKET_NOTE) to the run's
 * shepherd. */
void run_pass_on(struct run *r, enum run_order_kind kind, unsigned type, const ProtobufCMessage *m);
/* Send again what waits. */
void run_send_waiting(struct run *r);

/* The run uses more memory of a GPU than it may; `text` says how much. */
void run_over_memory(struct run *r, enum overmem_policy policy, const char *text);
/* The run's files have filled the spool: it is ended at once. */
void run_spool_full(struct run *r, const char *text);
/* The run must give back borrowed memory, or no longer (give_back of the order). */
void run_reclaim(struct run *r, const Gpusched__EndRun *order);

#endif
