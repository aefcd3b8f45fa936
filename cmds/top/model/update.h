/* update.h - what the controller has said, on its way from the link to the model
 *
 * The link (controller_thread.h) makes updates in its thread and the model (model.h) takes them
 * over in the thread of the screen. An update owns all that it holds.
 */
#ifndef CMDS_TOP_MODEL_UPDATE_H
#define CMDS_TOP_MODEL_UPDATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "cmds/top/model/job.h"
#include "common/gpusched.pb-c.h"

enum update_kind {
	UPDATE_JOBS,  /* some jobs as they are now */
	UPDATE_NODES, /* all nodes, with their GPUs: `items`; so are the next two */
	UPDATE_SHARES,
	UPDATE_SERVICES,
	UPDATE_USED,  /* jobs that were asked for with their runs: `items` are Jobs */
	UPDATE_WHY,   /* `items` are WhyResults; none: `text` says why not */
	UPDATE_DONE,  /* something was done to a job, or refused: `text` */
	UPDATE_LINK,  /* connected, or not: `text` */
	UPDATE_HEARD, /* an answer without news: the controller is there */
	UPDATE_KINDS
};

struct update {
	STAILQ_ENTRY(update) next;
	enum update_kind kind;
	int64_t when_us; /* UTC */
	/* JOBS. The listing begins anew: what is not heard of until `complete` is gone. */
	struct top_job **jobs;
	size_t n_jobs;
	bool fresh, complete;
	ProtobufCMessage **items;
	size_t n_items;
	bool ok;    /* DONE: it was done; LINK: connected */
	char *text; /* "" is never; NULL: none */
};
STAILQ_HEAD(updates, update);

struct update *update_new(enum update_kind kind, int64_t now_us);
void update_add(struct update *u, ProtobufCMessage *item); /* takes it over */
void update_add_job(struct update *u, const Gpusched__Job *job);
void update_free(struct update *u); /* NULL is fine */

/* Give up what a list of messages holds. */
void update_items_free(ProtobufCMessage **items, size_t n);

#endif
