/* ending.c - see ending.h */
#include "noded/shepherd/ending.h"

#include <signal.h>

#define NEVER INT64_MAX

void ending_init(struct ending *e, const struct ending_limits *limits)
{
	*e = (struct ending){
		.limits = *limits,
		.phase = ENDING_LAUNCHING,
		.started = NEVER,
		.deadline = NEVER,
		.paused = NEVER
	};
}

static usec_t limit_at(const struct ending *e)
{
	if (e->started == NEVER || e->limits.limit == 0 || e->paused != NEVER)
		return NEVER;
	return e->started + e->limits.limit;
}

static usec_t launch_by(const struct ending *e)
{
	if (e->phase != ENDING_LAUNCHING || e->started == NEVER || e->limits.launch == 0)
		return NEVER;
	return e->started + e->limits.launch;
}

static usec_t warn_at(const struct ending *e)
{
	if (e->phase != ENDING_RUNNING || e->limits.warn_before == 0 || e->warned ||
	        limit_at(e) == NEVER)
		return NEVER;
	return limit_at(e) - e->limits.warn_before;
}

static void kill_all(struct ending *e)
{
	if (e->phase >= ENDING_KILLING)
		return;
	e->paused = NEVER;
	e->phase = ENDING_KILLING;
	e->deadline = NEVER;
	e->todo |= ENDING_DO_KILL;
}

static usec_t later(usec_t now, usec_t grace)
{
	return grace > NEVER - now ? NEVER : now + grace;
}

static void interrupt(struct ending *e, enum end_cause cause, int sig, usec_t grace, usec_t now)
{
	usec_t deadline = later(now, grace);

	if (e->cause == END_NONE || e->cause == END_TIME_LIMIT || e->asked)
		e->cause = cause;
	e->asked = false;
	if (deadline < e->deadline)
		e->deadline = deadline;
	e->phase = ENDING_GRACE;
	e->ackable = true;
	e->signal = sig ? sig : SIGTERM;
	e->todo |= ENDING_DO_INTERRUPT | ENDING_DO_SIGNAL;
	if (grace <= 0) {
		e->todo &= ~(unsigned)ENDING_DO_SIGNAL;
		kill_all(e);
	}
}

void ending_set_limit(struct ending *e, usec_t limit)
{
	if (e->phase <= ENDING_RUNNING && !e->warned)
		e->limits.limit = limit;
}

void ending_pause(struct ending *e, usec_t now)
{
	if (e->phase == ENDING_RUNNING && e->paused == NEVER)
		e->paused = now;
}

void ending_go_on(struct ending *e, usec_t now)
{
	if (e->paused == NEVER)
		return;
	e->started += now - e->paused;
	e->paused = NEVER;
	if (e->phase == ENDING_RUNNING && e->warned)
		e->todo |= ENDING_DO_INTERRUPT;
}

void ending_launched(struct ending *e, usec_t now)
{
	if (e->phase == ENDING_LAUNCHING)
		e->started = now;
}

void ending_started(struct ending *e, usec_t now)
{
	if (e->phase != ENDING_LAUNCHING)
		return;
	e->phase = ENDING_RUNNING;
	if (e->started == NEVER)
		e->started = now;
	ending_clock(e, now);
}

void ending_failed(struct ending *e, enum end_cause cause, usec_t now)
{
	(void)now;
	if (e->phase != ENDING_LAUNCHING)
		return;
	e->cause = cause;
	kill_all(e);
}

void ending_main_gone(struct ending *e, usec_t now)
{
	(void)now;
	if (e->phase == ENDING_RUNNING)
		kill_all(e);
}

void ending_empty(struct ending *e)
{
	if (e->phase != ENDING_KILLING && e->phase != ENDING_GRACE)
		return;
	e->phase = ENDING_OVER;
	e->deadline = NEVER;
	e->todo &= ~(unsigned)(ENDING_DO_KILL | ENDING_DO_SIGNAL | ENDING_DO_WARN);
	e->todo |= ENDING_DO_FINISH;
}

