/* lpriv.h - the parts of the launcher, for the launcher's own files
 *
 *   launcher.c  the process: fork, loop, signals
 *   lplace.c    directories, lock, incarnation, what is remembered
 *   lmsg.c      messages of and for the network half
 *   lrun.c      runs: what is known of each, from records and orders to reports
 *   llost.c     those whose shepherd was killed
 *   lstart.c    StartRun, from the first check to the shepherd
 *   lhealth.c   is the node well: the site's health check
 *   lspool.c    room in the spool for who comes next
 *   lmps.c      NVIDIA's MPS, for runs with parts of a GPU
 *   lsettings.c what the controller says of how runs are held
 *   lfaults.c   what is wrong with them     lleft.c   who was left on them
 *   lgpus.c     what GPUs there are, and which of them an order means
 *   lwatch.c    what runs use
 *   lburst.c    what they have borrowed of GPUs, and who gives it back
 *   lstream.c   streams to runs: gtap for who may have one
 *   lhold.c     interactive runs: ghold, which has the other end of their input and output
 *   lspawn.c    starting all of these
 *   lscan.c     at the start: what records, shepherds and cgroups are there
 *   asked.c     munge and user database, without blocking       uses.c  counts of signatures
 *
 * One thread; whatever blocks runs in a pool. Functions return nothing where there is nobody to
 * tell but the log, which whoever decides writes.
 */
#ifndef NODED_LPRIV_H
#define NODED_LPRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "common/arena.h"
#include "common/error.h"
#include "common/gpufault.h"
#include "common/gpusched.pb-c.h"
#include "common/mcred.h"
#include "common/run.h"
#include "common/worker.h"
#include "noded/contain/contain.h"
#include "noded/gpu/gpus.h"
#include "noded/job/jobenv.h"
#include "noded/launcher/asked.h"
#include "noded/launcher/grants.h"
#include "noded/launcher/launcher.h"
#include "noded/launcher/uses.h"
#include "noded/record/record.h"
#include "noded/launcher/rules.h"
#include "noded/shepherd/program.h"
#include "noded/usage/overmem.h"

#define LRUNS_MAX 65536 /* runs and tombstones at a time: a flood of orders must end somewhere */
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
	bool fresh; /* the incarnation is new: whatever ran is dead or must be */

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
	uint32_t private_kinds; /* of those that were asked for */
	char *private_path;     /* absolute */
	int private_dir;
	char active[160];                 /* what holds a run here, as the controller is told */
	char lacks[100];                  /* what is demanded of that and not active; "": nothing */
	char active_why[200];             /* why not; "" */
	Gpusched__NodeSettings *settings; /* of the controller; NULL: none yet */
	struct rules rules;               /* what counts: options and settings */
	struct event *programs_event;     /* look again at what they must not run; NULL: none */
	struct lgpus *gpus;
	struct lfaults *faults;
	struct lleft *left;
	struct lhealth *checks;           /* NULL: not started yet */
	char health[PROGRAM_TROUBLE_MAX]; /* what its check found wrong; "": nothing */
	struct lwatch *watch;
	struct lburst *burst;
	struct lspool *room;
	struct ltemplate *shepherds;
	struct lmps *mps;
	char *mps_path; /* absolute */
	int mps_dir;

	uint64_t max_epoch, max_job;
	uint64_t signature_age_s; /* as the controller said; 0: it has not */
	uint64_t saved_job; /* what RUNDIR/state has of it; newer ones still have their records */
	bool job_unsaved;   /* max_job is newer than SPOOL/state */
	bool sweep;         /* runs were over since directories were last looked for */
	void *runs_tree;    /* of struct lrun, tsearch(3) */
	size_t n_runs;
	struct lstart *dropped; /* starts whose run is gone and whose answer is still to come */
	bool closing;
};

/* --- runs (lrun.c) ---------------------------------------------------------------------------- */

