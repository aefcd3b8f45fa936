/* autoscaler.c - see autoscaler.h */
#include "ctld/gsim/requests/autoscaler.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/units.h"
#include "common/base/xalloc.h"
#include "ctld/core/scale/sliding_window.h"

#define SECOND ((usec_t)1000000)

#define OURS_EVERY SECOND

#define RAY_EVERY   (SECOND / 10)
#define RAY_METRICS (10 * SECOND)
#define RAY_LOOK    3   /* periods of metrics in the window */
#define RAY_UP      300 /* steps */
#define RAY_DOWN    6000

#define KNATIVE_EVERY  (2 * SECOND)
#define KNATIVE_STABLE (60 * SECOND)
#define KNATIVE_PANIC  (6 * SECOND)
#define KNATIVE_GRACE  (30 * SECOND)

#define KEDA_SYNC      (15 * SECOND)
#define KEDA_POLL      (30 * SECOND)
#define KEDA_DOWN      (300 * SECOND)
#define KEDA_COOLDOWN  (300 * SECOND)
#define KEDA_TOLERANCE 0.1

struct kind {
	const char *name;
	uint32_t (*step)(struct autoscaler *a, const struct service_view *v);
	usec_t every;
	bool wakes;
};

struct autoscaler {
	const struct kind *kind;
	struct scale_policy p;
	uint32_t want, fixed;
	bool begun;
	usec_t last;    /* step, or period of metrics */
	double last_us; /* the integral then */
	/* ours */
	struct scaler *scaler;
	struct scale_decision decision;
	double last_running_us, last_waiting_us;
	uint64_t answered;
	uint32_t learned;
	/* ray */
	double means[RAY_LOOK];
	unsigned n_means;
	double total;
	long counter;
	/* knative */
	struct mean_window stable, panic;
	usec_t panic_time; /* 0: it does not panic */
	uint32_t panic_most;
	usec_t zero_since; /* 0: not wanted to be zero */
	/* keda */
	struct max_window recommended;
	usec_t active;
	/* plan */
	FILE *plan; /* NULL: none */
	usec_t plan_at;
	uint32_t planned; /* from then on */
};

static uint32_t clamp(const struct autoscaler *a, double v)
{
	return v < a->p.min ? a->p.min : v > a->p.max ? a->p.max : (uint32_t)v;
}

static double total_us(const struct service_view *v)
{
	return v->running_us + v->waiting_us;
}

/* --- ours ------------------------------------------------------------------------------------ */

/* A second's load is its mean, as gprobe tells it. */
static uint32_t step_ours(struct autoscaler *a, const struct service_view *v)
{
	double past = (double)(v->now - a->last);
	struct scale_input in = { .now = v->now,
		.ready = v->ready,
		.loading = v->loading,
		.known = v->ready,
		.running = v->running,
		.waiting = v->waiting };

	if (past > 0) {
		in.running = (v->running_us - a->last_running_us) / past;
		in.waiting = (v->waiting_us - a->last_waiting_us) / past;
		in.answered = (double)(v->answered - a->answered) * 1e6 / past;
	}
	if (!v->ready) {
		in.held = v->waiting;
		in.waiting = 0;
	}
	a->last = v->now;
	a->last_running_us = v->running_us;
	a->last_waiting_us = v->waiting_us;
	a->answered = v->answered;
	for (; a->learned < v->learned; a->learned++)
		scaler_learn(a->scaler, v->load_time);
	a->decision = scaler_step(a->scaler, &in);
	return a->decision.want;
}

/* --- Ray Serve ------------------------------------------------------------------------------- */

static void ray_metrics(struct autoscaler *a, const struct service_view *v)
{
	unsigned n, i;

	if (v->now - a->last < RAY_METRICS)
		return;
	a->means[a->n_means++ % RAY_LOOK] = (total_us(v) - a->last_us) / (double)(v->now - a->last);
	a->last = v->now;
	a->last_us = total_us(v);
	n = a->n_means < RAY_LOOK ? a->n_means : RAY_LOOK;
	for (a->total = 0, i = 0; i < n; i++)
		a->total += a->means[i] / n;
}

