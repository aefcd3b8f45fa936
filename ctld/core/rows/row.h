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

/* X(name, type: INT TEXT BLOB, K or _) */
#define META_COLUMNS(X) /* cluster, epoch, next_job (leased), next_event (leased), ... */ \
	X(key, TEXT, K)                                                                   \
	X(value, TEXT, _)

#define NODE_COLUMNS(X) /* only nodes with something to remember */ \
	X(name, TEXT, K)                                            \
	X(drain, INT, _)        /* 1: no new starts */              \
	X(down, INT, _)         /* 1: declared down by an operator */ \
	X(reason, TEXT, _)      /* of drain or down */              \
	X(reason_uid, INT, _)   /* by this user */                  \
	X(reason_time, INT, _)  /* when, us UTC */                  \
	X(incarnation, TEXT, _) /* of the last registration */      \
	X(boot_id, TEXT, _)                                         \
	X(cpus, INT, _)         /* as the agent found them */       \
	X(mem_mb, INT, _)                                           \
	X(gpus, TEXT, _)        /* which GPU has which index (devices.h) */ \
	X(found, TEXT, _)       /* GPUs taken as found, by index (hardware.h) */ \
	X(health, TEXT, _)      /* GPUs that are drained (gpu_drains.h) */ \
	X(faults_seen, INT, _)  /* of this incarnation, the last that was applied (faults.h) */

#define JOB_COLUMNS(X)                                                             \
	X(id, INT, K)                                                              \
	X(part, INT, K)         /* of an array: which tasks of it (job.h); else 0 */ \
	X(uid, INT, _)                                                             \
	X(gid, INT, _)                                                             \
	X(user, TEXT, _)                                                           \
	X(account, TEXT, _)                                                        \
	X(partition, TEXT, _)                                                      \
	X(name, TEXT, _)                                                           \
	X(state, TEXT, _)       /* long name, as users see it */                   \
	X(hold, INT, _)         /* enum job_hold */                           \
	X(gpus, TEXT, _)        /* "h100:2|l40s:4", "" none; any type: "any:2" */  \
	X(cpus, INT, _)                                                            \
	X(mem_mb, INT, _)                                                          \
	X(time_limit_s, INT, _)                                                    \
	X(warn_signal, INT, _)                                                     \
	X(warn_before_s, INT, _)                                                   \
	X(requeue, INT, _)                                                         \
	X(nice, INT, _)                                                            \
	X(labels, TEXT, _)      /* k=v lines */                                    \
	X(submit_host, TEXT, _)                                                    \
	X(cwd, BLOB, _)                                                            \
	X(output, BLOB, _)                                                         \
	X(error, BLOB, _)                                                          \
	X(array, TEXT, _)                                                          \
	X(nonce, BLOB, _)                                                          \
	X(spec_hash, BLOB, _)   /* behind it that of the first spec, if changed */ \
	X(sign_time, INT, _)    /* when the credential was made, us UTC */         \
	X(submit_time, INT, _)                                                     \
	X(start_time, INT, _)   /* of the present or last run */                   \
	X(end_time, INT, _)                                                        \
	X(attempt, INT, _)      /* of the present or last run; 0: none yet */      \
	X(max_attempts, INT, _)                                                    \
	X(exit_code, INT, _)                                                       \
	X(exit_signal, INT, _)                                                     \
	X(end_cause, INT, _)    /* why it is to end or ended; enum end_cause */    \
	X(comment, TEXT, _)     /* which user held or cancelled it, and why */     \
	X(place, TEXT, _)       /* on which nodes: shape.h; "" one, whichever */   \
	X(qos, TEXT, _)                                                            \
	X(max_wait_s, INT, _)   /* wished for by the job itself; 0: none */        \
	X(planned_start, INT, _) /* the first that it was given; 0: none yet */            \
	X(begin_time, INT, _)   /* not before; us UTC; 0: at once */               \
	X(deadline, INT, _)     /* not after; us UTC; 0: whenever */               \
	X(depends, TEXT, _)     /* what it waits for: common/job/depend.h, as kept */  \
	X(kill_invalid, INT, _) /* when that can never come true; enum kill_invalid */ \
	X(remark, TEXT, _)      /* its owner's, for people */                      \
	X(mail_types, INT, _)   /* common/job/mail_types.h */                      \
	X(mail_user, TEXT, _)                                                      \
	X(requeue_on, TEXT, _)  /* common/job/requeue_on.h */                      \
	X(requeue_delay_s, INT, _)                                                 \
	X(limit_cut, INT, _)    /* 1: time_limit_s was changed while it ran */ \
	X(tasks, TEXT, _)       /* of an array: those this row stands for; "" none */ \
	X(at_once, INT, _)      /* the array's own: that many may run; 0: any number */ \
	X(next_part, INT, _)    /* the array's own: for the next range of tasks */ \
	X(tasks_ended, INT, _)  /* the array's own, and how: */                    \
	X(tasks_failed, INT, _)                                                    \
	X(tasks_cancelled, INT, _)                                                 \
	X(steps, INT, _)        /* Gpusched__Steps__Mode */                        \
	X(raw_ids, INT, _)      /* 1: an array whose tasks have ids of their own (job.h) */ \
	X(partitions, TEXT, _)  /* those in which it may start: job_partitions.h; "": one */ \
	X(partition_needs, TEXT, _) /* what it has in each, if that differs */ \
	X(eligible_time, INT, _) /* since when it was eligible, at its first start; 0: it is not, or not known */