enum lrun_state {
	LRUN_ASKED,    /* verified just now; no record yet, told to nobody */
	LRUN_STARTING, /* record written */
	LRUN_RUNNING,
	LRUN_LOST, /* its shepherd is gone without an exit record; what is left is being killed */
	LRUN_OVER, /* ended or never was: told until forgotten */
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
	Gpusched__RunReport *report; /* owned; what the agent is told. NULL while ASKED */
	uint64_t gpus;               /* held while STARTING, RUNNING, LOST */
	bool has_parts;              /* of them, not the whole of each */
	uint32_t uid;                /* of who has them */
	uint64_t share_mb;           /* of the memory of each, where they are parts */
	/* RUNNING: it is to give back what it has borrowed, for this job, until then (wall), when
	 * it used so much; ASKED: it waits for what that job has borrowed (lburst.c). 0: neither */
	uint64_t burst_job, burst_own_mb;
	usec_t burst_time;
	bool mps;             /* it needs that of its GPU and owner */
	struct lstart *start; /* ASKED: the order, under way */
	int pidfd;            /* of the shepherd, -1: not known */
	struct event *life;   /* on pidfd */
	struct event *timer;  /* LOST: look again; OVER: sync to disk; else: find the shepherd,
	                       * pass on what waits */
	/* Orders that found the shepherd's socket full; owned. The latest of each kind counts. */
	struct lwait {
		void *bytes;
		size_t len;
	} waiting[LWAIT_KINDS];
	unsigned looks;        /* how often the timer has looked */
	struct contain *leaf;  /* LOST */
	int64_t start_mono;    /* when the program was executed; 0: not known */
	pid_t shepherd;        /* RUNNING */
	struct lused *used;    /* what it uses (lused.h); NULL: it was not looked at yet */
	uint64_t suspended_us; /* as in its NotesRecord */
	int64_t suspended_mono;
	struct lsync *sync; /* the disk copy under way */
	bool on_disk;       /* SPOOL/exits has a copy */
	bool spool_told;    /* it is to end, for its files fill the spool (lspool.c) */
};

struct lrun *lrun_find(struct launcher *l, struct run_id id); /* NULL */
struct lrun *lrun_add(struct launcher *l, struct run_id id);  /* ASKED; NULL: LRUNS_MAX */
void lrun_remove(struct lrun *r);                             /* from the table; records stay */
void lruns_free(struct launcher *l);
void lruns_each(struct launcher *l, void (*fn)(struct lrun *r, void *arg), void *arg);

/* Tell the agent what is known; bring its report up to date for that. */
void lrun_tell(struct lrun *r);
void lrun_refresh(struct lrun *r);

/* It never was and will never be: written down, and told. `why` for people; `node`: no run can be
 * started here for that reason, and the node is to be drained for it. */
enum never {
	NEVER_RUN,       /* the run's own matter, or nobody's */
	NEVER_NODE,      /* nothing can be started here: the node is to be drained */
	NEVER_SIGNATURE, /* its owner's signature was refused */
};
void lrun_never(struct lrun *r, const char *why, enum never never);

/* It has a record and a shepherd: follow it. 0: lrun_forked() or lrun_not_forked() will tell. Takes
 * `report` over. */
void lrun_started(struct lrun *r, Gpusched__RunReport *report, pid_t shepherd);
/* Its shepherd's process id, which may be another process's by now; 0: nobody can say whether it was
 * started. The lock of its record tells, which the launcher holds no more. */
void lrun_forked(struct launcher *l, struct run_id id, pid_t shepherd);
void lrun_not_forked(struct launcher *l, struct run_id id, const char *why);

/* The same for one that was found: `p` is its shepherd, pid 0 if that is not known yet. */
struct proc;
void lrun_follow(struct lrun *r, const struct proc *p);

/* It is over, with this report, which is taken over. */
void lrun_over(struct lrun *r, Gpusched__RunReport *report, bool on_disk);

