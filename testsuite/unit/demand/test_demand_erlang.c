/* test_demand_erlang.c - jobs that come at random, for which queueing theory knows the answers
 *
 * An M/M/c queue is made from a seed, and what gdemand finds in it is compared with Erlang's C and
 * with Poisson's distribution. The same jobs go through gsim, which must start each when the queue
 * does.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/base/xalloc.h"
#include "ctld/gdemand/demand.h"
#include "ctld/gdemand/erlang.h"
#include "ctld/gdemand/simulate.h"
#include "ctld/gsim/random.h"
#include "testsuite/unit/lib/amount.h"

#define MEAN_S    1000.0 /* of durations */
#define JOBS      200000
#define HISTORIES 10
#define TARGET_S  100

static double exponential(uint64_t *chance, double mean)
{
	return -mean * log1p(-random_unit(chance));
}

/* Jobs of one GPU that start in the order in which they come, at `servers` GPUs. */
static void make_queue(struct past *p, size_t jobs, double load, uint32_t servers, uint64_t seed)
{
	usec_t *free_at = xcalloc(servers, sizeof(*free_at));
	double now = 0;
	size_t i;
	uint32_t k, first;

	*p = (struct past){ .names = text_numbers_new(), .n = jobs };
	text_numbers_get(p->names, "");
	p->v = xcalloc(jobs, sizeof(*p->v));
	for (i = 0; i < jobs; i++) {
		struct past_job *j = &p->v[i];

		now += exponential(&seed, MEAN_S / load);
		*j = (struct past_job){ .submit = (usec_t)(now * 1e6),
			.eligible = (usec_t)(now * 1e6),
			.left = PAST_UNKNOWN,
			.duration = 1 + (usec_t)(exponential(&seed, MEAN_S) * 1e6),
			.target = TARGET_S * (usec_t)1000000,
			.gpus = 1,
			.gpu_milli = 1000,
			.milli = 1000 };
		for (first = 0, k = 1; k < servers; k++)
			first = free_at[k] < free_at[first] ? k : first;
		j->start = free_at[first] > j->eligible ? free_at[first] : j->eligible;
		free_at[first] = j->start + j->duration;
	}
	p->to = p->v[jobs - 1].eligible;
	p->blocks = 1;
	p->has.starts = true;
	free(free_at);
}

/* What is found in one history. */
struct found {
	double wanted, waiting, waits, waits_long, little;
	double quantile[3];
};

static const double q[3] = { 0.05, 0.5, 0.95 };

static void find(const struct past *p, struct found *f)
{
	static const struct scope all = { DEMAND_ALL, DEMAND_ALL, 0 };
	struct level wanted = { 0 }, waiting = { 0 };
	struct weighted w = { 0 };
	double quantiles[3], sum = 0;
	size_t i;

	demand_wanted(p, &all, &wanted);
	demand_waiting(p, &all, &waiting);
	demand_weigh(p, &wanted, &w);
	weighted_quantiles(&w, q, 3, NULL, quantiles);
	f->wanted += level_mean(&wanted, p->from, p->to) / 1000 / HISTORIES;
	f->waiting += level_mean(&waiting, p->from, p->to) / 1000 / HISTORIES;
	for (i = 0; i < 3; i++)
		f->quantile[i] += quantiles[i] / HISTORIES;
	for (i = 0; i < p->n; i++) {
		f->waits += (past_wait(&p->v[i]) > 0) / (double)p->n / HISTORIES;
		f->waits_long += (past_wait(&p->v[i]) > p->v[i].target) / (double)p->n / HISTORIES;
		sum += (double)past_wait(&p->v[i]);
	}
	f->little += level_mean(&waiting, p->from, p->to) / 1000 /
	             (sum / (double)(p->to - p->from)) / HISTORIES;
	weighted_clear(&w);
	level_clear(&wanted);
	level_clear(&waiting);
}

