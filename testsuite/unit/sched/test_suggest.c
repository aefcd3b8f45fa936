/* test_suggest.c - what would start a job, proved on random states by trying everything
 *
 * For waiting jobs of random states (explain_ask.h) core_job_why() is asked, and then:
 *	- every suggestion, typed in as it is printed, starts the job in the next pass, and half of
 *	  one that changes two options does not;
 *	- no smaller change of the same kind (suggest.h) does: each is tried;
 *	- of a kind of which nothing is suggested no change at all does, whether that is said or
 *	  not.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "common/base/units.h"
#include "ctld/core/explain/suggest.h"
#include "testsuite/unit/lib/amount.h"
#include "testsuite/unit/lib/explain_ask.h"

static unsigned long suggested, asked, tried, wrong;

static void complain(struct state *s, uint64_t job, const char *what, const char *option)
{
	wrong++;
	print_message("state %llu, job %llu: %s: %s\n", (unsigned long long)s->seed,
	        (unsigned long long)job, what, option);
}

/* "--partition=small --gpus=l40s:2": it does not start with one of them alone. */
static void needs_both(struct state *s, uint64_t job, const char *option)
{
	const char *second = strchr(option, ' ');
	char half[128];
	int i;

	for (i = 0; second && i < 2; i++) {
		snprintf(half, sizeof(half), "%.*s",
		        i ? (int)strlen(second + 1) : (int)(second - option),
		        i ? second + 1 : option);
		if (ask_try(s, job, half) == ASK_STARTS && ask_left_to_it(s, job, half))
			complain(s, job, "half of it would do", option);
	}
}

static void suggestions_start_it(struct state *s, uint64_t job, const struct job_why *why)
{
	static const char *const outcomes[] = { "is refused", "does not start it",
		"preempts somebody", "starts it" };
	size_t i;

	asked++;
	for (i = 0; i < why->n_changes; i++) {
		enum ask_outcome o = ask_try(s, job, why->changes[i].option);

		if (o != ASK_STARTS)
			complain(s, job, outcomes[o], why->changes[i].option);
		needs_both(s, job, why->changes[i].option);
		suggested++;
	}
}

static void every_suggestion_starts_the_job(void **state)
{
	(void)state;
	suggested = asked = wrong = 0;
	ask_each(suggestions_start_it);
	print_message("%lu suggestions for %lu jobs\n", suggested, asked);
	assert_int_equal(wrong, 0);
	if (ask_all())
		assert_true(suggested > 200);
}

/* One of several types would do with the CPUs that a partition gives for its GPUs. */
static void one_of_several_types_is_suggested(void **state)
{
	static const uint64_t seeds[] = { 436, 1121, 1172 };
	size_t i;

	(void)state;
	suggested = asked = wrong = 0;
	for (i = 0; i < sizeof(seeds) / sizeof(seeds[0]); i++)
		ask_state_jobs(seeds[i], suggestions_start_it);
	assert_int_equal(wrong, 0);
}

/* It gives up a planned start: that goes to who is tried again, and not to the best of those that
 * wait, whom nothing wakes. */
static void what_it_gives_up_goes_to_who_is_woken(void **state)
{
	(void)state;
	suggested = asked = wrong = 0;
	ask_state_jobs(936, suggestions_start_it);
	ask_state_jobs(942, suggestions_start_it);
	assert_int_equal(wrong, 0);
	assert_true(suggested > 0);
}

/* --- all changes of a kind, smallest first --------------------------------------------------- */

struct question {
	struct state *s;
	uint64_t job;
	const struct job_why *why;
	struct job_view view;
	const char *kind; /* as `tried` says it; "" */
	bool found;       /* something of this kind was suggested, or started */
};

static bool is_suggested(const struct question *q, const char *option)
{
	size_t i;

	for (i = 0; i < q->why->n_changes; i++) {
		if (!strcmp(q->why->changes[i].option, option))
			return true;
	}
	return false;
}

static bool starts(struct question *q, const char *option)
{
	tried++;
	return ask_try(q->s, q->job, option) == ASK_STARTS && ask_left_to_it(q->s, q->job, option);
}

/* One change, larger than all that were tried of its kind. True: that is the end of them. */
static bool __attribute__((format(printf, 2, 3)))
next_change(struct question *q, const char *fmt, ...)
{
	char option[128];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(option, sizeof(option), fmt, ap);
	va_end(ap);
	if (is_suggested(q, option)) {
		q->found = true;
		return true;
	}
	if (!starts(q, option))
		return false;
	/* Only so many are shown. */
	if (q->why->n_changes < WHY_CHANGES)
		complain(q->s, q->job, "not suggested, but starts it", option);
	q->found = true;
	return true;
}

