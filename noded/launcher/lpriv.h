/* lpriv.h - the parts of the launcher, for the launcher's own files
 *
 *   launcher.c  the process: fork, loop, signals
 *   places.c    directories, lock, incarnation, and what outlives a restart
 *   protocol.c      messages from and to the network half
 *   runs.c      runs: the state of each, from records and orders to reports
 *   lost.c     runs whose shepherd was killed
 *   start.c    StartRun, from the first check to the shepherd
 *   health.c   the site's health check of the node
 *   spool_guard.c    free space in the spool for the next runs
 *   mps_pool.c      NVIDIA's MPS, for runs with parts of a GPU
 *   settings.c the controller's settings for runs
 *   gpu_inventory.c     the node's GPUs, and which of them an order means
 *   gpu_faults.c   faults of GPUs
 *   gpu_occupants.c     processes left on GPUs
 *   usage_loop.c    what runs use
 *   gpu_reclaim.c    GPU memory that runs have borrowed, and taking it back
 *   streams.c   streams to runs: gtap for clients that may have one
 *   interactive.c     interactive runs: ghold, which has the other end of their input and output
 *   spawn.c    starting the shepherds and helpers
 *   recover.c     at the start: the records, shepherds and cgroups that exist
 *   lookup.c     munge and user database, without blocking       sigcount.c  counts of signatures
 *
 * There is one thread; blocking work runs in a pool. Functions return nothing if their errors go to
 * the log only; the function that decides what an error means logs it.
 */
#ifndef NODED_LPRIV_H
#define NODED_LPRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "common/base/arena.h"
#include "common/base/error.h"
#include "common/gpu/gpufault.h"
#include "common/gpusched.pb-c.h"
#include "common/job/run.h"
#include "common/net/mcred.h"
#include "common/net/worker.h"
#include "noded/contain/contain.h"
#include "noded/gpu/gpus.h"
#include "noded/job/jobenv.h"
#include "noded/launcher/lookup.h"
#include "noded/launcher/device_grants.h"
#include "noded/launcher/launcher.h"
#include "noded/launcher/rules.h"
#include "noded/launcher/sigcount.h"
#include "noded/record/record.h"
#include "noded/shepherd/program.h"
#include "noded/usage/overmem.h"

#define RUNS_MAX      65536 /* runs and tombstones at a time: bounds a flood of orders */
#define GPU_INDEX_MAX 64    /* GPU sets of a node are one 64-bit word */

struct event;
struct event_base;
struct bufferevent;
struct frame_reader;
struct gpu_reclaim;
struct gpu_faults;
struct gpu_inventory;
struct health;
struct gpu_occupants;
struct mps_pool;
struct spool_guard;
struct start;
struct run_usage;
struct usage_loop;

struct launcher {
	struct launcher_options options; /* strings are our own */
	bool root;
	char *runs_path, *spool_runs_path; /* absolute */
	int lock, rundir, runs, spool, spool_runs, exits, outputs, holds;
	int streams;         /* to the network half: descriptors; -1: none */
	uint64_t remembered; /* runs, in `outputs` */
	char boot_id[64], incarnation[96];
	bool fresh; /* the incarnation is new: runs of the last one are dead or must be */

