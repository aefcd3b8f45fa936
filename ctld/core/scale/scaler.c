/* scaler.c - see scaler.h */
#include "ctld/core/scale/scaler.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/units.h"
#include "common/base/xalloc.h"
#include "ctld/core/scale/sliding_window.h"
#include "ctld/core/scale/surprise_load.h"

#define SECOND     ((usec_t)1000000)
#define LOAD_SPAN  (2 * SECOND)      /* a load speaks of so long before it, at most */
#define CLOSE      0.1               /* of the present number */
#define CHANCE     1                 /* times the root of what is in flight */
#define BACKLOG    2                 /* times what answers what waits in a load time */
#define LOAD_GUESS (60 * SECOND)     /* a load time that is not learned */
#define FADE       2.0               /* of what is kept, in scale_down */
#define PEAK_SHARE 0.005             /* of the time: the load is above its peak */
#define PEAK_ROOM  1.5               /* times the peak */
#define LOADS_KEPT 16                /* load times */
#define LOAD_RANK  0.9               /* p90 */
#define TIME_MOST  ((usec_t)1 << 48) /* of a policy: nine years */
#define LEVEL_MOST 1e12              /* requests */
#define LONG_AGO   (INT64_MIN / 4)

/* Why the number is not what the load asks for. */
enum hold {
	HOLD_NONE,
	HOLD_MIN,
	HOLD_MAX,
	HOLD_CLOSE,
	HOLD_NOISE,
	HOLD_UNKNOWN,
	HOLD_START,
	HOLD_RECENT,
	HOLD_BURSTS,
	HOLD_HALF,
	HOLD_AWAKE,
};

struct scaler {
	struct scale_policy p; /* checked */
	uint32_t want;         /* as decided last, without those in the place of late ones */
	uint32_t given;        /* with them */
	usec_t last;           /* mono, of the last step */
	bool stepped;
	usec_t started;      /* nothing is given up before started + scale_down */
	usec_t last_request; /* or wake; for to_zero */
	double kept;         /* replicas: what was needed, fading */
	double bursts;       /* replicas: what bursts need that come again and again */
	double full;         /* requests: the most in service at a replica */
	struct surprise surprise;
	double last_level, last_running, arriving; /* of the last step, a second */
	uint32_t last_ready;
	bool measured; /* a load was known, last then: */
	usec_t measured_at;
	usec_t ready_since;
	struct mean_window load, burst;
	struct max_window wanted_lately; /* over window */
	usec_t load_times[LOADS_KEPT];
	uint32_t n_loads; /* all; the last LOADS_KEPT are kept */
};

/* The quantities whose means are kept. */
enum { LEVEL, RUNNING, WAITING, ANSWERED, BEGUN, ARRIVED, CACHE };

/* What one step works out. */
struct step {
	struct scale_input in; /* checked */
	bool known;            /* the load, of at least some */
	bool all_known;
	double level;                /* requests now */
	double load[WINDOW_MEANS];   /* over window */
	double recent[WINDOW_MEANS]; /* over burst_window */
	double time;                 /* T; 0: not known */
	double target;               /* as it is, or as many as a replica takes */
	double steady, sudden, back; /* requests: D_window, D_burst less chance, for what waits */
	double arriving;             /* the higher of the first two */
	double need;                 /* replicas, before rounding */
	bool burst, by_cache;
	uint32_t asked; /* clamped */
	enum hold hold;
	usec_t until;   /* of the hold; 0: no time of its own */
	uint32_t extra; /* in the place of those that are late */
};

/* --- numbers --------------------------------------------------------------------------------- */

static bool is_amount(double v)
{
	return isfinite(v) && v >= 0;
}

static double amount(double v)
{
	return !is_amount(v) ? 0 : v < LEVEL_MOST ? v : LEVEL_MOST;
}