/* Is that said to have been tried in vain? "fewer --gpus" of "fewer --gpus, --qos=high". */
static bool is_claimed(const struct job_why *why, const char *kind)
{
	size_t len = strlen(kind);
	const char *p = why->tried;

	while ((p = strstr(p, kind))) {
		bool starts = p == why->tried || !strncmp(p - 2, ", ", 2);

		if (starts && (!p[len] || p[len] == ','))
			return true;
		p++;
	}
	return false;
}

static void end_kind(struct question *q, const char *kind)
{
	if (q->found && is_claimed(q->why, kind))
		complain(q->s, q->job, "said to be in vain", kind);
	q->found = false;
}

static const char *gpus_option(const struct question *q)
{
	return q->view.gpus_per_node ? "--gpus-per-node" : "--gpus";
}

/* So many GPUs of the type, or of any, are suggested with nothing else changed. */
static uint32_t suggested_alone(const struct question *q, const char *type)
{
	uint32_t most = 0;
	size_t i, k;

	for (i = 0; i < q->why->n_changes; i++) {
		for (k = 0; k < 2; k++) {
			char start[128], *end;
			unsigned long count;

			snprintf(start, sizeof(start), "%s=%s%s", gpus_option(q), k ? type : "",
			        k && *type ? ":" : "");
			if (strncmp(q->why->changes[i].option, start, strlen(start)))
				continue;
			count = strtoul(q->why->changes[i].option + strlen(start), &end, 10);
			if (!*end && count > most)
				most = (uint32_t)count;
		}
	}
	return most;
}

/* From so many GPUs downwards. With another change they are not suggested if as many would do
 * without it. */
static void each_count(struct question *q, const char *before, const char *type, uint32_t from)
{
	uint32_t alone = *before ? suggested_alone(q, type) : 0, count;
	char option[128];

	for (count = from; count; count--) {
		snprintf(option, sizeof(option), "%s%s=%s%s%u", before, gpus_option(q), type,
		        *type ? ":" : "", count);
		if (count > alone ? next_change(q, "%s", option) : starts(q, option)) {
			q->found = true;
			return;
		}
	}
}

static void each_gpus(struct question *q)
{
	const struct job_view *v = &q->view;
	const struct conf *conf = q->s->w->conf;
	uint32_t a;
	size_t t;

	for (a = 0; a < v->n_gpus; a++)
		each_count(q, "", v->gpus[a].type, v->gpus[a].count - (v->n_gpus == 1));
	end_kind(q, "fewer --gpus");
	for (t = 0; v->n_gpus && *v->gpus[0].type && t < conf->n_gpu_types; t++) {
		for (a = 0; a < v->n_gpus && strcmp(v->gpus[a].type, conf->gpu_types[t].name); a++)
			;
		if (a == v->n_gpus)
			each_count(q, "", conf->gpu_types[t].name, v->gpus[0].count);
	}
	end_kind(q, "other GPU types");
}

/* All minutes up to there are tried; of more, some, and in the usual states of most. */
#define MINUTES       400
#define MINUTES_USUAL 10

/* The time limit that is suggested, in minutes; 0: none is. */
static uint32_t suggested_minutes(const struct question *q)
{
	struct typed t;
	size_t i;

	for (i = 0; i < q->why->n_changes; i++) {
		if (strncmp(q->why->changes[i].option, "--time=", 7))
			continue;
		type_in(&t, q->why->changes[i].option);
		return t.change.time_limit_s / 60;
	}
	return 0;
}

static void each_time(struct question *q)
{
	uint32_t limit = q->view.time_limit_s ? q->view.time_limit_s : 10 * 365 * 86400u;
	uint32_t minutes = (limit + 59) / 60;
	uint32_t all = ask_usual() ? MINUTES_USUAL : MINUTES, part = ask_usual() ? 8 : 40;
	uint32_t found = suggested_minutes(q);
	char text[UNITS_TEXT];

	while (minutes > 1) {
		minutes -= minutes > all ? 1 + minutes / part : 1;
		minutes = minutes < found ? found : minutes;
		if (next_change(q, "--time=%s", duration_format(text, minutes * 60)))
			break;
	}
	end_kind(q, "shorter --time");
}

static void each_cpus(struct question *q)
{
	uint32_t cpus;

	for (cpus = q->view.cpus; cpus-- > 1;) {
		if (next_change(q, "--cpus-per-task=%u", cpus))
			break;
	}
	end_kind(q, "fewer --cpus-per-task");
}

