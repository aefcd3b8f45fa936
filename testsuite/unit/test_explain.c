/* test_explain.c - what holds a job, and what would start it, proved on random states
 *
 * For waiting jobs of random states (explain_states.h) core_job_why() is asked, and then, each on a
 * fresh copy of the state:
 *	- every suggestion, typed in as it is printed, starts the job in the next pass;
 *	- of several things that hold it, taking any one away does not start it; of one, it does:
 *	  limits are raised, runs end, others are held.
 *
 * EXPLAIN_SEED=n runs that state alone, EXPLAIN_CASES=n so many; EXPLAIN_SHOW=1
 * prints what was answered.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/units.h"
#include "testsuite/unit/explain_states.h"

#define CASES    300
#define PER_CASE 4 /* waiting jobs of each state */

/* --- options as they are typed --------------------------------------------------------------- */

/* Texts that a parsed option points into. */
struct typed {
	struct submit_job change;
	uint64_t fields;
	char words[160];
};

static void type_gpus(struct typed *t, char *value, bool per_node)
{
	char *count = strchr(value, ':');

	if (count)
		*count++ = '\0';
	t->change.gpus[0].type = count && strcmp(value, "any") ? value : "";
	t->change.gpus[0].count = (uint32_t)strtoul(count ? count : value, NULL, 10);
	t->change.n_gpus = 1;
	t->change.gpus_per_node = per_node;
	t->fields |= UPDATE_GPUS;
}

static void type_nodes(struct typed *t, const char *value)
{
	char *end;

	t->change.nodes_min = t->change.nodes_max = (uint32_t)strtoul(value, &end, 10);
	if (*end == '-')
		t->change.nodes_max = (uint32_t)strtoul(end + 1, NULL, 10);
	t->fields |= UPDATE_NODES;
}

static void type_time(struct typed *t, const char *value)
{
	uint64_t seconds;
	struct error err;

	if (duration_parse(value, DURATION_BARE_MINUTES, &seconds, &err) < 0)
		fail_msg("--time=%s: %s", value, err.text);
	t->change.time_limit_s = (uint32_t)seconds;
	t->fields |= UPDATE_TIME;
}

static void type_mem(struct typed *t, const char *value)
{
	struct error err;

	if (size_parse_mb(value, SIZE_BARE_MB, &t->change.mem_mb, &err) < 0)
		fail_msg("--mem=%s: %s", value, err.text);
	t->fields |= UPDATE_MEM;
}

static void type_option(struct typed *t, char *word)
{
	const struct {
		const char *option;
		const char **text;
		uint64_t field;
	} texts[] = {
		{ "--partition", &t->change.partition, UPDATE_PARTITION },
		{ "--qos", &t->change.qos, UPDATE_QOS },
		{ "--account", &t->change.account, UPDATE_ACCOUNT },
		{ "--constraint", &t->change.constraint, UPDATE_CONSTRAINT },
		{ "--nodelist", &t->change.nodelist, UPDATE_NODELIST },
		{ "--exclude", &t->change.exclude, UPDATE_EXCLUDE },
		{ "--licenses", &t->change.licences, UPDATE_LICENCES },
	};
	char *value = strchr(word, '=');
	size_t i;

	if (!value)
		fail_msg("an option without a value: %s", word);
	*value++ = '\0';
	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (strcmp(word, texts[i].option))
			continue;
		*texts[i].text = value;
		t->fields |= texts[i].field;
		return;
	}
	if (!strcmp(word, "--gpus") || !strcmp(word, "--gpus-per-node")) {
		type_gpus(t, value, !strcmp(word, "--gpus-per-node"));
	} else if (!strcmp(word, "--nodes")) {
		type_nodes(t, value);
	} else if (!strcmp(word, "--time")) {
		type_time(t, value);
	} else if (!strcmp(word, "--mem")) {
		type_mem(t, value);
	} else if (!strcmp(word, "--cpus-per-task")) {
		t->change.cpus = (uint32_t)strtoul(value, NULL, 10);
		t->fields |= UPDATE_CPUS;
	} else if (!strcmp(word, "--exclusive")) {
		assert_string_equal(value, "no");
		t->fields |= UPDATE_EXCLUSIVE;
	} else if (!strcmp(word, "--gpu-mem-min")) {
		assert_string_equal(value, "0");
		t->fields |= UPDATE_GPU_MEM_MIN;
	} else {
		fail_msg("not known: %s", word);
	}
}

