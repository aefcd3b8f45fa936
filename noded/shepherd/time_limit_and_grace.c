/* time_limit_and_grace.c - see time_limit_and_grace.h */
#include "noded/shepherd/time_limit_and_grace.h"

#include <signal.h>

#define NEVER INT64_MAX

void deadline_init(struct run_deadline *e, const struct deadline_limits *limits)
{
	*e = (struct run_deadline){ .limits = *limits,
		.phase = DEADLINE_LAUNCHING,
		.started = NEVER,
		.deadline = NEVER,
		.paused = NEVER };
}

static usec_t limit_at(const struct run_deadline *e)
{
	if (e->started == NEVER || e->limits.limit == 0 || e->paused != NEVER)
		return NEVER;
	return e->started + e->limits.limit;
}

static usec_t launch_by(const struct run_deadline *e)
{
	if (e->phase != DEADLINE_LAUNCHING || e->started == NEVER || e->limits.launch == 0)
		return NEVER;
	return e->started + e->limits.launch;
}

static usec_t warn_at(const struct run_deadline *e)
{
	if (e->phase != DEADLINE_RUNNING || e->limits.warn_before == 0 || e->warned ||
	        limit_at(e) == NEVER)
		return NEVER;
	return limit_at(e) - e->limits.warn_before;
}

static void kill_all(struct run_deadline *e)
{
	if (e->phase >= DEADLINE_KILLING)
		return;
	e->paused = NEVER;
	e->phase = DEADLINE_KILLING;
	e->deadline = NEVER;
	e->todo |= DEADLINE_KILL;
}

static usec_t later(usec_t now, usec_t grace)
{
	return grace > NEVER - now ? NEVER : now + grace;
}

static void interrupt(
        struct run_deadline *e, enum end_cause cause, int sig, usec_t grace, usec_t now)
{
	usec_t deadline = later(now, grace);

	if (e->cause == END_NONE || e->cause == END_TIME_LIMIT || e->asked)
		e->cause = cause;
	e->asked = false;
	if (deadline < e->deadline)
		e->deadline = deadline;
	e->phase = DEADLINE_GRACE;
	e->ackable = true;
	e->signal = sig ? sig : SIGTERM;
	e->todo |= DEADLINE_INTERRUPT | DEADLINE_SIGNAL;
	if (grace <= 0) {
		e->todo &= ~(unsigned)DEADLINE_SIGNAL;
		kill_all(e);
	}
}

void deadline_set_limit(struct run_deadline *e, usec_t limit)
{
	if (e->phase <= DEADLINE_RUNNING && !e->warned)
		e->limits.limit = limit;
}

void deadline_pause(struct run_deadline *e, usec_t now)
{
	if (e->phase == DEADLINE_RUNNING && e->paused == NEVER)
		e->paused = now;
}

void deadline_resume(struct run_deadline *e, usec_t now)
{
	if (e->paused == NEVER)
		return;
	e->started += now - e->paused;
	e->paused = NEVER;
	if (e->phase == DEADLINE_RUNNING && e->warned)
		e->todo |= DEADLINE_INTERRUPT;
}

void deadline_launched(struct run_deadline *e, usec_t now)
{
	if (e->phase == DEADLINE_LAUNCHING)
		e->started = now;
}

void deadline_started(struct run_deadline *e, usec_t now)
{
	if (e->phase != DEADLINE_LAUNCHING)
		return;
	e->phase = DEADLINE_RUNNING;
	if (e->started == NEVER)
		e->started = now;
	deadline_clock(e, now);
}

void deadline_failed(struct run_deadline *e, enum end_cause cause, usec_t now)
{
	(void)now;
	if (e->phase != DEADLINE_LAUNCHING)
		return;
	e->cause = cause;
	kill_all(e);
}

void deadline_main_gone(struct run_deadline *e, usec_t now)
{
	(void)now;
	if (e->phase == DEADLINE_RUNNING)
		kill_all(e);
}

void deadline_empty(struct run_deadline *e)
{
	if (e->phase != DEADLINE_KILLING && e->phase != DEADLINE_GRACE)
		return;
	e->phase = DEADLINE_OVER;
	e->deadline = NEVER;
	e->todo &= ~(unsigned)(DEADLINE_KILL | DEADLINE_SIGNAL | DEADLINE_WARN);
	e->todo |= DEADLINE_FINISH;
}