static void each_mem(struct question *q)
{
	uint64_t step = q->view.mem_mb > SUGGEST_MEM_COARSE ? SUGGEST_MEM_STEP_COARSE
	                                                    : SUGGEST_MEM_STEP,
	         mem;
	char text[UNITS_TEXT];

	for (mem = q->view.mem_mb ? (q->view.mem_mb - 1) / step * step : 0; mem; mem -= step) {
		if (next_change(q, "--mem=%s", size_format_exact(text, mem * 1024 * 1024)))
			break;
	}
	end_kind(q, "less --mem");
}

static void each_part(struct question *q)
{
	uint64_t step = q->view.gpu_mem_mb > SUGGEST_MEM_COARSE ? SUGGEST_MEM_STEP_COARSE
	                                                        : SUGGEST_MEM_STEP,
	         mem = q->view.gpu_mem_mb ? (q->view.gpu_mem_mb - 1) / step * step : 0;
	uint32_t percent;
	char text[UNITS_TEXT];

	for (; mem; mem -= step) {
		if (next_change(q, "--gpu-mem=%s", size_format_exact(text, mem * 1024 * 1024)))
			break;
	}
	end_kind(q, "less --gpu-mem");
	for (percent = (q->view.gpu_share_milli + 9) / 10; percent-- > 1;) {
		if (next_change(q, "--gpu-share=%u%%", percent))
			break;
	}
	end_kind(q, "less --gpu-share");
}

static void each_nodes(struct question *q)
{
	const struct job_view *v = &q->view;
	uint32_t n, most = v->nodes_max ? v->nodes_max : 1;

	for (n = most + 1; v->n_gpus && !v->gpus_per_node && n <= v->gpus[0].count &&
	                   n <= most + SUGGEST_NODES;
	        n++) {
		if (next_change(q, "--nodes=%u-%u", v->nodes_min ? v->nodes_min : 1, n))
			break;
	}
	end_kind(q, "more --nodes");
	for (n = v->nodes_min; n-- > 1;) {
		if (next_change(q, "--nodes=%u", n))
			break;
	}
	end_kind(q, "fewer --nodes");
}

static void each_name(struct question *q)
{
	const struct conf *conf = q->s->w->conf;
	char kind[128];
	size_t i;

	for (i = 0; i < conf->n_qos; i++) {
		snprintf(kind, sizeof(kind), "--qos=%s", conf->qos[i].name);
		if (strcmp(conf->qos[i].name, q->view.qos))
			next_change(q, "%s", kind);
		end_kind(q, kind);
	}
	for (i = 0; i < conf->n_accounts; i++) {
		snprintf(kind, sizeof(kind), "--account=%s", conf->accounts[i].name);
		if (strcmp(conf->accounts[i].name, q->view.account))
			next_change(q, "%s", kind);
		end_kind(q, kind);
	}
}

static void each_partition(struct question *q)
{
	const struct conf *conf = q->s->w->conf;
	bool any = false;
	char option[128];
	size_t p, t;

	for (p = 0; p < conf->n_partitions; p++) {
		if (!strcmp(conf->partitions[p].name, q->view.partition))
			continue;
		snprintf(option, sizeof(option), "--partition=%s ", conf->partitions[p].name);
		q->found = false;
		next_change(q, "--partition=%s", conf->partitions[p].name);
		for (t = 0; t < conf->n_gpu_types && q->view.n_gpus && !q->found; t++) {
			each_count(q, option, conf->gpu_types[t].name, q->view.gpus[0].count);
			any |= q->found;
			q->found = false;
		}
		any |= q->found;
	}
	q->found = any;
	end_kind(q, "other partitions");
}

static void each_drop(struct question *q)
{
	const struct {
		bool asked;
		const char *option;
	} drops[] = {
		{ *q->view.constraint, "--constraint=" },
		{ *q->view.nodelist, "--nodelist=" },
		{ *q->view.exclude, "--exclude=" },
		{ *q->view.licences, "--licenses=" },
		{ q->view.gpu_mem_min_mb, "--gpu-mem-min=0" },
		{ q->view.gpu_link, "--gpu-link=any" },
		{ q->view.exclusive, "--exclusive=no" },
	};
	size_t i;

	for (i = 0; i < sizeof(drops) / sizeof(drops[0]); i++) {
		if (drops[i].asked)
			next_change(q, "%s", drops[i].option);
		end_kind(q, drops[i].option);
	}
}

static void nothing_smaller(struct state *s, uint64_t job, const struct job_why *why)
{
	struct question q = { .s = s, .job = job, .why = why };

	if (asked++ % sparse())
		return;
	suggested += why->n_changes;
	assert_true(core_job_view(s->w->core, job, s->w->now, &q.view));
	each_gpus(&q);
	each_time(&q);
	each_cpus(&q);
	each_mem(&q);
	each_part(&q);
	each_nodes(&q);
	each_name(&q);
	each_partition(&q);
	each_drop(&q);
}

