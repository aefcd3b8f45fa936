/* snapshot.h - the state of the cluster at one moment, as gweb knows it
 *
 * A snapshot never changes once it was published, and lives as long as it has a reference: a page
 * is about one moment, however long it takes, and no handler waits for the controller. The watcher
 * (watcher.h) makes a new one when something has changed, once a second at most.
 *
 * Snapshots share what has not changed, by reference counts: 100,000 jobs of which one has changed
 * cost a list of pointers and one job. A job is kept packed, beside the few fields that tables,
 * filters and figures look at (struct snapshot_job); what many jobs have alike is kept once for all
 * of them. Nodes, partitions, accounts, services and statistics are few, and are kept unpacked,
 * each kind as one list.
 *
 * Everything here may be called from any thread.
 */
#ifndef CMDS_WEB_SNAPSHOT_H
#define CMDS_WEB_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/gpusched.pb-c.h"

#define SNAPSHOT_DELTAS 64 /* snapshots back of which it is known what has changed */

#define SNAPSHOT_CHANGES_MAX 1000 /* jobs, of which each is named in a delta */

struct snapshot;
struct snapshot_texts;
struct counters;

/* What many jobs have alike is kept once: of their fields those that such a part has, packed. The
 * other members are the watcher's alone. */
struct snapshot_part {
	const uint8_t *packed; /* a Gpusched__Job with some of its fields, `len` bytes */
	uint32_t len;
	uint32_t hash;
	size_t refs;
	struct snapshot_part *next;
	struct snapshot_texts *of;
};

/* The request of a job, as submitted. Texts live as long as the watcher; "" where there is none. */
struct snapshot_request {
	struct snapshot_part part; /* first */
	const char *user, *account, *partition, *qos;
	const char *first_partition; /* of those that it waits in */
	uint64_t mem_mb;
	uint32_t uid, cpus, time_limit_s, nodes_min, wait_target_s;
};

/* State and reason of a job, as far as they are the same for many. */
struct snapshot_status {
	struct snapshot_part part; /* first */
	const char *state, *reason;
	const char *node, *gpu_type; /* the first */
	uint32_t gpus_held, n_nodes, attempt;
	bool ended, waits, runs; /* waits: PENDING; runs: it holds resources */
};

/* One record of a job: a job, a task of an array, or those tasks of an array that wait and are
 * listed as one. It lives as long as a snapshot has it, and so do its parts. */
struct snapshot_job {
	uint64_t serial; /* of the snapshot in which it changed last */
	uint64_t id, raw_id;
	const struct snapshot_request *request;
	const struct snapshot_status *status;
	int64_t submit_time, start_time, end_time, planned_start_time;
	int64_t eligible_time; /* as in Job */
	uint32_t
	        gpus; /* asked for on all nodes, of the first alternative; all tasks: times task_count */
	uint32_t task_count, position, elapsed_s;
	uint32_t len;      /* bytes of its other fields, packed, behind `tasks` */
	bool several;      /* `tasks` may be many */
	const char *tasks; /* behind the name; "" it is no array */
	char name[];
};

/* The whole job as it is in `snap` (NULL: no matter when), unpacked;
 * gpusched__job__free_unpacked(m, NULL). NULL: there is no memory. */
Gpusched__Job *snapshot_job_unpack(const struct snapshot *snap, const struct snapshot_job *job);

/* Names records of a job: of one job or task exactly one; raw_id == id of an array is all of its
 * records that stand for several tasks. */
struct snapshot_key {
	uint64_t id, raw_id;
};

/* What has changed with one snapshot. */
struct snapshot_delta {
	unsigned refs; /* private */
	uint64_t serial;
	uint64_t cursor; /* all of the jobs is known until there */
	bool fresh;      /* the list began anew: any job may have changed */
	/* More than SNAPSHOT_CHANGES_MAX have changed: `jobs` is without those that waited before,
	 * too, and ask for the same: they differ in their place or why they wait. */
	bool more;
	size_t n_jobs;
	struct snapshot_key *jobs; /* by id; one without a record is gone */
	unsigned lists;            /* bits of enum snapshot_list: asked for again, and differs */
};

/* What is kept as lists of messages. */
enum snapshot_list {
	LIST_NODES,
	LIST_PARTITIONS,
	LIST_SHARES,
	LIST_SERVICES,
	LIST_STATS,
	LIST_COUNT
};

struct snapshot {
	uint64_t serial;  /* grows by one each */
	int64_t taken_us; /* UTC: it was so then */
	uint64_t cursor;  /* of WatchJobs */
	const char *cluster, *version;
	const char *currency;
	bool private_jobs; /* the configuration says so, or it is not known what it says */
	size_t n_jobs, n_nodes, n_partitions, n_shares, n_services, n_stats;
	struct snapshot_job **jobs; /* by id, then raw id; those that ended, too, for a while */
	Gpusched__Node **nodes;     /* by name, with devices */
	Gpusched__Partition **partitions;
	Gpusched__Share **shares; /* depth first, as ListShares says them */
	Gpusched__Service **services;
	Gpusched__Stat **stats;
	size_t n_deltas; /* the newest last: deltas[n_deltas - 1].serial == serial */
	struct snapshot_delta **deltas;
	const struct counters *counters; /* what was counted since gweb began (counters.h) */
	struct snapshot_own *own;    /* private */
};

/* --- the newest ------------------------------------------------------------------------------- */

struct snapshots;

struct snapshots *snapshots_new(void);
void snapshots_free(struct snapshots *s); /* NULL is fine */

/* The newest, with a reference; NULL: there is none yet. */
struct snapshot *snapshot_get(struct snapshots *s);
void snapshot_put(struct snapshot *snap); /* NULL is fine */

/* Write to `buf` why the controller does not answer at present, "" if it does. False: it does
 * not. */
bool snapshots_health(struct snapshots *s, char *buf, size_t size);

/* Its age now, in microseconds. */
int64_t snapshot_age_us(const struct snapshot *snap);

/* --- looking into it -------------------------------------------------------------------------- */

/* The records of a job or array: the first of them, *n in a row; NULL with 0. */
struct snapshot_job **snapshot_records(const struct snapshot *snap, uint64_t id, size_t *n);
/* Those that a key names. */
struct snapshot_job **snapshot_keyed(
        const struct snapshot *snap, struct snapshot_key key, size_t *n);
/* The index of the first record behind those that a key names. */
size_t snapshot_behind(const struct snapshot *snap, struct snapshot_key key);
/* The record of a job, or of an array as a whole; also by the own id of a task. NULL. */
const struct snapshot_job *snapshot_job(const struct snapshot *snap, uint64_t id);
const Gpusched__Node *snapshot_node(const struct snapshot *snap, const char *name);
const Gpusched__Partition *snapshot_partition(const struct snapshot *snap, const char *name);
const Gpusched__Service *snapshot_service(const struct snapshot *snap, const char *name);

#endif