	struct event_base *base;
	struct bufferevent *agent;
	struct frame_reader *reader;
	struct arena *arena; /* of the message at hand */
	struct event *news_event, *state_event, *child_event, *hup_event;
	int news;
	struct worker_pool *pool, *disk;
	struct mcred_ops *munge;
	struct lookup *lookup;
	struct sigcount *sigcount;
	struct contain_root *contain;
	struct device_grants *device_grants;
	bool filter;            /* runs open their own devices only */
	uint32_t private_kinds; /* the kinds in use */
	char *private_path;     /* absolute */
	int private_dir;
	/* what confines a run here, as reported to the controller */
	char active[160];
	char lacks[100];                  /* what is demanded and not active; "": nothing */
	char active_why[200];             /* why not; "" */
	Gpusched__NodeSettings *settings; /* of the controller; NULL: none yet */
	struct rules rules;               /* the rules in force: options and settings */
	struct event *programs_event;     /* re-checks programs that may not be run; NULL: none */
	struct gpu_inventory *gpus;
	struct gpu_faults *faults;
	struct gpu_occupants *left;
	struct health *checks;            /* NULL: not started yet */
	char health[PROGRAM_TROUBLE_MAX]; /* what the health check found wrong; "": nothing */
	struct usage_loop *watch;
	struct gpu_reclaim *burst;
	struct spool_guard *room;
	struct template_client *shepherds;
	struct mps_pool *mps;
	char *mps_path; /* absolute */
	int mps_dir;

	uint64_t max_epoch, max_job;
	uint64_t signature_age_s; /* set by the controller; 0: it has not */
	uint64_t saved_job; /* the value in RUNDIR/state; newer jobs still have their records */
	bool job_unsaved;   /* max_job is newer than SPOOL/state */
	bool sweep;         /* runs ended since leftover directories were last removed */
	void *runs_tree;    /* of struct run, tsearch(3) */
	size_t n_runs;
	struct start *dropped; /* starts whose run is gone while an answer is pending */
	bool closing;
};

/* --- runs (runs.c) ---------------------------------------------------------------------------- */

enum run_state {
	RUN_ASKED,    /* just verified; no record yet, not reported */
	RUN_STARTING, /* record written */
	RUN_RUNNING,
	RUN_LOST, /* its shepherd is gone without an exit record; the rest is being killed */
	RUN_OVER, /* ended or never was: reported until forgotten */
};

enum run_order_kind {
	RUN_ORDER_SUSPEND,
	RUN_ORDER_SIGNAL,
	RUN_ORDER_NOTE,
	RUN_ORDER_GIVE_BACK,
	RUN_ORDER_END,
	RUN_ORDER_KINDS
};

struct run {
	struct launcher *l;
	struct run_id id;
	char name[RECORD_ID_MAX];
	enum run_state state;
	Gpusched__RunReport *report; /* owned; as the agent is told. NULL while ASKED */
	uint64_t gpus;               /* held while STARTING, RUNNING, LOST */
	bool has_parts;              /* it has parts of its GPUs, not whole ones */
	uint32_t uid;                /* of the user who has them */
	uint64_t share_mb;           /* of the memory of each, where they are parts */
	/* RUNNING: it must give back borrowed memory, for this job, by burst_time (wall); it used
	 * burst_own_mb when it was asked. ASKED: it waits for memory that the job has borrowed
	 * (gpu_reclaim.c). 0: neither */
	uint64_t burst_job, burst_own_mb;
	usec_t burst_time;
	bool mps;            /* it needs the MPS of its GPU and owner */
	struct start *start; /* ASKED: the start in progress */
	int pidfd;           /* of the shepherd, -1: not known */
	struct event *life;  /* on pidfd */
	struct event *timer; /* LOST: poll again; OVER: sync to disk; else: find the shepherd,
	                      * deliver waiting orders */
	/* Orders that found the shepherd's socket full; owned. Only the latest of each kind
	 * counts. */
	struct run_order_bytes {
		void *bytes;
		size_t len;
	} waiting[RUN_ORDER_KINDS];
	unsigned looks;         /* how often the timer has polled */
	struct contain *leaf;   /* LOST */
	int64_t start_mono;     /* when the program was executed; 0: not known */
	pid_t shepherd;         /* RUNNING */
	struct run_usage *used; /* what it uses (run_usage.h); NULL: not sampled yet */
	uint64_t suspended_us;  /* as in its NotesRecord */
	int64_t suspended_mono;
	struct run_sync *sync; /* the copy to disk in progress */
	bool on_disk;          /* SPOOL/exits has a copy */
	bool spool_told; /* it is being ended because its files fill the spool (spool_guard.c) */
};