/* Rounding up tolerates the error of adding fractions. */
static uint32_t replicas(double v)
{
	uint32_t whole;

	if (v >= UINT32_MAX)
		return UINT32_MAX;
	whole = (uint32_t)v;
	return v - whole > 1e-5 ? whole + 1 : whole;
}

static uint32_t clamp(const struct scaler *s, uint32_t v)
{
	return v < s->p.min ? s->p.min : v > s->p.max ? s->p.max : v;
}

static usec_t span(usec_t v)
{
	return v < 0 ? 0 : v < TIME_MOST ? v : TIME_MOST;
}

static struct scale_policy checked_policy(const struct scale_policy *policy)
{
	struct scale_policy p = *policy;

	p.max = p.max < p.min ? p.min : p.max;
	p.target = amount(p.target);
	p.kv_target = amount(p.kv_target);
	p.window = span(p.window);
	p.burst_window = span(p.burst_window);
	p.scale_down = span(p.scale_down);
	p.to_zero = span(p.to_zero);
	p.request_wait = span(p.request_wait);
	return p;
}

/* A value that is no number makes the load unknown. */
static struct scale_input checked_input(const struct scaler *s, const struct scale_input *input)
{
	struct scale_input in = *input;

	in.now = s->stepped && in.now < s->last ? s->last : in.now;
	in.late = in.late < in.loading ? in.late : in.loading;
	in.known = in.known < in.ready ? in.known : in.ready;
	if (!is_amount(in.running) || !is_amount(in.waiting))
		in.known = 0;
	in.running = amount(in.running);
	in.waiting = amount(in.waiting);
	in.kv = amount(in.kv) < 1 ? amount(in.kv) : 1;
	in.held = amount(in.held);
	in.answered = amount(in.answered);
	return in;
}

/* --- creation, policy, load time ------------------------------------------------------------- */

static void windows_init(struct scaler *s, const struct scale_policy *old, usec_t now)
{
	if (!old || old->window != s->p.window) {
		mean_window_init(&s->load, s->p.window, now);
		max_window_init(&s->wanted_lately, s->p.window, now);
		max_window_add(&s->wanted_lately, now, s->want);
	}
	if (!old || old->burst_window != s->p.burst_window)
		mean_window_init(&s->burst, s->p.burst_window, now);
}

struct scaler *scaler_new(const struct scale_policy *policy, uint32_t want, usec_t now)
{
	struct scaler *s = xcalloc(1, sizeof(*s));

	s->p = checked_policy(policy);
	s->want = s->given = want;
	s->kept = want;
	s->started = s->last = now;
	s->last_request = want ? now : LONG_AGO;
	windows_init(s, NULL, now);
	return s;
}

void scaler_free(struct scaler *s)
{
	free(s);
}

void scaler_set_policy(struct scaler *s, const struct scale_policy *policy)
{
	struct scale_policy old = s->p;

	s->p = checked_policy(policy);
	windows_init(s, &old, s->last);
}

void scaler_learn(struct scaler *s, usec_t load_time)
{
	s->load_times[s->n_loads++ % LOADS_KEPT] = span(load_time);
}

static int by_time(const void *x, const void *y)
{
	usec_t a = *(const usec_t *)x, b = *(const usec_t *)y;

	return (a > b) - (a < b);
}

usec_t scaler_load_time(const struct scaler *s)
{
	uint32_t n = s->n_loads < LOADS_KEPT ? s->n_loads : LOADS_KEPT;
	usec_t sorted[LOADS_KEPT];

	if (!n)
		return 0;
	memcpy(sorted, s->load_times, n * sizeof(sorted[0]));
	qsort(sorted, n, sizeof(sorted[0]), by_time);
	return sorted[(uint32_t)(LOAD_RANK * (n - 1) + 0.5)];
}

static usec_t load_time(const struct scaler *s)
{
	usec_t learned = scaler_load_time(s);

	return learned > 0 ? learned : LOAD_GUESS;
}

void scaler_wake(struct scaler *s, usec_t now)
{
	s->last_request = now > s->last_request ? now : s->last_request;
}

