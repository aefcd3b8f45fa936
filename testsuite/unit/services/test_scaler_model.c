/* test_scaler_model.c - the scaler against a slow model of it */
#include <math.h>
#include <stdlib.h>

#include "common/base/xalloc.h"
#include "testsuite/unit/lib/amount.h"
#include "testsuite/unit/lib/scaler_lab.h"

#define MODEL_STEPS  1500
#define MODEL_LEVELS 200

/* All that ever was, at whole seconds after the start; [0] is the start itself. */
struct model {
	struct scale_policy p;
	double running[MODEL_STEPS], waiting[MODEL_STEPS], answered[MODEL_STEPS];
	double begun[MODEL_STEPS], arrived[MODEL_STEPS];
	uint32_t ready[MODEL_STEPS], want[MODEL_STEPS];
	bool known[MODEL_STEPS];
	double kept, load_time, full, arriving, target;
	double bursts, bursts_least, bursts_most; /* and as far as is sure */
	double expected[MODEL_STEPS]; /* kept, in requests */
	int surprise[MODEL_STEPS];    /* 1 + the step of 8 percent of the load; 0: it was none */
	int ready_since;
	int last;    /* that was known; 0: none */
	int doubts;    /* steps that may be counted otherwise */
	bool doubtful; /* so was what is kept for ever since */
	bool unsure; /* the last decision hangs on the last bits */
};

static double model_mean(const struct model *m, const double *v, int now, usec_t window)
{
	double sum = 0;
	int n = 0, i;

	for (i = now; i > now - window / S && i > 0; i--) {
		sum += m->known[i] ? v[i] : 0;
		n += m->known[i];
	}
	return n ? sum / n : 0;
}

static uint32_t model_clamp(const struct model *m, double v)
{
	uint32_t n = (uint32_t)ceil(v - 1e-5);

	return n < m->p.min ? m->p.min : n > m->p.max ? m->p.max : n;
}

static void model_rates(struct model *m, int now)
{
	int last = m->last;

	m->begun[now] = m->answered[now];
	if (!last || now - last > 2) {
		m->arrived[now] = m->answered[now];
	} else if (m->ready[now] < m->ready[last]) {
		m->arrived[now] = m->arrived[last];
	} else {
		m->arrived[now] = m->answered[now] + (m->running[now] + m->waiting[now] -
		                                             m->running[last] - m->waiting[last]) /
		                                             (now - last);
		m->begun[now] += (m->running[now] - m->running[last]) / (now - last);
	}
	if (!last || m->ready[now] != m->ready[last])
		m->ready_since = now;
	m->last = now;
}

static double positive(double v)
{
	return v > 0 ? v : 0;
}

static void model_need(struct model *m, int now, double *need, double *kept)
{
	usec_t w = m->p.window, b = m->p.burst_window;
	double run = model_mean(m, m->running, now, w), wait = model_mean(m, m->waiting, now, w);
	double run6 = model_mean(m, m->running, now, b), wait6 = model_mean(m, m->waiting, now, b);
	double answered = model_mean(m, m->answered, now, w), time = 0, back = 0, spread;
	double rate = (answered + model_mean(m, m->begun, now, w)) / 2, sudden = run6 + wait6;
	double steady, target = m->p.target, each = m->ready[now] ? run6 / m->ready[now] : 0;
	bool filled = now - m->ready_since >= 6 && each >= 1;

	if (answered > 0 && rate > 0)
		time = run / rate;
	m->unsure |= fabs(rate) < 1e-4 && answered > 0;
	m->doubts += m->unsure;
	if (filled && (each > m->full || wait6 > 0.1 * run6)) {
		m->full = each;
		m->doubtful = false;
	}
	if (filled && each < target && wait6 > 0.1 * run6)
		target = each;
	m->doubtful |= filled && fabs(wait6 - 0.1 * run6) < 1e-3 * run6;
	m->unsure |= m->doubtful;
	steady = run + wait;
	spread = sudden;
	if (time > 0) {
		double arrived6 = model_mean(m, m->arrived, now, b);

		steady = positive(model_mean(m, m->arrived, now, w)) * time;
		sudden = positive(arrived6) * time;
		spread = sudden * (time > 6 ? time / 6 : 1);
	}
	sudden = positive(sudden - sqrt(spread));
	m->arriving = sudden > steady ? sudden : steady;
	m->target = target;
	if (time > 0 && wait6 > 0) {
		wait6 += (m->arriving - run6) / time * m->load_time;
		back = 2 * positive(wait6) * time / m->load_time;
	}
	*need = (m->arriving + back) / target;
	*kept = m->arriving / target;
}

/* The bucket of a sixtieth of the load time that a step falls into. */
static int64_t model_bucket(const struct model *m, int step)
{
	return (T0 + step * S) / ((usec_t)m->load_time * S / 60);
}

/* The most that was expected a load time before, in the bucket then or the last before it. */
static double model_before(const struct model *m, int now)
{
	int64_t then = model_bucket(m, now) - 60;
	double most = 0;
	int i;

	for (i = now; i > 1 && model_bucket(m, i) > then; i--)
		;
	most = m->expected[i];
	for (; i > 1 && model_bucket(m, i - 1) == then; i--)
		most = m->expected[i - 1] > most ? m->expected[i - 1] : most;
	return most;
}

/* The lowest step of 8 percent above which no more than `share` of the time, and `slack` seconds,
 * was a surprise. */
