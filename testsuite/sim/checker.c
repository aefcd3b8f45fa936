/* checker.c - see checker.h. Plain and slow on purpose: it must be easier to believe than what it
 * judges. Nothing is shared with the code under test but error.h. */
#include "testsuite/sim/checker.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "testsuite/sim/checker_impl.h"

static const char *const final_states[] = { "COMPLETED", "FAILED", "CANCELLED", "TIMEOUT",
	"NODE_FAIL", "PREEMPTED", "OUT_OF_MEMORY", "DEADLINE" };

void *checker_need(void *p)
{
	if (!p)
		abort();
	return p;
}

/* What clients were told is judged by: a restored controller does not know of it any more. */
static bool is_promise(const char *text)
{
	static const char *const promises[] = { "I1:", "I3:", "I5:", "I7:", "I8: job", "I9:", "I14:", "I15:",
		"I16:", "I17:", "I18:", "I19:", "I20:", "I21:", "I22:", "I23:", "I25:", "I29:", "I30:", "I33:", "I34:",
		"I36:" };

	for (size_t i = 0; i < sizeof(promises) / sizeof(*promises); i++) {
		if (!strncmp(text, promises[i], strlen(promises[i])))
			return true;
	}
	return false;
}

void checker_violated(struct checker *c, const char *fmt, ...)
{
	char text[512];
	va_list ap;
	int n;

	if (c->restored && is_promise(fmt))
		return;
	n = snprintf(text, sizeof(text), "fact %zu: ", c->n_facts);
	va_start(ap, fmt);
	vsnprintf(text + n, sizeof(text) - (size_t)n, fmt, ap);
	va_end(ap);
	c->violations =
	        checker_need(realloc(c->violations, (c->n_violations + 1) * sizeof(char *)));
	c->violations[c->n_violations++] = checker_need(strdup(text));
}

/* --- what is found by a key ------------------------------------------------------------------- */

int by_job(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(uint64_t));
}

int by_task(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct task_key));
}

int by_run(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct run_key));
}

int by_name(const void *a, const void *b)
{
	return strcmp(a, b);
}

void *checker_find(void *const *tree, const void *key, order_fn *order)
{
	void **found = tfind(key, tree, order);

	return found ? *found : NULL;
}

void *checker_make(void **tree, const void *key, size_t key_len, size_t size, order_fn *order)
{
	void *made = checker_need(calloc(1, size));

	memcpy(made, key, key_len);
	checker_need(tsearch(made, tree, order));
	return made;
}

struct job *checker_job(struct checker *c, uint64_t id)
{
	struct job *job = checker_find(&c->job_tree, &id, by_job);

	if (!job) {
		job = checker_make(&c->job_tree, &id, sizeof(id), sizeof(*job), by_job);
		STAILQ_INSERT_TAIL(&c->jobs, job, later);
	}
	return job;
}

struct task *checker_task(struct checker *c, uint64_t id, uint64_t number)
{
	struct task_key key = { id, number == ALL_TASKS ? 0 : number };
	struct job *job = checker_job(c, id);
	struct task *task = checker_find(&c->task_tree, &key, by_task);

	if (!task) {
		task = checker_make(&c->task_tree, &key, sizeof(key), sizeof(*task), by_task);
		task->job = job;
		task->next = job->tasks;
		job->tasks = task;
		STAILQ_INSERT_TAIL(&c->tasks, task, later);
	}
	return task;
}

const char *task_label(const struct task *task)
{
	static char texts[4][48];
	static unsigned n;
	char *text = texts[n++ % 4];

	if (task->job->array)
		snprintf(text, sizeof(texts[0]), "%" PRIu64 "_%" PRIu64, task->key.job,
		        task->key.task);
	else
		snprintf(text, sizeof(texts[0]), "%" PRIu64, task->key.job);
	return text;
}