#define RUN_COLUMNS(X)                                                             \
	X(job, INT, K)                                                             \
	X(task, INT, K)                                                            \
	X(attempt, INT, K)                                                         \
	X(rank, INT, K)         /* which of the attempt's nodes */                 \
	X(node, TEXT, _)                                                           \
	X(state, TEXT, _)                                                          \
	X(gpu_type, TEXT, _)                                                       \
	X(gpus, INT, _)         /* bit set of host indices */                      \
	X(cpus, INT, _)                                                            \
	X(mem_mb, INT, _)                                                          \
	X(incarnation, TEXT, _) /* of the node, when ordered */                    \
	X(epoch, INT, _)        /* when ordered */                                 \
	X(order_time, INT, _)                                                      \
	X(start_time, INT, _)                                                      \
	X(end_time, INT, _)                                                        \
	X(elapsed_us, INT, _)   /* by the node's monotonic clock */                \
	X(exit_code, INT, _)                                                       \
	X(exit_signal, INT, _)                                                     \
	X(end_wanted, INT, _)   /* enum end_cause: an EndRun is due or under way */ \
	X(end_cause, INT, _)    /* as reported */                                  \
	X(detail, TEXT, _)                                                         \
	X(cpu_time_us, INT, _)                                                     \
	X(max_rss_kb, INT, _)                                                      \
	X(uid, INT, _)                                                             \
	X(nodes, INT, _)        /* of the attempt */                                         \
	X(account, TEXT, _)     /* to which it is billed */                        \
	X(billed_us, INT, _)    /* this part of elapsed_us has been billed */      \
	X(cost_u, INT, _)       /* for so much; millionths of the currency */      \
	X(checkpoint_time, INT, _) /* its work up to here is safe; 0: not known */ \
	X(suspend_wanted, INT, _) /* 1: it is to be stopped for a while */         \
	X(suspend_time, INT, _) /* since when it is; 0: it is not */               \
	X(suspended_us, INT, _) /* so much of elapsed_us */                        \
	X(read_bytes, INT, _)   /* what it used all in all: struct run_used */     \
	X(written_bytes, INT, _)                                                   \
	X(gpu_seen_us, INT, _)                                                     \
	X(gpu_busy_us, INT, _)                                                     \
	X(gpu_idle_us, INT, _)                                                     \
	X(gpu_mem_peak_mb, INT, _)                                                 \
	X(energy_mj, INT, _)                                                       \
	X(share_milli, INT, _)  /* of each GPU: thousandths of its compute */      \
	X(share_mb, INT, _)     /* and MiB of its memory */                        \
	X(share_charge, INT, _) /* as what part of a GPU it counts; 0: whole ones */ \
	X(health, INT, _)       /* of a replica: enum replica_health */            \
	X(ready_time, INT, _)   /* when it was READY first; 0: never */            \
	X(ready_us, INT, _)     /* so long was it READY, all in all */             \
	X(address, TEXT, _)     /* for its clients */                              \
	X(ports, TEXT, _)       /* "20001,20002" */                                \
	X(requests, INT, _)     /* answered, as its server says */                 \
	X(tokens, INT, _)       /* generated, the same */                          \
	X(gpu_mem_mbs, INT, _)  /* as in struct run_used */

#define NONCE_COLUMNS(X) /* (uid, nonce) -> job: a repeated submit is answered, not repeated */ \
	X(uid, INT, K)                                                             \
	X(nonce, BLOB, K)                                                          \
	X(spec_hash, BLOB, _)                                                      \
	X(job, INT, _)                                                             \
	X(expires, INT, _)      /* us UTC; also kept while the job lives */

#define EVENT_COLUMNS(X) /* append only: the audit trail. Rows move on to history.db */ \
	X(seq, INT, K)                                                             \
	X(time, INT, _)                                                            \
	X(kind, TEXT, _)        /* "job.submit", "node.drain", ... */              \
	X(uid, INT, _)          /* the user; -1: the controller itself */          \
	X(host, TEXT, _)        /* from where */                                   \
	X(job, INT, _)          /* 0: none */                                      \
	X(node, TEXT, _)        /* "": none */                                     \
	X(text, TEXT, _)