static void type_in(struct typed *t, const char *options)
{
	char *word, *rest;

	memset(t, 0, sizeof(*t));
	snprintf(t->words, sizeof(t->words), "%s", options);
	for (word = strtok_r(t->words, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
		type_option(t, word);
}

/* True: the update was taken. */
static bool update(struct state *s, uint64_t job, const struct typed *t)
{
	struct core_event e = { .kind = EV_JOB_CONTROL,
		.caller = world_user(state_uid(s, job)),
		.job = { .verb = JOB_UPDATE,
		        .ids = &job,
		        .n = 1,
		        .reason = "",
		        .change = &t->change,
		        .fields = t->fields } };

	world_clear(s->w);
	world_apply(s->w, &e);
	world_schedule(s->w);
	return s->w->done == 1;
}

/* --- asking ---------------------------------------------------------------------------------- */

static bool waits(struct state *s, uint64_t job)
{
	return !strcmp(world_state(s->w, job), "PENDING");
}

/* Asking changes nothing. */
static bool ask(struct state *s, uint64_t job, struct job_why *why)
{
	uint64_t before = core_hash(s->w->core);
	struct error err;
	bool answered = core_job_why(s->w->core, job, s->w->now, why);

	assert_true(core_hash(s->w->core) == before);
	if (core_check(s->w->core, &err) < 0)
		fail_msg("state %llu, job %llu: after asking why: %s", (unsigned long long)s->seed,
		        (unsigned long long)job, err.text);
	return answered;
}

static void describe(struct state *s, uint64_t job, const struct job_why *why)
{
	size_t i;

	print_message("%s\n", s->text);
	for (i = 0; i < s->n_jobs; i++) {
		struct job_view v = { .ended = true };

		core_job_view(s->w->core, s->jobs[i], s->w->now, &v);
		if (v.ended)
			continue;
		print_message("job %llu uid %u %s %s/%s/%s gpus %s:%u%s x%zu nodes %u-%u%s cpus %u "
		              "mem %llu time %u prio %lld on %s %s %s\n",
		        (unsigned long long)v.id, v.uid, v.state, v.partition, v.account, v.qos,
		        v.n_gpus ? v.gpus[0].type : "", v.n_gpus ? v.gpus[0].count : 0,
		        v.gpus_per_node ? " each" : "", v.n_gpus, v.nodes_min, v.nodes_max,
		        v.exclusive ? " excl" : "", v.cpus, (unsigned long long)v.mem_mb,
		        v.time_limit_s, (long long)v.priority, v.nodes, v.reason, v.reason_text);
	}
	print_message("state %llu, job %llu, number %u of %u, planned %lld on %s\n",
	        (unsigned long long)s->seed, (unsigned long long)job, why->position, why->of,
	        why->planned_start ? (long long)(why->planned_start - s->w->now.wall) / 1000000
	                           : -1,
	        why->planned_nodes);
	for (i = 0; i < why->n_blockers; i++)
		print_message("  held: %s  %s  | %s\n", why->blockers[i].reason,
		        why->blockers[i].text, why->blockers[i].clears_text);
	for (i = 0; i < why->n_changes; i++)
		print_message("  start: %s  %s\n", why->changes[i].option, why->changes[i].effect);
	print_message("  tried: %s\n", why->tried);
}

/* Ask for some waiting jobs of all states. */
typedef void visit_fn(struct state *s, uint64_t job, const struct job_why *why);

static void each_waiting(visit_fn *visit)
{
	const char *one = getenv("EXPLAIN_SEED"), *many = getenv("EXPLAIN_CASES");
	uint64_t from = one ? strtoull(one, NULL, 10) : 1;
	uint64_t n = one ? 1 : many ? strtoull(many, NULL, 10) : CASES, seed;

	for (seed = from; seed < from + n; seed++) {
		struct state s;
		size_t i, n_asked = 0;

		state_make(&s, seed);
		for (i = 0; i < s.n_jobs && n_asked < PER_CASE; i++) {
			uint64_t job = s.jobs[(i + seed) % s.n_jobs];
			struct job_why why;

			if (!waits(&s, job))
				continue;
			assert_true(ask(&s, job, &why));
			visit(&s, job, &why);
			n_asked++;
		}
		state_free(&s);
	}
}

/* --- suggestions ----------------------------------------------------------------------------- */

static unsigned long suggested, asked;

static void suggestions_start_it(struct state *s, uint64_t job, const struct job_why *why)
{
	size_t i;

	asked++;
	if (getenv("EXPLAIN_SHOW"))
		describe(s, job, why);
	for (i = 0; i < why->n_changes; i++) {
		struct state fresh;
		struct job_why then;
		struct typed t;

		state_make(&fresh, s->seed);
		assert_true(core_hash(fresh.w->core) == core_hash(s->w->core));
		type_in(&t, why->changes[i].option);
		if (!update(&fresh, job, &t) || waits(&fresh, job) ||
		        world_effect(fresh.w, EFFECT_END_RUN)) {
			describe(s, job, why);
			ask(&fresh, job, &then);
			print_message("AFTER\n");
			describe(&fresh, job, &then);
			fail_msg("state %llu, job %llu: %s: %s", (unsigned long long)s->seed,
			        (unsigned long long)job, why->changes[i].option,
			        fresh.w->done == 1 ? "does not start it" : fresh.w->error.text);
		}
		suggested++;
		state_free(&fresh);
	}
}

static void every_suggestion_starts_the_job(void **state)
{
	(void)state;
	suggested = 0;
	each_waiting(suggestions_start_it);
	print_message("%lu suggestions for %lu jobs\n", suggested, asked);
	if (!getenv("EXPLAIN_SEED") && !getenv("EXPLAIN_CASES"))
		assert_true(suggested > 200);
}

/* --- blockers -------------------------------------------------------------------------------- */

enum removal { REMOVED, NOT_HERE };

/* "vision: limit h100:4, holds 3, +2", "trt: 2 licences, 1 in use, +2": a limit of 5, of 3. */
static enum removal widen(struct state *s, struct knob *knob, const char *text)
{
	const char *holds = strstr(text, "holds "), *more = strrchr(text, '+'), *p;
	uint32_t used = holds ? (uint32_t)strtoul(holds + 6, NULL, 10) : 0;

	assert_non_null(more);
	if (!holds) {
		p = strchr(text, ',');
		assert_non_null(p);
		used = (uint32_t)strtoul(p + 2, NULL, 10);
	}
	knob->value = used + (uint32_t)strtoul(more + 1, NULL, 10);
	state_reconfigure(s);
	return REMOVED;
}

/* "on n3, 12, 14 must end" */
static enum removal end_named(struct state *s, const char *text)
{
	const char *p = strstr(text, ", ");

	if (!p || !strstr(text, " must end"))
		return NOT_HERE;
	do {
		state_end(s, strtoull(p + 2, (char **)&p, 10));
	} while (*p == ',');
	return REMOVED;
}

static enum removal hold_others(struct state *s, uint64_t job)
{
	struct core_event e = { .kind = EV_JOB_CONTROL, .caller = world_admin() };
	uint64_t ids[STATE_JOBS];
	size_t i, n = 0;

	for (i = 0; i < s->n_jobs; i++) {
		if (s->jobs[i] != job && waits(s, s->jobs[i]))
			ids[n++] = s->jobs[i];
	}
	e.job.verb = JOB_HOLD;
	e.job.ids = ids;
	e.job.n = n;
	e.job.reason = "";
	world_apply(s->w, &e);
	return REMOVED;
}

static enum removal take_away(struct state *s, uint64_t job, const struct why_blocker *b)
{
	struct knob *knob = state_knob(s, b->text);

	if (knob)
		return widen(s, knob, b->text);
	if (!strcmp(b->reason, "Priority"))
		return hold_others(s, job);
	if (!strcmp(b->reason, "Resources"))
		return end_named(s, b->clears_text);
	return NOT_HERE;
}

static unsigned long single, several;

/* Would its end change a limit too? Then it is no removal of one thing alone. */
static bool alone(const struct job_why *why, const struct why_blocker *b)
{
	size_t i;

	if (strcmp(b->reason, "Resources"))
		return true;
	for (i = 0; i < why->n_blockers; i++) {
		if (&why->blockers[i] != b && strcmp(why->blockers[i].reason, "Priority"))
			return false;
	}
	return true;
}

/* Planned starts move when something ends; that may go another way than was foreseen. */
#define SURPRISES 400 /* one in so many removals, at most */
static unsigned long surprises;

static void surprise(struct state *s, struct state *after, uint64_t job, const struct job_why *why,
        const struct why_blocker *b)
{
	surprises++;
	print_message("state %llu, job %llu: %s gone: it %s\n", (unsigned long long)s->seed,
	        (unsigned long long)job, b->reason,
	        waits(after, job) ? "does not start" : "starts");
	if (!getenv("EXPLAIN_SHOW"))
		return;
	describe(s, job, why);
	describe(after, job, &(struct job_why){ 0 });
}

static void each_blocker_holds_it(struct state *s, uint64_t job, const struct job_why *why)
{
	bool one = why->n_blockers == 1, starts;
	size_t i;

	if (!why->n_blockers) {
		describe(s, job, why);
		fail_msg("nothing holds it");
	}
	for (i = 0; i < why->n_blockers; i++) {
		const struct why_blocker *b = &why->blockers[i];
		struct state fresh;

		state_make(&fresh, s->seed);
		if (alone(why, b) && take_away(&fresh, job, b) == REMOVED) {
			world_schedule(fresh.w);
			world_pass(fresh.w, 1.5);
			starts = !waits(&fresh, job);
			single += one;
			several += !one;
			if (starts != one)
				surprise(s, &fresh, job, why, b);
		}
		state_free(&fresh);
	}
}

static void all_blockers_and_no_others(void **state)
{
	(void)state;
	single = several = surprises = 0;
	each_waiting(each_blocker_holds_it);
	print_message("%lu times the one thing, %lu times one of several, %lu surprises\n", single,
	        several, surprises);
	assert_true(surprises * SURPRISES <= single + several);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_suggestion_starts_the_job),
		cmocka_unit_test(all_blockers_and_no_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
