/* checker_waits.c - what a job asked for: arrays, conditions, coming back; see checker_impl.h */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "testsuite/sim/checker_impl.h"

/* --- facts ----------------------------------------------------------------------------------- */

static void add_to_set(struct job *job, uint64_t task)
{
	job->set = checker_need(realloc(job->set, (job->n_set + 1) * sizeof(*job->set)));
	job->set[job->n_set++] = task;
}

/* "0-9:2,12" */
void fact_array(struct checker *c, const struct words *f)
{
	struct job *job = checker_job(c, f->u[1]);
	const char *p = f->w[2];

	job->n_set = 0;
	job->array = true;
	job->at_once = f->u[3];
	while (*p) {
		char *end;
		uint64_t first = strtoull(p, &end, 10), last = first, step = 1;

		if (*end == '-')
			last = strtoull(end + 1, &end, 10);
		if (*end == ':')
			step = strtoull(end + 1, &end, 10);
		if (end == p || (*end && *end != ',') || !step) {
			checker_violated(c, "no set of tasks: '%s'", f->w[2]);
			return;
		}
		for (; first <= last; first += step)
			add_to_set(job, first);
		p = *end ? end + 1 : end;
	}
}

/* Nobody knows when it comes into force: the larger number counts. */
void fact_throttle(struct checker *c, const struct words *f)
{
	struct job *job = checker_job(c, f->u[1]);

	if (!f->u[2] || (job->at_once && f->u[2] > job->at_once))
		job->at_once = f->u[2];
}

void fact_waits(struct checker *c, const struct words *f)
{
	struct job *job = checker_job(c, f->u[1]);
	struct term *t;

	job->terms = checker_need(realloc(job->terms, (job->n_terms + 1) * sizeof(*job->terms)));
	t = &job->terms[job->n_terms++];
	snprintf(t->type, sizeof(t->type), "%s", f->w[2]);
	t->on = checker_job(c, f->u[3]);
	t->task = f->task[3];
}

void fact_any(struct checker *c, const struct words *f)
{
	checker_job(c, f->u[1])->any = true;
}

void fact_stays(struct checker *c, const struct words *f)
{
	checker_job(c, f->u[1])->stays = true;
}

void fact_alone(struct checker *c, const struct words *f)
{
	struct job *job = checker_job(c, f->u[1]);

	snprintf(job->name, sizeof(job->name), "%s", f->w[2]);
}

void fact_attempts(struct checker *c, const struct words *f)
{
	checker_job(c, f->u[1])->attempts = f->u[2];
}

void fact_comeback(struct checker *c, const struct words *f)
{
	struct job *job = checker_job(c, f->u[1]);

	job->low = f->u[2];
	job->high = f->u[3];
	job->delay = f->u[4];
}

void fact_begin(struct checker *c, const struct words *f)
{
	checker_job(c, f->u[1])->begin = f->u[2];
}

void fact_deadline(struct checker *c, const struct words *f)
{
	checker_job(c, f->u[1])->deadline = true;
}

void waits_free(struct job *job)
{
	free(job->set);
	free(job->terms);
}

/* --- attempts -------------------------------------------------------------------------------- */

/* One of them stands for all of an attempt that were started. */
static bool stands_for_attempt(const struct run *run)
{
	for (const struct run *r = run->next; r; r = r->next)
		if (r->started && r->key.attempt == run->key.attempt)
			return false;
	return true;
}

/* It has started, and no other of its attempt before it. */
static bool is_first_of_attempt(const struct run *run)
{
	for (const struct run *r = run->task->runs; r; r = r->next)
		if (r != run && r->started && r->key.attempt == run->key.attempt)
			return false;
	return true;
}

/* Attempts that were started, and of which the controller must have learnt so: a node that went
 * down may have taken what it knew with it. */
static uint64_t attempts_of(const struct task *task)
{
	uint64_t n = 0;

	for (const struct run *first = task->runs; first; first = first->next) {
		bool counts = false;

		if (!first->started || !stands_for_attempt(first))
			continue;
		for (const struct run *r = task->runs; r; r = r->next)
			if (r->started && r->key.attempt == first->key.attempt)
				counts |= r->ended && !r->rebooted;
		n += counts;
	}
	return n;
}

/* Of the attempt before; NULL: there was none, or it was on several nodes. */
static const struct run *run_before(const struct run *run)
{
	const struct run *found = NULL;

	for (const struct run *r = run->task->runs; r; r = r->next)
		if (r->started && r->key.attempt < run->key.attempt &&
		        (!found || r->key.attempt > found->key.attempt))
			found = r;
	return found && found->nodes == 1 ? found : NULL;
}

static bool comes_back(const struct job *job, uint64_t code, uint64_t signal)
{
	return job->low && !signal && code >= job->low && code <= job->high;
}

