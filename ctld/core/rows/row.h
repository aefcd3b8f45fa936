/* row.h - what the core keeps, as rows
 *
 * The one schema of gpusched's durable state. The core writes and reads rows (a table, and values
 * by position); ctld/store/sql.c holds the SQL for the same tables and columns, in the same order,
 * and a unit test compares the two. The core never sees SQL, the store never decides.
 *
 * A row is sealed *by value*: the receiver of one copies what it needs before it returns.
 * To add a column: a line here (last in its table), the field in the noun's encoder and decoder,
 * a migration step in sql.c. K marks the columns of the primary key; they come first.
 */
#ifndef CTLD_CORE_ROW_H
#define CTLD_CORE_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* X(TAG, name, type: INT TEXT BLOB, K or _) */
#define META_COLUMNS(X) /* cluster, epoch, next_job (leased), next_event (leased), ... */ \
	X(META, key, TEXT, K)                                                      \
	X(META, value, TEXT, _)

#define NODE_COLUMNS(X) /* only nodes with something to remember */ \
	X(NODE, name, TEXT, K)                                                     \
	X(NODE, drain, INT, _)          /* 1: no new starts */                     \
	X(NODE, down, INT, _)           /* 1: declared down by an operator */      \
	X(NODE, reason, TEXT, _)        /* of drain or down */                     \
	X(NODE, reason_uid, INT, _)     /* by this user */                         \
	X(NODE, reason_time, INT, _)    /* when, us UTC */                         \
	X(NODE, incarnation, TEXT, _)   /* of the last registration */             \
	X(NODE, boot_id, TEXT, _)                                                  \
	X(NODE, cpus, INT, _)           /* as the agent found them */              \
	X(NODE, mem_mb, INT, _)                                                    \
	X(NODE, gpus, TEXT, _)          /* which GPU has which index (devices.h) */ \
	X(NODE, found, TEXT, _)         /* GPUs taken as found, by index (discovered_hardware.h) */ \
	X(NODE, health, TEXT, _)        /* GPUs that are drained (gpu_drains.h) */ \
	X(NODE, faults_seen, INT, _) /* of this incarnation, the last that was applied (gpu_faults.h) */

#define JOB_COLUMNS(X)                                                             \
	X(JOB, id, INT, K)                                                         \
	X(JOB, part, INT, K)            /* of an array: which tasks of it (job.h); else 0 */ \
	X(JOB, uid, INT, _)                                                        \
	X(JOB, gid, INT, _)                                                        \
	X(JOB, user, TEXT, _)                                                      \
	X(JOB, account, TEXT, _)                                                   \
	X(JOB, partition, TEXT, _)                                                 \
	X(JOB, name, TEXT, _)                                                      \
	X(JOB, state, TEXT, _)          /* long name, as users see it */           \
	X(JOB, hold, INT, _)            /* enum job_hold */                        \
	X(JOB, gpus, TEXT, _)           /* "h100:2|l40s:4", "" none; any type: "any:2" */ \
	X(JOB, cpus, INT, _)                                                       \
	X(JOB, mem_mb, INT, _)                                                     \
	X(JOB, time_limit_s, INT, _)                                               \
	X(JOB, warn_signal, INT, _)                                                \
	X(JOB, warn_before_s, INT, _)                                              \
	X(JOB, requeue, INT, _)                                                    \
	X(JOB, nice, INT, _)                                                       \
	X(JOB, labels, TEXT, _)         /* k=v lines */                            \
	X(JOB, submit_host, TEXT, _)                                               \
	X(JOB, cwd, BLOB, _)                                                       \
	X(JOB, output, BLOB, _)                                                    \
	X(JOB, error, BLOB, _)                                                     \
	X(JOB, array, TEXT, _)                                                     \
	X(JOB, nonce, BLOB, _)                                                     \
	X(JOB, spec_hash, BLOB, _)      /* behind it that of the first spec, if changed */ \
	X(JOB, sign_time, INT, _)       /* when the credential was made, us UTC */ \
	X(JOB, submit_time, INT, _)                                                \
	X(JOB, start_time, INT, _)      /* of the present or last run */           \
	X(JOB, end_time, INT, _)                                                   \
	X(JOB, attempt, INT, _)         /* of the present or last run; 0: none yet */ \
	X(JOB, max_attempts, INT, _)                                               \
	X(JOB, exit_code, INT, _)                                                  \
	X(JOB, exit_signal, INT, _)                                                \
	X(JOB, end_cause, INT, _)       /* why it is to end or ended; enum end_cause */ \
	X(JOB, comment, TEXT, _)        /* which user held or cancelled it, and why */ \
	X(JOB, place, TEXT, _)          /* on which nodes: shape.h; "" one, whichever */ \
	X(JOB, qos, TEXT, _)                                                       \
	X(JOB, max_wait_s, INT, _)      /* requested by the job itself; 0: none */  \
	X(JOB, planned_start, INT, _)   /* the first that it was given; 0: none yet */ \
	X(JOB, begin_time, INT, _)      /* not before; us UTC; 0: at once */       \
	X(JOB, deadline, INT, _)        /* not after; us UTC; 0: whenever */       \
	X(JOB, depends, TEXT, _)        /* what it waits for: common/job/depend.h, as kept */ \
	X(JOB, kill_invalid, INT, _)    /* when that can never come true; enum kill_invalid */ \
	X(JOB, remark, TEXT, _)         /* its owner's, for people */              \
	X(JOB, mail_types, INT, _)      /* common/job/mail_types.h */              \
	X(JOB, mail_user, TEXT, _)                                                 \
	X(JOB, requeue_on, TEXT, _)     /* common/job/requeue_on.h */              \
	X(JOB, requeue_delay_s, INT, _)                                            \
	X(JOB, limit_cut, INT, _)       /* 1: time_limit_s was changed while it ran */ \
	X(JOB, tasks, TEXT, _)          /* of an array: those this row stands for; "" none */ \
	X(JOB, at_once, INT, _)         /* the array's own: that many may run; 0: any number */ \
	X(JOB, next_part, INT, _)       /* the array's own: for the next range of tasks */ \
	X(JOB, tasks_ended, INT, _)     /* the array's own, and how: */            \
	X(JOB, tasks_failed, INT, _)                                               \
	X(JOB, tasks_cancelled, INT, _)                                            \
	X(JOB, steps, INT, _)           /* Gpusched__Steps__Mode */                \
	X(JOB, raw_ids, INT, _) /* 1: an array whose tasks have ids of their own (job.h) */ \
	X(JOB, partitions, TEXT, _) /* those in which it may start: job_partitions.h; "": one */ \
	X(JOB, partition_needs, TEXT, _) /* what it has in each, if that differs */ \
	X(JOB, eligible_time, INT, _) /* since when, at its first start; 0: it is not, or not known */ \
	X(JOB, show_output, INT, _) /* as in SignedSpec */

