/* lpriv.h - the parts of the launcher, for the launcher's own files
 *
 *   launcher.c  the process: fork, loop, signals
 *   lplace.c    directories, lock, incarnation, and what outlives a restart
 *   lmsg.c      messages from and to the network half
 *   lrun.c      runs: the state of each, from records and orders to reports
 *   llost.c     runs whose shepherd was killed
 *   lstart.c    StartRun, from the first check to the shepherd
 *   lhealth.c   the site's health check of the node
 *   lspool.c    free space in the spool for the next runs
 *   lmps.c      NVIDIA's MPS, for runs with parts of a GPU
 *   lsettings.c the controller's settings for runs
 *   lgpus.c     the node's GPUs, and which of them an order means
 *   lfaults.c   faults of GPUs
 *   lleft.c     processes left on GPUs
 *   lwatch.c    what runs use
 *   lburst.c    GPU memory that runs have borrowed, and taking it back
 *   lstream.c   streams to runs: gtap for clients that may have one
 *   lhold.c     interactive runs: ghold, which has the other end of their input and output
 *   lspawn.c    starting the shepherds and helpers
 *   lscan.c     at the start: the records, shepherds and cgroups that exist
 *   asked.c     munge and user database, without blocking       uses.c  counts of signatures
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
#include "noded/launcher/asked.h"
#include "noded/launcher/grants.h"
#include "noded/launcher/launcher.h"
#include "noded/launcher/rules.h"
#include "noded/launcher/uses.h"
#include "noded/record/record.h"
#include "noded/shepherd/program.h"
#include "noded/usage/overmem.h"

#define LRUNS_MAX 65536 /* runs and tombstones at a time: bounds a flood of orders */
#define LGPUS_MAX 64    /* GPU sets of a node are one 64-bit word */

struct event;
struct event_base;
struct bufferevent;
struct frame_reader;
struct lburst;
struct lfaults;
struct lgpus;
struct lhealth;
struct lleft;
struct lmps;
struct lspool;
struct lstart;
struct lused;
struct lwatch;

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
	struct asked *asked;
	struct uses *uses;
	struct contain_root *contain;
	struct grants *grants;
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
	struct lgpus *gpus;
	struct lfaults *faults;
	struct lleft *left;
	struct lhealth *checks;           /* NULL: not started yet */
	char health[PROGRAM_TROUBLE_MAX]; /* what the health check found wrong; "": nothing */
	struct lwatch *watch;
	struct lburst *burst;
	struct lspool *room;
	struct ltemplate *shepherds;
	struct lmps *mps;
	char *mps_path; /* absolute */
	int mps_dir;

	uint64_t max_epoch, max_job;
	uint64_t signature_age_s; /* set by the controller; 0: it has not */
	uint64_t saved_job; /* the value in RUNDIR/state; newer jobs still have their records */
	bool job_unsaved;   /* max_job is newer than SPOOL/state */
	bool sweep;         /* runs ended since leftover directories were last removed */
	void *runs_tree;    /* of struct lrun, tsearch(3) */
	size_t n_runs;
	struct lstart *dropped; /* starts whose run is gone while an answer is pending */
	bool closing;
};

/* --- runs (lrun.c) ---------------------------------------------------------------------------- */

enum lrun_state {
	LRUN_ASKED,    /* just verified; no record yet, not reported */
	LRUN_STARTING, /* record written */
	LRUN_RUNNING,
	LRUN_LOST, /* its shepherd is gone without an exit record; the rest is being killed */
	LRUN_OVER, /* ended or never was: reported until forgotten */
};

enum lwait_kind {
	LWAIT_SUSPEND,
	LWAIT_SIGNAL,
	LWAIT_NOTE,
	LWAIT_GIVE_BACK,
	LWAIT_END,
	LWAIT_KINDS
};

