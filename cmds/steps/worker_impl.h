/* worker_impl.h - what the files of the worker share */
#ifndef CMDS_STEPS_WORKER_IMPL_H
#define CMDS_STEPS_WORKER_IMPL_H

#include <sched.h>
#include <sys/types.h>

#include "cmds/steps/worker.h"
#include "common/gpusched.pb-c.h"

struct pmix_child;
struct wstep;

/* A descriptor that the loop may or may not watch. */
struct wpipe {
	int fd; /* -1: none, or closed */
	struct loop_watch *watch;
};

struct wtask {
	struct wstep *step;
	const Gpusched__StepTasks *part;
	size_t local;   /* in its part */
	uint32_t first; /* tasks of earlier parts on this node */
	uint32_t id;
	pid_t pid; /* 0: not started, or reaped */
	pid_t group;
	bool ended;
	struct wpipe in, out, err, pmi;
	bool pty;        /* `out` is a terminal's master, to which input goes too */
	uint64_t in_pos; /* so much of the step's input it has */
	uint8_t *pmi_buf;
	size_t pmi_n;
};

struct wstep {
	struct worker *w;
	struct wstep *next;
	uint32_t id;
	Gpusched__StepTasks **parts;
	size_t n_parts;
	struct wtask **tasks;
	size_t n_tasks, n_alive;
	size_t out_way; /* bytes of output on their way */
	uint8_t *in;    /* input that some task has not: from in_base on */
	size_t in_n, in_size;
	uint64_t in_base;
	bool in_ended;
	bool more;          /* another part of it follows */
	int64_t give_up_ms; /* pipes that are still open then are closed; 0: tasks live */
	uint64_t oom_kills; /* of the run's cgroup before it began */
	struct pmix_child *pmix; /* the PMIx server of its tasks here; NULL: none */
};

struct worker {
	struct loop *loop;
	char *const *own;
	worker_send_fn *send;
	void *arg;
	struct wstep *steps;
	cpu_set_t allowed;
	uint32_t cpus, gpus;
	const char *node;
};

/* worker_io.c: the pipes and files of a task. */
struct wends {
	int fd[3]; /* for the task; closed by wio_close_ends() */
	int pmi;
};
int wio_open(struct wtask *t, struct wends *ends, struct error *err);
void wio_close_ends(struct wends *ends);
void wio_watch(struct wtask *t);         /* the task has started */
void wio_close(struct wtask *t);         /* all of it */
bool wio_is_done(const struct wtask *t); /* its output has ended */
void wio_more_room(struct wstep *s);     /* output was taken */
void wio_feed(struct wstep *s);          /* there is new input, or its end */
void wio_answer(struct wtask *t, const uint8_t *data, size_t len); /* of the PMI */
void wio_no_answer(struct wtask *t);     /* there comes none */
bool wio_has_pmix(const struct wtask *t); /* its `pmi` is where it waits for its environment */

/* worker_pmix.c: a step's PMIx server, which starts with its first part. */
int wpmix_start(struct wstep *s, const Gpusched__StepTasks *part, const struct steplink_message *m,
        struct error *err);
void wpmix_take(struct wstep *s, const struct steplink_message *m); /* from other nodes */

/* worker_kill.c */
void wkill_tasks(struct wstep *s, uint32_t task, int sig);
void wkill_rest(struct wstep *s); /* processes that its tasks left behind */
uint64_t wkill_oom_count(void);   /* of the cgroup; 0: not known */

/* worker.c */
void wstep_check(struct wstep *s); /* is it done? May free it. */

#endif
