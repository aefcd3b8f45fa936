/* gpufault.h - the faults of GPUs, and the action for each
 *
 * An agent reports what it has seen of a GPU: an Xid of the driver, or the result of a check
 * (noded/gpu/nvml_discovery.h). The controller decides by one table, in gpufault.c, and by what
 * gpusched.conf has for the node instead (`health_events`):
 *
 *	word            what it is                               action  back
 *	--------------  ---------------------------------------  ------  ------
 *	xid-N           the driver's error number N: see below
 *	ecc             uncorrectable memory errors since the    gpu     reset
 *	                driver was loaded
 *	ecc_total       the same over the GPU's life             note
 *	remap_pending   rows of its memory are replaced with     gpu     reset
 *	                the next reset
 *	remap_failed    a row could not be replaced              gpu     never
 *	recovery        the driver says that it needs a reset,   gpu     well
 *	                or its node a boot
 *	lost            it answers no more: off the bus          gpu     well
 *	hung            a call of NVML does not come back        gpu     well
 *	hot             it is as hot as makes it slow down       gpu     well
 *	process         it is free, and a process that belongs   gpu     well
 *	                to no run uses it
 *	reset           it was reset: no fault, but earlier      note
 *	                faults may wait for it
 *
 * Actions: *note* is an event of the audit trail and no more; *gpu* drains the GPU: nothing starts
 * on it, what runs there continues or is ended as `health_jobs` says; *node* drains its node: no
 * row has this action, but a site may configure it.
 *
 * When a drained GPU returns to use: *well*: when a check finds no fault; *reset*: the same, after
 * its node was booted, or after the agent has reported a reset; *never*: only when an operator
 * returns it (`gctl resume NODE:GPU`), which is possible at any time. A drained node never returns
 * by itself. A reset is noticed only if the driver has reported before that the GPU needs it
 * (`recovery`: drivers from 560 on, and older ones that refuse a call for that) or where rows of
 * its memory were to be replaced. Nothing else proves it: the volatile counters of ECC errors are
 * 0 again when the last program closes the GPU, and a lost GPU may have been away for another
 * reason.
 *
 * Xids are as in NVIDIA's catalogue for Ampere and later ("Analyzing Xid Errors with the Xid
 * Catalog", docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html, as of October 2025), by
 * its column "Immediate Action": RESTART_APP and IGNORE are noted; an Xid that asks for a reset of
 * the GPU or a restart of the machine drains the GPU. Some Xids are only noted although the GPU
 * then needs a reset (63, 94): the check that follows each Xid finds that (remap_pending,
 * recovery). 61 is from the catalogue for older GPUs. An Xid that is not in the table is noted.
 */
#ifndef COMMON_GPUFAULT_H
#define COMMON_GPUFAULT_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

/* On the wire and in rows: numbers stay. */
enum gpu_fault_kind {
	GPU_FAULT_NONE,
	GPU_FAULT_XID,
	GPU_FAULT_ECC,
	GPU_FAULT_ECC_TOTAL,
	GPU_FAULT_REMAP_PENDING,
	GPU_FAULT_REMAP_FAILED,
	GPU_FAULT_LOST,
	GPU_FAULT_HUNG,
	GPU_FAULT_HOT,
	GPU_FAULT_PROCESS,
	GPU_FAULT_RECOVERY,
	GPU_FAULT_RESET,
	GPU_FAULT_KINDS
};

enum gpu_fault_action { GPU_FAULT_NOTE, GPU_FAULT_DRAIN_GPU, GPU_FAULT_DRAIN_NODE };
enum gpu_fault_back { GPU_BACK_WELL, GPU_BACK_RESET, GPU_BACK_NEVER };

struct gpu_fault_row {
	enum gpu_fault_kind kind;
	uint32_t first, last; /* Xids; else 0 */
	enum gpu_fault_action action;
	enum gpu_fault_back back;
	const char *text; /* for people; of all but Xids what is said if the agent says nothing */
};

/* Never NULL: a fault that is not in the table gets a row that notes it. `code` is an Xid, else
 * 0. */
const struct gpu_fault_row *gpu_fault_row(enum gpu_fault_kind kind, uint32_t code);
/* All of them, for the manual and tests. */
const struct gpu_fault_row *gpu_fault_rows(size_t *n);

/* "xid-79", "hot". */
#define GPU_FAULT_WORD 24
const char *gpu_fault_word(enum gpu_fault_kind kind, uint32_t code, char word[GPU_FAULT_WORD]);

/* "EVENT=ACTION" of gpusched.conf: "xid-94=note", "hot=node". ERR_CONFIG. */
struct gpu_fault_rule {
	enum gpu_fault_kind kind;
	uint32_t code;
	enum gpu_fault_action action;
};
int gpu_fault_rule_parse(const char *text, struct gpu_fault_rule *rule, struct error *err);

/* The action for a fault under these rules; of several matching rules the last counts. Texts that
 * are no rules are skipped. */
enum gpu_fault_action gpu_fault_action(
        enum gpu_fault_kind kind, uint32_t code, char *const *rules, size_t n);

#endif