void job_each_task(struct checker *c, struct job *job, void (*fn)(struct checker *, struct task *))
{
	if (!job->array)
		fn(c, checker_task(c, job->id, 0));
	for (size_t i = 0; i < job->n_set; i++)
		fn(c, checker_task(c, job->id, job->set[i]));
}

static bool is_final(const char *state)
{
	for (size_t i = 0; i < sizeof(final_states) / sizeof(final_states[0]); i++) {
		if (!strcmp(state, final_states[i]))
			return true;
	}
	return false;
}

const struct run *task_alive(const struct task *task)
{
	const struct run *run = task->runs;

	while (run && !run_alive(run))
		run = run->next;
	return run;
}

uint64_t task_first_start(const struct task *task)
{
	uint64_t first = 0;

	for (const struct run *run = task->runs; run; run = run->next)
		if (run->started && (!first || run->start < first))
			first = run->start;
	return first;
}

uint64_t task_first_end(const struct task *task)
{
	uint64_t first = 0;

	for (const struct run *run = task->runs; run; run = run->next)
		if (run->ended && (!first || run->end < first))
			first = run->end;
	return first;
}

uint64_t task_last_end(const struct task *task)
{
	uint64_t last = 0;

	for (const struct run *run = task->runs; run; run = run->next)
		if (run->end > last)
			last = run->end;
	return last;
}

/* --- facts of clients ------------------------------------------------------------------------ */

static void fact_submit(struct checker *c, const struct words *f)
{
	struct job *job = checker_job(c, f->u[1]);
	char name[sizeof(job->token)];
	struct token *token;

	snprintf(name, sizeof(name), "%" PRIu64 "/%.63s", f->u[2], f->w[3]);
	if (job->submitted && strcmp(job->token, name) != 0)
		checker_violated(c, "I2: id %" PRIu64 " was given to %s and to %s", job->id,
		        job->token, name);
	token = checker_find(&c->token_tree, name, by_name);
	if (token && token->job != job->id)
		checker_violated(c, "I1: %s got the ids %" PRIu64 " and %" PRIu64, name, token->job,
		        job->id);
	if (!token) {
		token = checker_make(&c->token_tree, name, strlen(name) + 1, sizeof(*token),
		        by_name);
		token->job = job->id;
		STAILQ_INSERT_TAIL(&c->tokens, token, later);
	}
	job->submitted = true;
	job->uid = f->u[2];
	snprintf(job->token, sizeof(job->token), "%s", name);
}

/* For the task that was named, or all of them. */
static void each_named(
        struct checker *c, const struct words *f, void (*fn)(struct checker *c, struct task *task))
{
	struct job *job = checker_job(c, f->u[1]);

	if (f->task[1] == ALL_TASKS)
		job_each_task(c, job, fn);
	else
		fn(c, checker_task(c, job->id, f->task[1]));
}

static void is_cancelled(struct checker *c, struct task *task)
{
	(void)c;
	task->cancelled = task->kill = true;
}

static void fact_cancel(struct checker *c, const struct words *f)
{
	each_named(c, f, is_cancelled);
}

static void is_to_end(struct checker *c, struct task *task)
{
	(void)c;
	task->kill = true;
}

static void fact_kill(struct checker *c, const struct words *f)
{
	each_named(c, f, is_to_end);
}

/* COMPLETED: all of it ran, and ended well. */
static void check_completed(struct checker *c, const struct task *task)
{
	uint64_t nodes = 0, well = 0;

	for (const struct run *run = task->runs; run; run = run->next) {
		if (run->key.attempt != task->attempt || !run->started)
			continue;
		nodes = run->nodes;
		if (run->ended && !run->rebooted && !run->code && !run->signal)
			well++;
		else if (run->ended && !run->rebooted)
			checker_violated(c,
			        "I7: job %s COMPLETED, but its rank %" PRIu64 " ended with %" PRIu64
			        ":%" PRIu64,
			        task_label(task), run->key.rank, run->code, run->signal);
	}
	if (!well)
		checker_violated(c,
		        "I7: job %s COMPLETED, but its run %" PRIu64 " never ended well",
		        task_label(task), task->attempt);
	else if (well != nodes)
		checker_violated(c,
		        "I14: job %s COMPLETED, but of its %" PRIu64 " ranks only %" PRIu64
		        " ended well",
		        task_label(task), nodes, well);
	if (task->code || task->signal)
		checker_violated(c, "I7: job %s COMPLETED with %" PRIu64 ":%" PRIu64,
		        task_label(task), task->code, task->signal);
}