struct run *run_find(struct launcher *l, struct run_id id); /* NULL */
struct run *run_add(struct launcher *l, struct run_id id);  /* ASKED; NULL: RUNS_MAX */
void run_remove(struct run *r);                             /* from the table; records stay */
void runs_free(struct launcher *l);
void runs_each(struct launcher *l, void (*fn)(struct run *r, void *arg), void *arg);

/* Report the run to the agent. run_refresh() brings the report up to date for that. */
void run_send_report(struct run *r);
void run_refresh(struct run *r);

/* The run never existed and must never start: write that down and report it. `why` is for people;
 * `never` says whether the node must be drained for it. */
enum never {
	NEVER_RUN,       /* the cause is the run's own, or no fault at all */
	NEVER_NODE,      /* the node can start no run: it must be drained */
	NEVER_SIGNATURE, /* its owner's signature was refused */
};
void run_never(struct run *r, const char *why, enum never never);

/* The run has a record and a shepherd: follow it. `shepherd` 0: run_forked() or run_not_forked()
 * is called later. Takes `report` over. */
void run_started(struct run *r, Gpusched__RunReport *report, pid_t shepherd);
/* The shepherd's process id, which another process may have by now; 0: it is not known whether the
 * shepherd was started. The lock of the run's record tells, since the launcher no longer holds
 * it. */
void run_forked(struct launcher *l, struct run_id id, pid_t shepherd);
void run_not_forked(struct launcher *l, struct run_id id, const char *why);

/* The same for a run that was found: `p` is its shepherd, pid 0 if that is not known yet. */
struct proc;
void run_follow(struct run *r, const struct proc *p);

/* The run is over, with this report, which is taken over. */
void run_over(struct run *r, Gpusched__RunReport *report, bool on_disk);

/* The shepherd is gone and left no exit record (lost.c). */
void lost_begin(struct run *r);
void lost_poll(struct run *r); /* LOST: the timer's callback */

/* For runs.c and lost.c. */
usec_t launcher_clock_us(clockid_t id);
/* 1; 0: there is no record, or a torn one, which is logged; -1: it cannot be read now. */
int run_read(const struct run *r, const char *name, const ProtobufCMessageDescriptor *desc,
        ProtobufCMessage **m);
void run_write_exit(struct run *r, const Gpusched__RunReport *report);
/* of a launch that executed nothing: its use of the signature */
void run_take_back_use(struct run *r);
void run_set_timer(struct run *r, unsigned ms);
void run_stop_following(struct run *r);

/* Read the records again. -1: they cannot be read now; the state is unchanged, and they will be
 * read later. */
int run_poll(struct run *r);

void run_end(struct launcher *l, const Gpusched__EndRun *order);
void run_signal(struct launcher *l, const Gpusched__SignalRun *order);
void run_suspend(struct launcher *l, const Gpusched__SuspendRun *order);
/* The run uses more memory of a GPU than it may; `text` says how much. */
void run_over_memory(struct run *r, enum overmem_policy policy, const char *text);
/* The run's files have filled the spool: it is ended at once. */
void run_spool_full(struct run *r, const char *text);
/* The run must give back borrowed memory, or no longer (give_back of the order). */
void run_give_back(struct run *r, const Gpusched__EndRun *order);
void run_forget(struct launcher *l, struct run_id id);

/* A descriptor of its record directory, made if need be; -1 with errno. */
int run_dir(const struct run *r, bool make);

/* Remove RUN_DIR and its private directories in the background. */
void run_remove_rundir(struct launcher *l, const char *name);

struct run_id run_id_of(const Gpusched__RunId *id);
Gpusched__RunReport *run_report_copy(const Gpusched__RunReport *r);
Gpusched__RunReport *run_report_new(struct run_id id); /* all else empty */
void run_report_free(Gpusched__RunReport *r);
void run_report_set(char **field, const char *value); /* of a report of our own */