struct lrun {
	struct launcher *l;
	struct run_id id;
	char name[RECORD_ID_MAX];
	enum lrun_state state;
	Gpusched__RunReport *report; /* owned; as the agent is told. NULL while ASKED */
	uint64_t gpus;               /* held while STARTING, RUNNING, LOST */
	bool has_parts;              /* it has parts of its GPUs, not whole ones */
	uint32_t uid;                /* of the user who has them */
	uint64_t share_mb;           /* of the memory of each, where they are parts */
	/* RUNNING: it must give back borrowed memory, for this job, by burst_time (wall); it used
	 * burst_own_mb when it was asked. ASKED: it waits for memory that the job has borrowed
	 * (lburst.c). 0: neither */
	uint64_t burst_job, burst_own_mb;
	usec_t burst_time;
	bool mps;             /* it needs the MPS of its GPU and owner */
	struct lstart *start; /* ASKED: the start in progress */
	int pidfd;            /* of the shepherd, -1: not known */
	struct event *life;   /* on pidfd */
	struct event *timer;  /* LOST: poll again; OVER: sync to disk; else: find the shepherd,
	                       * deliver waiting orders */
	/* Orders that found the shepherd's socket full; owned. Only the latest of each kind
	 * counts. */
	struct lwait {
		void *bytes;
		size_t len;
	} waiting[LWAIT_KINDS];
	unsigned looks;        /* how often the timer has polled */
	struct contain *leaf;  /* LOST */
	int64_t start_mono;    /* when the program was executed; 0: not known */
	pid_t shepherd;        /* RUNNING */
	struct lused *used;    /* what it uses (lused.h); NULL: not sampled yet */
	uint64_t suspended_us; /* as in its NotesRecord */
	int64_t suspended_mono;
	struct lsync *sync; /* the copy to disk in progress */
	bool on_disk;       /* SPOOL/exits has a copy */
	bool spool_told;    /* it is being ended because its files fill the spool (lspool.c) */
};

struct lrun *lrun_find(struct launcher *l, struct run_id id); /* NULL */
struct lrun *lrun_add(struct launcher *l, struct run_id id);  /* ASKED; NULL: LRUNS_MAX */
void lrun_remove(struct lrun *r);                             /* from the table; records stay */
void lruns_free(struct launcher *l);
void lruns_each(struct launcher *l, void (*fn)(struct lrun *r, void *arg), void *arg);

/* Report the run to the agent. lrun_refresh() brings the report up to date for that. */
void lrun_tell(struct lrun *r);
void lrun_refresh(struct lrun *r);

/* The run never existed and must never start: write that down and report it. `why` is for people;
 * `never` says whether the node must be drained for it. */
enum never {
	NEVER_RUN,       /* the cause is the run's own, or no fault at all */
	NEVER_NODE,      /* the node can start no run: it must be drained */
	NEVER_SIGNATURE, /* its owner's signature was refused */
};
void lrun_never(struct lrun *r, const char *why, enum never never);

/* The run has a record and a shepherd: follow it. `shepherd` 0: lrun_forked() or lrun_not_forked()
 * is called later. Takes `report` over. */
void lrun_started(struct lrun *r, Gpusched__RunReport *report, pid_t shepherd);
/* The shepherd's process id, which another process may have by now; 0: it is not known whether the
 * shepherd was started. The lock of the run's record tells, since the launcher no longer holds
 * it. */
void lrun_forked(struct launcher *l, struct run_id id, pid_t shepherd);
void lrun_not_forked(struct launcher *l, struct run_id id, const char *why);

/* The same for a run that was found: `p` is its shepherd, pid 0 if that is not known yet. */
struct proc;
void lrun_follow(struct lrun *r, const struct proc *p);

/* The run is over, with this report, which is taken over. */
void lrun_over(struct lrun *r, Gpusched__RunReport *report, bool on_disk);

/* The shepherd is gone and left no exit record (llost.c). */
void lrun_lost(struct lrun *r);
void lrun_lost_look(struct lrun *r); /* LOST: the timer's callback */

/* For lrun.c and llost.c. */
usec_t lrun_clock_us(clockid_t id);
/* 1; 0: there is no record, or a torn one, which is logged; -1: it cannot be read now. */
int lrun_read(const struct lrun *r, const char *name, const ProtobufCMessageDescriptor *desc,
        ProtobufCMessage **m);