/* FAILED: with what one of its ranks ended with. */
static void check_failed(struct checker *c, const struct task *task)
{
	const struct run *seen = NULL;

	for (const struct run *run = task->runs; run; run = run->next) {
		if (run->key.attempt != task->attempt || !run->ended || run->rebooted)
			continue;
		if (run->code == task->code && run->signal == task->signal)
			return;
		seen = run;
	}
	if (seen)
		checker_violated(c,
		        "I7: job %s is said to have ended with %" PRIu64 ":%" PRIu64
		        ", the node saw %" PRIu64 ":%" PRIu64,
		        task_label(task), task->code, task->signal, seen->code, seen->signal);
}

/* What the controller says of an ended job must be what the nodes saw. */
static void check_exit(struct checker *c, const struct task *task)
{
	if (!strcmp(task->final, "COMPLETED"))
		check_completed(c, task);
	else if (!strcmp(task->final, "FAILED"))
		check_failed(c, task);
}

static void is_to_stop(struct checker *c, struct task *task)
{
	(void)c;
	task->suspend = true;
}

static void fact_suspend(struct checker *c, const struct words *f)
{
	each_named(c, f, is_to_stop);
}

/* What was stopped may go on by now; what never was is not suspended. */
static void check_suspended(struct checker *c, const struct task *task, uint64_t attempt)
{
	if (!task->suspend)
		checker_violated(
		        c, "I15: job %s is SUSPENDED, and nobody asked for it", task_label(task));
	for (const struct run *run = task->runs; run; run = run->next) {
		if (run->key.attempt == attempt && run_alive(run) && !run->stopped)
			checker_violated(c,
			        "I15: job %s is SUSPENDED, and its rank %" PRIu64
			        " was never stopped",
			        task_label(task), run->key.rank);
	}
}

static void is_again(struct checker *c, struct task *task)
{
	(void)c;
	if (!task->requeued)
		task->ran_before = task_first_start(task) > 0;
	task->again++;
	task->requeued = true;
	/* It may have ended by then: a cancel before that says nothing of what comes. */
	task->cancelled = false;
}

static void fact_again(struct checker *c, const struct words *f)
{
	each_named(c, f, is_again);
}

bool task_reopen(struct task *task)
{
	if (!task->again)
		return false;
	task->again--;
	task->final[0] = '\0';
	return true;
}

static void fact_state(struct checker *c, const struct words *f)
{
	struct task *task = checker_task(c, f->u[1], f->task[1]);
	const struct run *lives = task_alive(task);
	const char *state = f->w[2];

	if (task->final[0]) {
		if (!strcmp(task->final, state) && task->code == f->u[3] && task->signal == f->u[4])
			return;
		if (!task_reopen(task)) {
			checker_violated(c, "I5: job %s was %s and is %s", task_label(task),
			        task->final, state);
			return;
		}
	}
	if (!strcmp(state, "SUSPENDED"))
		check_suspended(c, task, f->u[5]);
	if (!is_final(state))
		return;
	snprintf(task->final, sizeof(task->final), "%s", state);
	task->code = f->u[3];
	task->signal = f->u[4];
	task->attempt = f->u[5];
	if (task->over < task->attempt)
		task->over = task->attempt;
	check_exit(c, task);
	waits_ended(c, task);
	if (lives)
		checker_violated(c, "I8: job %s is %s, and its run %" PRIu64 " still lives on %s",
		        task_label(task), state, lives->key.attempt, lives->node);
}

