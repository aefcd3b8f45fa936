/* worker_pmix.c - the tasks of a node and their PMIx server; see worker.h
 *
 * A task that is to speak PMIx waits, before its program runs, for the environment that the server
 * has for it (task.h). What the servers of other nodes have to say passes through here.
 */
#include <stdlib.h>
#include <string.h>

#include "cmds/steps/pmix_child.h"
#include "cmds/steps/worker_impl.h"
#include "common/base/xalloc.h"

static void say_abort(const struct wstep *s)
{
	Gpusched__StepPmix p = GPUSCHED__STEP_PMIX__INIT;
	uint8_t data[16];

	p.kind = GPUSCHED__STEP_PMIX__KIND__ABORT;
	s->w->send(s->w->arg, STEP_PMIX_ASK, s->id, data, gpusched__step_pmix__pack(&p, data));
}

/* Tasks that wait for their environment end by themselves, and say why. Others may wait for each
 * other. */
static void lose_server(struct wstep *s)
{
	bool has_begun = false;

	for (size_t i = 0; i < s->n_tasks; i++) {
		has_begun |= !s->tasks[i]->ended && s->tasks[i]->pmi.fd < 0;
		wio_no_answer(s->tasks[i]);
	}
	if (has_begun)
		say_abort(s);
}

static void give_environment(struct wstep *s, const Gpusched__StepPmix *p)
{
	for (size_t i = 0; i < s->n_tasks; i++)
		if (p->n_tasks == 1 && s->tasks[i]->id == p->tasks[0]) {
			wio_answer(s->tasks[i], p->data.data, p->data.len);
			wio_no_answer(s->tasks[i]);
		}
}

static void on_message(void *arg, const struct steplink_message *m)
{
	struct wstep *s = arg;
	Gpusched__StepPmix *p;

	if (!m) {
		lose_server(s);
		return;
	}
	p = gpusched__step_pmix__unpack(NULL, m->len, m->data);
	if (p && p->kind == GPUSCHED__STEP_PMIX__KIND__ENVIRONMENT)
		give_environment(s, p);
	else if (m->kind == STEP_PMIX_ASK)
		s->w->send(s->w->arg, STEP_PMIX_ASK, s->id, m->data, m->len);
	if (p)
		gpusched__step_pmix__free_unpacked(p, NULL);
}

int wpmix_start(struct wstep *s, const Gpusched__StepTasks *part, const struct steplink_message *m,
        struct error *err)
{
	if (strncmp(part->request->mpi, "pmix", 4) != 0)
		return 0;
	if (!s->pmix)
		s->pmix = pmix_child_new(s->w->loop, s->w->own, on_message, s, err);
	if (!s->pmix)
		return -1;
	pmix_child_put(s->pmix, m);
	return 0;
}

void wpmix_take(struct wstep *s, const struct steplink_message *m)
{
	if (s->pmix)
		pmix_child_put(s->pmix, m);
}