/* Its shepherd is gone and left no exit record (llost.c). */
void lrun_lost(struct lrun *r);
void lrun_lost_look(struct lrun *r); /* LOST: the timer's */

/* For lrun.c and llost.c. */
usec_t lrun_clock_us(clockid_t id);
/* 1; 0: there is none, or a torn one, which is logged; -1: it cannot be read now. */
int lrun_read(const struct lrun *r, const char *name, const ProtobufCMessageDescriptor *desc,
        ProtobufCMessage **m);
void lrun_write_exit(struct lrun *r, const Gpusched__RunReport *report);
void lrun_take_back_use(struct lrun *r); /* of a launch that executed nothing */
void lrun_set_timer(struct lrun *r, unsigned ms);
void lrun_stop_following(struct lrun *r);

/* Look at the records again. -1: they cannot be read now; it is as it was, and they will be looked
 * at later. */
int lrun_look(struct lrun *r);

void lrun_end(struct launcher *l, const Gpusched__EndRun *order);
void lrun_signal(struct launcher *l, const Gpusched__SignalRun *order);
void lrun_suspend(struct launcher *l, const Gpusched__SuspendRun *order);
/* It uses more memory of a GPU than it may: what `text` says. */
void lrun_over_memory(struct lrun *r, enum overmem_policy policy, const char *text);
/* Its files have filled the spool: it is ended at once. */
void lrun_spool_full(struct lrun *r, const char *text);
/* It is to give back what it has borrowed, or no longer (give_back of the order). */
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
void lstart_free(struct lstart *s); /* gives it up, silently; NULL is fine */
/* ASKED: what it was ordered with; NULL: it is not. */
const Gpusched__StartRun *lstart_order_of(const struct lrun *r);
void lstart_free_dropped(struct launcher *l); /* when no answer will come any more */

/* Fill the table. Blocks until nothing of an older incarnation is left, some seconds at most. */
int lscan(struct launcher *l, struct error *err);
/* Remove what is left of runs that are over: directories in the background, empty cgroups. 1: some
 * are not empty. */
int lscan_leftovers(struct launcher *l, struct error *err);

/* --- GPUs (lgpus.c) --------------------------------------------------------------------------- */

/* Look at them, in the background; then, and only then, lmsg_hello(). Sets l->gpus. */
struct lgpus *lgpus_start(struct launcher *l);
void lgpus_free(struct lgpus *g); /* NULL is fine */

/* What is told of the node besides has changed: tell it all again, if it was told before. */
void lgpus_tell(struct launcher *l);

/* From now on runs open their own devices only, if that can be had (launcher.c). */
void launcher_filter_devices(struct launcher *l);

/* There are other rules: what of them can be had is active from now on (launcher.c). */
void launcher_contain(struct launcher *l);

bool lgpus_found(const struct lgpus *g); /* does the node know its GPUs itself? NULL: not yet */

/* As last found. */
const struct gpus *lgpus_now(const struct lgpus *g);
/* NVML's indices of those that need a reset: nobody can reset what we hold open. Of those that are
 * not to be sampled: these, and what hung a look would hang a sample too. */
uint64_t lgpus_to_reset(const struct lgpus *g);
uint64_t lgpus_not_asked(const struct lgpus *g);
/* How often is another matter now. */
void lgpus_period(struct launcher *l);
/* Look again now, if no look is under way; then lfaults_looked(). */
void lgpus_look(struct launcher *l);

/* The same as a message; lgpus_clear() frees what lgpus_fill() made. */
void lgpus_fill(const struct lgpus *g, Gpusched__Inventory *m);
void lgpus_clear(Gpusched__Inventory *m);

/* The GPUs that an order names by UUID, in its order: *out is the caller's to free, its texts are
 * good until the next look; NULL if it names none so. -1 with ERR_LAUNCH: one is not there. */