/* --- starting (start.c), finding (recover.c) ---------------------------------------------------
 */

void start_order(struct launcher *l, const void *body, size_t len);
void start_cancel(struct start *s); /* cancels it without an answer; NULL is fine */
/* ASKED: the order to start it; NULL: it is not ASKED. */
const Gpusched__StartRun *start_order_of(const struct run *r);
void start_free_dropped(struct launcher *l); /* when no answer can come any more */

/* Fill the table. Blocks until nothing of an older incarnation is left, at most some seconds. */
int recover_runs(struct launcher *l, struct error *err);
/* Remove leftovers of runs that are over: directories in the background, empty cgroups. 1: some
 * cgroups are not empty. */
int recover_leftovers(struct launcher *l, struct error *err);

/* --- GPUs (gpu_inventory.c)
 * --------------------------------------------------------------------------- */

/* Probe the GPUs in the background; protocol_hello() only after that. Sets l->gpus. */
struct gpu_inventory *gpu_inventory_start(struct launcher *l);
void gpu_inventory_free(struct gpu_inventory *g); /* NULL is fine */

/* Something else in the node's report has changed: send all of it again, if it was sent already. */
void gpu_inventory_send(struct launcher *l);

/* From now on runs can open their own devices only, if the filter works (launcher.c). */
void launcher_filter_devices(struct launcher *l);

/* The rules have changed: whatever of them is possible here becomes active (launcher.c). */
void launcher_contain(struct launcher *l);

bool gpu_inventory_found(
        const struct gpu_inventory *g); /* does the node know its GPUs itself? NULL: not yet */

/* As last found. */
const struct gpus *gpu_inventory_now(const struct gpu_inventory *g);
/* NVML's indices. To reset: GPUs that need a reset, which fails while we hold them open. Not asked:
 * GPUs that must not be sampled, those and the ones that hung a probe and would hang a sample. */
uint64_t gpu_inventory_to_reset(const struct gpu_inventory *g);
uint64_t gpu_inventory_not_asked(const struct gpu_inventory *g);
/* The interval between probes has changed. */
void gpu_inventory_period(struct launcher *l);
/* Probe again now, unless a probe is in progress; then gpu_faults_probed(). */
void gpu_inventory_probe(struct launcher *l);

/* The same as a message; gpu_inventory_clear() frees what gpu_inventory_fill() made. */
void gpu_inventory_fill(const struct gpu_inventory *g, Gpusched__Inventory *m);
void gpu_inventory_clear(Gpusched__Inventory *m);

/* The GPUs that an order names by UUID, in its order. *out is the caller's to free, its texts are
 * good until the next probe; NULL if the order names none by UUID. -1 with ERR_LAUNCH: one is
 * missing. */
int gpu_inventory_find(const struct gpu_inventory *g, const Gpusched__StartRun *order,
        struct jobenv_gpu **out, struct error *err);
/* The CPUs near the order's GPUs, as a list; "": not known. The caller frees it. */
char *gpu_inventory_near(const struct gpu_inventory *g, const Gpusched__StartRun *order);
/* The memory of a GPU of the node; 0: not known. */
uint64_t gpu_inventory_mem_mb(const struct gpu_inventory *g, const char *uuid);
/* The device files of the order's GPUs (device_grants.h). */
int gpu_inventory_grants(const struct gpu_inventory *g, const Gpusched__StartRun *order,
        struct device out[DEVFILTER_MAX], size_t *n, struct error *err);

/* --- MPS (mps_pool.c)
 * ----------------------------------------------------------------------------- */

/* Find the daemons that an earlier launcher has started. */
struct mps_pool *mps_pool_start(struct launcher *l);
void mps_pool_free(struct mps_pool *m); /* NULL is fine; daemons that it has started live on */