void lrun_write_exit(struct lrun *r, const Gpusched__RunReport *report);
/* of a launch that executed nothing: its use of the signature */
void lrun_take_back_use(struct lrun *r);
void lrun_set_timer(struct lrun *r, unsigned ms);
void lrun_stop_following(struct lrun *r);

/* Read the records again. -1: they cannot be read now; the state is unchanged, and they will be
 * read later. */
int lrun_look(struct lrun *r);

void lrun_end(struct launcher *l, const Gpusched__EndRun *order);
void lrun_signal(struct launcher *l, const Gpusched__SignalRun *order);
void lrun_suspend(struct launcher *l, const Gpusched__SuspendRun *order);
/* The run uses more memory of a GPU than it may; `text` says how much. */
void lrun_over_memory(struct lrun *r, enum overmem_policy policy, const char *text);
/* The run's files have filled the spool: it is ended at once. */
void lrun_spool_full(struct lrun *r, const char *text);
/* The run must give back borrowed memory, or no longer (give_back of the order). */
void lrun_give_back(struct lrun *r, const Gpusched__EndRun *order);
void lrun_forget(struct launcher *l, struct run_id id);

/* A descriptor of its record directory, made if need be; -1 with errno. */
int lrun_dir(const struct lrun *r, bool make);

/* Remove RUN_DIR and its private directories in the background. */
void lrun_remove_rundir(struct launcher *l, const char *name);

struct run_id lrun_id(const Gpusched__RunId *id);
Gpusched__RunReport *lreport_copy(const Gpusched__RunReport *r);
Gpusched__RunReport *lreport_new(struct run_id id); /* all else empty */
void lreport_free(Gpusched__RunReport *r);
void lreport_set(char **field, const char *value); /* of a report of our own */

/* --- starting (lstart.c), finding (lscan.c) --------------------------------------------------- */

void lstart_order(struct launcher *l, const void *body, size_t len);
void lstart_free(struct lstart *s); /* cancels it without an answer; NULL is fine */
/* ASKED: the order to start it; NULL: it is not ASKED. */
const Gpusched__StartRun *lstart_order_of(const struct lrun *r);
void lstart_free_dropped(struct launcher *l); /* when no answer can come any more */

/* Fill the table. Blocks until nothing of an older incarnation is left, at most some seconds. */
int lscan(struct launcher *l, struct error *err);
/* Remove leftovers of runs that are over: directories in the background, empty cgroups. 1: some
 * cgroups are not empty. */
int lscan_leftovers(struct launcher *l, struct error *err);

/* --- GPUs (lgpus.c) --------------------------------------------------------------------------- */

/* Probe the GPUs in the background; lmsg_hello() only after that. Sets l->gpus. */
struct lgpus *lgpus_start(struct launcher *l);
void lgpus_free(struct lgpus *g); /* NULL is fine */

/* Something else in the node's report has changed: send all of it again, if it was sent already. */
void lgpus_tell(struct launcher *l);

/* From now on runs can open their own devices only, if the filter works (launcher.c). */
void launcher_filter_devices(struct launcher *l);

/* The rules have changed: whatever of them is possible here becomes active (launcher.c). */
void launcher_contain(struct launcher *l);

bool lgpus_found(const struct lgpus *g); /* does the node know its GPUs itself? NULL: not yet */

/* As last found. */
const struct gpus *lgpus_now(const struct lgpus *g);
/* NVML's indices. To reset: GPUs that need a reset, which fails while we hold them open. Not asked:
 * GPUs that must not be sampled, those and the ones that hung a probe and would hang a sample. */
uint64_t lgpus_to_reset(const struct lgpus *g);
uint64_t lgpus_not_asked(const struct lgpus *g);
/* The interval between probes has changed. */
void lgpus_period(struct launcher *l);
/* Probe again now, unless a probe is in progress; then lfaults_looked(). */
void lgpus_look(struct launcher *l);

/* The same as a message; lgpus_clear() frees what lgpus_fill() made. */
void lgpus_fill(const struct lgpus *g, Gpusched__Inventory *m);
void lgpus_clear(Gpusched__Inventory *m);