static double model_level(const struct model *m, int now, double share, double slack)
{
	double at[MODEL_LEVELS] = { 0 }, all = 0, above = 0, weight = 1;
	int i, level;

	for (i = now; i > 1; i--, weight /= 1 + 1 / 3600.0) {
		all += m->known[i] ? weight : 0;
		at[m->surprise[i]] += weight;
	}
	for (level = MODEL_LEVELS - 1; level > 0; level--) {
		above += at[level];
		if (above > share * all + slack)
			return pow(1.08, level - 1);
	}
	return 0;
}

static double model_worth(const struct model *m, int now, double slack)
{
	double full = m->full > m->target ? m->full : m->target;
	double most = model_level(m, now, 1 / 15.0, slack) / m->target;
	double peak = 1.5 * model_level(m, now, 0.005, slack) / full;

	return most < peak ? most : peak;
}

static void model_bursts(struct model *m, int now)
{
	double before;

	m->expected[now] = m->kept * m->target;
	before = 1.1 * model_before(m, now);
	m->doubts += fabs(m->arriving - before) <= 1e-3 * before;
	if (m->known[now] && m->arriving > before && now > 1)
		m->surprise[now] = m->arriving > 1 ? 1 + (int)ceil(log(m->arriving) / log(1.08)) : 1;
	m->bursts = model_worth(m, now, 0);
	m->bursts_least = model_worth(m, now, 1 + m->doubts);
	m->bursts_most = model_worth(m, now, -1 - m->doubts);
}

static uint32_t model_step(struct model *m, int now)
{
	uint32_t present = m->want[now - 1], asked, kept, half = 0;
	double need, steady;
	int i;

	m->unsure = false;
	if (m->known[now])
		model_rates(m, now);
	model_need(m, now, &need, &steady);
	m->kept /= 1 + 2.0 / ((double)m->p.scale_down / S);
	m->kept = m->kept > steady ? m->kept : steady;
	model_bursts(m, now);
	asked = model_clamp(m, need);
	kept = model_clamp(m, m->kept > m->bursts ? m->kept : m->bursts);
	m->unsure |= fabs(need - round(need)) < 1e-3 || fabs(m->kept - round(m->kept)) < 1e-2 ||
	             fabs(m->bursts - round(m->bursts)) < 1e-3 ||
	             fabs(fabs(need - present) - 0.1 * present) < 1e-3;
	m->want[now] = present;
	if (asked != present && fabs(need - present) <= 0.1 * present)
		return present;
	if (asked > present) {
		m->want[now] = m->known[now] ? asked : present;
	} else if (asked < present && m->known[now] && now >= m->p.scale_down / S) {
		for (i = now < 60 ? 0 : now - 60; i < now; i++)
			half = m->want[i] > half ? m->want[i] : half;
		half = half > 1 ? half - half / 2 : 0;
		asked = asked > kept ? asked : kept;
		asked = asked > half ? asked : half;
		m->unsure |= model_clamp(m, m->bursts_least) < model_clamp(m, m->bursts_most) &&
		             model_clamp(m, m->bursts_most) >= asked;
		m->want[now] = asked < present ? asked : present;
	}
	return m->want[now];
}

static void model_case(struct model *m)
{
	m->p = usual;
	m->p.kv_target = 0;
	m->p.target = 1 + rand() % 64;
	m->p.min = 1 + (uint32_t)rand() % 3;
	m->p.max = m->p.min + (uint32_t)rand() % 30;
	m->p.scale_down = (1 + rand() % 8) * M;
	m->kept = m->want[0] = m->p.min;
	m->load_time = 1 + rand() % 120;
}

/* The steps that were compared. */
static int against_model(unsigned seed)
{
	struct model *m = xcalloc(1, sizeof(*m));
	struct lab l;
	double level = 100, rate = 0;
	int i, sure = 0;

	srand(seed);
	model_case(m);
	l = lab(&m->p, m->p.min);
	scaler_learn(l.s, (usec_t)m->load_time * S);
	for (i = 1; i < MODEL_STEPS; i++) {
		double room;

		if (rand() % 40 == 0)
			level = rand() % (int)(m->p.target * (m->p.max + 5));
		if (rand() % 300 == 0)
			rate = rand() % 3 / 10.0;
		level = 0.1 + level * (0.9 + (rand() % 200) / 1000.0);
		m->ready[i] = l.d.want;
		m->known[i] = rand() % 50 != 0 && i % 200 > 5;
		room = m->ready[i] * m->p.target * 1.2;
		if (m->known[i]) {
			m->running[i] = level < room ? level : room;
			m->waiting[i] = level - m->running[i];
			m->answered[i] = rate * m->running[i];
		}
		l.in = (struct scale_input){ .now = l.in.now + S,
			.ready = m->ready[i],
			.known = m->known[i] ? m->ready[i] : 0,
			.running = m->running[i],
			.waiting = m->waiting[i],
			.answered = m->answered[i] };
		model_step(m, i);
		step(&l);
		sure += !m->unsure;
		if (!m->unsure && l.d.want != m->want[i])
			fail_msg("seed %u, step %d: %u instead of %u: %s", seed, i, l.d.want,
			        m->want[i], l.d.text);
		m->want[i] = l.d.want;
	}
	scaler_free(l.s);
	free(m);
	return sure;
}

static void test_against_model(void **state)
{
	uint64_t seed = env_number("SCALER_SEED", 1), cases = amount("SCALER_CASES", 200), i;
	uint64_t sure = 0;

	(void)state;
	if (getenv("SCALER_SEED"))
		cases = 1;
	for (i = 0; i < cases; i++)
		sure += (uint64_t)against_model((unsigned)(seed + i));
	assert_true(sure > cases * MODEL_STEPS * 3 / 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_against_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