#define RUN_COLUMNS(X)                                                             \
	X(RUN, job, INT, K)                                                        \
	X(RUN, task, INT, K)                                                       \
	X(RUN, attempt, INT, K)                                                    \
	X(RUN, rank, INT, K)            /* which of the attempt's nodes */         \
	X(RUN, node, TEXT, _)                                                      \
	X(RUN, state, TEXT, _)                                                     \
	X(RUN, gpu_type, TEXT, _)                                                  \
	X(RUN, gpus, INT, _)            /* bit set of host indices */              \
	X(RUN, cpus, INT, _)                                                       \
	X(RUN, mem_mb, INT, _)                                                     \
	X(RUN, incarnation, TEXT, _)    /* of the node, when ordered */            \
	X(RUN, epoch, INT, _)           /* when ordered */                         \
	X(RUN, order_time, INT, _)                                                 \
	X(RUN, start_time, INT, _)                                                 \
	X(RUN, end_time, INT, _)                                                   \
	X(RUN, elapsed_us, INT, _)      /* by the node's monotonic clock */        \
	X(RUN, exit_code, INT, _)                                                  \
	X(RUN, exit_signal, INT, _)                                                \
	X(RUN, end_wanted, INT, _)      /* enum end_cause: an EndRun is due or under way */ \
	X(RUN, end_cause, INT, _)       /* as reported */                          \
	X(RUN, detail, TEXT, _)                                                    \
	X(RUN, cpu_time_us, INT, _)                                                \
	X(RUN, max_rss_kb, INT, _)                                                 \
	X(RUN, uid, INT, _)                                                        \
	X(RUN, nodes, INT, _)           /* of the attempt */                       \
	X(RUN, account, TEXT, _)        /* to which it is billed */                \
	X(RUN, billed_us, INT, _)       /* this part of elapsed_us has been billed */ \
	X(RUN, cost_u, INT, _)          /* for so much; millionths of the currency */ \
	X(RUN, checkpoint_time, INT, _) /* its work up to here is safe; 0: not known */ \
	X(RUN, suspend_wanted, INT, _)  /* 1: it is to be stopped for a while */   \
	X(RUN, suspend_time, INT, _)    /* since when it is; 0: it is not */       \
	X(RUN, suspended_us, INT, _)    /* that part of elapsed_us */              \
	X(RUN, read_bytes, INT, _)      /* its use in all: struct run_used */          \
	X(RUN, written_bytes, INT, _)                                              \
	X(RUN, gpu_seen_us, INT, _)                                                \
	X(RUN, gpu_busy_us, INT, _)                                                \
	X(RUN, gpu_idle_us, INT, _)                                                \
	X(RUN, gpu_mem_peak_mb, INT, _)                                            \
	X(RUN, energy_mj, INT, _)                                                  \
	X(RUN, share_milli, INT, _)     /* of each GPU: thousandths of its compute */ \
	X(RUN, share_mb, INT, _)        /* and MiB of its memory */                \
	X(RUN, share_charge, INT, _)    /* as what part of a GPU it counts; 0: whole ones */ \
	X(RUN, health, INT, _)          /* of a replica: enum replica_health */    \
	X(RUN, ready_time, INT, _)      /* when it was READY first; 0: never */    \
	X(RUN, ready_us, INT, _)        /* for how long it was READY in all */     \
	X(RUN, address, TEXT, _)        /* for its clients */                      \
	X(RUN, ports, TEXT, _)          /* "20001,20002" */                        \
	X(RUN, requests, INT, _)        /* answered, as its server says */         \
	X(RUN, tokens, INT, _)          /* generated, the same */                  \
	X(RUN, gpu_mem_mbs, INT, _) /* as in struct run_used */