struct mps_pool_wish {
	const struct lookup_user *user;
	uint32_t gpu; /* its index on the node */
	const char *gpu_uuid;
	const struct device *devices; /* that it may open */
	size_t n_devices;
};

/* Make sure that the user has an MPS daemon on the GPU, for the run that needs it; its run.mps,
 * gpus and uid must be set already. `fn` is called later, with NULL or an error, unless the
 * launcher ends first. -1 with ERR_LAUNCH: it will not be called. */
typedef void mps_pool_fn(const char *trouble, void *arg);
int mps_pool_want(struct launcher *l, const struct mps_pool_wish *wish, mps_pool_fn *fn, void *arg,
        struct error *err);
char *mps_pool_dir(const struct launcher *l, uint32_t uid, uint32_t gpu); /* the caller frees it */

/* Has the user a daemon on the GPU, or is one still ending? Then processes of his are on it. */
bool mps_pool_has(const struct launcher *l, uint32_t uid, uint32_t gpu);

/* A run is over: it may have been the last one that needed its daemon. */
void mps_pool_run_over(struct launcher *l);

#define MPS_POOL_LEAF "mps."
bool mps_pool_is_leaf(const struct launcher *l, const char *name); /* of a daemon that may exist */

/* --- the controller's settings (settings.c) ---------------------------------------------------
 */

void settings_load(struct launcher *l); /* as kept; makes the rules */
void settings_free(struct launcher *l);
/* While some of the site's programs may not be run, check them again and again. */
void settings_watch(struct launcher *l);
/* May runs be started here? -1 with ERR_LAUNCH: no, for this reason. settings_log() logs it. */
int settings_allow(const struct launcher *l, struct error *err);
void settings_log(const struct launcher *l);
void settings_take(struct launcher *l, const Gpusched__NodeSettings *m);

/* --- faults of GPUs (gpu_faults.c) ---------------------------------------------------------------
 */

struct gpu_faults *gpu_faults_new(struct launcher *l);
void gpu_faults_free(struct gpu_faults *f); /* NULL is fine */

/* A probe has ended; `old` and `now` may be equal. */
void gpu_faults_probed(struct launcher *l, const struct gpus *old, const struct gpus *now);
/* Report all faults to a network half that has just connected. */
void gpu_faults_send(struct launcher *l);
/* The controller has committed the reports up to `seq`; it wants some GPUs examined. */
void gpu_faults_ack(struct launcher *l, uint64_t seq);
void gpu_faults_check(struct launcher *l, const Gpusched__GpuCheck *m);
/* A lasting fault of the GPU has appeared or disappeared: report it if that is new. */
/* Something that lasts is wrong with it, or is not any more: told if that is news. */
void gpu_faults_condition(
        struct launcher *l, const char *uuid, enum gpu_fault_kind kind, bool is, const char *text);

/* --- processes on free GPUs (gpu_occupants.c)
 * --------------------------------------------------------- */

struct gpu_occupants *gpu_occupants_new(struct launcher *l);
void gpu_occupants_free(struct gpu_occupants *f); /* NULL is fine */

/* Called once, perhaps at once, when it is known whether processes were left on the GPUs: `left`
 * names them, NULL: there are none. A fault is recorded by then. Not called while the launcher is
 * being freed. */
typedef void gpu_occupants_fn(const char *left, void *arg);
/* Of the GPUs of an order, those that no other run has; of a list, those that no run has. */
void gpu_occupants_wait(
        struct launcher *l, const Gpusched__StartRun *order, gpu_occupants_fn *fn, void *arg);
void gpu_occupants_check(
        struct launcher *l, char (*uuids)[GPUS_TEXT], size_t n, gpu_occupants_fn *fn, void *arg);
/* A run or MPS no longer uses these GPUs (a set of indices): check whether processes stay there. */
void gpu_occupants_freed(struct launcher *l, uint64_t gpus);
void gpu_occupants_gpus_changed(struct launcher *l);