/* --- the load -------------------------------------------------------------------------------- */

/* A replica of unknown load is as loaded as the known ones, at most with `target`. */
static double level_now(const struct scaler *s, const struct scale_input *in)
{
	double sum = in->running + in->waiting, each;

	if (in->known && in->known < in->ready) {
		each = sum / in->known;
		sum += (in->ready - in->known) * (each < s->p.target ? each : s->p.target);
	}
	return sum + in->held;
}

static double seconds(usec_t t)
{
	return (double)t / SECOND;
}

/* By how much the load grew, since it was last known, came in or began; what a replica that is
 * gone took with it is not counted. */
static void windows_add(struct scaler *s, const struct step *t)
{
	usec_t now = t->in.now, from = s->stepped ? s->last : now - SECOND;
	double begun = t->in.answered, past = seconds(now - s->measured_at);
	double quantities[WINDOW_MEANS];

	if (!s->measured || now - s->measured_at > LOAD_SPAN) {
		s->arriving = t->in.answered;
	} else if (past > 0 && t->in.ready >= s->last_ready) {
		s->arriving = t->in.answered + (t->level - s->last_level) / past;
		begun += (t->in.running - s->last_running) / past;
	}
	quantities[LEVEL] = t->level;
	quantities[RUNNING] = t->in.running;
	quantities[WAITING] = t->in.waiting + t->in.held;
	quantities[ANSWERED] = t->in.answered;
	quantities[BEGUN] = begun;
	quantities[ARRIVED] = s->arriving;
	quantities[CACHE] = t->in.ready * t->in.kv;
	from = now - from > LOAD_SPAN ? now - LOAD_SPAN : from;
	mean_window_add(&s->load, from, now, quantities);
	mean_window_add(&s->burst, from, now, quantities);
	s->measured = true;
	s->measured_at = now;
	s->last_level = t->level;
	s->last_running = t->in.running;
	if (t->in.ready != s->last_ready)
		s->ready_since = now;
	s->last_ready = t->in.ready;
}

static void measure(struct scaler *s, struct step *t)
{
	const struct scale_input *in = &t->in;

	t->all_known = in->known == in->ready;
	t->known = t->all_known || in->known || in->held > 0;
	t->level = level_now(s, in);
	if (t->known)
		windows_add(s, t);
	if (!t->all_known || t->level > 0 || in->answered > 0)
		scaler_wake(s, in->now);
	t->load[LEVEL] = t->recent[LEVEL] = t->level;
	mean_window_get(&s->load, in->now, t->load);
	mean_window_get(&s->burst, in->now, t->recent);
}

static double at_most(double v, double most)
{
	return v < most ? v : most;
}

static double positive(double v)
{
	return v > 0 ? v : 0;
}

/* The square root by Newton's method, from above: the core does not use libm. */
static double root(double v)
{
	double r = v > 1 ? v : 1;

	for (int i = 0; v > 0 && i < 60 && r - v / r > 1e-6 * r; i++)
		r = (r + v / r) / 2;
	return v > 0 ? r : 0;
}

/* How long a request is in service, by those that began and those that were answered. */
static double service_time(const struct step *t)
{
	double rate = (t->load[ANSWERED] + t->load[BEGUN]) / 2;

	return t->load[ANSWERED] > 0 && rate > 0 ? t->load[RUNNING] / rate : 0;
}

/* As many as a replica takes, where that is less than the target and others wait; new replicas
 * have had time to fill. */
static double true_target(struct scaler *s, const struct step *t)
{
	double each = t->in.ready ? t->recent[RUNNING] / t->in.ready : 0;
	bool filled = t->in.now - s->ready_since >= s->p.burst_window;
	bool others_wait = t->recent[WAITING] > CLOSE * t->recent[RUNNING];

	if (filled && each >= 1 && (each > s->full || others_wait))
		s->full = each;
	return filled && each >= 1 && each < s->p.target && others_wait ? each : s->p.target;
}

