/* worker.h - the tasks of steps on one node
 *
 * Takes what the manager sends (steplink.h: STEP_START, STEP_IN, STEP_SIGNAL, ...) and says what
 * becomes of it through `send`: on the first node straight to the manager, elsewhere over the link.
 *
 *	STEP_START  the tasks begin; each tells of its start and its end (STEP_TASK)
 *	            once all have ended, what they left behind is killed, and when all of their
 *output was sent the step is done here (STEP_DONE)
 *
 * Output that the manager has not taken is bounded (STEP_WINDOW): beyond that the tasks' pipes are
 * left unread, so that a slow reader slows the tasks and nothing else. Input is kept until each
 * task that reads it has it.
 */
#ifndef CMDS_STEPS_WORKER_H
#define CMDS_STEPS_WORKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmds/steps/loop.h"
#include "common/base/error.h"
#include "common/net/steplink.h"

struct worker;

typedef void worker_send_fn(void *arg, unsigned kind, uint32_t step, const void *data, size_t len);

/* `own` is the environment of the node's run: borrowed. */
struct worker *worker_new(struct loop *loop, char *const *own, worker_send_fn *send, void *arg);

/* -1 with ERR_PROTOCOL: nothing that a manager sends. */
int worker_take(struct worker *w, const struct steplink_message *m, struct error *err);

void worker_reap(struct worker *w); /* after SIGCHLD */

/* What waits for the clock; worker_wait_ms(): until when, -1: nothing does. */
void worker_tick(struct worker *w);
int worker_wait_ms(const struct worker *w);

bool worker_is_idle(const struct worker *w); /* no step is here */
void worker_forget(struct worker *w); /* its manager is another one now: kill and drop all steps */
void worker_signal_all(struct worker *w, int sig);

/* What the node has, for STEP_HELLO and the manager's table. */
uint32_t worker_cpus(const struct worker *w);
uint32_t worker_gpus(const struct worker *w);
const char *worker_node(const struct worker *w);

#endif