static void no_smaller_change_starts_it(void **state)
{
	(void)state;
	suggested = asked = tried = wrong = 0;
	ask_each(nothing_smaller);
	print_message(
	        "%lu suggestions for %lu jobs, %lu other changes tried\n", suggested, asked, tried);
	assert_int_equal(wrong, 0);
}

/* --- too much to try ------------------------------------------------------------------------- */

#define PARTITIONS 100

static struct world *many_partitions(void)
{
	char text[16384];
	size_t used, p;

	used = (size_t)snprintf(text, sizeof(text), "%s",
	        "cluster = \"test\"; controller = { host = \"h\"; };\n"
	        "gpu_types = ( { name = \"h100\"; mem = \"80G\"; } );\n"
	        "nodes = ( { name = \"n0\"; cpus = 8; mem = \"64G\"; gpus = \"h100:8\"; } );\n"
	        "partitions = ( { name = \"batch\"; nodes = \"n0\"; default = true; }");
	for (p = 0; p < PARTITIONS; p++)
		used += (size_t)snprintf(text + used, sizeof(text) - used,
		        ", { name = \"p%zu\"; nodes = \"n0\"; }", p);
	snprintf(text + used, sizeof(text) - used, " );\n");
	return world_new(text);
}

/* The budget ends in the middle of the partitions: nothing is claimed of them. */
static void a_search_that_is_cut_short_says_so(void **state)
{
	struct world *w = many_partitions();
	struct job_why why;
	uint64_t id;

	(void)state;
	world_register(w, 0, "inc1", NULL, 0);
	assert_string_equal(world_state(w, world_submit(w, "h100:6")), "CONFIGURING");
	id = world_submit(w, "h100:8");
	world_pass(w, 2);
	assert_true(core_job_why(w->core, id, w->now, &why));
	assert_true(why.cut_short);
	assert_null(strstr(why.tried, "other partitions"));
	assert_non_null(strstr(why.tried, "shorter --time"));
	assert_true(why.n_changes > 0);
	assert_string_equal(why.changes[0].option, "--gpus=h100:2");
	world_free(w);
}

/* --- two changes ----------------------------------------------------------------------------- */

/* A job that waits for h100:8 of n0, of which 4 are in use; n1 is of another partition. */
static void ask_of_two(const char *n1, struct job_why *why)
{
	char text[1024];
	struct world *w;
	uint64_t id;

	snprintf(text, sizeof(text),
	        "cluster = \"test\"; controller = { host = \"h\"; };\n"
	        "gpu_types = ( { name = \"h100\"; mem = \"80G\"; } );\n"
	        "nodes = ( { name = \"n0\"; cpus = 8; mem = \"64G\"; gpus = \"h100:8\"; },\n"
	        "  { name = \"n1\"; cpus = 8; mem = \"64G\"; gpus = \"%s\"; } );\n"
	        "partitions = ( { name = \"batch\"; nodes = \"n0\"; default = true; },\n"
	        "  { name = \"urgent\"; nodes = \"n0,n1\"; } );\n",
	        n1);
	w = world_new(text);
	world_register(w, 0, "inc1", NULL, 0);
	world_register(w, 1, "inc1", NULL, 0);
	world_run_starts(w, world_submit(w, "h100:4"));
	id = world_submit(w, "h100:8");
	world_pass(w, 2);
	assert_true(core_job_why(w->core, id, w->now, why));
	assert_false(why->cut_short);
	assert_null(strstr(why->tried, "other partitions"));
	world_free(w);
}

static bool lists(const struct job_why *why, const char *option)
{
	size_t i;

	for (i = 0; i < why->n_changes && strcmp(why->changes[i].option, option); i++)
		;
	return i < why->n_changes;
}

static void two_changes_only_where_one_would_not_do(void **state)
{
	struct job_why why;

	(void)state;
	ask_of_two("h100:4", &why);
	assert_true(lists(&why, "--gpus=h100:4"));
	assert_false(lists(&why, "--partition=urgent --gpus=h100:4"));
	ask_of_two("h100:6", &why);
	assert_true(lists(&why, "--gpus=h100:4"));
	assert_true(lists(&why, "--partition=urgent --gpus=h100:6"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_suggestion_starts_the_job),
		cmocka_unit_test(one_of_several_types_is_suggested),
		cmocka_unit_test(what_it_gives_up_goes_to_who_is_woken),
		cmocka_unit_test(no_smaller_change_starts_it),
		cmocka_unit_test(a_search_that_is_cut_short_says_so),
		cmocka_unit_test(two_changes_only_where_one_would_not_do),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