/* --- the health check (health.c) ------------------------------------------------------------- */

/* Check the node now and periodically, if the site has a check: sets l->health. */
struct health *health_start(struct launcher *l);
/* The rules have changed: if they name another check it replaces the previous one. */
void health_follow(struct launcher *l);
/* Why no run may start here, for the controller: a program that may not be run, a failed check, or
 * a full spool; "": no reason. */
const char *health_why(const struct launcher *l);
/* Is the first check about to end, so that the hello should wait for it? gpu_inventory_send()
 * follows then. NULL: there is no check. */
bool health_awaited(const struct health *h);
/* Is it the cgroup of a check in progress? */
bool health_is_leaf(const struct launcher *l, const char *name);
void health_free(struct health *h); /* NULL is fine */

/* --- watching (usage_loop.c)
 * ---------------------------------------------------------------------- */

struct usage_loop *usage_loop_new(struct launcher *l);
void usage_loop_free(struct usage_loop *w); /* NULL is fine */

void usage_loop_started(struct launcher *l); /* a run has started: sample it soon */
void usage_loop_allocated(struct launcher *l, uint64_t gpus); /* a further run holds them now */
void usage_loop_period(struct launcher *l);                   /* rules.sample_ms may have changed */
void usage_loop_gpus_changed(struct launcher *l);             /* query the GPUs anew */
void usage_loop_hurry(struct launcher *l);                    /* sample shared GPUs now */

/* --- one run's use (run_usage.c)
 * ------------------------------------------------------------------ */

/* What a run has used so far; NULL: not known. */
const struct run_used *run_usage_of(const struct run *r);
void run_usage_free(struct run_usage *u); /* NULL is fine */

/* Of a GPU by its index. own_mb: what the run's own processes used of it at the last sample; before
 * the first sample 0, or all that the run may use if an earlier launcher asked it to give back
 * (burst_time). card_mb: the GPU's memory (0: not known). text: overmem.h's text on it. */
uint64_t run_usage_own_mb(const struct run *r, unsigned index);
uint64_t run_usage_card_mb(const struct run *r, unsigned index);
void run_usage_text(const struct run *r, unsigned index, char out[OVERMEM_TEXT]);
void run_usage_send(
        const struct run *r); /* report all of it at once, with burst_job and burst_time */

/* --- borrowed memory (gpu_reclaim.c)
 * --------------------------------------------------------------- */

struct gpu_reclaim *gpu_reclaim_new(void);
void gpu_reclaim_free(struct gpu_reclaim *b); /* NULL is fine */

/* For a run that is to be started, whose GPUs and part are set. False: no run may have borrowed
 * memory of its GPUs. Else `fn` is called when the memory that it needs is free, not before this
 * returns, unless the run leaves first. */
typedef void gpu_reclaim_fn(void *arg);
bool gpu_reclaim_wait(struct launcher *l, struct run *run, gpu_reclaim_fn *fn, void *arg);
void gpu_reclaim_leave(struct launcher *l, const struct run *run);

void gpu_reclaim_sampled(struct launcher *l, usec_t asked); /* GPUs sampled; asked: mono */
void gpu_reclaim_run_over(struct launcher *l);

/* --- free space in the spool (spool_guard.c)
 * ------------------------------------------------------- */

void spool_guard_start(struct launcher *l); /* sets l->room */
void spool_guard_free(struct launcher *l);  /* after its pools */
/* the spool is full, and no run is the cause; "": it is not */
const char *spool_guard_why(const struct launcher *l);

/* For a run that is to be started. False: there is space for it. Else `fn` is called when there is
 * space (true), or after a minute without (false), not before this returns, unless the run leaves
 * first. */