static uint32_t step_ray(struct autoscaler *a, const struct service_view *v)
{
	uint32_t desired;

	ray_metrics(a, v);
	if (!v->ready)
		return v->running + v->waiting && !a->want ? 1 : a->want;
	desired = clamp(a, ceil(a->total / a->p.target));
	if (desired > a->want) {
		a->counter = a->counter < 0 ? 1 : a->counter + 1;
		if (a->counter <= RAY_UP)
			return a->want;
	} else if (desired < a->want) {
		a->counter = a->counter > 0 ? -1 : a->counter - 1;
		if (a->counter >= -RAY_DOWN)
			return a->want;
		desired = a->want > 1 && !desired ? 1 : desired;
	}
	a->counter = 0;
	return desired;
}

/* --- Knative --------------------------------------------------------------------------------- */

/* The last replica is stopped when zero has been wanted for the grace period. */
static uint32_t knative_zero(struct autoscaler *a, const struct service_view *v, uint32_t want)
{
	if (want || !a->want) {
		a->zero_since = 0;
		return want;
	}
	a->zero_since = a->zero_since ? a->zero_since : v->now;
	return v->now - a->zero_since >= KNATIVE_GRACE ? 0 : 1;
}

static double at_most(double v, double most)
{
	return v < most ? v : most;
}

static double at_least(double v, double least)
{
	return v > least ? v : least;
}

static uint32_t step_knative(struct autoscaler *a, const struct service_view *v)
{
	double ready = at_least(v->ready, 1), stable = v->running + v->waiting, panic = stable;
	double least = floor(ready / 2), most = 1000 * ready, want, panicking;
	double means[WINDOW_MEANS];
	bool over;

	if (v->now > a->last) {
		double mean[WINDOW_MEANS] = { (total_us(v) - a->last_us) /
			                      (double)(v->now - a->last) };

		mean_window_add(&a->stable, a->last, v->now, mean);
		mean_window_add(&a->panic, a->last, v->now, mean);
	}
	a->last = v->now;
	a->last_us = total_us(v);
	if (a->want) {
		if (mean_window_get(&a->stable, v->now, means))
			stable = means[0];
		if (mean_window_get(&a->panic, v->now, means))
			panic = means[0];
	}
	want = at_most(at_least(ceil(stable / a->p.target), least), most);
	panicking = ceil(panic / a->p.target);
	over = panicking / ready >= 2;
	panicking = at_most(at_least(panicking, least), most);
	if (over) {
		a->panic_time = v->now;
	} else if (a->panic_time && a->panic_time + KNATIVE_STABLE < v->now) {
		a->panic_time = 0;
		a->panic_most = 0;
	}
	if (a->panic_time) {
		want = at_least(want, panicking);
		a->panic_most = want > a->panic_most ? (uint32_t)want : a->panic_most;
		want = a->panic_most;
	}
	return knative_zero(a, v, clamp(a, want));
}

/* --- KEDA and the HPA ------------------------------------------------------------------------ */

static uint32_t hpa(struct autoscaler *a, const struct service_view *v)
{
	double load = v->running + v->waiting, desired = ceil(load / a->p.target);
	double least = at_least(a->p.min, 1), most;
	uint32_t highest;

	if (fabs(load / (a->p.target * a->want) - 1) <= KEDA_TOLERANCE)
		desired = a->want;
	desired = at_most(at_least(desired, least), a->p.max);
	max_window_add(&a->recommended, v->now, (uint32_t)desired);
	highest = max_window_get(&a->recommended, v->now);
	if (desired < a->want)
		return highest < a->want ? highest : a->want;
	most = at_least(2.0 * a->want, a->want + 4.0);
	return (uint32_t)at_most(desired, most);
}