int lgpus_find(const struct lgpus *g, const Gpusched__StartRun *order, struct jobenv_gpu **out,
        struct error *err);
/* The CPUs near those, as a list; "": not known. The caller frees it. */
char *lgpus_near(const struct lgpus *g, const Gpusched__StartRun *order);
/* Of a GPU that is there; 0: not known. */
uint64_t lgpus_mem_mb(const struct lgpus *g, const char *uuid);
/* The device files of those (grants.h). */
int lgpus_grants(const struct lgpus *g, const Gpusched__StartRun *order,
        struct device out[DEVFILTER_MAX], size_t *n, struct error *err);

/* --- MPS (lmps.c) ----------------------------------------------------------------------------- */

/* Find what is there from before us. */
struct lmps *lmps_start(struct launcher *l);
void lmps_free(struct lmps *m); /* NULL is fine; what it has started lives on */

struct lmps_wish {
	const struct asked_user *user;
	uint32_t gpu; /* its index on the node */
	const char *gpu_uuid;
	const struct device *devices; /* that it may open */
	size_t n_devices;
};

/* See that the user has his MPS on the GPU, for the run that asks and has lrun.mps, gpus and uid
 * set already. `fn` is called later, with NULL or what is wrong; not when the launcher ends
 * before. -1 with ERR_LAUNCH: it will not be called. */
typedef void lmps_fn(const char *trouble, void *arg);
int lmps_want(struct launcher *l, const struct lmps_wish *wish, lmps_fn *fn, void *arg,
        struct error *err);
char *lmps_dir(const struct launcher *l, uint32_t uid, uint32_t gpu); /* the caller frees it */

/* Has the user one on the GPU, or is it still ending? Then processes of his are on it. */
bool lmps_has(const struct launcher *l, uint32_t uid, uint32_t gpu);

/* A run is over: perhaps it was the last one. */
void lmps_run_over(struct launcher *l);

#define LMPS_LEAF "mps."
bool lmps_is_leaf(const struct launcher *l, const char *name); /* of one that may be there */

/* --- the controller's settings (lsettings.c) ---------------------------------------------------
 */

void lsettings_load(struct launcher *l); /* as kept; makes the rules */
void lsettings_free(struct launcher *l);
/* Until its programs are as they must be, they are looked at again and again. */
void lsettings_watch(struct launcher *l);
/* May anything be started here? -1 with ERR_LAUNCH: no, for this reason. lsettings_say() logs it.
 */
int lsettings_allow(const struct launcher *l, struct error *err);
void lsettings_say(const struct launcher *l);
void lsettings_take(struct launcher *l, const Gpusched__NodeSettings *m);

/* --- faults of GPUs (lfaults.c) --------------------------------------------------------------- */

struct lfaults *lfaults_new(struct launcher *l);
void lfaults_free(struct lfaults *f); /* NULL is fine */

/* A look has ended; both may say the same. */
void lfaults_looked(struct launcher *l, const struct gpus *old, const struct gpus *now);
/* To a network half that knows nothing yet. */
void lfaults_tell(struct launcher *l);
/* The controller has committed these; wants to know of some GPUs. */
void lfaults_ack(struct launcher *l, uint64_t seq);
void lfaults_check(struct launcher *l, const Gpusched__GpuCheck *m);

/* Something that lasts is wrong with it, or is not any more: told if that is news. */
void lfaults_condition(
        struct launcher *l, const char *uuid, enum gpu_fault_kind kind, bool is, const char *text);

/* --- who is on free GPUs (lleft.c) ------------------------------------------------------------ */

struct lleft *lleft_new(struct launcher *l);
void lleft_free(struct lleft *f); /* NULL is fine */

/* Called once, perhaps at once, when it is known whether somebody was left on GPUs: who, NULL:
 * nobody. It is a fault by then. Not called while the launcher is being freed. */