#define NONCE_COLUMNS(X) /* (uid, nonce) -> job: a repeated submit is answered, not repeated */ \
	X(NONCE, uid, INT, K)                                                      \
	X(NONCE, nonce, BLOB, K)                                                   \
	X(NONCE, spec_hash, BLOB, _)                                               \
	X(NONCE, job, INT, _)                                                      \
	X(NONCE, expires, INT, _) /* us UTC; also kept while the job lives */

#define EVENT_COLUMNS(X) /* append only: the audit trail. Rows move on to history.db */ \
	X(EVENT, seq, INT, K)                                                      \
	X(EVENT, time, INT, _)                                                     \
	X(EVENT, kind, TEXT, _)         /* "job.submit", "node.drain", ... */      \
	X(EVENT, uid, INT, _)           /* the user; -1: the controller itself */  \
	X(EVENT, host, TEXT, _)         /* from where */                           \
	X(EVENT, job, INT, _)           /* 0: none */                              \
	X(EVENT, node, TEXT, _)         /* "": none */                             \
	X(EVENT, text, TEXT, _)

#define USAGE_COLUMNS(X) /* what a user used in an account; never deleted */ \
	X(USAGE, account, TEXT, K)                                                 \
	X(USAGE, uid, INT, K)                                                      \
	X(USAGE, user, TEXT, _)                                                    \
	X(USAGE, gpu_us, INT, _)        /* GPUs x microseconds, of all runs that are over */ \
	X(USAGE, cpu_us, INT, _)                                                   \
	X(USAGE, cost_u, INT, _)        /* millionths of the currency */           \
	X(USAGE, runs, INT, _)                                                     \
	X(USAGE, decayed_u, INT, _)     /* cost with half-life decay, as of: */    \
	X(USAGE, decayed_time, INT, _) /* us UTC */

#define HOURS_COLUMNS(X) /* GPU time within a sliding time, in pieces (gpu_hours_window.h) */ \
	X(HOURS, scope, TEXT, K)        /* account, qos, partition */              \
	X(HOURS, name, TEXT, K)                                                    \
	X(HOURS, uid, INT, K)           /* 4294967295: all users together */       \
	X(HOURS, start, INT, K)         /* us UTC */                               \
	X(HOURS, end_time, INT, _)                                                 \
	X(HOURS, until, INT, _)         /* counts for no limit after that */       \
	X(HOURS, gpu_us, INT, _)

#define FATE_COLUMNS(X) /* how jobs ended that are in history (ended_outcomes.h) */         \
	X(FATE, page, INT, K)           /* of so many ids */                       \
	X(FATE, bits, BLOB, _)  /* two each: 1 COMPLETED, 2 otherwise, 0 not known */

#define STEP_COLUMNS(X) /* steps of jobs that have ended; append only, and they move on to history.db */ \
	X(STEP, job, INT, K)                                                       \
	X(STEP, task, INT, K)           /* of an array */                          \
	X(STEP, attempt, INT, K)                                                   \
	X(STEP, step, INT, K)           /* its number within the attempt */        \
	X(STEP, name, TEXT, _)                                                     \
	X(STEP, state, TEXT, _)         /* long name, as of jobs */                \
	X(STEP, nodelist, TEXT, _)                                                 \
	X(STEP, nodes, INT, _)                                                     \
	X(STEP, tasks, INT, _)                                                     \
	X(STEP, cpus, INT, _)                                                      \
	X(STEP, gpus, INT, _)                                                      \
	X(STEP, start_time, INT, _)                                                \
	X(STEP, end_time, INT, _)                                                  \
	X(STEP, exit_code, INT, _)                                                 \
	X(STEP, exit_signal, INT, _)                                               \
	X(STEP, cpu_time_us, INT, _)    /* of all its tasks */                     \
	X(STEP, max_rss_kb, INT, _) /* of the largest task */

