/* scaler.c - see scaler.h */
#include "ctld/core/scale/scaler.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/units.h"
#include "common/base/xalloc.h"
#include "ctld/core/scale/window.h"

#define SECOND     ((usec_t)1000000)
#define LOAD_SPAN  (2 * SECOND)      /* a load speaks of so long before it, at most */
#define CLOSE      0.1               /* of the present number */
#define BURST      2                 /* times what the ready replicas are for */
#define NEW        1.01              /* times L_window: else L_burst says no more than it */
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
	HOLD_BURST,
	HOLD_RECENT,
	HOLD_HALF,
	HOLD_AWAKE,
};

struct scaler {
	struct scale_policy p; /* checked */
	uint32_t want;         /* as decided last, without those in the place of late ones */
	uint32_t given;        /* with them */
	uint32_t asked;        /* what the load asked for then */
	usec_t last;           /* mono, of the last step */
	bool stepped;
	usec_t started;      /* nothing is given up before started + scale_down */
	usec_t burst_until;  /* nor before this */
	usec_t last_request; /* or wake; for to_zero */
	struct mean_window load, burst, cache;
	struct max_window asked_lately, wanted_lately; /* over scale_down, over window */
	usec_t load_times[LOADS_KEPT];
	uint32_t n_loads; /* all; the last LOADS_KEPT are kept */
};

