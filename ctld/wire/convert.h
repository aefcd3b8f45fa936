/* convert.h - messages of gpusched.proto on one side, the core's structs on the other
 *
 * Pure: gctld uses it between its sessions and the core, the fault simulation between its simulated
 * network and the core, with real encoded bytes. What comes from the wire was looked over by
 * msg_unpack() (well formed, plain text, counts within limits); here each value is checked for what
 * the core takes for granted: lengths, ranges, parts that must be there.
 *
 * From the wire: results borrow from the message and from `arena`. 0, or -1 with ERR_PROTOCOL (a
 * peer that does not behave like an agent), ERR_USAGE or ERR_NO_NODE (a request that its user can
 * put right).
 *
 * To the wire: messages live in `arena`, which must allow for them (running out of it aborts), and
 * borrow from what they were made of.
 */
#ifndef CTLD_RPC_CONVERT_H
#define CTLD_RPC_CONVERT_H

#include "common/base/arena.h"
#include "common/base/error.h"
#include "common/conf/conf.h"
#include "common/gpusched.pb-c.h"
#include "common/net/signedjob.h"
#include "ctld/core/core.h"
#include "ctld/store/store.h"

#define WIRE_NAME_MAX      255  /* names of users, partitions, accounts, hosts, types */
#define WIRE_TEXT_MAX      511  /* reasons, details */
#define WIRE_HOSTS_MAX     4095 /* host lists */
#define WIRE_GPUS_MAX      4096 /* of one job */
#define WIRE_MEM_MB_MAX    (1ULL << 40)
#define WIRE_CPUS_MAX      (1U << 20)
#define WIRE_SIGNAL_MAX    64
#define WIRE_RETRY_MS      200 /* with ERR_BUSY: queues are short, and clients back off */

/* An arena for messages to the wire: as large as it takes. */
#define WIRE_ARENA_CAP ((size_t)1 << 40)

/* --- requests ------------------------------------------------------------------------------ */

/* One job of a submit, checked by signedjob_check(). `request` NULL: all defaults. */
int wire_submit_job(const Gpusched__JobRequest *request, const Gpusched__SignedSpec *spec,
        const struct signedjob_hash *hash, int64_t sign_time_s, struct arena *arena,
        struct submit_job *out, struct error *err);

/* Verb, signal, reason and change of a JobControl; the jobs come from its filter (job_filter.h).
 * Fills event->job. */
int wire_job_control(const Gpusched__JobControl *m, struct arena *arena, struct core_event *event,
        struct error *err);

/* The nodes of `conf` that `n` hostlists name, as ascending indices, each once. */
int wire_node_list(char *const *lists, size_t n, const struct conf *conf, struct arena *arena,
        uint32_t **nodes, size_t *n_nodes, struct error *err);

/* All of a NodeControl: its hostlist against the nodes of `conf`. Fills event->node. */
int wire_node_control(const Gpusched__NodeControl *m, const struct conf *conf, struct arena *arena,
        struct core_event *event, struct error *err);

/* All of a PartitionControl. Fills event->partition. */
int wire_partition_control(const Gpusched__PartitionControl *m, const struct conf *conf,
        struct core_event *event, struct error *err);

#define WIRE_STEPS_MAX 64 /* reports of one message */
/* All of a StepReports. Fills event->steps. */
int wire_step_reports(const Gpusched__StepReports *m, struct arena *arena,
        struct core_event *event, struct error *err);

/* `spec` and `r` as they came, NULL where they did not. *out lives in the arena. */
int wire_submit_service(const Gpusched__ServiceSpec *spec, const Gpusched__ServiceRequest *r,
        struct arena *arena, const struct submit_service **out, struct error *err);
/* Fills event->service. */
int wire_service_control(
        const Gpusched__ServiceControl *m, struct core_event *event, struct error *err);

/* --- agents -------------------------------------------------------------------------------- */

int wire_report(const Gpusched__RunReport *m, struct run_report *out, struct error *err);

/* Fills event->used but for node and session. */
int wire_runs_used(const Gpusched__RunsUsed *m, struct arena *arena, struct core_event *event,
        struct error *err);