static void fact_unknown(struct checker *c, const struct words *f)
{
	struct job *job = checker_job(c, f->u[1]);

	if (job->submitted && !job->retired)
		checker_violated(
		        c, "I1: job %" PRIu64 " was acknowledged and is not known", job->id);
}

static void retire(struct checker *c, struct task *task)
{
	if (!task->final[0])
		checker_violated(c, "I1: job %s was retired before it ended", task_label(task));
}

static void fact_retired(struct checker *c, const struct words *f)
{
	struct job *job = checker_job(c, f->u[1]);

	job_each_task(c, job, retire);
	job->retired = true;
}

static void task_over(struct checker *c, struct task *task)
{
	const struct run *lives = task_alive(task);

	if (!task->final[0] && !waits_for_ever(c, task))
		checker_violated(
		        c, "I9: faults have stopped and job %s has not ended", task_label(task));
	else if (task->cancelled && !strcmp(task->final, "NODE_FAIL"))
		return; /* the cancel met a dead node: ended either way */
	waits_over(c, task);
	burst_over(c, task);
	if (lives)
		checker_violated(c, "I8: job %s has ended and run %" PRIu64 " lives",
		        task_label(task), lives->key.attempt);
}

static void fact_restored(struct checker *c, const struct words *f)
{
	(void)f;
	c->restored = true;
	accounts_restored(c);
}

static void fact_quiet(struct checker *c, const struct words *f)
{
	struct job *job;

	(void)f;
	gpus_over(c);
	accounts_over(c);
	steps_over(c);
	services_over(c);
	STAILQ_FOREACH (job, &c->jobs, later) {
		if (job->submitted && !job->service)
			job_each_task(c, job, task_over);
		for (const struct task *t = job->tasks; t && !job->submitted; t = t->next)
			if (task_first_start(t))
				checker_violated(c, "I19: job %s ran, and was promised to nobody",
				        task_label(t));
	}
}

