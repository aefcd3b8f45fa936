/* glog.h - what the files of glog share */
#ifndef CMDS_GLOG_H
#define CMDS_GLOG_H

#include <stdbool.h>
#include <stdint.h>

#include "cmds/api/client.h"
#include "cmds/cli/cmd.h"
#include "cmds/cli/job_ids.h"
#include "common/base/arena.h"
#include "common/base/error.h"
#include "common/gpusched.pb-c.h"
#include "common/job/run.h"

struct glog {
	struct cmd_ids ids; /* one, of an array with one task */
	uint64_t job;
	bool follow, error, have_rank;
	uint64_t lines; /* UINT64_MAX: all */
	uint32_t rank;
	const char *node;
	/* the job as was told last */
	bool known, waits, ended;
	uint32_t attempt;
	char state[32];
	/* its run; `at`: what comes next of its file, or CHANNEL_LOG_NEW */
	char *on;
	struct run_id run;
	uint64_t at;
	uint64_t had;   /* `at` of an earlier attempt's; 0: there was none */
	uint32_t shown; /* the attempt of the output shown last; 0: none */
	bool told;      /* that it waits */
	struct client *client;
	struct arena *arena;
};

extern const struct cmd glog_cmd;

/* --- glog.c: which run ------------------------------------------------------------------------ */

/* The job or task as people name it: "4812", "4812_7". */
const char *glog_label(const struct glog *g, char buf[64]);
void glog_fill_filter(const struct glog *g, Gpusched__JobFilter *filter); /* borrows g->ids */
/* Keep the job's state and run, as the controller has reported them. -1 with `err`. */
int glog_take_listed(const ProtobufCMessage *m, void *arg, struct error *err);
/* Ask for the job. -1 with `err`: it is not known, or there is nothing to show. */
int glog_find_run(struct glog *g, struct error *err);

/* --- glog_stream.c ---------------------------------------------------------------------------- */

/* Show what one connection brings. 1: the output goes on with another connection. */
int glog_show_run(struct glog *g, struct error *err);
/* After an error: pause and return true if another try makes sense. It does once the output has
 * begun, and for as long as a job is followed that has not ended. */
bool glog_pause_after(struct glog *g, const struct error *why);

#endif