static uint32_t step_keda(struct autoscaler *a, const struct service_view *v)
{
	bool busy = v->running + v->waiting > 0;

	if (v->now % KEDA_POLL == 0 && busy)
		a->active = v->now;
	if (!a->want)
		return v->now % KEDA_POLL == 0 && busy ? 1 : 0;
	if (a->p.min == 0 && v->now - a->active >= KEDA_COOLDOWN)
		return 0;
	return hpa(a, v);
}

/* --- all ------------------------------------------------------------------------------------- */

static uint32_t step_fixed(struct autoscaler *a, const struct service_view *v)
{
	(void)v;
	return a->fixed;
}

/* The rows "time_s number" of its file, as far as their time has come. */
static uint32_t step_plan(struct autoscaler *a, const struct service_view *v)
{
	double at;
	unsigned number;

	while (a->plan && a->plan_at <= v->now) {
		a->want = a->planned;
		if (fscanf(a->plan, "%lf %u", &at, &number) != 2 || at < 0 || at > 1e9)
			break;
		a->plan_at = (usec_t)(at * 1e6);
		a->planned = number;
	}
	return a->want;
}

static const struct kind kinds[] = {
	{ "ours", step_ours, OURS_EVERY, true },
	{ "ray", step_ray, RAY_EVERY, true },
	{ "knative", step_knative, KNATIVE_EVERY, true },
	{ "keda", step_keda, KEDA_SYNC, false },
	{ "fixed:", step_fixed, INT64_MAX, false },
	{ "plan:", step_plan, SECOND, false },
};

const char *const autoscaler_names[] = { "ours", "ray", "knative", "keda", NULL };

/* *parameter is what follows the colon of a name that has one. */
static const struct kind *find(const char *name, const char **parameter)
{
	size_t i, n;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		n = strlen(kinds[i].name);
		*parameter = kinds[i].name[n - 1] == ':' ? name + n : "";
		if (!strncmp(name, kinds[i].name, n) && (kinds[i].name[n - 1] == ':' || !name[n]))
			return &kinds[i];
	}
	return NULL;
}

struct autoscaler *autoscaler_new(const char *name, const struct scale_policy *policy)
{
	uint64_t fixed = 0;
	const char *parameter;
	const struct kind *kind = find(name, &parameter);
	FILE *plan = NULL;
	struct autoscaler *a;

	if (!kind ||
	        (kind->step == step_fixed &&
	                count_parse(parameter, 0, 100000, &fixed, NULL) < 0) ||
	        (kind->step == step_plan && !(plan = fopen(parameter, "re"))))
		return NULL;
	a = xcalloc(1, sizeof(*a));
	a->kind = kind;
	a->plan = plan;
	a->p = *policy;
	a->fixed = (uint32_t)fixed;
	a->want = kind->step == step_fixed ? a->fixed : policy->min;
	a->scaler = scaler_new(policy, policy->min, 0);
	mean_window_init(&a->stable, KNATIVE_STABLE, 0);
	mean_window_init(&a->panic, KNATIVE_PANIC, 0);
	max_window_init(&a->recommended, KEDA_DOWN, 0);
	return a;
}

void autoscaler_free(struct autoscaler *a)
{
	if (a)
		scaler_free(a->scaler);
	if (a && a->plan)
		fclose(a->plan);
	free(a);
}

uint32_t autoscaler_step(struct autoscaler *a, const struct service_view *v, usec_t *next)
{
	a->want = a->kind->step(a, v);
	*next = a->kind->every == INT64_MAX ? INT64_MAX
	                                    : (v->now / a->kind->every + 1) * a->kind->every;
	return a->want;
}

bool autoscaler_wakes(const struct autoscaler *a)
{
	return a->kind->wakes;
}

const char *autoscaler_text(const struct autoscaler *a)
{
	return a->decision.text;
}
