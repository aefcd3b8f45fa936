/* srun_task_exits.c - ends of tasks and steps, in the words of Slurm 22.05; see srun_step.h */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cmds/srun/srun_step.h"
#include "cmds/steps/loop.h"
#include "common/base/strbuf.h"
#include "common/base/xalloc.h"

#define GATHER_MS 100 /* for ends of the same kind to come in */

/* --- what is told ----------------------------------------------------------------------------- */

static bool same_end(const struct srun_exit *a, const struct srun_exit *b)
{
	return a->code == b->code && a->signal == b->signal && a->core == b->core &&
	       a->memory == b->memory && !strcmp(a->node, b->node);
}

static int by_task(const void *a, const void *b)
{
	const struct srun_exit *x = a, *y = b;

	return x->task < y->task ? -1 : x->task > y->task;
}

/* "0-3,7" of the ends that are like `e`, which are taken out. */
static char *take_alike(struct srun_run *r, const struct srun_exit *e, size_t *n)
{
	struct strbuf list = { 0 };
	uint32_t first = 0, last = 0;
	size_t kept = 0;

	*n = 0;
	for (size_t i = 0; i < r->n_exits; i++) {
		struct srun_exit *x = &r->exits[i];

		if (!same_end(x, e)) {
			r->exits[kept++] = *x;
			continue;
		}
		if (*n && x->task == last + 1) {
			last = x->task;
		} else {
			if (*n)
				strbuf_addf(&list, last > first ? "%u-%u," : "%u,", first, last);
			first = last = x->task;
		}
		++*n;
		free(x->node);
	}
	strbuf_addf(&list, last > first ? "%u-%u" : "%u", first, last);
	r->n_exits = kept;
	return strbuf_take(&list);
}

void srun_tell_exits(struct srun_run *r)
{
	r->flush_ms = 0;
	if (!r->n_exits)
		return;
	qsort(r->exits, r->n_exits, sizeof(*r->exits), by_task);
	while (r->n_exits) {
		struct srun_exit e = r->exits[0];
		size_t n;
		char *tasks;

		e.node = xstrdup(e.node);
		tasks = take_alike(r, &e, &n);
		if (e.memory)
			srun_fail("%s: task%s %s: Out Of Memory", e.node, n > 1 ? "s" : "", tasks);
		else if (e.signal)
			srun_fail("%s: task%s %s: %s%s", e.node, n > 1 ? "s" : "", tasks,
			        strsignal((int)e.signal), e.core ? " (core dumped)" : "");
		else
			srun_fail("%s: task%s %s: Exited with exit code %u", e.node,
			        n > 1 ? "s" : "", tasks, e.code);
		free(tasks);
		free(e.node);
	}
}

void srun_tell_cancelled(struct srun_run *r, bool limit)
{
	char when[40];
	time_t now = time(NULL);
	struct tm tm;

	localtime_r(&now, &tm);
	strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%S", &tm);
	fprintf(stderr, "slurmstepd-%s: error: *** STEP %s ON %s CANCELLED AT %s%s ***\n",
	        r->first_node, r->name + strlen("StepId="), r->first_node, when,
	        limit ? " DUE TO TIME LIMIT" : "");
	if (!limit && !r->aborted && !r->o->quiet)
		srun_info("Job step aborted: Waiting up to %d seconds for job step to finish.",
		        SRUN_ABORT_S);
	r->terminated |= limit;
	r->aborted = true;
}

/* --- ending it -------------------------------------------------------------------------------- */

void srun_terminate(struct srun_run *r)
{
	if (r->kill_ms || !r->created)
		return;
	srun_signal(r, SIGCONT);
	srun_signal(r, SIGTERM);
	r->kill_ms = loop_now_ms() + SRUN_KILL_S * 1000;
}

/* As Slurm does for --kill-on-bad-exit and --wait. */
static void step_terminate(struct srun_run *r, bool waits)
{
	if (r->aborted)
		return;
	srun_tell_exits(r);
	srun_info("launch/slurm: _step_signal: Terminating %s", r->name);
	if (waits)
		srun_info("Job step aborted: Waiting up to %d seconds for job step to finish.",
		        SRUN_ABORT_S);
	r->aborted = true;
	srun_tell_cancelled(r, false);
	r->terminated = true;
	srun_terminate(r);
}