#define USAGE_COLUMNS(X) /* what a user used in an account; never deleted */ \
	X(account, TEXT, K)                                                        \
	X(uid, INT, K)                                                             \
	X(user, TEXT, _)                                                           \
	X(gpu_us, INT, _)       /* GPUs x microseconds, of all runs that are over */ \
	X(cpu_us, INT, _)                                                          \
	X(cost_u, INT, _)       /* millionths of the currency */                   \
	X(runs, INT, _)                                                            \
	X(decayed_u, INT, _)    /* cost with half-life decay, as of: */            \
	X(decayed_time, INT, _) /* us UTC */

#define HOURS_COLUMNS(X) /* GPU time within a sliding time, in pieces (hours.h) */ \
	X(scope, TEXT, K)       /* account, qos, partition */                      \
	X(name, TEXT, K)                                                           \
	X(uid, INT, K)          /* 4294967295: all users together */               \
	X(start, INT, K)        /* us UTC */                                       \
	X(end_time, INT, _)                                                        \
	X(until, INT, _)        /* it is of no use after that */                   \
	X(gpu_us, INT, _)

#define FATE_COLUMNS(X) /* how jobs ended that are in history (outcomes.h) */         \
	X(page, INT, K)         /* of so many ids */                               \
	X(bits, BLOB, _)        /* two each: 1 COMPLETED, 2 otherwise, 0 not known */

#define STEP_COLUMNS(X) /* steps of jobs that have ended; append only, and they move on to history.db */ \
	X(job, INT, K)                                                             \
	X(task, INT, K)         /* of an array */                                  \
	X(attempt, INT, K)                                                         \
	X(step, INT, K)         /* its number within the attempt */                \
	X(name, TEXT, _)                                                           \
	X(state, TEXT, _)       /* long name, as of jobs */                        \
	X(nodelist, TEXT, _)                                                       \
	X(nodes, INT, _)                                                           \
	X(tasks, INT, _)                                                           \
	X(cpus, INT, _)                                                            \
	X(gpus, INT, _)                                                            \
	X(start_time, INT, _)                                                      \
	X(end_time, INT, _)                                                        \
	X(exit_code, INT, _)                                                       \
	X(exit_signal, INT, _)                                                     \
	X(cpu_time_us, INT, _)  /* of all its tasks */                             \
	X(max_rss_kb, INT, _)   /* of the largest task */

#define GENERATION_COLUMNS(X, role) \
	X(role##_job, INT, _) \
	X(role##_number, INT, _) \
	X(role##_slots, INT, _) \
	X(role##_drain_s, INT, _) \
	X(role##_valid_days, INT, _) \
	X(role##_spec, TEXT, _)

#define SERVICE_COLUMNS(X) /* services by name: records/service.h */ \
	X(name, TEXT, K) \
	X(user, TEXT, _) \
	X(uid, INT, _) \
	X(account, TEXT, _) \
	X(burst_qos, TEXT, _) /* of the slots above `kept`; "": the jobs' own */ \
	X(wanted, INT, _) /* replicas */ \
	X(paused, INT, _) \
	X(stopping, INT, _) \
	X(min, INT, _) /* what its owner asks for: struct service_policy */ \
	X(max, INT, _) \
	X(kept, INT, _) \
	X(target_milli, INT, _) \
	X(kv_target_milli, INT, _) \
	X(window_s, INT, _) \
	X(burst_window_s, INT, _) \
	X(scale_down_s, INT, _) \
	X(to_zero_s, INT, _) \
	X(request_wait_ms, INT, _) \
	X(surge, INT, _) \
	X(settle_s, INT, _) \
	GENERATION_COLUMNS(X, present) /* that serves; job 0: there is none */ \
	GENERATION_COLUMNS(X, next) /* that is being rolled out */ \
	GENERATION_COLUMNS(X, undo) /* that was present before */ \
	GENERATION_COLUMNS(X, leaving) /* that was given up and drains */ \
	X(last_number, INT, _) /* of a generation */ \
	X(submit_time, INT, _) \
	X(decision, TEXT, _) /* why so many are wanted */ \
	X(decision_time, INT, _) \
	X(trouble, TEXT, _) /* why the last update was given up */ \
	X(avoids, TEXT, _) /* nodes on which its replicas do badly: service_avoid.c */

/* X(TABLE, name, columns) */
#define ROW_TABLES(X)                        \
	X(TABLE_META, meta, META_COLUMNS)    \
	X(TABLE_NODE, node, NODE_COLUMNS)    \
	X(TABLE_JOB, job, JOB_COLUMNS)       \
	X(TABLE_RUN, run, RUN_COLUMNS)       \
	X(TABLE_NONCE, nonce, NONCE_COLUMNS) \
	X(TABLE_EVENT, event, EVENT_COLUMNS) \
	X(TABLE_USAGE, usage, USAGE_COLUMNS) \
	X(TABLE_HOURS, hours, HOURS_COLUMNS) \
	X(TABLE_FATE, fate, FATE_COLUMNS)    \
	X(TABLE_STEP, step, STEP_COLUMNS)    \
	X(TABLE_SERVICE, service, SERVICE_COLUMNS)

#define X(sym, name, columns) sym,
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
