/* checker_impl.h - the inside of checker.h, for its files
 *
 *	checker.c	facts of clients, the table of facts, what must hold when all is over
 *	checker_runs.c	facts of nodes: what really ran, where and when
 *	checker_gpus.c	who has which GPU, or what part of it, and what is wrong with them
 *	checker_burst.c	memory of GPUs that is borrowed, and given back
 *	checker_agree.c	whether the controller and its nodes know of the same runs
 *	checker_steps.c	steps of jobs: what owners report, what is listed and kept of it
 *	checker_services.c	services and their replicas
 *	checker_waits.c	what a job asked for before it may start, and before it may start again
 *
 * A job is one or many tasks; a job that is no array has the task 0 alone. What is said of a whole
 * array is said of each of its tasks.
 */
#ifndef TESTSUITE_SIM_CHECKER_IMPL_H
#define TESTSUITE_SIM_CHECKER_IMPL_H

#include <search.h>
#include <stdint.h>
#include <sys/queue.h>

#include "testsuite/sim/checker.h"

#define NAME_LEN  64
#define MAX_GPUS  64
#define MAX_WORDS 10
#define ALL_TASKS UINT64_MAX

/* What is found by a key begins with it: it stands in a tree of tsearch(3) by that, and in a list in
 * the order in which it came. */
struct token {
	char name[NAME_LEN + 24]; /* UID/TOKEN */
	uint64_t job;
	STAILQ_ENTRY(token) later;
};

/* One thing that a job waits for. */
struct term {
	char type[16]; /* "afterok" */
	struct job *on;
	uint64_t task; /* of it; ALL_TASKS */
};

struct job {
	uint64_t id, uid;
	char token[NAME_LEN + 24];
	char name[NAME_LEN]; /* one of that name at a time; "" any number */
	bool submitted, retired, array;
	uint64_t *set; /* of an array: its tasks */
	size_t n_set;
	uint64_t at_once; /* so many of them may run at a time; 0: any number */
	struct term *terms;
	size_t n_terms;
	bool any, stays;    /* one of them is enough; it waits for ever rather than end */
	uint64_t attempts;  /* may be started; 0: any number */
	uint64_t low, high; /* exit codes after which it runs again; 0: none */
	uint64_t delay;     /* before the second, doubled each time */
	uint64_t begin;     /* no start before this */
	bool deadline;      /* it has one */
	uint64_t burst;     /* MiB that it may borrow up to; 0: none */
	struct service *service; /* of which it is a generation, or was; NULL: of none */
	uint64_t generation_look; /* the last at which it was a generation */
	struct task *tasks; /* all that were ever heard of */
	STAILQ_ENTRY(job) later;
};

struct task_key {
	uint64_t job, task;
};

struct task {
	struct task_key key;
	struct job *job;
	struct task *next;             /* of its job */
	bool cancelled, kill, suspend; /* acknowledged; asked for */
	uint64_t again;                /* so often it may yet run although it had ended */
	bool requeued;                 /* that was asked for at some time, */
	bool ran_before;               /* when it had been started */
	char final[NAME_LEN];          /* "" while it has not ended */
	uint64_t code, signal, attempt;
	uint64_t over;         /* the last attempt that was shown as ended */
	uint64_t lent;         /* its attempt that was shown as PREEMPTED, GpuBurst */
	uint64_t since_cancel; /* attempts that were started after it was acknowledged */
	struct run *runs;      /* all that were ever heard of */
	STAILQ_ENTRY(task) later;
};

struct run_key {
	uint64_t job, task, attempt, rank;
};

/* Who has it in its books, at which look. */
struct sighting {
	const struct node *node;
	uint64_t look;
};

struct run {
	struct run_key key;
	char node[NAME_LEN];
	struct task *task;
	struct run *next; /* of its task */
	uint64_t nodes, gpus, start, end, code, signal;
	bool started, ended, rebooted, stopped;
	bool shares; /* its GPUs: it has so much of each */
	uint64_t milli, mib;
	uint64_t burst, used;  /* MiB; used: at least mib */
	bool needs;            /* it is to be started once its part is there */
	bool asked, reclaimed; /* asked: at this moment */
	bool was_asked, had_to_wait;
	bool was_well; /* its GPUs, when its order came, before it had to wait */
	bool told;          /* to end */
	bool owed, billed;  /* its node had it to tell of at the restore; it is accounted for */
	bool copied;        /* the backup has it as billed */
	uint64_t billed_us, copied_us;
	struct run *beside; /* that was on one of its GPUs where users are kept apart */
	struct sighting booked, told_of; /* by the controller; by the agent */
	const struct node *differs_on;   /* NULL: nobody differs about it */
	uint64_t differs_since;
	/* Of a replica: the last look at which it was a slot; it was seen as ordered; it was READY
	 * and ended by the service. */
	uint64_t slot_look;
	bool ordered, shed;
	bool is_kept, kept_ending, kept_over; /* as committed: there is a row; to end; over */
	STAILQ_ENTRY(run) later;
};