/* What one step works out. */
struct step {
	struct scale_input in; /* checked */
	bool known;            /* the load, of at least some */
	bool all_known;
	double level;        /* requests now */
	double load, recent; /* L_window, L_burst */
	double cache;        /* ready * kv */
	double need;         /* replicas, before rounding */
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

/* Rounding up forgives what comes of adding fractions. */
static uint32_t replicas(double v)
{
	uint32_t whole;

	if (v >= UINT32_MAX)
		return UINT32_MAX;
	whole = (uint32_t)v;
	return v - whole > 1e-9 ? whole + 1 : whole;
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

/* Numbers that are none make the load unknown. */
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

/* --- the life of it -------------------------------------------------------------------------- */

static void windows_init(struct scaler *s, const struct scale_policy *old, usec_t now)
{
	if (!old || old->window != s->p.window) {
		mean_window_init(&s->load, s->p.window, now);
		mean_window_init(&s->cache, s->p.window, now);
		max_window_init(&s->wanted_lately, s->p.window, now);
		max_window_add(&s->wanted_lately, now, s->want);
	}
	if (!old || old->burst_window != s->p.burst_window)
		mean_window_init(&s->burst, s->p.burst_window, now);
	if (!old || old->scale_down != s->p.scale_down) {
		max_window_init(&s->asked_lately, s->p.scale_down, now);
		max_window_add(&s->asked_lately, now, s->want);
	}
}

struct scaler *scaler_new(const struct scale_policy *policy, uint32_t want, usec_t now)
{
	struct scaler *s = xcalloc(1, sizeof(*s));

	s->p = checked_policy(policy);
	s->want = s->given = s->asked = want;
	s->started = s->last = now;
	s->last_request = want ? now : LONG_AGO;
	s->burst_until = LONG_AGO;
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

static void windows_add(struct scaler *s, const struct step *t)
{
	usec_t now = t->in.now, from = s->stepped ? s->last : now - SECOND;

	from = now - from > LOAD_SPAN ? now - LOAD_SPAN : from;
	mean_window_add(&s->load, from, now, t->level);
	mean_window_add(&s->burst, from, now, t->level);
	mean_window_add(&s->cache, from, now, t->in.ready * t->in.kv);
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
	t->load = t->recent = t->level;
	t->cache = in->ready * in->kv;
	mean_window_get(&s->load, in->now, &t->load);
	mean_window_get(&s->burst, in->now, &t->recent);
	mean_window_get(&s->cache, in->now, &t->cache);
}

/* What the load asks for. */
static void ask(struct scaler *s, struct step *t)
{
	double ready = t->in.ready ? t->in.ready : 0.5, caches;

	if (s->p.target > 0) {
		t->need = t->load / s->p.target;
		t->burst = t->recent >= BURST * ready * s->p.target && t->recent > NEW * t->load;
		if (t->burst) {
			t->need = t->recent / s->p.target;
			s->burst_until = t->in.now + s->p.window;
		}
		caches = s->p.kv_target > 0 ? t->cache / s->p.kv_target : 0;
		t->by_cache = caches > t->need;
		t->need = t->by_cache ? caches : t->need;
	}
	t->asked = clamp(s, replicas(t->need));
}

/* --- the decision ---------------------------------------------------------------------------- */

/* More is not wanted where the present replicas will soon have answered all that waits. Spare is
 * what they answer at their target, less what arrives: what is answered and what comes on top. */
static bool is_noise(const struct scaler *s, const struct step *t)
{
	const struct scale_input *in = &t->in;
	double load_time = (double)scaler_load_time(s) / SECOND;
	double half = (double)s->p.burst_window / 2 / SECOND, growth, spare;

	if (!s->p.request_wait || load_time <= 0 || half <= 0 || !t->all_known || !in->ready ||
	        in->held > 0 || in->answered <= 0 || in->running <= 0)
		return false;
	if (in->waiting / in->answered * SECOND >= (double)s->p.request_wait)
		return false;
	growth = (t->level - t->recent) / half;
	spare = in->answered * (in->ready * s->p.target / in->running - 1) - growth;
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

/* The latest of the times before which nothing is given up; 0: past. */
static usec_t given_up_from(const struct scaler *s, usec_t now, enum hold *hold)
{
	usec_t start = s->started + s->p.scale_down;

	*hold = start >= s->burst_until ? HOLD_START : HOLD_BURST;
	start = start >= s->burst_until ? start : s->burst_until;
	return start > now ? start : 0;
}

static uint32_t lower(struct scaler *s, struct step *t)
{
	uint32_t recent = clamp(s, max_window_get(&s->asked_lately, t->in.now));
	uint32_t most = max_window_get(&s->wanted_lately, t->in.now);
	uint32_t want = t->asked, half = most > 1 ? most - most / 2 : 0;
	enum hold hold;

	if (!t->all_known) {
		t->hold = HOLD_UNKNOWN;
		return s->want;
	}
	t->until = given_up_from(s, t->in.now, &hold);
	if (t->until) {
		t->hold = hold;
		return s->want;
	}
	if (recent > want) {
		t->hold = HOLD_RECENT;
		want = recent;
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

	max_window_add(&s->asked_lately, t->in.now, s->asked);
	max_window_add(&s->asked_lately, t->in.now, t->asked);
	s->asked = t->asked;
	if (s->p.min == 0 && s->p.max && t->asked == 0 && is_awake(s, t->in.now)) {
		t->asked = 1;
		t->hold = HOLD_AWAKE;
	}
	if (!t->known && t->asked > present)
		t->asked = present > s->p.min ? present : s->p.min;
	if (t->asked != present && is_close(s, t) && !t->burst) {
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

/* --- what is said ---------------------------------------------------------------------------- */

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
		say(d, "%.4g caches full over %s / %.3g %%", t->cache,
		        time_text(window, s->p.window), s->p.kv_target * 100);
	else
		say(d, "%s%.4g in flight over %s / %.4g a replica", t->burst ? "burst, " : "",
		        t->burst ? t->recent : t->load,
		        time_text(window, t->burst ? s->p.burst_window : s->p.window), s->p.target);
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
	case HOLD_BURST:
		say(d, "; none is given up for %s after a burst, %s left",
		        time_text(text, s->p.window), time_text(left, for_));
		break;
	case HOLD_RECENT:
		say(d, "; the most that was needed in %s", time_text(text, s->p.scale_down));
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
	usec_t step = s->asked_lately.width > SECOND ? s->asked_lately.width : SECOND;

	if (t->until > now)
		next = t->until;
	else if (t->hold == HOLD_RECENT || t->hold == HOLD_HALF)
		next = now + step;
	else if (t->hold == HOLD_NOISE)
		next = now + SECOND;
	else if (t->known && fabs(t->load - t->level) > CLOSE * (t->level + 1))
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