static void near(const char *what, double have, double want, double part)
{
	if (!(fabs(have - want) <= part * want))
		fail_msg("%s: %.6g is not within %g of %.6g", what, have, part, want);
}

/* The least number of which Poisson's distribution has the part `p` at and below it. */
static double poisson(double mean, double p)
{
	double sum = 0, term = exp(-mean);
	int k;

	for (k = 0; sum + term < p; k++) {
		sum += term;
		term *= mean / (k + 1);
	}
	return k;
}

/* Had every job started at once, the GPUs in use are as in a queue with servers for all: Poisson's. */
static void random_jobs(void **state)
{
	static const struct {
		uint32_t servers;
		double load;
	} rows[] = { { 1, 0.5 }, { 2, 1.2 }, { 8, 5.2 }, { 30, 24 } };
	size_t r, i;
	int history;

	(void)state;
	if (fewer() > 1)
		skip(); /* its means need all of them, and test_demand calls the same functions */
	for (r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
		double load = rows[r].load;
		uint32_t servers = rows[r].servers;
		struct found f = { 0 };

		for (history = 0; history < HISTORIES; history++) {
			struct past p;

			make_queue(&p, JOBS, load, servers, (uint64_t)history * 1000 + r);
			find(&p, &f);
			past_clear(&p);
		}
		near("wanted", f.wanted, load, 0.01);
		near("waits", f.waits, erlang_waits(load, servers), 0.02);
		near("waits long", f.waits_long, erlang_waits_over(load, servers, MEAN_S, TARGET_S),
		        0.02);
		near("waiting", f.waiting, erlang_waits(load, servers) * load / (servers - load),
		        0.02);
		near("Little's law", f.little, 1, 0.001);
		for (i = 0; i < 3; i++)
			near("quantile of what is wanted", f.quantile[i], poisson(load, q[i]),
			        0.02);
	}
}

/* --- through gsim ---------------------------------------------------------------------------- */

static char path[] = "/tmp/test_demand.XXXXXX";

static int make_nodes(void **state)
{
	static const char text[] = "node,gpus\nn,4\n";
	int fd = mkstemp(path);

	(void)state;
	return fd >= 0 && write(fd, text, sizeof(text) - 1) == sizeof(text) - 1 ? close(fd) : -1;
}

static int remove_nodes(void **state)
{
	(void)state;
	return unlink(path);
}

static void through_gsim(void **state)
{
	const struct trial_options o = { .nodes = path, .seed = 1 };
	struct past p;
	struct trial t;
	struct error err;
	size_t i;

	(void)state;
	make_queue(&p, 5000, 3.2, 4, 11);
	assert_int_equal(trial_run(&p, &o, TRIAL_AS_IT_IS, &t, &err), 0);
	assert_true(t.gpus == 4 && !t.refused);
	for (i = 0; i < p.n; i++)
		assert_int_equal(t.starts[i], p.v[i].start);
	trial_clear(&t);
	past_clear(&p);
}

/* More nodes, fewer, and none that is of another kind. */
static void other_sizes(void **state)
{
	struct trial_options o = { .nodes = path, .seed = 1 };
	struct past p;
	struct trial t;
	struct error err;
	uint32_t nodes, each;

	(void)state;
	assert_int_equal(trial_kind(&o, &nodes, &each, &err), 0);
	assert_true(nodes == 1 && each == 4);
	make_queue(&p, 500, 3.2, 4, 11);
	assert_int_equal(trial_run(&p, &o, 3, &t, &err), 0);
	assert_int_equal(t.gpus, 12);
	trial_clear(&t);
	o.like = "nosuch";
	assert_int_equal(trial_kind(&o, &nodes, &each, &err), -1);
	assert_non_null(strstr(err.text, "no node of that name"));
	past_clear(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_jobs),
		cmocka_unit_test_setup_teardown(through_gsim, make_nodes, NULL),
		cmocka_unit_test_setup_teardown(other_sizes, NULL, remove_nodes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