/* How a step has ended. */
struct step_end {
	char state[16];
	uint64_t code, signal, looks; /* looks: a sum of the rest that was said of it */
};

struct step {
	struct run_key key; /* `rank` is its number */
	struct task *task;
	struct step_end end;   /* as its owner reports it, if `ends` */
	bool told, ends, done; /* by its owner: that it exists, has ended; that was answered */
	uint64_t runs_in; /* the controller's life in which it was answered that it runs; 0: none */
	uint64_t in_state, in_history; /* the last look at which it was in that database */
	/* At the last look it had ended as its owner said; with its attempt instead. */
	bool owners, cut;
	bool owners_now; /* at this look, so far */
	STAILQ_ENTRY(step) later;
};

struct service {
	char name[NAME_LEN];
	bool promised, ending;         /* submitted, as was answered; a client asks that it end */
	uint64_t look;                 /* the last at which it was there */
	uint64_t wanted, surge, kept;  /* then */
	uint64_t alive, ready;         /* slots, so far at this look; not those on lost nodes */
	struct run *ordered, *shed;    /* one that is new at this look, one that it has ended */
	STAILQ_ENTRY(service) later;
};

struct card {
	struct run *last; /* of those that have it */
	uint64_t runs, milli, mib;
	bool whole;    /* one has all of it */
	uint64_t size; /* MiB that can be shared; 0: not known */
};

struct node {
	char name[NAME_LEN];
	struct card cards[MAX_GPUS];
	uint64_t epoch, last, boot; /* the last reboot */
	bool apart;                 /* different users share no GPU */
	bool closed;                /* nothing is to start */
	uint64_t drained, faulty;   /* GPUs: out of use now; that ever had a fault */
	bool stops;                 /* what runs on GPUs that are taken out of use */
	bool heard;                 /* the controller and it hear each other, */
	uint64_t heard_since;       /* from then on */
	uint64_t looks;
	STAILQ_ENTRY(node) later;
};

struct checker {
	STAILQ_HEAD(, job) jobs;
	STAILQ_HEAD(, task) tasks;
	STAILQ_HEAD(, run) runs;
	STAILQ_HEAD(, node) nodes;
	STAILQ_HEAD(, token) tokens;
	STAILQ_HEAD(, step) steps;
	STAILQ_HEAD(, service) services;
	void *job_tree, *task_tree, *run_tree, *node_tree, *token_tree, *step_tree, *service_tree;
	char **violations;
	size_t n_violations, n_facts, n_looks, n_owed;
	uint64_t heartbeat;  /* 0: not said */
	uint64_t max_steps;  /* 0: not said */
	uint64_t lives;      /* of the controller, so far */
	uint64_t step_looks; /* at the databases */
	uint64_t service_looks;
	size_t n_endpoints;
	struct checker_steps step_counts;
	bool restored;       /* from a backup: what was promised since is not judged */
	bool reclaims;       /* borrowing is told of, and nobody is PREEMPTED for anything else */
	bool reclaims_again; /* who is ended for what it has borrowed waits again */
};

/* The words of a fact by position: as they are; numbers; tasks, for a word "12_3". */
struct words {
	const char *w[MAX_WORDS];
	uint64_t u[MAX_WORDS];
	uint64_t task[MAX_WORDS]; /* ALL_TASKS: none was named */
};
typedef void fact_fn(struct checker *c, const struct words *f);

void *checker_need(void *p); /* aborts without memory */

typedef int order_fn(const void *, const void *); /* of tsearch(3) */
order_fn by_job, by_task, by_run, by_name;
/* NULL: there is none. */
void *checker_find(void *const *tree, const void *key, order_fn *order);
/* Not there yet; it is zero except for its key. */
void *checker_make(void **tree, const void *key, size_t key_len, size_t size, order_fn *order);

void checker_violated(struct checker *c, const char *fmt, ...)
        __attribute__((format(printf, 2, 3)));