/* The GPUs that an order names by UUID, in its order. *out is the caller's to free, its texts are
 * good until the next probe; NULL if the order names none by UUID. -1 with ERR_LAUNCH: one is
 * missing. */
int lgpus_find(const struct lgpus *g, const Gpusched__StartRun *order, struct jobenv_gpu **out,
        struct error *err);
/* The CPUs near the order's GPUs, as a list; "": not known. The caller frees it. */
char *lgpus_near(const struct lgpus *g, const Gpusched__StartRun *order);
/* The memory of a GPU of the node; 0: not known. */
uint64_t lgpus_mem_mb(const struct lgpus *g, const char *uuid);
/* The device files of the order's GPUs (grants.h). */
int lgpus_grants(const struct lgpus *g, const Gpusched__StartRun *order,
        struct device out[DEVFILTER_MAX], size_t *n, struct error *err);

/* --- MPS (lmps.c) ----------------------------------------------------------------------------- */

/* Find the daemons that an earlier launcher has started. */
struct lmps *lmps_start(struct launcher *l);
void lmps_free(struct lmps *m); /* NULL is fine; daemons that it has started live on */

struct lmps_wish {
	const struct asked_user *user;
	uint32_t gpu; /* its index on the node */
	const char *gpu_uuid;
	const struct device *devices; /* that it may open */
	size_t n_devices;
};

/* Make sure that the user has an MPS daemon on the GPU, for the run that needs it; its lrun.mps,
 * gpus and uid must be set already. `fn` is called later, with NULL or an error, unless the
 * launcher ends first. -1 with ERR_LAUNCH: it will not be called. */
typedef void lmps_fn(const char *trouble, void *arg);
int lmps_want(struct launcher *l, const struct lmps_wish *wish, lmps_fn *fn, void *arg,
        struct error *err);
char *lmps_dir(const struct launcher *l, uint32_t uid, uint32_t gpu); /* the caller frees it */

/* Has the user a daemon on the GPU, or is one still ending? Then processes of his are on it. */
bool lmps_has(const struct launcher *l, uint32_t uid, uint32_t gpu);

/* A run is over: it may have been the last one that needed its daemon. */
void lmps_run_over(struct launcher *l);

#define LMPS_LEAF "mps."
bool lmps_is_leaf(const struct launcher *l, const char *name); /* of a daemon that may exist */

/* --- the controller's settings (lsettings.c) ---------------------------------------------------
 */

void lsettings_load(struct launcher *l); /* as kept; makes the rules */
void lsettings_free(struct launcher *l);
/* While some of the site's programs may not be run, check them again and again. */
void lsettings_watch(struct launcher *l);
/* May runs be started here? -1 with ERR_LAUNCH: no, for this reason. lsettings_say() logs it. */
int lsettings_allow(const struct launcher *l, struct error *err);
void lsettings_say(const struct launcher *l);
void lsettings_take(struct launcher *l, const Gpusched__NodeSettings *m);

/* --- faults of GPUs (lfaults.c) --------------------------------------------------------------- */

struct lfaults *lfaults_new(struct launcher *l);
void lfaults_free(struct lfaults *f); /* NULL is fine */

/* A probe has ended; `old` and `now` may be equal. */
void lfaults_looked(struct launcher *l, const struct gpus *old, const struct gpus *now);
/* Report all faults to a network half that has just connected. */
void lfaults_tell(struct launcher *l);
/* The controller has committed the reports up to `seq`; it wants some GPUs examined. */
void lfaults_ack(struct launcher *l, uint64_t seq);
void lfaults_check(struct launcher *l, const Gpusched__GpuCheck *m);
/* A lasting fault of the GPU has appeared or disappeared: report it if that is new. */
/* Something that lasts is wrong with it, or is not any more: told if that is news. */
void lfaults_condition(
        struct launcher *l, const char *uuid, enum gpu_fault_kind kind, bool is, const char *text);

/* --- processes on free GPUs (lleft.c) --------------------------------------------------------- */

struct lleft *lleft_new(struct launcher *l);
void lleft_free(struct lleft *f); /* NULL is fine */

/* Called once, perhaps at once, when it is known whether processes were left on the GPUs: `left`
 * names them, NULL: there are none. A fault is recorded by then. Not called while the launcher is
 * being freed. */
