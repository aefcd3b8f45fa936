/* controller_poll.h - what the watcher asks the controller for, how often, and what it has heard */
#ifndef CMDS_WEB_CONTROLLER_POLL_H
#define CMDS_WEB_CONTROLLER_POLL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmds/web/snapshot_make.h"
#include "common/base/error.h"

struct client;

/* Each kind of question has a time before which it is not asked again. */
enum question {
	ASK_PRIVATE,
	ASK_NODES,
	ASK_PARTITIONS,
	ASK_SHARES,
	ASK_SERVICES,
	ASK_STATS,
	ASK_WAITING,
	ASK_ARRAYS,
	ASK_COUNT
};

struct id_list {
	uint64_t *v;
	size_t n, size;
};

struct poll {
	struct snapshot_texts *texts;
	struct snapshot_job **jobs; /* that were told of, in that order */
	size_t n_jobs, size;
	size_t n_taken;        /* the first of them: handed over */
	uint64_t told;         /* jobs ever; their serials until they are published */
	struct id_list arrays; /* with changes, whose waiting tasks are to be asked for */
	struct id_list listed; /* of which all waiting tasks are among `jobs` */
	bool changed;          /* jobs, since nodes were asked for */
	struct messages *messages[LIST_COUNT];
	int64_t due_ms[ASK_COUNT];          /* asked for then at the latest */
	int64_t rests_ms[ASK_COUNT];        /* and not before */
	int64_t took_us[ASK_COUNT];         /* the last answer */
	char *cluster, *version, *currency; /* NULL: not known */
	bool private_jobs; /* by the configuration; true while it is not known */
};

void poll_init(struct poll *l);
void poll_clear(struct poll *l);

/* `listing`: it comes with all others, and so do the records of its array. */
void poll_add_job(struct poll *l, const Gpusched__Job *m, bool listing);
void poll_drop_jobs(struct poll *l); /* all that was told of since the last snapshot */

/* Ask for what is due. -1 with `err`: what was answered stays. */
int poll_ask(struct poll *l, struct client *c, int64_t now_ms, struct error *err);
void poll_failed(struct poll *l); /* the controller may be another one */

/* Hand what there is over to a draft; and when that was published, begin again. */
void poll_take(struct poll *l, struct snapshot_draft *d);
void poll_taken(struct poll *l);

#endif