int wire_replica(const Gpusched__Replica *m, struct replica_report *out, struct error *err);
/* Fills event->load but for node and session. */
int wire_runs_load(const Gpusched__RunsLoad *m, struct arena *arena, struct core_event *event,
        struct error *err);

/* Fills event->gpus but for node and session. */
int wire_gpu_report(const Gpusched__GpuReport *m, struct arena *arena, struct core_event *event,
        struct error *err);

/* Fills event->agent_up but for node and session. */
int wire_register(const Gpusched__Register *m, struct arena *arena, struct core_event *event,
        struct error *err);

/* --- answers ------------------------------------------------------------------------------- */

Gpusched__Reply *wire_reply(const struct error *err_or_null, struct arena *arena);
Gpusched__SubmitResult *wire_submitted(
        const struct effect *effect, const struct conf *conf, struct arena *arena);
/* Borrows nothing of the view itself, which may be the next job's by the time it is packed. */
Gpusched__Job *wire_job(const struct job_view *view, struct arena *arena);
/* The runs of its present or last attempt, into its message. */
#define WIRE_JOB_RUNS 4096 /* at most: one message holds them */
void wire_job_runs(const struct core *core, struct clocks now, uint64_t ref, Gpusched__Job *m,
        struct arena *arena);

/* A copy: borrows nothing. */
Gpusched__Service *wire_service(
        const struct core *core, const struct service *s, bool replicas, struct arena *arena);

/* A step of `job` that runs. */
Gpusched__Step *wire_step(const struct job_view *job, const struct step_report *step,
        struct clocks now, struct arena *arena);
/* One that has ended, by its row; borrows nothing of it. `of` says whose it is. */
Gpusched__Step *wire_step_row(
        const Gpusched__Step *of, const struct row *row, struct arena *arena);

/* `why` NULL: the job does not wait. */
Gpusched__WhyResult *wire_why_result(const struct job_view *job, const struct job_why *why,
        const struct conf *conf, struct clocks now, struct arena *arena);
Gpusched__Prio *wire_prio(
        const struct job_view *job, const struct prio_view *prio, struct arena *arena);
Gpusched__PrioWeights *wire_weights(const struct conf *conf, struct arena *arena);
/* Borrows nothing. */
Gpusched__Share *wire_share(
        const struct core *core, const struct share_view *share, struct arena *arena);

/* `reason_by`: the login name of view->reason_uid; NULL: not known. */
Gpusched__Node *wire_node(const struct core *core, const struct conf *conf, uint32_t node,
        const struct node_view *view, const char *reason_by, struct arena *arena);
/* `by`: the user that drained it; NULL: unknown, or no user did. */
Gpusched__NodeGpu *wire_node_gpu(const struct core *core, uint32_t node,
        const struct gpu_view *view, const char *by, struct arena *arena);
Gpusched__Partition *wire_partition(const struct partition_view *view, struct arena *arena);

/* --- orders -------------------------------------------------------------------------------- */

/* What agents need to know that the core does not say. */
struct wire_facts {
	const struct conf *conf;
	uint64_t epoch;
};

Gpusched__Registered *wire_registered(
        const struct effect *effect, const struct wire_facts *facts, struct arena *arena);

Gpusched__NodeSettings *wire_node_settings(
        uint32_t node, const struct wire_facts *facts, struct arena *arena);

/* The order without its signed bytes. The signed bytes alone, packed behind it, make it whole: in
 * protobuf the encodings of two messages, one behind the other, are their union. So an order says
 * what was so at its birth, even when its bytes come from the store later. */
Gpusched__StartRun *wire_start_run(const struct run_view *run, const struct job_view *job,
        const char *currency, struct arena *arena);
Gpusched__StartRun *wire_start_bytes(const struct store_blob *blob, struct arena *arena);

/* Of an effect that ends, signals, suspends or forgets a run, or that acknowledges or checks GPUs:
 * the message and its type. */
ProtobufCMessage *wire_order(const struct effect *effect, const struct wire_facts *facts,
        struct arena *arena, unsigned *type);

#endif