/* In flight if none had to wait, and what it takes to answer those that do. */
static void demand(struct scaler *s, struct step *t)
{
	double burst = seconds(s->p.burst_window), load, spread, waiting = t->recent[WAITING];

	t->time = service_time(t);
	t->target = true_target(s, t);
	t->steady = t->load[LEVEL];
	t->sudden = t->recent[LEVEL];
	spread = t->sudden;
	if (t->time > 0) {
		t->steady = at_most(positive(t->load[ARRIVED]) * t->time, LEVEL_MOST);
		t->sudden = at_most(positive(t->recent[ARRIVED]) * t->time, LEVEL_MOST);
		spread = t->sudden * (burst > 0 && t->time > burst ? t->time / burst : 1);
	}
	t->sudden = positive(t->sudden - CHANCE * root(spread));
	t->burst = t->sudden > t->steady;
	t->arriving = t->burst ? t->sudden : t->steady;
	if (t->time > 0 && waiting > 0) {
		load = seconds(load_time(s));
		waiting += (t->arriving - t->recent[RUNNING]) / t->time * load;
		t->back = at_most(BACKLOG * positive(waiting) * t->time / load, LEVEL_MOST);
	}
}

/* The most that was needed, fading since the last step. */
static void keep(struct scaler *s, usec_t now, double needed)
{
	double past = seconds(now - s->last), fade = seconds(s->p.scale_down) / FADE;

	s->kept = fade > 0 ? s->kept / (1 + past / fade) : 0;
	s->kept = at_most(s->kept > needed ? s->kept : needed, LEVEL_MOST);
}

/* What bursts need that come again and again: most of them at the target, but never more than
 * takes half as much again as the highest with all replicas full. */
static void learn(struct scaler *s, const struct step *t)
{
	usec_t past = s->stepped ? t->in.now - s->last : 0;
	double full = s->full > t->target ? s->full : t->target, most, peak;

	surprise_add(&s->surprise, t->in.now, past < LOAD_SPAN ? past : LOAD_SPAN, load_time(s),
	        t->arriving, s->kept * t->target, t->known);
	most = surprise_level(&s->surprise, SURPRISE_SHARE) / t->target;
	peak = PEAK_ROOM * surprise_level(&s->surprise, PEAK_SHARE) / full;
	s->bursts = most < peak ? most : peak;
}

/* What the load asks for. */
static void ask(struct scaler *s, struct step *t)
{
	double arriving, caches;

	if (s->p.target > 0) {
		demand(s, t);
		arriving = t->arriving / t->target;
		t->need = arriving + t->back / t->target;
		/* Without requests what is in a cache keeps no replica. */
		caches = s->p.kv_target > 0 && t->load[LEVEL] > 0 ? t->load[CACHE] / s->p.kv_target
		                                                  : 0;
		t->by_cache = caches > t->need;
		t->need = t->by_cache ? caches : t->need;
		keep(s, t->in.now, arriving > caches ? arriving : caches);
		learn(s, t);
	}
	t->asked = clamp(s, replicas(t->need));
}

/* --- the decision ---------------------------------------------------------------------------- */

/* More is not wanted where the present replicas will soon have answered all that waits. Spare is
 * what they answer at their target, less what arrives. */
static bool is_noise(const struct scaler *s, const struct step *t)
{
	const struct scale_input *in = &t->in;
	double load_time = seconds(scaler_load_time(s)), spare;

	if (!s->p.request_wait || load_time <= 0 || t->time <= 0 || !t->all_known || !in->ready ||
	        in->held > 0 || in->answered <= 0)
		return false;
	if (in->waiting / in->answered >= seconds(s->p.request_wait))
		return false;
	spare = in->ready * t->target / t->time - t->recent[ARRIVED];
	return spare > 0 && in->waiting / spare < load_time;
}

static bool is_close(const struct scaler *s, const struct step *t)
{
	return s->want >= s->p.min && s->want <= s->p.max && s->want > 0 &&
	       fabs(t->need - s->want) <= CLOSE * s->want;
}

