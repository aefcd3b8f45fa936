/* ctld.h - the controller's parts, and how they are connected
 *
 *      sessions -> peers -> tick -> rpc -> core -> effects -> gate -> sessions
 *                                            |                  ^
 *                                            +-> store (commit) +
 *
 *	peers        the connected clients and agents
 *	admission    how many sessions each user may have, and which one is ended for a new one
 *	fair_queue   the user whose work goes to the tick next
 *	tick         the heartbeat: takes what has happened in bounded slices, seals, commits
 *	rpc/         one row a message type: role and handler; answers
 *	calls        requests without an answer yet
 *	inputs       the calls that change the core, and their record
 *	effects      the actions that the core has decided on: one row a kind
 *	gate         keeps every frame until the state that it reports is on disk
 *	node_names   which node has a name
 *	script_cache the signed bytes of jobs, on their way to the store and lately used
 *	bulks        many jobs at once, on their way into the core in slices (rpc/jobs/bulk.h)
 *	streams      relays between clients and runs: bytes that the controller cannot read
 *	users        login names, looked up in workers
 *	watch        which jobs have changed, and the clients that follow them
 *	fence, mail  the site's programs
 *	reload       the configuration, read again
 *	acct         walks over all present and past jobs (rpc/acct/acct_walk.h)
 *	gpu_counts   how many GPUs there are, for the audit trail
 *
 * One thread runs all of it. `struct ctld` is made and freed by startup.c; the parts get a pointer
 * to it and use what they need. A part calls those above it only through hooks that startup.c
 * gives it. No state here must survive a restart: the core has all of that.
 */
#ifndef CTLD_CTLD_H
#define CTLD_CTLD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "common/base/arena.h"
#include "common/base/error.h"
#include "common/conf/conf.h"
#include "common/job/run.h"

struct acct;
struct script_cache;
struct bulks;
struct gpu_count_events;
struct core;
struct event_base;
struct fence;
struct mail;
struct commit_gate;
struct inputs;
struct mcred_ops;
struct node_names;
struct peers;
struct reload;
struct calls;
struct sessions;
struct store;
struct streams;
struct tick;
struct fair_queue;
struct admission;
struct users;
struct watch;
struct worker_pool;

struct event;
enum ctld_event { CTLD_TERM, CTLD_INT, CTLD_HUP, CTLD_DISK, CTLD_ENDING, CTLD_EVENTS };

struct ctld {
	struct event_base *base;
	struct event *events[CTLD_EVENTS];
	char *conf_path;
	struct conf *conf;   /* owned; replaced as a whole by reload */
	char *conf_text;     /* owned; conf as conf_print() has it: that takes long with many nodes */
	uint64_t generation; /* of conf: node and partition numbers are good within one */
	uid_t agent_uid;     /* of controller.agent_user */
	uid_t self;          /* the controller's uid, to which credentials are restricted */
	unsigned descriptors; /* limit of open descriptors */
	char host[256];      /* ours, for people */
	uint64_t epoch;      /* of this term */
	usec_t start_mono;
	usec_t ending_since; /* 0: it goes on */
	bool takeover;       /* the epoch grows with what agents report */
	bool suspended;      /* core_is_suspended(), as last logged */

	struct mcred_ops *mcred;
	struct worker_pool *pool; /* munge and key exchange */
	struct worker_pool
	        *aside;          /* name services, files: a stalled munge must not hold these up */
	const struct core *core; /* changed only by inputs.h, which records the changes */
	struct inputs *inputs;
	struct store *store;
	uint64_t disk_space_reported; /* to the core: MiB (disk_space.h) */
	unsigned damaged;   /* files with a damaged page, that the log has */
	struct sessions *sessions;

	struct tick *tick;
	struct fair_queue *fair_queue;
	struct commit_gate *gate;
	struct peers *peers;
	struct admission *admission;
	struct calls *calls;
	struct streams *streams;
	struct node_names *node_names;
	struct script_cache *script_cache;
	struct bulks *bulks;
	struct users *users;
	struct watch *watch;
	LIST_HEAD(, watch_group) watch_groups; /* of watchers with the same request */
	struct fence *fence;
	struct mail *mail;
	struct reload *reload;
	struct acct *acct;
	struct gpu_count_events *gpu_counts;

	struct arena *in;  /* for one message that is being decoded */
	struct arena *out; /* for one message that is being made */
};

/* Both clocks now. */
struct clocks ctld_now(void);
usec_t ctld_mono(void);

/* How it is started. */
struct ctld_options {
	const char *conf_path;
	bool takeover;
	const char *record;    /* a file for inputs.h; NULL: none */
	uint64_t record_marks; /* a mark there after so many events */
};

/* Open the state, load it, take charge, listen. Takes `conf` over. NULL with `err`. */
struct ctld *ctld_new(struct conf *conf, const struct ctld_options *o, struct error *err);
void ctld_run(struct ctld *c);  /* until ctld_end() */
void ctld_free(struct ctld *c); /* NULL and half-made ones are fine */

/* End in an orderly way: nothing new is taken, what is held is committed and sent, then the loop
 * ends. Again: at once. */
void ctld_end(struct ctld *c);

#endif
