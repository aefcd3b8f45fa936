/* layout.h - where the tasks of a step run: nodes, CPUs and GPUs of the job
 *
 * A table of the job's nodes says what each has and what steps hold of it. layout_find() looks for
 * room for one step (or one part of `A : B`): it changes nothing. layout_take() and
 *layout_release() book what was found.
 *
 *	nodes    `nodes_min` of those that may be used, in their order; when these have too little
 *	         room, those with the most
 *	CPUs     exact: as many as its tasks need; else all of its nodes
 *	GPUs     as asked for; a step that says nothing of GPUs has all of its nodes, and parts of
 *	         `A : B` that say nothing share them
 *	overlap  what other steps hold counts as free, and nothing is booked
 *	tasks    are counted one a node in turn until each has a place, and then numbered node after
 *	         node (block) or in turn (cyclic), as Slurm 22.05 does
 *
 * Pure.
 */
#ifndef CMDS_STEPS_LAYOUT_H
#define CMDS_STEPS_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LAYOUT_TASKS_MAX 65536
#define LAYOUT_CPUS_MAX  4096 /* of a node */
#define LAYOUT_GPUS_MAX  256

struct layout_node {
	const char *name; /* borrowed */
	bool known;       /* its CPUs and GPUs are; layout_find() uses no other */
	uint32_t cpus, gpus;
	bool *cpu_taken, *gpu_taken;
};

struct layout {
	struct layout_node *nodes;
	size_t n;
};

void layout_init(struct layout *l, const char *const *names, size_t n);
void layout_clear(struct layout *l);
void layout_know(struct layout *l, size_t node, uint32_t cpus, uint32_t gpus);

/* The node is lost: it gets no more tasks. */
void layout_lose(struct layout *l, size_t node);

struct layout_ask {
	uint32_t tasks, tasks_per_node, cpus_per_task; /* 0: not asked for */
	uint32_t nodes_min, nodes_max;
	uint32_t gpus, gpus_per_node, gpus_per_task;
	bool no_gpus, exact, overlap, overcommit, cyclic;
	bool share_gpus;     /* says nothing of GPUs: sees all of its nodes, books none */
	uint32_t relative;   /* not on the first so many nodes */
	const bool *allowed; /* of each node; NULL: all */
	const bool *must;    /* likewise; NULL: none */
};

/* What one node has of a step. */
struct layout_part {
	size_t node;
	uint32_t *tasks; /* their numbers */
	size_t n_tasks;
	uint32_t *cpus; /* positions in the job's CPUs of that node */
	size_t n_cpus;
	uint32_t *gpus;
	size_t n_gpus;
};

struct layout_place {
	struct layout_part *parts; /* in the order of the nodes */
	size_t n;
	uint32_t tasks;
	bool booked, gpus_booked;
};

enum layout_answer {
	LAYOUT_FITS,
	LAYOUT_BUSY,  /* other steps hold what it needs */
	LAYOUT_NEVER, /* the job does not have that much: *why says which */
	LAYOUT_ASK,   /* nodes that are not known yet could have it */
};

/* Fills *place for LAYOUT_FITS alone. *why is Slurm's text. */
enum layout_answer layout_find(const struct layout *l, const struct layout_ask *ask,
        struct layout_place *place, const char **why);

void layout_take(struct layout *l, const struct layout_ask *ask, struct layout_place *place);
void layout_release(struct layout *l, struct layout_place *place);
void layout_place_clear(struct layout_place *place);

#endif
