/* checker.c - see checker.h. Plain and slow on purpose: it must be easier to believe than what it
 * judges. Hash tables are uthash's; nothing is shared with the code under test but error.h. */
#include "testsuite/sim/checker.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#define NAME_LEN  64
#define MAX_GPUS  64
#define MAX_WORDS 10

static const char *const final_states[] = { "COMPLETED", "FAILED", "CANCELLED", "TIMEOUT",
	"NODE_FAIL", "PREEMPTED", "OUT_OF_MEMORY", "DEADLINE" };

struct token {
	char name[NAME_LEN + 24]; /* UID/TOKEN */
	uint64_t job;
	UT_hash_handle hh;
};

struct job {
	uint64_t id;
	char token[NAME_LEN + 24];
	bool submitted, cancelled, retired, suspend;
	char final[NAME_LEN]; /* "" while it has not ended */
	uint64_t code, signal, attempt;
	struct run *runs;            /* all that were ever heard of */
	const struct job *waits_for; /* before it may start; NULL: nobody */
	char waits[16];              /* in which way: "afterok" */
	UT_hash_handle hh;
};

struct run_key {
	uint64_t job, task, attempt, rank;
};

struct run {
	struct run_key key;
	char node[NAME_LEN];
	struct job *job;
	struct run *next; /* of its job */
	uint64_t nodes, gpus, start, end, code, signal;
	bool started, ended, rebooted, stopped;
	UT_hash_handle hh;
};

struct node {
	char name[NAME_LEN];
	struct run *holder[MAX_GPUS];
	uint64_t epoch, last;
	UT_hash_handle hh;
};

struct checker {
	struct job *jobs;
	struct run *runs;
	struct node *nodes;
	struct token *tokens;
	char **violations;
	size_t n_violations, n_facts;
};

static void *need(void *p)
{
	if (!p)
		abort();
	return p;
}