void srun_force(struct srun_run *r)
{
	if (r->aborted) {
		srun_signal(r, SIGKILL);
		return;
	}
	srun_info("forcing job termination");
	srun_info(
	        "Job step aborted: Waiting up to %d seconds for job step to finish.", SRUN_ABORT_S);
	r->aborted = true;
	if (!r->created)
		r->over = r->failed = true;
	srun_terminate(r);
}

/* --- tasks ------------------------------------------------------------------------------------ */

static void note_bad_end(struct srun_run *r, const Gpusched__StepTask *t)
{
	uint32_t status = t->exit_signal ? 128 + t->exit_signal : t->exit_code;

	r->worst = status > r->worst ? status : r->worst;
	if (*t->error) {
		srun_fail("%s: task %u: %s", t->node, t->task, t->error);
	} else {
		r->exits = xrealloc(r->exits, r->n_exits + 1, sizeof(*r->exits));
		r->exits[r->n_exits++] = (struct srun_exit){ t->task, xstrdup(t->node),
			t->exit_code, t->exit_signal, t->core_dumped, t->out_of_memory };
		r->flush_ms = loop_now_ms() + GATHER_MS;
	}
	if (r->o->kill_on_bad_exit && r->n_ended < r->tasks)
		step_terminate(r, false);
}

static void note_end(struct srun_run *r, const Gpusched__StepTask *t)
{
	bool bad = t->exit_code || t->exit_signal;

	r->n_ended++;
	r->states[t->task] = bad ? SRUN_TASK_ABNORMAL : SRUN_TASK_EXITED;
	if (bad)
		note_bad_end(r, t);
	else if (r->o->verbose)
		srun_info("launch/slurm: _task_finish: %s: task %u: Completed", t->node, t->task);
	if (!r->first_ms && r->o->wait_s) {
		r->first_ms = loop_now_ms();
		r->wait_ms = r->first_ms + (int64_t)r->o->wait_s * 1000;
	}
}

void srun_take_task(struct srun_run *r, const struct steplink_message *m)
{
	Gpusched__StepTask *t = gpusched__step_task__unpack(NULL, m->len, m->data);

	if (t && t->task < r->tasks && t->ended)
		note_end(r, t);
	else if (t && t->task < r->tasks)
		r->states[t->task] = SRUN_TASK_RUNNING;
	if (t)
		gpusched__step_task__free_unpacked(t, NULL);
}

void srun_tell_states(const struct srun_run *r)
{
	static const char *const names[] = { [SRUN_TASK_NONE] = "unknown",
		[SRUN_TASK_RUNNING] = "running",
		[SRUN_TASK_EXITED] = "exited",
		[SRUN_TASK_ABNORMAL] = "exited abnormally" };

	for (uint8_t state = SRUN_TASK_NONE; state <= SRUN_TASK_ABNORMAL; state++) {
		struct strbuf list = { 0 };
		size_t n = 0;

		for (uint32_t i = 0; i < r->tasks; i++) {
			uint32_t last = i;

			if (r->states[i] != state)
				continue;
			while (last + 1 < r->tasks && r->states[last + 1] == state)
				last++;
			strbuf_addf(&list, last > i ? "%s%u-%u" : "%s%u", n ? "," : "", i, last);
			n += last - i + 1;
			i = last;
		}
		if (n)
			srun_info("%s task%s %s: %s", r->name, n > 1 ? "s" : "", list.s,
			        names[state]);
		strbuf_free(&list);
	}
}

/* --- the clock -------------------------------------------------------------------------------- */

void srun_check_clock(struct srun_run *r)
{
	int64_t now = loop_now_ms();

	if (r->flush_ms && now >= r->flush_ms)
		srun_tell_exits(r);
	if (r->wait_ms && now >= r->wait_ms) {
		r->wait_ms = 0;
		if (r->n_ended < r->tasks && !r->aborted) {
			srun_tell_exits(r);
			srun_info("First task exited %llds ago",
			        (long long)(now - r->first_ms) / 1000);
			srun_tell_states(r);
			step_terminate(r, true);
		}
	}
	if (r->kill_ms && now >= r->kill_ms) {
		r->kill_ms = now + SRUN_KILL_S * 1000;
		srun_signal(r, SIGKILL);
	}
}

int srun_timeout(const struct srun_run *r)
{
	const int64_t at[] = { r->flush_ms, r->wait_ms, r->kill_ms };
	int64_t least = 0, now = loop_now_ms();

	for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++)
		if (at[i] && (!least || at[i] < least))
			least = at[i];
	return !least ? -1 : least > now ? (int)(least - now) : 0;
}