typedef void lleft_fn(const char *left, void *arg);
/* Of the GPUs of an order, those that no other run has; of a list, those that no run has. */
void lleft_wait(struct launcher *l, const Gpusched__StartRun *order, lleft_fn *fn, void *arg);
void lleft_check(struct launcher *l, char (*uuids)[GPUS_TEXT], size_t n, lleft_fn *fn, void *arg);
/* A run or MPS no longer uses these GPUs (a set of indices): check whether processes stay there. */
void lleft_freed(struct launcher *l, uint64_t gpus);
void lleft_gpus_changed(struct launcher *l);

/* --- the health check (lhealth.c) ------------------------------------------------------------- */

/* Check the node now and periodically, if the site has a check: sets l->health. */
struct lhealth *lhealth_start(struct launcher *l);
/* The rules have changed: if they name another check it replaces the previous one. */
void lhealth_follow(struct launcher *l);
/* Why no run may start here, for the controller: a program that may not be run, a failed check, or
 * a full spool; "": no reason. */
const char *lhealth_why(const struct launcher *l);
/* Is the first check about to end, so that the hello should wait for it? lgpus_tell() follows then.
 * NULL: there is no check. */
bool lhealth_awaited(const struct lhealth *h);
/* Is it the cgroup of a check in progress? */
bool lhealth_is_leaf(const struct launcher *l, const char *name);
void lhealth_free(struct lhealth *h); /* NULL is fine */

/* --- watching (lwatch.c) ---------------------------------------------------------------------- */

struct lwatch *lwatch_new(struct launcher *l);
void lwatch_free(struct lwatch *w); /* NULL is fine */

void lwatch_started(struct launcher *l);      /* a run has started: sample it soon */
void lwatch_held(struct launcher *l, uint64_t gpus); /* a further run holds them now */
void lwatch_period(struct launcher *l);       /* rules.sample_ms may have changed */
void lwatch_gpus_changed(struct launcher *l); /* query the GPUs anew */
void lwatch_hurry(struct launcher *l);        /* sample shared GPUs now */

/* --- one run's use (lused.c) ------------------------------------------------------------------ */

/* What a run has used so far; NULL: not known. */
const struct run_used *lused_of(const struct lrun *r);
void lused_free(struct lused *u); /* NULL is fine */

/* Of a GPU by its index. own_mb: what the run's own processes used of it at the last sample; before
 * the first sample 0, or all that the run may use if an earlier launcher asked it to give back
 * (burst_time). card_mb: the GPU's memory (0: not known). text: overmem.h's text on it. */
uint64_t lused_own_mb(const struct lrun *r, unsigned index);
uint64_t lused_card_mb(const struct lrun *r, unsigned index);
void lused_text(const struct lrun *r, unsigned index, char out[OVERMEM_TEXT]);
void lused_tell(const struct lrun *r); /* report all of it at once, with burst_job and burst_time */

/* --- borrowed memory (lburst.c) --------------------------------------------------------------- */

struct lburst *lburst_new(void);
void lburst_free(struct lburst *b); /* NULL is fine */

/* For a run that is to be started, whose GPUs and part are set. False: no run may have borrowed
 * memory of its GPUs. Else `fn` is called when the memory that it needs is free, not before this
 * returns, unless the run leaves first. */
typedef void lburst_fn(void *arg);
bool lburst_wait(struct launcher *l, struct lrun *run, lburst_fn *fn, void *arg);
void lburst_leave(struct launcher *l, const struct lrun *run);

void lburst_looked(struct launcher *l, usec_t asked); /* GPUs sampled; asked: mono */
void lburst_run_over(struct launcher *l);

/* --- free space in the spool (lspool.c) ------------------------------------------------------- */

void lspool_start(struct launcher *l);            /* sets l->room */
void lspool_free(struct launcher *l);             /* after its pools */
/* the spool is full, and no run is the cause; "": it is not */
const char *lspool_why(const struct launcher *l);

/* For a run that is to be started. False: there is space for it. Else `fn` is called when there is
 * space (true), or after a minute without (false), not before this returns, unless the run leaves
 * first. */