/* What it ended with may have gone down with its node before anybody was told. */
static bool was_heard(struct checker *c, const struct run *run)
{
	const struct node *node = checker_find(&c->node_tree, run->node, by_name);

	return run->ended && !run->rebooted && node && node->boot < run->end;
}

/* It may have been requeued, by a client or for a fault of its GPU, before it ended by itself: then
 * it does not come back, it is begun anew. */
static bool may_be_requeued(struct checker *c, const struct run *run)
{
	return run->told || run->task->requeued ||
	       faults_may_end(c, run->task, run->key.attempt);
}

bool ended_by_itself(struct checker *c, const struct run *run)
{
	return was_heard(c, run) && !may_be_requeued(c, run);
}

static void check_delay(struct checker *c, const struct run *run)
{
	const struct job *job = run->task->job;
	const struct run *before = run_before(run);
	uint64_t delay = job->delay, n;

	if (!before || !comes_back(job, before->code, before->signal) ||
	        !ended_by_itself(c, before))
		return;
	for (n = attempts_of(run->task); n > 1; n--)
		delay *= 2;
	if (run->start < before->end + delay)
		checker_violated(c,
		        "I18: job %s came back %" PRIu64 " us after attempt %" PRIu64
		        ", not %" PRIu64,
		        task_label(run->task), run->start - before->end, before->key.attempt,
		        delay);
}

/* --- starts ---------------------------------------------------------------------------------- */

static void check_throttle(struct checker *c, const struct job *job)
{
	uint64_t n = 0;

	for (const struct task *t = job->tasks; t; t = t->next)
		n += task_alive(t) != NULL;
	if (job->at_once && n > job->at_once)
		checker_violated(c,
		        "I17: %" PRIu64 " tasks of job %" PRIu64 " run at a time, not %" PRIu64, n,
		        job->id, job->at_once);
}

static bool in_set(const struct job *job, uint64_t task)
{
	for (size_t i = 0; i < job->n_set; i++)
		if (job->set[i] == task)
			return true;
	return false;
}

void waits_started(struct checker *c, const struct run *run)
{
	struct task *task = run->task;
	const struct job *job = task->job;

	if (job->array && !in_set(job, task->key.task))
		checker_violated(c, "I17: job %s runs, and has no such task", task_label(task));
	check_throttle(c, job);
	check_delay(c, run);
	if (run->start < job->begin)
		checker_violated(c, "I20: job %s started %" PRIu64 " us before its time",
		        task_label(task), job->begin - run->start);
	/* An order may have been under way. */
	if (task->cancelled && is_first_of_attempt(run) && ++task->since_cancel > 1)
		checker_violated(c, "I1: job %s was cancelled and starts again", task_label(task));
}

void waits_ended(struct checker *c, const struct task *task)
{
	if (!strcmp(task->final, "DEADLINE") && !task->job->deadline)
		checker_violated(c, "I20: job %s has no deadline to miss", task_label(task));
}

/* --- conditions ------------------------------------------------------------------------------ */

/* How far some tasks are, or (all of them) a job. */
struct course {
	bool started;    /* one of them, or all ended without */
	bool over, well; /* each of them */
	bool requeued;   /* one was, perhaps after its end: that had been told by then */
	bool unseen; /* one may have ended without a start before it was requeued */
	/* The first start, the last end; of one requeued its first, 0 where it may have ended
	 * without a start before that. */
	uint64_t start, end;
};

static void add_task(struct checker *c, struct course *course, uint64_t job, uint64_t number)
{
	const struct task *task = checker_task(c, job, number);
	uint64_t start = task_first_start(task);
	uint64_t end = !task->requeued    ? task_last_end(task)
	               : task->ran_before ? task_first_end(task)
	                                  : 0;

	course->requeued |= task->requeued;
	course->unseen |= task->requeued && !task->ran_before;
	course->started |= start > 0;
	course->over &= task->final[0] != '\0';
	course->well &= !strcmp(task->final, "COMPLETED");
	course->start = start && (!course->start || start < course->start) ? start : course->start;
	course->end = end > course->end ? end : course->end;
}

static struct course course_of(struct checker *c, const struct job *job, uint64_t task)
{
	struct course course = { .over = true, .well = true };

	if (task != ALL_TASKS || !job->array)
		add_task(c, &course, job->id, job->array ? task : 0);
	else
		for (size_t i = 0; i < job->n_set; i++)
			add_task(c, &course, job->id, job->set[i]);
	course.started |= course.over;
	return course;
}

/* Has it come true for this task? Since when? */
static bool holds(struct checker *c, const struct term *t, const struct task *who, uint64_t *since)
{
	bool each = !strcmp(t->type, "aftercorr") && who->job->array && t->on->array &&
	            in_set(t->on, who->key.task);
	struct course on = course_of(c, t->on, each ? who->key.task : t->task);

	*since = on.end;
	if (!strcmp(t->type, "after")) {
		*since = on.unseen ? 0 : on.start;
		return on.started || on.unseen;
	}
	if (!strcmp(t->type, "afterany"))
		return on.over;
	return on.over && (on.requeued || on.well == (strcmp(t->type, "afternotok") != 0));
}

