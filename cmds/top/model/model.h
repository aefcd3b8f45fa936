/* model.h - what gtop knows of the cluster
 *
 * Pure: updates go in (update.h), screens read. Nothing here knows a terminal, a connection or a
 * clock. What the controller said last stays when it is gone; `heard_us` says how old it is.
 *
 * Jobs come as changes. When their listing begins anew (after the controller has restarted), the
 * earlier jobs stay until the listing is complete, so that the screen does not go blank.
 */
#ifndef CMDS_TOP_MODEL_MODEL_H
#define CMDS_TOP_MODEL_MODEL_H

#include "cmds/top/model/job_table.h"
#include "cmds/top/model/update.h"

/* A list that is replaced as a whole. */
struct items {
	ProtobufCMessage **v;
	size_t n;
};

/* The sums of all jobs. */
struct job_sums {
	size_t running, waiting; /* tasks of arrays one by one; without reserves of services */
	int64_t oldest_us;       /* the first submit of those that wait; 0: none waits */
	struct job_key next;     /* runs, and reaches its time limit first; id 0: none does */
	int64_t next_us;         /* then, by this host's clock */
};

struct model {
	struct jobs jobs;
	struct items nodes, shares, services, used;
	struct items why; /* of the job, or tasks, asked about last */
	char *why_text;   /* or why there is none; NULL */
	unsigned round;   /* of the listing of jobs that is under way, or the last one */
	bool listing;     /* it is under way */
	bool loaded;      /* one was complete */
	bool connected;
	char *link_text;        /* why not; NULL */
	int64_t heard_us;       /* of the last answer, UTC; 0: none came yet */
	uint64_t changes;       /* of anything that screens show */
	uint64_t share_changes; /* what borrowed from `shares` is no more */
};

/* Begins as { 0 }. */
void model_apply(struct model *m, struct update *u); /* takes it over */
void model_clear(struct model *m);

const Gpusched__Node *model_node(const struct model *m, size_t i);
const Gpusched__Node *model_node_named(const struct model *m, const char *name); /* NULL */
/* Of a run on a node. NULL: not known. */
struct top_job *model_run_job(const struct model *m, const Gpusched__RunId *run);
/* The job with its runs, if it was asked for lately; NULL. */
const Gpusched__Job *model_used(const struct model *m, struct job_key key);

void model_sums(const struct model *m, struct job_sums *out);

#endif