typedef void lleft_fn(const char *left, void *arg);
/* On those of an order that no other run has; on those of a list that no run has. */
void lleft_wait(struct launcher *l, const Gpusched__StartRun *order, lleft_fn *fn, void *arg);
void lleft_check(struct launcher *l, char (*uuids)[GPUS_TEXT], size_t n, lleft_fn *fn, void *arg);
/* A run that had these (a set of indices) is over, or MPS there: see whether somebody stays. */
void lleft_freed(struct launcher *l, uint64_t gpus);
void lleft_gpus_changed(struct launcher *l);

/* --- the health check (lhealth.c) ------------------------------------------------------------- */

/* Check the node now and every now and then, where the site has a check: l->health. */
struct lhealth *lhealth_start(struct launcher *l);
/* The rules are others now: their check, if it is another, takes the place of the one before. */
void lhealth_follow(struct launcher *l);
/* Why nothing is to start here, for the controller: a program that must not be run, what the check
 * found, or a spool that is full; "": nothing. */
const char *lhealth_why(const struct launcher *l);
/* The first one may end any moment, and the hello should wait for it; lgpus_tell() comes then.
 * NULL: there is none. */
bool lhealth_awaited(const struct lhealth *h);
/* Is it the cgroup of a check that is under way? */
bool lhealth_is_leaf(const struct launcher *l, const char *name);
void lhealth_free(struct lhealth *h); /* NULL is fine */

/* --- watching (lwatch.c) ---------------------------------------------------------------------- */

struct lwatch *lwatch_new(struct launcher *l);
void lwatch_free(struct lwatch *w); /* NULL is fine */

void lwatch_started(struct launcher *l);      /* a run runs: look at it soon */
void lwatch_period(struct launcher *l);       /* rules.sample_ms may be another */
void lwatch_gpus_changed(struct launcher *l); /* what is asked about them is asked anew */
void lwatch_hurry(struct launcher *l);        /* look at shared GPUs now */

/* --- one run's use (lused.c) ------------------------------------------------------------------ */

/* What a run has used so far; NULL: that is not known. */
const struct run_used *lused_of(const struct lrun *r);
void lused_free(struct lused *u); /* NULL is fine */

/* Of a GPU by its index: what the run's own processes used of it when they were last
 * looked at (not yet: 0, or all that it may, if it was asked to give back by a launcher before us
 * (burst_time)); how much memory it has (0: not known); the text of overmem.h on it. */
uint64_t lused_own_mb(const struct lrun *r, unsigned index);
uint64_t lused_card_mb(const struct lrun *r, unsigned index);
void lused_text(const struct lrun *r, unsigned index, char out[OVERMEM_TEXT]);
void lused_tell(const struct lrun *r); /* all of it at once, with its burst_job and burst_time */

/* --- borrowed memory (lburst.c) --------------------------------------------------------------- */

struct lburst *lburst_new(void);
void lburst_free(struct lburst *b); /* NULL is fine */

/* A run that is to be started, whose GPUs and part are set: false: nobody may have borrowed of
 * them. Else `fn` is called when what it needs is there, not before this returns, unless it leaves
 * before. */
typedef void lburst_fn(void *arg);
bool lburst_wait(struct launcher *l, struct lrun *run, lburst_fn *fn, void *arg);
void lburst_leave(struct launcher *l, const struct lrun *run);

void lburst_looked(struct launcher *l, usec_t asked); /* at the GPUs; mono: asked then */
void lburst_run_over(struct launcher *l);

/* --- room in the spool (lspool.c) ------------------------------------------------------------- */

void lspool_start(struct launcher *l);            /* sets l->room */
void lspool_free(struct launcher *l);             /* after its pools */
const char *lspool_why(const struct launcher *l); /* it is full, and by no run; "": it is not */

/* A run that is to be started: false: there is room for it. Else `fn` is called when there is
 * (true) or there was none for a minute, not before this returns, unless it leaves before. */