#define GENERATION_COLUMNS(X, role) \
	X(SERVICE, role##_job, INT, _) \
	X(SERVICE, role##_number, INT, _) \
	X(SERVICE, role##_slots, INT, _) \
	X(SERVICE, role##_drain_s, INT, _) \
	X(SERVICE, role##_valid_days, INT, _) \
	X(SERVICE, role##_spec, TEXT, _)

#define SERVICE_COLUMNS(X) /* services by name: records/service.h */ \
	X(SERVICE, name, TEXT, K) \
	X(SERVICE, user, TEXT, _) \
	X(SERVICE, uid, INT, _) \
	X(SERVICE, account, TEXT, _) \
	X(SERVICE, burst_qos, TEXT, _) /* of the slots above `kept`; "": the jobs' own */ \
	X(SERVICE, wanted, INT, _) /* replicas */ \
	X(SERVICE, paused, INT, _) \
	X(SERVICE, stopping, INT, _) \
	X(SERVICE, min, INT, _) /* what its owner asks for: struct service_policy */ \
	X(SERVICE, max, INT, _) \
	X(SERVICE, kept, INT, _) \
	X(SERVICE, target_milli, INT, _) \
	X(SERVICE, kv_target_milli, INT, _) \
	X(SERVICE, window_s, INT, _) \
	X(SERVICE, burst_window_s, INT, _) \
	X(SERVICE, scale_down_s, INT, _) \
	X(SERVICE, to_zero_s, INT, _) \
	X(SERVICE, request_wait_ms, INT, _) \
	X(SERVICE, surge, INT, _) \
	X(SERVICE, settle_s, INT, _) \
	GENERATION_COLUMNS(X, present) /* that serves; job 0: there is none */ \
	GENERATION_COLUMNS(X, next) /* that is being rolled out */ \
	GENERATION_COLUMNS(X, undo) /* that was present before */ \
	GENERATION_COLUMNS(X, leaving) /* that was given up and whose replicas drain */ \
	X(SERVICE, last_number, INT, _) /* of a generation */ \
	X(SERVICE, submit_time, INT, _) \
	X(SERVICE, decision, TEXT, _) /* why so many are wanted */ \
	X(SERVICE, decision_time, INT, _) \
	X(SERVICE, trouble, TEXT, _) /* why the last update was given up */ \
	X(SERVICE, avoids, TEXT, _) /* nodes on which its replicas do badly: service_bad_nodes.c */

/* X(TAG, name, columns) */
#define ROW_TABLES(X)                        \
	X(META, meta, META_COLUMNS)                                                \
	X(NODE, node, NODE_COLUMNS)                                                \
	X(JOB, job, JOB_COLUMNS)                                                   \
	X(RUN, run, RUN_COLUMNS)                                                   \
	X(NONCE, nonce, NONCE_COLUMNS)                                             \
	X(EVENT, event, EVENT_COLUMNS)                                             \
	X(USAGE, usage, USAGE_COLUMNS)                                             \
	X(HOURS, hours, HOURS_COLUMNS)                                             \
	X(FATE, fate, FATE_COLUMNS)                                                \
	X(STEP, step, STEP_COLUMNS)                                                \
	X(SERVICE, service, SERVICE_COLUMNS)

#define X(tag, name, columns) TABLE_##tag,
enum row_table { ROW_TABLES(X) TABLE_COUNT };
#undef X

#define ROW_MAX_COLUMNS 64

enum value_type { VALUE_INT, VALUE_TEXT, VALUE_BLOB };

struct value {
	enum value_type type;
	int64_t i;     /* VALUE_INT */
	const void *p; /* VALUE_TEXT, VALUE_BLOB: borrowed; never NULL */
	size_t n;      /* bytes, without a terminating NUL */
};

/* RETIRE is a delete of something that has ended: the store moves the row to history. */
enum row_change { ROW_PUT, ROW_DELETE, ROW_RETIRE };

struct row {
	enum row_table table;
	enum row_change change;
	size_t n; /* all columns for PUT; the key's columns for DELETE and RETIRE */
	struct value v[ROW_MAX_COLUMNS];
};

/* Gets rows by value, one at a time. */
typedef void core_row_sink(void *arg, const struct row *row);

#endif