void deadline_ack(struct run_deadline *e, usec_t now)
{
	if (!deadline_wants_ack(e))
		return;
	/* Acknowledged after the early warning: the cause is the time limit. */
	if (e->phase == DEADLINE_RUNNING)
		interrupt(e, END_TIME_LIMIT, 0, 0, now);
	kill_all(e);
}

void deadline_clock(struct run_deadline *e, usec_t now)
{
	if (e->phase == DEADLINE_LAUNCHING && (now >= limit_at(e) || now >= launch_by(e))) {
		e->cause = now >= limit_at(e) ? END_TIME_LIMIT : END_LAUNCH;
		kill_all(e);
	}
	if (now >= warn_at(e) && now < limit_at(e)) {
		e->warned = e->ackable = true;
		e->signal = e->limits.warn_signal ? e->limits.warn_signal : SIGTERM;
		e->todo |= DEADLINE_INTERRUPT | DEADLINE_WARN;
	}
	if (e->phase == DEADLINE_RUNNING && now >= limit_at(e))
		interrupt(e, END_TIME_LIMIT, e->warned ? SIGTERM : e->limits.warn_signal,
		        e->limits.grace, now);
	if (e->phase == DEADLINE_GRACE &&
	        (now >= e->deadline ||
	                (limit_at(e) != NEVER && now - e->limits.grace >= limit_at(e))))
		kill_all(e);
}

void deadline_order(
        struct run_deadline *e, enum end_cause cause, int signal, usec_t grace, usec_t now)
{
	switch (e->phase) {
	case DEADLINE_LAUNCHING: /* the program has not begun, so it has nothing to save */
		e->cause = cause;
		kill_all(e);
		break;
	case DEADLINE_GRACE:
		if (cause == e->cause && !e->asked && later(now, grace) >= e->deadline)
			break; /* a repeated order */
		interrupt(e, cause, signal, grace, now);
		break;
	case DEADLINE_RUNNING:
		deadline_resume(e, now);
		interrupt(e, cause, signal, grace, now);
		break;
	default: /* it is over */
		break;
	}
}

bool deadline_reclaim(struct run_deadline *e, int signal, usec_t grace, usec_t now)
{
	if (e->phase != DEADLINE_RUNNING)
		return false;
	deadline_resume(e, now);
	interrupt(e, END_RECLAIM, signal, grace, now);
	e->asked = true;
	return true;
}

bool deadline_withdraw(struct run_deadline *e, usec_t now)
{
	if (e->phase != DEADLINE_GRACE || !e->asked)
		return false;
	e->phase = DEADLINE_RUNNING;
	e->cause = END_NONE;
	e->deadline = NEVER;
	e->asked = false;
	e->ackable = e->warned;
	e->todo = e->warned ? DEADLINE_INTERRUPT : 0;
	deadline_clock(e, now);
	return true;
}

unsigned deadline_actions(struct run_deadline *e)
{
	unsigned todo = e->todo;

	e->todo = 0;
	return todo;
}

usec_t deadline_next(const struct run_deadline *e)
{
	usec_t next = NEVER, limit = limit_at(e);

	if (e->phase == DEADLINE_LAUNCHING)
		next = launch_by(e) < limit ? launch_by(e) : limit;
	if (e->phase == DEADLINE_RUNNING)
		next = warn_at(e) < limit ? warn_at(e) : limit;
	if (e->phase == DEADLINE_GRACE) {
		next = e->deadline;
		if (limit < NEVER - e->limits.grace && limit + e->limits.grace < next)
			next = limit + e->limits.grace;
	}
	return next;
}

usec_t deadline_time(const struct run_deadline *e)
{
	usec_t last = limit_at(e) < NEVER - e->limits.grace ? limit_at(e) + e->limits.grace : NEVER;

	return e->deadline < last ? e->deadline : last;
}

bool deadline_wants_ack(const struct run_deadline *e)
{
	return e->ackable && (e->phase == DEADLINE_RUNNING || e->phase == DEADLINE_GRACE);
}
