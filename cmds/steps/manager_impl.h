/* manager_impl.h - what the files of the manager share */
#ifndef CMDS_STEPS_MANAGER_IMPL_H
#define CMDS_STEPS_MANAGER_IMPL_H

#include "cmds/steps/layout.h"
#include "cmds/steps/manager.h"
#include "cmds/steps/pmi.h"

/* A part of `A : B`; a plain step has one. */
struct mpart {
	Gpusched__StepRequest *request;
	bool *allowed, *must; /* of the job's nodes; NULL: as in layout.h */
	struct layout_ask ask;
	struct layout_place place;
	uint32_t first_task;
};

/* A node of a step that runs. */
struct mnode {
	uint32_t rank;
	bool done;
	bool has_reader; /* of the step's input */
	uint64_t in_sent, in_taken;
};

/* A piece of output that the client has not taken. */
struct mpiece {
	uint32_t rank;
	uint32_t left;
};

struct mpmix;

struct mstep {
	struct mstep *next;
	uint32_t id;
	uint64_t client; /* 0: gone */
	bool runs, told_waits;
	bool starting; /* its nodes are being told: it does not end meanwhile */
	struct mpart *parts;
	size_t n_parts, parts_wanted;
	struct mnode *nodes;
	size_t n_nodes, n_done;
	uint32_t *task_rank; /* of each task */
	uint32_t tasks;
	uint64_t in_told;      /* input that the client knows to be taken */
	struct mpiece *pieces; /* a queue */
	size_t piece_at, n_pieces, pieces_size;
	uint32_t exit_code, exit_signal;
	bool cancelled, timeout, has_lost_node;
	uint32_t lost_node;
	int64_t limit_ms, kill_ms; /* 0: none */
	int64_t start_time;
	uint64_t cpu_time_us, max_rss_kb;
	struct pmi *pmi;
	struct mpmix *pmix;
};

struct manager {
	struct manager_ops ops;
	const char *const *names;
	struct layout layout;
	bool *asked;         /* need_node() was called */
	struct mstep *steps; /* in the order of asking */
	size_t n_steps, n_running;
	uint32_t next_id;
	bool trying;
	/* While all that wait are tried: what was found to be busy last. Of 10,000 steps that ask
	 * for the same, one is looked for. */
	struct layout_ask busy;
	bool knows_busy;
};

void mstep_say(struct manager *m, struct mstep *s, unsigned kind, const ProtobufCMessage *msg);
void mstep_to_nodes(
        struct manager *m, struct mstep *s, unsigned kind, const void *data, size_t len);
void mstep_terminate(struct manager *m, struct mstep *s);
void mstep_free(struct manager *m, struct mstep *s);

/* manager_start.c: from a request to tasks. */
int mstart_add(
        struct manager *m, uint64_t client, const struct steplink_message *msg, struct error *err);
void mstart_try(struct manager *m); /* all that wait */

/* A step that runs (CREATED) or waits; its lists are the caller's to clear. */
void mstart_describe(const struct manager *m, const struct mstep *s, Gpusched__StepState *state);
void mstart_description_clear(Gpusched__StepState *state);

/* manager_run.c: a step that runs. */
int mrun_client(
        struct manager *m, struct mstep *s, const struct steplink_message *msg, struct error *err);
int mrun_node(struct manager *m, struct mstep *s, uint32_t rank, const struct steplink_message *msg,
        struct error *err);
void mrun_check_end(struct manager *m, struct mstep *s); /* may free it */
void mrun_report(struct manager *m, const struct mstep *s, bool ended);
void mrun_lose_node(struct manager *m, uint32_t rank);
void mrun_orphan(struct manager *m, struct mstep *s); /* its client has gone */

/* manager_pmix.c: between the PMIx servers of a step's nodes. */
#define MANAGER_FENCES_MAX  1024
#define MANAGER_FETCHES_MAX 65536
bool mpmix_is_asked(const struct mstep *s);
int mpmix_take(struct manager *m, struct mstep *s, uint32_t rank,
        const struct steplink_message *msg, struct error *err);
void mpmix_free(struct mpmix *p); /* NULL is fine */

#endif