typedef void lspool_fn(bool there, void *arg);
bool lspool_wait(struct launcher *l, struct lrun *run, lspool_fn *fn, void *arg);
void lspool_leave(struct launcher *l, const struct lrun *run);

/* --- streams (lstream.c) ---------------------------------------------------------------------- */

/* A run is being started: whose it is and where its output will be. */
void lstream_remember(struct launcher *l, const char *name, const Gpusched__LaunchRecord *r);
void lstream_ask(struct launcher *l, const Gpusched__LauncherStream *m);
void lstream_hand_log(const struct launcher *l, int fd); /* which stays the caller's */
/* What gtap and ghold need to know of a run's owner; borrows. */
void lstream_owner(const Gpusched__LaunchRecord *r, Gpusched__OutputRecord *out);

/* --- interactive runs (lhold.c) --------------------------------------------------------------- */

/* Start ghold for a run that is about to be: returns what its shepherd is to inherit; -1. */
int lhold_start(struct launcher *l, const char *name, const Gpusched__LaunchRecord *r,
        const Gpusched__Interactive *what, struct error *err);

/* --- processes (lspawn.c) --------------------------------------------------------------------- */

/* Started with the descriptors as 3, 4, ... (-1: nothing there), 0 to 2 on /dev/null, no signals
 * blocked, in a session of its own. They stay the caller's. -1 with ERR_LAUNCH. */
#define LSPAWN_FDS 4
int lspawn(const char *path, char *const argv[], const int *fds, size_t n, pid_t *pid,
        struct error *err);

/* The same of a program beside the shepherd's that has no arguments. */
int lspawn_helper(
        const struct launcher *l, const char *name, const int *fds, size_t n, struct error *err);

/* A message as a descriptor that only the process will have to which it is given. -1 with `err`. */
int lspawn_grant(const ProtobufCMessage *m, struct error *err);

/* --- shepherds of runs (ltemplate.c) ---------------------------------------------------------- */

/* Forked from a template, which is started here and again if it ends; executed while there is none.
 * Which it was makes no difference to anybody. */
struct ltemplate *ltemplate_new(struct launcher *l);
void ltemplate_free(struct ltemplate *t);

/* Start one for the record directory at `path`, with the descriptors of shepherd.h, of which only the
 * third may be -1; they stay the caller's. Never waits. 0: *pid, or 0: the template was asked, and
 * lrun_forked() or lrun_not_forked() is called later. -1 with ERR_LAUNCH: nothing was started. */
int ltemplate_spawn(struct ltemplate *t, struct run_id id, const char *path, const int fds[3],
        pid_t *pid, struct error *err);

/* --- places (lplace.c) ------------------------------------------------------------------------ */

int lplace_make(struct launcher *l, struct error *err); /* directories, checked and opened */
int lplace_lock(struct launcher *l, struct error *err); /* waits a while for the one before us */
void lplace_load(struct launcher *l);                   /* highest epoch and job id */
void lplace_save_job(struct launcher *l);               /* to disk, if it is newer there */
int lplace_incarnation(struct launcher *l, struct error *err); /* found, or a new one: fresh */
/* Last of all: an incarnation is one only when all that could be killed of the one before is gone. */
int lplace_save_incarnation(struct launcher *l, struct error *err);

void launcher_saw_epoch(struct launcher *l, uint64_t epoch);
/* A run of this job has a launch record. */
void launcher_saw_job(struct launcher *l, uint64_t job);
/* That record is about to go: what only it remembers is written down. */
void launcher_forgets_job(struct launcher *l, uint64_t job);

/* --- messages (lmsg.c) ------------------------------------------------------------------------ */

void launcher_send(struct launcher *l, unsigned type, const ProtobufCMessage *m);
void lmsg_hello(struct launcher *l);
void lmsg_read(struct bufferevent *bev, void *arg); /* libevent's callbacks; arg is the launcher */
void lmsg_event(struct bufferevent *bev, short what, void *arg);

#endif