/* word kinds: n number, x hex number, w word, j job or task of one */
static const struct fact_row {
	const char *name, *kinds;
	fact_fn *take;
} fact_rows[] = {
	{ "submit", "nnw", fact_submit },
	{ "cancel", "j", fact_cancel },
	{ "kill", "j", fact_kill },
	{ "suspend", "j", fact_suspend },
	{ "again", "j", fact_again },
	{ "array", "nwn", fact_array },
	{ "throttle", "nn", fact_throttle },
	{ "waits", "nwj", fact_waits },
	{ "any", "n", fact_any },
	{ "stays", "n", fact_stays },
	{ "alone", "nw", fact_alone },
	{ "attempts", "nn", fact_attempts },
	{ "comeback", "nnnn", fact_comeback },
	{ "begin", "nn", fact_begin },
	{ "deadline", "n", fact_deadline },
	{ "state", "jwnnn", fact_state },
	{ "unknown", "n", fact_unknown },
	{ "retired", "n", fact_retired },
	{ "start", "nnnnnwnxn", fact_start },
	{ "end", "nnnnwnnn", fact_end },
	{ "stop", "nnnn", fact_stop },
	{ "gone", "nnnnwn", fact_gone },
	{ "share", "nnnnnnn", fact_share },
	{ "burst", "nn", fact_burst },
	{ "needs", "nnnnwxn", fact_needs },
	{ "waived", "nnnn", fact_waived },
	{ "uses", "nnnnn", fact_uses },
	{ "asked", "nnnn", fact_asked },
	{ "excused", "nnnn", fact_excused },
	{ "reclaimed", "nnnn", fact_reclaimed },
	{ "reclaims", "w", fact_reclaims },
	{ "lent", "jwn", fact_lent },
	{ "stale", "nnnn", fact_stale },
	{ "card", "wnn", fact_card },
	{ "apart", "w", fact_apart },
	{ "health", "ww", fact_health },
	{ "fault", "wx", fact_fault },
	{ "drained", "wx", fact_drained },
	{ "closed", "w", fact_closed },
	{ "returned", "wx", fact_returned },
	{ "opened", "w", fact_opened },
	{ "told", "nnnnw", fact_told },
	{ "kept", "wx", fact_kept },
	{ "reboot", "wn", fact_reboot },
	{ "usage", "nnnnn", fact_usage },
	{ "copied", "", fact_copied },
	{ "restored", "", fact_restored },
	{ "owed", "nnnn", fact_owed },
	{ "unowed", "nnnn", fact_unowed },
	{ "billed", "nnnnn", fact_billed },
	{ "heartbeat", "n", fact_heartbeat },
	{ "contact", "wn", fact_contact },
	{ "parted", "w", fact_parted },
	{ "books", "nnnnw", fact_books },
	{ "tells", "nnnnw", fact_tells },
	{ "looked", "wn", fact_looked },
	{ "left", "nnnn", fact_left },
	{ "maxsteps", "n", fact_max_steps },
	{ "begun", "", fact_begun },
	{ "step", "nnnn", fact_step },
	{ "stepruns", "nnnn", fact_step_runs },
	{ "stepends", "nnnnwnnx", fact_step_ends },
	{ "stepdone", "nnnn", fact_step_done },
	{ "lists", "nnnn", fact_lists },
	{ "keptstep", "wnnnnwnnx", fact_kept_step },
	{ "counted", "", fact_counted },
	{ "service", "wn", fact_service },
	{ "endservice", "w", fact_end_service },
	{ "noservice", "w", fact_no_service },
	{ "takenservice", "w", fact_taken_service },
	{ "isservice", "wnnn", fact_is_service },
	{ "generation", "wn", fact_generation },
	{ "sheds", "nnn", fact_sheds },
	{ "slot", "nnnnn", fact_slot },
	{ "slots", "", fact_slots },
	{ "keptrun", "nnnnn", fact_kept_run },
	{ "serves", "nnn", fact_serves },
	{ "quiet", "", fact_quiet },
};

static int parse(const struct fact_row *row, char *rest, struct words *f, struct error *err)
{
	char *save = NULL, *end;
	size_t n = 0, want = strlen(row->kinds);
	const char *word;

	while ((word = strtok_r(n ? NULL : rest, " \t\n", &save))) {
		if (n >= want)
			return error_set(err, ERR_USAGE, "%s takes %zu words", row->name, want);
		n++;
		f->w[n] = word;
		f->task[n] = ALL_TASKS;
		if (row->kinds[n - 1] == 'w')
			continue;
		f->u[n] = strtoull(word, &end, row->kinds[n - 1] == 'x' ? 16 : 10);
		if (row->kinds[n - 1] == 'j' && *end == '_')
			f->task[n] = strtoull(end + 1, &end, 10);
		if (*end || word[0] == '-')
			return error_set(err, ERR_USAGE, "%s: word %zu, '%s', must be a number",
			        row->name, n, word);
	}
	if (n < want)
		return error_set(err, ERR_USAGE, "%s takes %zu words, has %zu", row->name, want, n);
	return 0;
}

int checker_fact(struct checker *c, const char *line, struct error *err)
{
	char copy[4096];
	char *rest;
	struct words f = { .u = { 0 } };

	if (strlen(line) >= sizeof(copy))
		return error_set(err, ERR_USAGE, "a fact has at most %zu bytes", sizeof(copy) - 1);
	snprintf(copy, sizeof(copy), "%s", line);
	copy[strcspn(copy, "#\n")] = '\0';
	rest = copy + strspn(copy, " \t");
	if (!*rest)
		return 0;
	for (size_t i = 0; i < sizeof(fact_rows) / sizeof(fact_rows[0]); i++) {
		size_t n = strlen(fact_rows[i].name);

		if (strncmp(rest, fact_rows[i].name, n) != 0 || (rest[n] && rest[n] != ' '))
			continue;
		if (parse(&fact_rows[i], rest + n, &f, err) < 0)
			return -1;
		c->n_facts++;
		fact_rows[i].take(c, &f);
		return 0;
	}
	return error_set(err, ERR_USAGE, "'%s' is no fact", rest);
}