typedef void spool_guard_fn(bool there, void *arg);
bool spool_guard_wait(struct launcher *l, struct run *run, spool_guard_fn *fn, void *arg);
void spool_guard_leave(struct launcher *l, const struct run *run);

/* --- streams (streams.c) ---------------------------------------------------------------------- */

/* A run is being started: record its owner and where its output will be. */
void streams_remember(struct launcher *l, const char *name, const Gpusched__LaunchRecord *r);
void streams_ask(struct launcher *l, const Gpusched__LauncherStream *m);
void streams_hand_log(const struct launcher *l, int fd); /* which stays the caller's */
/* The facts of a run's owner that gtap and ghold need; borrows. */
void streams_owner(const Gpusched__LaunchRecord *r, Gpusched__OutputRecord *out);

/* --- interactive runs (interactive.c)
 * --------------------------------------------------------------- */

/* Start ghold for a run that is about to start: returns the socket that its shepherd inherits;
 * -1. */
int interactive_start(struct launcher *l, const char *name, const Gpusched__LaunchRecord *r,
        const Gpusched__Interactive *what, struct error *err);

/* --- processes (spawn.c) --------------------------------------------------------------------- */

/* Start a program with the descriptors as 3, 4, ... (-1: none in that place), 0 to 2 on /dev/null,
 * no signals blocked, in a session of its own. The descriptors stay the caller's. -1 with
 * ERR_LAUNCH. */
#define SPAWN_FDS 4
int spawn_program(const char *path, char *const argv[], const int *fds, size_t n, pid_t *pid,
        struct error *err);

/* The same for a program in the shepherd's directory that has no arguments. */
int spawn_helper(
        const struct launcher *l, const char *name, const int *fds, size_t n, struct error *err);

/* A message as a descriptor, for one process that will inherit it. -1 with `err`. */
int spawn_grant(const ProtobufCMessage *m, struct error *err);

/* --- shepherds of runs (template_client.c)
 * ---------------------------------------------------------- */

/* Shepherds are forked from a template, which is started here and restarted if it ends; while there
 * is none they are executed. The result is the same. */
struct template_client *template_client_new(struct launcher *l);
void template_client_free(struct template_client *t);

/* Start a shepherd for the record directory at `path`, with the descriptors of shepherd.h, of which
 * only the third may be -1; they stay the caller's. Never waits. Returns 0 with *pid; *pid is 0 if
 * the template was asked, and then run_forked() or run_not_forked() is called later. -1 with
 * ERR_LAUNCH: nothing was started. */
int template_client_spawn(struct template_client *t, struct run_id id, const char *path,
        const int fds[3], pid_t *pid, struct error *err);

/* --- places (places.c) ------------------------------------------------------------------------ */

int places_make(struct launcher *l, struct error *err); /* directories, checked and opened */
/* waits a while for an earlier launcher to end */
int places_lock(struct launcher *l, struct error *err);
void places_load(struct launcher *l);     /* highest epoch and job id */
void places_save_job(struct launcher *l); /* to disk, if it is newer than there */
int places_incarnation(struct launcher *l, struct error *err); /* found, or a new one: fresh */
/* The last step: an incarnation is valid only when all of the previous one that could be killed is
 * gone. */
int places_save_incarnation(struct launcher *l, struct error *err);

void places_saw_epoch(struct launcher *l, uint64_t epoch);
/* A run of this job has a launch record. */
void places_saw_job(struct launcher *l, uint64_t job);
/* The job's record is about to be removed: save what only the record remembers. */
void places_forget_job(struct launcher *l, uint64_t job);

/* --- messages (protocol.c)
 * ------------------------------------------------------------------------ */

void protocol_send(struct launcher *l, unsigned type, const ProtobufCMessage *m);
void protocol_hello(struct launcher *l);
void protocol_read(
        struct bufferevent *bev, void *arg); /* libevent's callbacks; arg is the launcher */
void protocol_event(struct bufferevent *bev, short what, void *arg);

#endif