void ending_ack(struct ending *e, usec_t now)
{
	if (!ending_wants_ack(e))
		return;
	/* Acknowledged after the early warning: the cause is the time limit. */
	if (e->phase == ENDING_RUNNING)
		interrupt(e, END_TIME_LIMIT, 0, 0, now);
	kill_all(e);
}

void ending_clock(struct ending *e, usec_t now)
{
	if (e->phase == ENDING_LAUNCHING && (now >= limit_at(e) || now >= launch_by(e))) {
		e->cause = now >= limit_at(e) ? END_TIME_LIMIT : END_LAUNCH;
		kill_all(e);
	}
	if (now >= warn_at(e) && now < limit_at(e)) {
		e->warned = e->ackable = true;
		e->signal = e->limits.warn_signal ? e->limits.warn_signal : SIGTERM;
		e->todo |= ENDING_DO_INTERRUPT | ENDING_DO_WARN;
	}
	if (e->phase == ENDING_RUNNING && now >= limit_at(e))
		interrupt(e, END_TIME_LIMIT, e->warned ? SIGTERM : e->limits.warn_signal,
		        e->limits.grace, now);
	if (e->phase == ENDING_GRACE &&
	        (now >= e->deadline ||
	                (limit_at(e) != NEVER && now - e->limits.grace >= limit_at(e))))
		kill_all(e);
}

void ending_order(struct ending *e, enum end_cause cause, int signal, usec_t grace, usec_t now)
{
	switch (e->phase) {
	case ENDING_LAUNCHING: /* the program has not begun, so it has nothing to save */
		e->cause = cause;
		kill_all(e);
		break;
	case ENDING_GRACE:
		if (cause == e->cause && !e->asked && later(now, grace) >= e->deadline)
			break; /* a repeated order */
		interrupt(e, cause, signal, grace, now);
		break;
	case ENDING_RUNNING:
		ending_go_on(e, now);
		interrupt(e, cause, signal, grace, now);
		break;
	default: /* it is over */
		break;
	}
}

bool ending_ask(struct ending *e, int signal, usec_t grace, usec_t now)
{
	if (e->phase != ENDING_RUNNING)
		return false;
	ending_go_on(e, now);
	interrupt(e, END_RECLAIM, signal, grace, now);
	e->asked = true;
	return true;
}

bool ending_withdraw(struct ending *e, usec_t now)
{
	if (e->phase != ENDING_GRACE || !e->asked)
		return false;
	e->phase = ENDING_RUNNING;
	e->cause = END_NONE;
	e->deadline = NEVER;
	e->asked = false;
	e->ackable = e->warned;
	e->todo = e->warned ? ENDING_DO_INTERRUPT : 0;
	ending_clock(e, now);
	return true;
}

unsigned ending_take(struct ending *e)
{
	unsigned todo = e->todo;

	e->todo = 0;
	return todo;
}

usec_t ending_next(const struct ending *e)
{
	usec_t next = NEVER, limit = limit_at(e);

	if (e->phase == ENDING_LAUNCHING)
		next = launch_by(e) < limit ? launch_by(e) : limit;
	if (e->phase == ENDING_RUNNING)
		next = warn_at(e) < limit ? warn_at(e) : limit;
	if (e->phase == ENDING_GRACE) {
		next = e->deadline;
		if (limit < NEVER - e->limits.grace && limit + e->limits.grace < next)
			next = limit + e->limits.grace;
	}
	return next;
}

usec_t ending_deadline(const struct ending *e)
{
	usec_t last = limit_at(e) < NEVER - e->limits.grace ? limit_at(e) + e->limits.grace : NEVER;

	return e->deadline < last ? e->deadline : last;
}

bool ending_wants_ack(const struct ending *e)
{
	return e->ackable && (e->phase == ENDING_RUNNING || e->phase == ENDING_GRACE);
}