static void violated(struct checker *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void violated(struct checker *c, const char *fmt, ...)
{
	char text[512];
	va_list ap;
	int n;

	n = snprintf(text, sizeof(text), "fact %zu: ", c->n_facts);
	va_start(ap, fmt);
	vsnprintf(text + n, sizeof(text) - (size_t)n, fmt, ap);
	va_end(ap);
	c->violations = need(realloc(c->violations, (c->n_violations + 1) * sizeof(char *)));
	c->violations[c->n_violations++] = need(strdup(text));
}

static struct job *job_get(struct checker *c, uint64_t id)
{
	struct job *job;

	HASH_FIND(hh, c->jobs, &id, sizeof(id), job);
	if (!job) {
		job = need(calloc(1, sizeof(*job)));
		job->id = id;
		HASH_ADD(hh, c->jobs, id, sizeof(job->id), job);
	}
	return job;
}

static struct run *run_get(struct checker *c, const uint64_t *id)
{
	struct run_key key = { id[0], id[1], id[2], id[3] };
	struct job *job = job_get(c, id[0]);
	struct run *run;

	HASH_FIND(hh, c->runs, &key, sizeof(key), run);
	if (!run) {
		run = need(calloc(1, sizeof(*run)));
		run->key = key;
		run->job = job;
		run->next = job->runs;
		job->runs = run;
		HASH_ADD(hh, c->runs, key, sizeof(run->key), run);
	}
	return run;
}

static struct node *node_get(struct checker *c, const char *name)
{
	struct node *node;

	HASH_FIND_STR(c->nodes, name, node);
	if (!node) {
		node = need(calloc(1, sizeof(*node)));
		snprintf(node->name, sizeof(node->name), "%s", name);
		HASH_ADD_STR(c->nodes, name, node);
	}
	return node;
}

static bool is_final(const char *state)
{
	for (size_t i = 0; i < sizeof(final_states) / sizeof(final_states[0]); i++) {
		if (!strcmp(state, final_states[i]))
			return true;
	}
	return false;
}

static bool alive(const struct run *run)
{
	return run->started && !run->ended;
}

static const struct run *alive_of(const struct job *job)
{
	const struct run *run = job->runs;

	while (run && !alive(run))
		run = run->next;
	return run;
}

static void node_time(struct checker *c, struct node *node, uint64_t time)
{
	if (time < node->last)
		violated(c, "I6: time on %s goes back from %" PRIu64 " to %" PRIu64, node->name,
		        node->last, time);
	node->last = time;
}

/* --- facts: numbers in `u` by position, words in `w` ------------------------------------------ */

struct words {
	uint64_t u[MAX_WORDS];
	const char *w[MAX_WORDS];
};

static void fact_submit(struct checker *c, const struct words *f)
{
	struct job *job = job_get(c, f->u[1]);
	char name[sizeof(job->token)];
	struct token *token;

	snprintf(name, sizeof(name), "%" PRIu64 "/%.63s", f->u[2], f->w[3]);
	if (job->submitted && strcmp(job->token, name) != 0)
		violated(c, "I2: id %" PRIu64 " was given to %s and to %s", job->id, job->token,
		        name);
	HASH_FIND_STR(c->tokens, name, token);
	if (token && token->job != job->id)
		violated(c, "I1: %s got the ids %" PRIu64 " and %" PRIu64, name, token->job,
		        job->id);
	if (!token) {
		token = need(calloc(1, sizeof(*token)));
		snprintf(token->name, sizeof(token->name), "%s", name);
		token->job = job->id;
		HASH_ADD_STR(c->tokens, name, token);
	}
	job->submitted = true;
	snprintf(job->token, sizeof(job->token), "%s", name);
}

static void fact_cancel(struct checker *c, const struct words *f)
{
	job_get(c, f->u[1])->cancelled = true;
}

/* COMPLETED: all of it ran, and ended well. */
static void check_completed(struct checker *c, const struct job *job)
{
	uint64_t nodes = 0, well = 0;

	for (const struct run *run = job->runs; run; run = run->next) {
		if (run->key.attempt != job->attempt || !run->started)
			continue;
		nodes = run->nodes;
		if (run->ended && !run->rebooted && !run->code && !run->signal)
			well++;
		else if (run->ended && !run->rebooted)
			violated(c,
			        "I7: job %" PRIu64 " COMPLETED, but its rank %" PRIu64
			        " ended with %" PRIu64 ":%" PRIu64,
			        job->id, run->key.rank, run->code, run->signal);
	}
	if (!well)
		violated(c,
		        "I7: job %" PRIu64 " COMPLETED, but its run %" PRIu64 " never ended well",
		        job->id, job->attempt);
	else if (well != nodes)
		violated(c,
		        "I14: job %" PRIu64 " COMPLETED, but of its %" PRIu64 " ranks only %" PRIu64
		        " ended well",
		        job->id, nodes, well);
	if (job->code || job->signal)
		violated(c, "I7: job %" PRIu64 " COMPLETED with %" PRIu64 ":%" PRIu64, job->id,
		        job->code, job->signal);
}

/* FAILED: with what one of its ranks ended with. */
static void check_failed(struct checker *c, const struct job *job)
{
	const struct run *seen = NULL;

	for (const struct run *run = job->runs; run; run = run->next) {
		if (run->key.attempt != job->attempt || !run->ended || run->rebooted)
			continue;
		if (run->code == job->code && run->signal == job->signal)
			return;
		seen = run;
	}
	if (seen)
		violated(c,
		        "I7: job %" PRIu64 " is said to have ended with %" PRIu64 ":%" PRIu64
		        ", the node saw %" PRIu64 ":%" PRIu64,
		        job->id, job->code, job->signal, seen->code, seen->signal);
}

/* What the controller says of an ended job must be what the nodes saw. */
static void check_exit(struct checker *c, const struct job *job)
{
	if (!strcmp(job->final, "COMPLETED"))
		check_completed(c, job);
	else if (!strcmp(job->final, "FAILED"))
		check_failed(c, job);
}

static void fact_suspend(struct checker *c, const struct words *f)
{
	job_get(c, f->u[1])->suspend = true;
}

/* What was stopped may go on by now; what never was is not suspended. */
static void check_suspended(struct checker *c, const struct job *job, uint64_t attempt)
{
	if (!job->suspend)
		violated(c, "I15: job %" PRIu64 " is SUSPENDED, and nobody asked for it", job->id);
	for (const struct run *run = job->runs; run; run = run->next) {
		if (run->key.attempt == attempt && alive(run) && !run->stopped)
			violated(c,
			        "I15: job %" PRIu64 " is SUSPENDED, and its rank %" PRIu64
			        " was never stopped",
			        job->id, run->key.rank);
	}
}

static void fact_state(struct checker *c, const struct words *f)
{
	struct job *job = job_get(c, f->u[1]);
	const struct run *lives = alive_of(job);
	const char *state = f->w[2];

	if (job->final[0]) {
		if (strcmp(job->final, state) != 0 || job->code != f->u[3] ||
		        job->signal != f->u[4])
			violated(c, "I5: job %" PRIu64 " was %s and is %s", job->id, job->final,
			        state);
		return;
	}
	if (!strcmp(state, "SUSPENDED"))
		check_suspended(c, job, f->u[5]);
	if (!is_final(state))
		return;
	snprintf(job->final, sizeof(job->final), "%s", state);
	job->code = f->u[3];
	job->signal = f->u[4];
	job->attempt = f->u[5];
	check_exit(c, job);
	if (lives)
		violated(c, "I8: job %" PRIu64 " is %s, and its run %" PRIu64 " still lives on %s",
		        job->id, state, lives->key.attempt, lives->node);
}

/* The first start of a job; 0: it never ran. The last end. */
static uint64_t first_start(const struct job *job)
{
	uint64_t first = 0;

	for (const struct run *run = job->runs; run; run = run->next)
		if (run->started && (!first || run->start < first))
			first = run->start;
	return first;
}

static uint64_t last_end(const struct job *job)
{
	uint64_t last = 0;

	for (const struct run *run = job->runs; run; run = run->next)
		if (run->end > last)
			last = run->end;
	return last;
}

static void fact_waits(struct checker *c, const struct words *f)
{
	struct job *job = job_get(c, f->u[1]);

	job->waits_for = job_get(c, f->u[3]);
	snprintf(job->waits, sizeof(job->waits), "%s", f->w[2]);
}

/* When all is over: what ran had a right to. */
static void check_waited(struct checker *c, const struct job *job)
{
	const struct job *on = job->waits_for;
	bool well = on && !strcmp(on->final, "COMPLETED");
	uint64_t start = first_start(job);

	if (!on || !start)
		return;
	if ((!strcmp(job->waits, "afterok") && !well) ||
	        (!strcmp(job->waits, "afternotok") && well))
		violated(c, "I16: job %" PRIu64 " was to run %s %" PRIu64 ", which is %s", job->id,
		        job->waits, on->id, on->final);
	if (!strcmp(job->waits, "after") ? start < first_start(on) : start < last_end(on))
		violated(c, "I16: job %" PRIu64 " started before it might, %s %" PRIu64, job->id,
		        job->waits, on->id);
}

static void fact_unknown(struct checker *c, const struct words *f)
{
	struct job *job = job_get(c, f->u[1]);

	if (job->submitted && !job->retired)
		violated(c, "I1: job %" PRIu64 " was acknowledged and is not known", job->id);
}

static void fact_retired(struct checker *c, const struct words *f)
{
	struct job *job = job_get(c, f->u[1]);

	if (!job->final[0])
		violated(c, "I1: job %" PRIu64 " was retired before it ended", job->id);
	job->retired = true;
}

/* Against the other runs of its job. */
static void check_beside(struct checker *c, const struct job *job, const struct run *run)
{
	for (const struct run *other = job->runs; other; other = other->next) {
		if (other == run || !other->started)
			continue;
		if (other->key.attempt != run->key.attempt) {
			if (alive(other))
				violated(c,
				        "I3: job %" PRIu64 " runs twice: attempts %" PRIu64
				        " on %s, %" PRIu64 " on %s",
				        job->id, other->key.attempt, other->node, run->key.attempt,
				        run->node);
			continue;
		}
		if (other->nodes != run->nodes)
			violated(c,
			        "I14: job %" PRIu64 ": rank %" PRIu64 " is one of %" PRIu64
			        ", rank %" PRIu64 " one of %" PRIu64,
			        job->id, other->key.rank, other->nodes, run->key.rank, run->nodes);
		if (!strcmp(other->node, run->node))
			violated(c, "I14: job %" PRIu64 ": ranks %" PRIu64 " and %" PRIu64 " on %s",
			        job->id, other->key.rank, run->key.rank, run->node);
	}
	if (run->key.rank >= run->nodes)
		violated(c, "I14: job %" PRIu64 ": rank %" PRIu64 " of %" PRIu64, job->id,
		        run->key.rank, run->nodes);
}

static void take_gpus(struct checker *c, struct node *node, struct run *run)
{
	for (int g = 0; g < MAX_GPUS; g++) {
		if (!(run->gpus >> g & 1))
			continue;
		if (node->holder[g])
			violated(c,
			        "I4: GPU %d of %s is held by %" PRIu64 ".%" PRIu64
			        " and given to %" PRIu64 ".%" PRIu64,
			        g, node->name, node->holder[g]->key.job,
			        node->holder[g]->key.attempt, run->key.job, run->key.attempt);
		node->holder[g] = run;
	}
}

static void fact_start(struct checker *c, const struct words *f)
{
	struct run *run = run_get(c, f->u + 1);
	struct job *job = job_get(c, f->u[1]);
	struct node *node = node_get(c, f->w[6]);

	node_time(c, node, f->u[9]);
	if (run->started)
		violated(c,
		        "I3: run %" PRIu64 ".%" PRIu64 ".%" PRIu64 ".%" PRIu64
		        " started on %s and on %s",
		        f->u[1], f->u[2], f->u[3], f->u[4], run->node, f->w[6]);
	if (job->final[0])
		violated(c, "I5: job %" PRIu64 " was %s and a run of it starts", job->id,
		        job->final);
	if (f->u[7] < node->epoch)
		violated(c, "I12: %s obeys epoch %" PRIu64 " after %" PRIu64, node->name, f->u[7],
		        node->epoch);
	node->epoch = f->u[7];
	run->started = true;
	run->nodes = f->u[5];
	run->gpus = f->u[8];
	run->start = f->u[9];
	snprintf(run->node, sizeof(run->node), "%s", f->w[6]);
	check_beside(c, job, run);
	take_gpus(c, node, run);
}

static void run_over(struct run *run, struct node *node, uint64_t time)
{
	run->ended = true;
	run->end = time;
	for (int g = 0; g < MAX_GPUS; g++) {
		if (node->holder[g] == run)
			node->holder[g] = NULL;
	}
}

static void fact_end(struct checker *c, const struct words *f)
{
	struct run *run = run_get(c, f->u + 1);
	struct node *node = node_get(c, f->w[5]);

	node_time(c, node, f->u[8]);
	if (!run->started || run->ended)
		violated(c, "I3: run %" PRIu64 ".%" PRIu64 ".%" PRIu64 " ended %s", f->u[1],
		        f->u[2], f->u[3], run->ended ? "twice" : "without a start");
	run->code = f->u[6];
	run->signal = f->u[7];
	run_over(run, node, f->u[8]);
}

static void fact_stop(struct checker *c, const struct words *f)
{
	struct run *run = run_get(c, f->u + 1);

	if (!alive(run))
		violated(c, "I3: run %" PRIu64 ".%" PRIu64 ".%" PRIu64 " is stopped and not alive",
		        f->u[1], f->u[2], f->u[3]);
	run->stopped = true;
}

static void fact_gone(struct checker *c, const struct words *f)
{
	struct run *run = run_get(c, f->u + 1);
	struct node *node = node_get(c, f->w[5]);

	node_time(c, node, f->u[6]);
	if (!run->started)
		violated(c, "I3: run %" PRIu64 ".%" PRIu64 ".%" PRIu64 " is gone without a start",
		        f->u[1], f->u[2], f->u[3]);
	if (run->ended)
		return;
	run->rebooted = true;
	run_over(run, node, f->u[6]);
}

static void fact_reboot(struct checker *c, const struct words *f)
{
	struct node *node = node_get(c, f->w[1]);
	struct run *run, *tmp;

	node_time(c, node, f->u[2]);
	HASH_ITER(hh, c->runs, run, tmp)
	{
		if (run->started && !run->ended && !strcmp(run->node, node->name)) {
			run->rebooted = true;
			run_over(run, node, f->u[2]);
		}
	}
}

static void fact_usage(struct checker *c, const struct words *f)
{
	struct run *run = run_get(c, f->u + 1);
	uint64_t true_us = run->end - run->start, slack = 50000 + true_us / 20;

	if (run->ended && !run->rebooted &&
	        (f->u[5] > true_us + slack || f->u[5] + slack < true_us))
		violated(c,
		        "I6: run %" PRIu64 ".%" PRIu64 ".%" PRIu64 " took %" PRIu64
		        " us and is accounted for %" PRIu64,
		        f->u[1], f->u[2], f->u[3], true_us, f->u[5]);
}

static void fact_left(struct checker *c, const struct words *f)
{
	violated(c,
	        "I8: something of run %" PRIu64 ".%" PRIu64 ".%" PRIu64 " is left after its end",
	        f->u[1], f->u[2], f->u[3]);
}

static void fact_quiet(struct checker *c, const struct words *f)
{
	struct job *job, *tmp;

	(void)f;
	HASH_ITER(hh, c->jobs, job, tmp)
	{
		const struct run *lives = alive_of(job);

		if (!job->submitted)
			continue;
		if (!job->final[0])
			violated(c, "I9: faults have stopped and job %" PRIu64 " has not ended",
			        job->id);
		else if (job->cancelled && !strcmp(job->final, "NODE_FAIL"))
			continue; /* the cancel met a dead node: ended either way */
		check_waited(c, job);
		if (lives)
			violated(c, "I8: job %" PRIu64 " has ended and run %" PRIu64 " lives",
			        job->id, lives->key.attempt);
	}
}

/* word kinds: j number, x hex number, w word */
static const struct fact_row {
	const char *name, *kinds;
	void (*take)(struct checker *c, const struct words *f);
} fact_rows[] = {
	{ "submit", "jjw", fact_submit },
	{ "cancel", "j", fact_cancel },
	{ "suspend", "j", fact_suspend },
	{ "waits", "jwj", fact_waits },
	{ "state", "jwjjj", fact_state },
	{ "unknown", "j", fact_unknown },
	{ "retired", "j", fact_retired },
	{ "start", "jjjjjwjxj", fact_start },
	{ "end", "jjjjwjjj", fact_end },
	{ "stop", "jjjj", fact_stop },
	{ "gone", "jjjjwj", fact_gone },
	{ "reboot", "wj", fact_reboot },
	{ "usage", "jjjjj", fact_usage },
	{ "left", "jjjj", fact_left },
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
		if (row->kinds[n - 1] == 'w')
			continue;
		f->u[n] = strtoull(word, &end, row->kinds[n - 1] == 'x' ? 16 : 10);
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
	char copy[1024];
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
	char line[1024];
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
	return need(calloc(1, sizeof(struct checker)));
}

void checker_free(struct checker *c)
{
	struct job *job, *job_tmp;
	struct run *run, *run_tmp;
	struct node *node, *node_tmp;
	struct token *token, *token_tmp;

	if (!c)
		return;
	HASH_ITER(hh, c->tokens, token, token_tmp)
	{
		HASH_DEL(c->tokens, token);
		free(token);
	}
	HASH_ITER(hh, c->jobs, job, job_tmp)
	{
		HASH_DEL(c->jobs, job);
		free(job);
	}
	HASH_ITER(hh, c->runs, run, run_tmp)
	{
		HASH_DEL(c->runs, run);
		free(run);
	}
	HASH_ITER(hh, c->nodes, node, node_tmp)
	{
		HASH_DEL(c->nodes, node);
		free(node);
	}
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

size_t checker_stops(const struct checker *c)
{
	struct run *run, *tmp;
	size_t n = 0;

	HASH_ITER(hh, c->runs, run, tmp)
	{
		n += run->stopped;
	}
	return n;
}

size_t checker_gangs(const struct checker *c, bool whole)
{
	struct run *run, *tmp;
	size_t n = 0;

	HASH_ITER(hh, c->runs, run, tmp)
	{
		const struct run *first = run->next, *other;
		uint64_t started = 0;

		/* Each attempt once, at that of its runs which comes last in the list. */
		while (first && (!first->started || first->key.attempt != run->key.attempt))
			first = first->next;
		if (!run->started || run->nodes < 2 || first)
			continue;
		for (other = run->job->runs; other; other = other->next)
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
