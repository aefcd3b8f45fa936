/* view.h - answers of the core that its parts make: why a job waits, priorities, shares (core.h)
 *
 * Values by copy; pointers are borrowed until the next call that changes the core.
 */
#ifndef CTLD_CORE_VIEW_H
#define CTLD_CORE_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/job/run.h"

/* In place of a uid: the controller itself, not a user. */
#define CORE_BY_ITSELF UINT32_MAX

/* Everything that keeps a job from starting, and what would start it. Lists are in the order of
 * display. */
#define WHY_BLOCKERS 24
#define WHY_CHANGES  8

struct why_blocker {
	const char *reason;    /* "AssocGrpGRES", ...: a literal */
	char text[256];        /* "vision: limit h100:32, holds 28, +8" */
	usec_t clears;         /* wall; 0: not known */
	char clears_text[128]; /* "4690 must end"; "": not known */
	const char *partition; /* of a job in several: the one where it blocks; NULL: in all */
};

struct why_change {
	char option[128]; /* in the syntax of gsubmit and gctl update: "--gpus=h100:4" */
	char effect[160]; /* "on h07, within the limit (32 of 32)" */
};

struct job_why {
	struct why_blocker blockers[WHY_BLOCKERS];
	size_t n_blockers;     /* 0: nothing is known to block it */
	uint32_t position, of; /* its position in its partition; 0: none */
	usec_t planned_start;  /* wall; 0: none */
	usec_t first_planned;  /* wall; the first that it was ever given; 0: none */
	char planned_nodes[256];
	char planned_why[256]; /* a listed cause for a planned start later than the first one; "" */
	struct why_change changes[WHY_CHANGES]; /* each alone would start it now; smallest first */
	size_t n_changes;
	char tried[512]; /* what was tried without success; "": nothing */
	bool cut_short;  /* not everything was tried */
};

/* The components of a job's priority. Points are factors times weights; their sum less `nice` is
 * `total`. */
struct prio_view {
	struct {
		double age, fair_share, size, partition, qos, wait; /* each 0..1 */
	} factor;
	struct {
		int64_t age, fair_share, size, partition, qos, wait, nice, total;
	} points;
};

/* An account or a user of the tree of accounts. */
struct share_view {
	const char *account;
	const char *user; /* "": the account itself */
	uint32_t depth;   /* 0: directly under the root */
	uint32_t shares;
	double norm;             /* its fraction of its siblings' shares, 0..1 */
	uint64_t gpu_us, cpu_us; /* total use, GPUs times microseconds */
	double cost;             /* by the prices; not decayed */
	double usage;            /* decayed */
	double effective;        /* its fraction of its siblings' usage, 0..1 */
	double level_fs;         /* norm / effective; INFINITY: no usage */
	double fair_share;       /* users: their factor, 0..1 */
	uint32_t rank;           /* users: 1 is the first; 0: an account */
	uint32_t index;          /* of the account, in the configuration; CONF_NONE: a user */
};

/* What an account is guaranteed of a type of GPU, and has, in thousandths of one (limits/quota.h). */
struct share_gpus {
	const char *type; /* "": all types together */
	uint64_t guaranteed, kept, held;
	uint32_t limit; /* of its quota; 0: none */
	uint64_t lent, borrowed;
};

#endif