typedef void lspool_fn(bool there, void *arg);
bool lspool_wait(struct launcher *l, struct lrun *run, lspool_fn *fn, void *arg);
void lspool_leave(struct launcher *l, const struct lrun *run);

/* --- streams (lstream.c) ---------------------------------------------------------------------- */

/* A run is being started: record its owner and where its output will be. */
void lstream_remember(struct launcher *l, const char *name, const Gpusched__LaunchRecord *r);
void lstream_ask(struct launcher *l, const Gpusched__LauncherStream *m);
void lstream_hand_log(const struct launcher *l, int fd); /* which stays the caller's */
/* The facts of a run's owner that gtap and ghold need; borrows. */
void lstream_owner(const Gpusched__LaunchRecord *r, Gpusched__OutputRecord *out);

/* --- interactive runs (lhold.c) --------------------------------------------------------------- */

/* Start ghold for a run that is about to start: returns the socket that its shepherd inherits;
 * -1. */
int lhold_start(struct launcher *l, const char *name, const Gpusched__LaunchRecord *r,
        const Gpusched__Interactive *what, struct error *err);

/* --- processes (lspawn.c) --------------------------------------------------------------------- */

/* Start a program with the descriptors as 3, 4, ... (-1: none in that place), 0 to 2 on /dev/null,
 * no signals blocked, in a session of its own. The descriptors stay the caller's. -1 with
 * ERR_LAUNCH. */
#define LSPAWN_FDS 4
int lspawn(const char *path, char *const argv[], const int *fds, size_t n, pid_t *pid,
        struct error *err);

/* The same for a program in the shepherd's directory that has no arguments. */
int lspawn_helper(
        const struct launcher *l, const char *name, const int *fds, size_t n, struct error *err);

/* A message as a descriptor, for one process that will inherit it. -1 with `err`. */
int lspawn_grant(const ProtobufCMessage *m, struct error *err);

/* --- shepherds of runs (ltemplate.c) ---------------------------------------------------------- */

/* Shepherds are forked from a template, which is started here and restarted if it ends; while there
 * is none they are executed. The result is the same. */
struct ltemplate *ltemplate_new(struct launcher *l);
void ltemplate_free(struct ltemplate *t);

/* Start a shepherd for the record directory at `path`, with the descriptors of shepherd.h, of which
 * only the third may be -1; they stay the caller's. Never waits. Returns 0 with *pid; *pid is 0 if
 * the template was asked, and then lrun_forked() or lrun_not_forked() is called later. -1 with
 * ERR_LAUNCH: nothing was started. */
int ltemplate_spawn(struct ltemplate *t, struct run_id id, const char *path, const int fds[3],
        pid_t *pid, struct error *err);

/* --- places (lplace.c) ------------------------------------------------------------------------ */

int lplace_make(struct launcher *l, struct error *err); /* directories, checked and opened */
/* waits a while for an earlier launcher to end */
int lplace_lock(struct launcher *l, struct error *err);
void lplace_load(struct launcher *l);                   /* highest epoch and job id */
void lplace_save_job(struct launcher *l);               /* to disk, if it is newer than there */
int lplace_incarnation(struct launcher *l, struct error *err); /* found, or a new one: fresh */
/* The last step: an incarnation is valid only when all of the previous one that could be killed is
 * gone. */
int lplace_save_incarnation(struct launcher *l, struct error *err);

void launcher_saw_epoch(struct launcher *l, uint64_t epoch);
/* A run of this job has a launch record. */
void launcher_saw_job(struct launcher *l, uint64_t job);
/* The job's record is about to be removed: save what only the record remembers. */
void launcher_forgets_job(struct launcher *l, uint64_t job);

/* --- messages (lmsg.c) ------------------------------------------------------------------------ */

void launcher_send(struct launcher *l, unsigned type, const ProtobufCMessage *m);
void lmsg_hello(struct launcher *l);
void lmsg_read(struct bufferevent *bev, void *arg); /* libevent's callbacks; arg is the launcher */
void lmsg_event(struct bufferevent *bev, short what, void *arg);

#endif