/* Was any of what it waits for requeued? Then what became of that is not known any more. */
static bool on_requeued(struct checker *c, const struct task *who)
{
	const struct job *job = who->job;

	for (size_t i = 0; i < job->n_terms; i++)
		if (course_of(c, job->terms[i].on, job->terms[i].task).requeued)
			return true;
	return false;
}

/* All of them, or one where one is enough; until `at`. */
static bool all_hold(
        struct checker *c, const struct task *who, uint64_t at, const struct term **bad)
{
	const struct job *job = who->job;
	uint64_t since;

	*bad = NULL;
	for (size_t i = 0; i < job->n_terms; i++) {
		bool good = holds(c, &job->terms[i], who, &since) && since <= at;

		if (good && job->any)
			return true;
		if (!good)
			*bad = &job->terms[i];
	}
	return !*bad;
}

bool waits_for_ever(struct checker *c, const struct task *task)
{
	const struct term *bad;

	return task->job->stays && !task_first_start(task) &&
	       (on_requeued(c, task) || !all_hold(c, task, UINT64_MAX, &bad));
}

static void check_waited(struct checker *c, const struct task *task)
{
	uint64_t start = task_first_start(task);
	const struct term *bad;

	if (start && !all_hold(c, task, start, &bad))
		checker_violated(c, "I16: job %s started before it might, %s %" PRIu64,
		        task_label(task), bad->type, bad->on->id);
	else if (on_requeued(c, task))
		return;
	else if (!start && task->job->n_terms && !task->kill && !strcmp(task->final, "CANCELLED") &&
	         all_hold(c, task, UINT64_MAX, &bad))
		checker_violated(
		        c, "I16: job %s could have run, and was cancelled", task_label(task));
	else if (!start && task->job->stays && !task->kill && !strcmp(task->final, "CANCELLED"))
		checker_violated(
		        c, "I16: job %s was to wait for ever, and was cancelled", task_label(task));
}

static void check_runs_apart(struct checker *c, const struct task *x, const struct task *y)
{
	for (const struct run *a = x->runs; a; a = a->next)
		for (const struct run *b = y->runs; b; b = b->next)
			if (a->started && b->started && a->start < b->end && b->start < a->end)
				checker_violated(c,
				        "I16: jobs %s and %s, one of which runs at a time, did so "
				        "together",
				        task_label(x), task_label(y));
}

static void check_alone(struct checker *c, const struct task *task)
{
	const struct job *job = task->job, *other;

	STAILQ_FOREACH (other, &c->jobs, later) {
		if (other->id < job->id || other->uid != job->uid ||
		        strcmp(other->name, job->name) != 0)
			continue;
		for (const struct task *t = other->tasks; t; t = t->next)
			if (other != job || t->key.task > task->key.task)
				check_runs_apart(c, task, t);
	}
}

/* The number of its last attempt. Of those that were not started some may count all the same: a
 * node had told of the record, and went down before it started anything. */
uint64_t last_attempt(const struct task *task)
{
	uint64_t last = 0;

	for (const struct run *r = task->runs; r; r = r->next)
		last = r->key.attempt > last ? r->key.attempt : last;
	return last;
}

/* A run that was told to end comes back as is said for that, whatever it ended with. */
static bool last_was_told(const struct task *task, uint64_t last)
{
	for (const struct run *r = task->runs; r; r = r->next)
		if (r->key.attempt == last && r->told)
			return true;
	return false;
}

/* It has used up what it was given, where it was to come back from such an end. */
static void check_attempts(struct checker *c, const struct task *task)
{
	const struct job *job = task->job;
	uint64_t told = attempts_of(task), last = last_attempt(task);

	if (job->attempts && told > job->attempts)
		checker_violated(c, "I18: %" PRIu64 " attempts of job %s, which may have %" PRIu64,
		        told, task_label(task), job->attempts);
	if (!task->kill && !strcmp(task->final, "FAILED") && task->runs->nodes == 1 &&
	        comes_back(job, task->code, task->signal) && last < job->attempts &&
	        !last_was_told(task, last) && !faults_may_end(c, task, last))
		checker_violated(c,
		        "I18: job %s was to come back from exit %" PRIu64 ", and its last "
		        "attempt was %" PRIu64 " of %" PRIu64,
		        task_label(task), task->code, last, job->attempts);
}

void waits_over(struct checker *c, struct task *task)
{
	check_waited(c, task);
	if (task->job->name[0])
		check_alone(c, task);
	if (task->runs)
		check_attempts(c, task);
}