struct job *checker_job(struct checker *c, uint64_t id);
struct task *checker_task(struct checker *c, uint64_t job, uint64_t task);
/* "12", "12_3". Good until the fourth call from now. */
const char *task_label(const struct task *task);
static inline bool run_alive(const struct run *run)
{
	return run->started && !run->ended;
}
const struct run *task_alive(const struct task *task); /* NULL: none of its runs */
uint64_t task_first_start(const struct task *task);    /* 0: it never ran */
uint64_t task_first_end(const struct task *task);      /* 0: none yet */
uint64_t task_last_end(const struct task *task);
/* It is shown or runs although it had ended: true if that was asked for. */
bool task_reopen(struct task *task);
/* Calls fn for each task that was submitted. */
void job_each_task(struct checker *c, struct job *job, void (*fn)(struct checker *, struct task *));

/* --- checker_runs.c -------------------------------------------------------------------------- */

fact_fn fact_start, fact_stale, fact_end, fact_stop, fact_gone, fact_reboot, fact_usage, fact_left,
        fact_owed, fact_unowed, fact_billed, fact_copied;

/* What was billed since the backup is not in the state any more. */
void accounts_restored(struct checker *c);

/* When all is over: is what nodes had to tell of at the restore accounted for? */
void accounts_over(struct checker *c);

struct node *checker_node(struct checker *c, const char *name);
struct run *checker_run(struct checker *c, const uint64_t *id); /* job, task, attempt, rank */

/* --- checker_gpus.c -------------------------------------------------------------------------- */

fact_fn fact_share, fact_card, fact_apart, fact_health, fact_fault, fact_drained, fact_closed,
        fact_returned, fact_opened, fact_told, fact_kept;

/* None of its GPUs is out of use. */
bool gpus_are_well(const struct node *node, const struct run *run);
/* A run starts with its GPUs, or is over. */
void gpus_take(struct checker *c, struct node *node, struct run *run);
void gpus_give_back(struct node *node, struct run *run);
/* A rank of the attempt has a GPU that has had a fault, on a node whose site ends jobs for that. The
 * controller may have decided the job's end for it, also where no order reached the run in time. */
bool faults_may_end(struct checker *c, const struct task *task, uint64_t attempt);
/* When all is over, and everybody is known: different users shared no GPU where they must not. */
void gpus_over(struct checker *c);

/* --- checker_burst.c ------------------------------------------------------------------------- */

fact_fn fact_burst, fact_needs, fact_waived, fact_uses, fact_asked, fact_excused, fact_reclaimed,
        fact_reclaims, fact_lent;

/* A run has started: is its part there? */
void burst_started(struct checker *c, struct run *run);
/* When all is over: did it come back, or not, as it was to? */
void burst_over(struct checker *c, const struct task *task);

/* --- checker_agree.c ------------------------------------------------------------------------- */

fact_fn fact_heartbeat, fact_contact, fact_parted, fact_books, fact_tells, fact_looked;

/* --- checker_steps.c ------------------------------------------------------------------------- */

fact_fn fact_max_steps, fact_begun, fact_step, fact_step_runs, fact_step_ends, fact_step_done,
        fact_lists, fact_kept_step, fact_counted;

/* When all is over: is each step that has ended in history.db? */
void steps_over(struct checker *c);

/* --- checker_services.c ---------------------------------------------------------------------- */

fact_fn fact_service, fact_end_service, fact_no_service, fact_taken_service, fact_is_service,
        fact_generation, fact_sheds, fact_slot, fact_slots, fact_kept_run, fact_serves;

/* When all is over: is every service gone? */
void services_over(struct checker *c);

/* --- checker_waits.c ------------------------------------------------------------------------- */

fact_fn fact_array, fact_throttle, fact_waits, fact_any, fact_stays, fact_alone, fact_attempts,
        fact_comeback, fact_begin, fact_deadline;

/* Nobody asked for it, its node was not lost and its GPUs had nothing: it ended by itself. */
bool ended_by_itself(struct checker *c, const struct run *run);
/* The number of its last attempt. */
uint64_t last_attempt(const struct task *task);
/* A run has started: might it? */
void waits_started(struct checker *c, const struct run *run);
/* It is shown as ended in this way: may it be? */
void waits_ended(struct checker *c, const struct task *task);
/* When all is over: what ran had a right to, and what could have run did. */
void waits_over(struct checker *c, struct task *task);
/* It has not ended, and need not: it may wait for ever. */
bool waits_for_ever(struct checker *c, const struct task *task);
void waits_free(struct job *job);

#endif