static uint32_t raise(const struct scaler *s, struct step *t)
{
	if (s->want >= s->p.min && t->in.ready && !t->by_cache && is_noise(s, t)) {
		t->hold = HOLD_NOISE;
		return s->want;
	}
	return t->asked;
}

static uint32_t lower(struct scaler *s, struct step *t)
{
	uint32_t kept = clamp(s, replicas(s->kept)), bursts = clamp(s, replicas(s->bursts));
	uint32_t most = max_window_get(&s->wanted_lately, t->in.now);
	uint32_t want = t->asked, half = most > 1 ? most - most / 2 : 0;

	if (!t->all_known) {
		t->hold = HOLD_UNKNOWN;
		return s->want;
	}
	if (t->in.now < s->started + s->p.scale_down) {
		t->hold = HOLD_START;
		t->until = s->started + s->p.scale_down;
		return s->want;
	}
	/* A fading value never becomes 0: it must not keep the last replica. */
	if (kept > want && (want || s->kept >= 1)) {
		t->hold = HOLD_RECENT;
		want = kept;
	}
	if (bursts > want && want) {
		t->hold = HOLD_BURSTS;
		want = bursts;
	}
	if (half > want) {
		t->hold = HOLD_HALF;
		want = half;
	}
	return want < s->want ? want : s->want;
}

/* With min 0 the last replica stays until no request was seen for `to_zero`. */
static bool is_awake(const struct scaler *s, usec_t now)
{
	return now - s->last_request < s->p.to_zero;
}

static uint32_t decide(struct scaler *s, struct step *t)
{
	uint32_t present = s->want < s->p.max ? s->want : s->p.max;
	uint32_t want;

	if (s->p.min == 0 && s->p.max && t->asked == 0 && is_awake(s, t->in.now)) {
		t->asked = 1;
		t->hold = HOLD_AWAKE;
	}
	if (!t->known && t->asked > present)
		t->asked = present > s->p.min ? present : s->p.min;
	if (t->asked != present && is_close(s, t)) {
		t->hold = HOLD_CLOSE;
		want = present;
	} else if (t->asked > present) {
		want = raise(s, t);
	} else if (t->asked < present && s->p.target > 0) {
		want = lower(s, t);
	} else {
		want = t->asked;
	}
	return clamp(s, want);
}

/* --- the reason as text ---------------------------------------------------------------------- */

static void say(struct scale_decision *d, const char *fmt, ...)
        __attribute__((format(printf, 2, 3)));

static void say(struct scale_decision *d, const char *fmt, ...)
{
	size_t n = strlen(d->text);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(d->text + n, sizeof(d->text) - n, fmt, ap);
	va_end(ap);
}

static char *time_text(char text[UNITS_TEXT], usec_t t)
{
	return duration_format(text, (uint64_t)((t + SECOND - 1) / SECOND));
}

static void say_load(const struct scaler *s, const struct step *t, struct scale_decision *d)
{
	char window[UNITS_TEXT];

	if (s->p.target <= 0)
		say(d, "the number is fixed");
	else if (t->by_cache)
		say(d, "%.4g caches full over %s / %.3g %%", t->load[CACHE],
		        time_text(window, s->p.window), s->p.kv_target * 100);
	else
		say(d, "%s%.4g in %s over %s", t->burst ? "burst, " : "",
		        t->burst ? t->sudden : t->steady, t->time > 0 ? "service" : "flight",
		        time_text(window, t->burst ? s->p.burst_window : s->p.window));
	if (s->p.target <= 0 || t->by_cache)
		return;
	if (t->back >= 0.05)
		say(d, " + %.3g for %.3g waiting", t->back, t->recent[WAITING]);
	say(d, " / %.4g a replica", t->target);
}