void checker_say(struct checker *c, const char *fmt, ...)
{
	char line[4096];
	struct error err;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (checker_fact(c, line, &err) < 0) {
		fprintf(stderr, "checker: '%s': %s\n", line, err.text);
		abort();
	}
}

struct checker *checker_new(void)
{
	struct checker *c = checker_need(calloc(1, sizeof(*c)));

	STAILQ_INIT(&c->jobs);
	STAILQ_INIT(&c->tasks);
	STAILQ_INIT(&c->runs);
	STAILQ_INIT(&c->nodes);
	STAILQ_INIT(&c->tokens);
	STAILQ_INIT(&c->steps);
	STAILQ_INIT(&c->services);
	return c;
}

void checker_free(struct checker *c)
{
	struct job *job;

	if (!c)
		return;
	STAILQ_FOREACH (job, &c->jobs, later)
		waits_free(job);
	tdestroy(c->token_tree, free);
	tdestroy(c->step_tree, free);
	tdestroy(c->service_tree, free);
	tdestroy(c->job_tree, free);
	tdestroy(c->task_tree, free);
	tdestroy(c->run_tree, free);
	tdestroy(c->node_tree, free);
	for (size_t i = 0; i < c->n_violations; i++)
		free(c->violations[i]);
	free(c->violations);
	free(c);
}

size_t checker_violations(const struct checker *c)
{
	return c->n_violations;
}

size_t checker_facts(const struct checker *c)
{
	return c->n_facts;
}

size_t checker_looks(const struct checker *c)
{
	return c->n_looks;
}

size_t checker_owed(const struct checker *c)
{
	return c->n_owed;
}

size_t checker_stops(const struct checker *c)
{
	struct run *run;
	size_t n = 0;

	STAILQ_FOREACH (run, &c->runs, later)
		n += run->stopped;
	return n;
}

size_t checker_parts(const struct checker *c)
{
	struct run *run;
	size_t n = 0;

	STAILQ_FOREACH (run, &c->runs, later)
		n += run->started && run->shares;
	return n;
}

size_t checker_asked(const struct checker *c)
{
	struct run *run;
	size_t n = 0;

	STAILQ_FOREACH (run, &c->runs, later)
		n += run->was_asked;
	return n;
}

size_t checker_reclaimed(const struct checker *c)
{
	struct run *run;
	size_t n = 0;

	STAILQ_FOREACH (run, &c->runs, later)
		n += run->reclaimed;
	return n;
}

size_t checker_endpoints(const struct checker *c)
{
	return c->n_endpoints;
}

size_t checker_gangs(const struct checker *c, bool whole)
{
	struct run *run;
	size_t n = 0;

	STAILQ_FOREACH (run, &c->runs, later) {
		const struct run *first = run->next, *other;
		uint64_t started = 0;

		/* Each attempt once, at that of its runs which comes last in the list. */
		while (first && (!first->started || first->key.attempt != run->key.attempt))
			first = first->next;
		if (!run->started || run->nodes < 2 || first)
			continue;
		for (other = run->task->runs; other; other = other->next)
			started += other->started && other->key.attempt == run->key.attempt;
		n += (started == run->nodes) == whole;
	}
	return n;
}

void checker_print(const struct checker *c, FILE *out)
{
	for (size_t i = 0; out && i < c->n_violations; i++)
		fprintf(out, "%s\n", c->violations[i]);
}