static void say_hold(const struct scaler *s, const struct step *t, struct scale_decision *d)
{
	char text[UNITS_TEXT], left[UNITS_TEXT];
	usec_t for_ = t->until > t->in.now ? t->until - t->in.now : 0;

	switch (t->hold) {
	case HOLD_NONE:
		break;
	case HOLD_MIN:
		say(d, "; the least is %u", s->p.min);
		break;
	case HOLD_MAX:
		say(d, "; the most is %u", s->p.max);
		break;
	case HOLD_CLOSE:
		say(d, "; within 10 %%");
		break;
	case HOLD_NOISE:
		say(d, "; %.4g wait and are answered before another replica is ready",
		        t->in.waiting);
		break;
	case HOLD_UNKNOWN:
		say(d, "; the load of %u of %u is not known: none is given up",
		        t->in.ready - t->in.known, t->in.ready);
		break;
	case HOLD_START:
		say(d, "; none is given up for %s after a start, %s left",
		        time_text(text, s->p.scale_down), time_text(left, for_));
		break;
	case HOLD_RECENT:
		say(d, "; of what was needed lately %.3g is kept", s->kept);
		break;
	case HOLD_BURSTS:
		say(d, "; %.3g are kept for bursts: the load needed so many sooner than a start takes in "
		       "%.2g %% of the last hours",
		        s->bursts, SURPRISE_SHARE * 100);
		break;
	case HOLD_HALF:
		say(d, "; at most half is given up in %s", time_text(text, s->p.window));
		break;
	case HOLD_AWAKE:
		say(d, "; awake until %s without a request", time_text(text, s->p.to_zero));
		break;
	}
}

static void explain(const struct scaler *s, struct step *t, struct scale_decision *d)
{
	uint32_t needed = replicas(t->need);
	char text[UNITS_TEXT];

	if (t->hold == HOLD_NONE && s->want == s->p.min && needed < s->want && s->p.target > 0)
		t->hold = HOLD_MIN;
	if (t->hold == HOLD_NONE && s->want == s->p.max && needed > s->want)
		t->hold = HOLD_MAX;
	say(d, "%u: ", d->want);
	if (!t->known)
		say(d, "no load is known");
	else
		say_load(s, t, d);
	say_hold(s, t, d);
	if (t->extra)
		say(d, "; %u for those that load for more than twice %s", t->extra,
		        time_text(text, scaler_load_time(s)));
}

/* --- a step ---------------------------------------------------------------------------------- */

/* When the decision could be another though nothing is reported. */
static usec_t next_time(const struct scaler *s, const struct step *t, uint32_t want)
{
	usec_t now = t->in.now, next = INT64_MAX, zero = s->last_request + s->p.to_zero;
	usec_t step = s->p.scale_down / 60 > SECOND ? s->p.scale_down / 60 : SECOND;

	if (t->until > now)
		next = t->until;
	else if (t->hold == HOLD_RECENT || t->hold == HOLD_BURSTS || t->hold == HOLD_HALF)
		next = now + step;
	else if (t->hold == HOLD_NOISE)
		next = now + SECOND;
	else if (t->known && fabs(t->load[LEVEL] - t->level) > CLOSE * (t->level + 1))
		next = now + SECOND;
	if (s->p.min == 0 && want > 0 && zero > now && zero < next)
		next = zero;
	return next;
}

struct scale_decision scaler_step(struct scaler *s, const struct scale_input *input)
{
	struct scale_decision d = { .text = "" };
	struct step t = { .in = checked_input(s, input) };

	measure(s, &t);
	ask(s, &t);
	s->want = decide(s, &t);
	max_window_add(&s->wanted_lately, t.in.now, s->want);
	t.extra = s->p.max - s->want < t.in.late ? s->p.max - s->want : t.in.late;
	d.want = s->want + t.extra;
	explain(s, &t, &d);
	d.next = next_time(s, &t, d.want);
	d.changed = d.want != s->given;
	s->given = d.want;
	s->last = t.in.now;
	s->stepped = true;
	return d;
}
