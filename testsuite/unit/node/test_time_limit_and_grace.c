/* test_time_limit_and_grace.c - noded/shepherd/time_limit_and_grace.h and
 * noded/shepherd/interrupt_file.h */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <signal.h>
#include <stdio.h>

#include "noded/shepherd/interrupt_file.h"
#include "noded/shepherd/time_limit_and_grace.h"

#define LEN(a) (sizeof(a) / sizeof((a)[0]))
#define S      ((usec_t)1000000)

enum what { LAUNCHED, STARTED, FAILED, MAIN_GONE, EMPTY, ACK, CLOCK, PAUSE, GO_ON, LIMIT, ASK, WITHDRAW, ORDER };

/* One thing that happens, and what must come of it. */
struct step {
	enum what what;
	usec_t at;
	enum end_cause cause; /* ORDER */
	int signal;
	usec_t grace;  /* LIMIT: that */
	unsigned todo; /* expected, as are: */
	enum deadline_phase phase;
	int sent;    /* signal of WARN or SIGNAL; 0: not looked at */
	usec_t next; /* 0: not looked at */
};

struct story {
	const char *name;
	struct deadline_limits limits;
	enum end_cause cause; /* in the end */
	struct step steps[12];
	size_t n;
};

#define I DEADLINE_INTERRUPT
#define W DEADLINE_WARN
#define G DEADLINE_SIGNAL
#define K DEADLINE_KILL
#define F DEADLINE_FINISH

static const struct story stories[] = {
	{ "ends by itself", { .limit = 60 * S, .grace = 30 * S }, END_NONE,
	        { { STARTED, 5 * S, 0, 0, 0, 0, DEADLINE_RUNNING, 0, 65 * S },
	                { CLOCK, 64 * S, 0, 0, 0, 0, DEADLINE_RUNNING, 0, 65 * S },
	                { MAIN_GONE, 64 * S, 0, 0, 0, K, DEADLINE_KILLING, 0, INT64_MAX },
	                { ORDER, 64 * S, END_CANCEL, 0, 9 * S, 0, DEADLINE_KILLING, 0, 0 },
	                { EMPTY, 64 * S, 0, 0, 0, F, DEADLINE_OVER, 0, INT64_MAX } },
	        5 },
	{ "the time limit counts from the launch", { .limit = 60 * S, .grace = 30 * S }, END_TIME_LIMIT,
	        { { CLOCK, 99 * S, 0, 0, 0, 0, DEADLINE_LAUNCHING, 0, INT64_MAX },
	                { LAUNCHED, 100 * S, 0, 0, 0, 0, DEADLINE_LAUNCHING, 0, 160 * S },
	                { STARTED, 105 * S, 0, 0, 0, 0, DEADLINE_RUNNING, 0, 160 * S },
	                { CLOCK, 160 * S, 0, 0, 0, I | G, DEADLINE_GRACE, SIGTERM, 190 * S } },
	        4 },
	{ "a launch that takes longer than its time limit", { .limit = 60 * S, .launch = 90 * S, .grace = 30 * S },
	        END_TIME_LIMIT,
	        { { LAUNCHED, 100 * S, 0, 0, 0, 0, DEADLINE_LAUNCHING, 0, 160 * S },
	                { CLOCK, 159 * S, 0, 0, 0, 0, DEADLINE_LAUNCHING, 0, 160 * S },
	                { CLOCK, 160 * S, 0, 0, 0, K, DEADLINE_KILLING, 0, INT64_MAX },
	                { STARTED, 161 * S, 0, 0, 0, 0, DEADLINE_KILLING, 0, INT64_MAX },
	                { EMPTY, 161 * S, 0, 0, 0, F, DEADLINE_OVER, 0, 0 } },
	        5 },
	{ "a launch that takes too long", { .launch = 90 * S }, END_LAUNCH,
	        { { CLOCK, 999 * S, 0, 0, 0, 0, DEADLINE_LAUNCHING, 0, INT64_MAX },
	                { LAUNCHED, 1000 * S, 0, 0, 0, 0, DEADLINE_LAUNCHING, 0, 1090 * S },
	                { CLOCK, 1090 * S, 0, 0, 0, K, DEADLINE_KILLING, 0, INT64_MAX },
	                { ORDER, 1091 * S, END_CANCEL, 0, 0, 0, DEADLINE_KILLING, 0, 0 },
	                { EMPTY, 1092 * S, 0, 0, 0, F, DEADLINE_OVER, 0, 0 } },
	        5 },
	{ "time limit, TERM obeyed by the shell, kept by its child",
	        { .limit = 60 * S, .grace = 30 * S }, END_TIME_LIMIT,
	        { { STARTED, 0, 0, 0, 0, 0, DEADLINE_RUNNING, 0, 60 * S },
	                { CLOCK, 60 * S, 0, 0, 0, I | G, DEADLINE_GRACE, SIGTERM, 90 * S },
	                { MAIN_GONE, 61 * S, 0, 0, 0, 0, DEADLINE_GRACE, 0, 90 * S },
	                { CLOCK, 89 * S, 0, 0, 0, 0, DEADLINE_GRACE, 0, 90 * S },
	                { CLOCK, 90 * S, 0, 0, 0, K, DEADLINE_KILLING, 0, INT64_MAX },
	                { EMPTY, 90 * S, 0, 0, 0, F, DEADLINE_OVER, 0, 0 } },
	        6 },
	{ "another limit, longer, shorter, none, and too late",
	        { .limit = 60 * S, .grace = 5 * S, .warn_before = 20 * S }, END_TIME_LIMIT,
	        { { LIMIT, 0, 0, 0, 50 * S, 0, DEADLINE_LAUNCHING, 0, 0 },
	                { STARTED, 0, 0, 0, 0, 0, DEADLINE_RUNNING, 0, 30 * S },
	                { LIMIT, 29 * S, 0, 0, 90 * S, 0, DEADLINE_RUNNING, 0, 70 * S },
	                { LIMIT, 29 * S, 0, 0, 0, 0, DEADLINE_RUNNING, 0, INT64_MAX },
	                { LIMIT, 30 * S, 0, 0, 55 * S, 0, DEADLINE_RUNNING, 0, 35 * S },
	                { CLOCK, 35 * S, 0, 0, 0, I | W, DEADLINE_RUNNING, SIGTERM, 55 * S },
	                { LIMIT, 36 * S, 0, 0, 99 * S, 0, DEADLINE_RUNNING, 0, 55 * S },
	                { CLOCK, 55 * S, 0, 0, 0, I | G, DEADLINE_GRACE, SIGTERM, 60 * S },
	                { LIMIT, 56 * S, 0, 0, 99 * S, 0, DEADLINE_GRACE, 0, 60 * S },
	                { EMPTY, 57 * S, 0, 0, 0, F, DEADLINE_OVER, 0, 0 } },
	        10 },
	{ "time limit, all gone in time", { .limit = 60 * S, .grace = 30 * S }, END_TIME_LIMIT,
	        { { STARTED, 0, 0, 0, 0, 0, DEADLINE_RUNNING, 0, 0 },
	                { CLOCK, 61 * S, 0, 0, 0, I | G, DEADLINE_GRACE, SIGTERM, 90 * S },
	                { MAIN_GONE, 62 * S, 0, 0, 0, 0, DEADLINE_GRACE, 0, 0 },
	                { EMPTY, 62 * S, 0, 0, 0, F, DEADLINE_OVER, 0, 0 } },
	        4 },
	{ "early warning, then the limit",
	        { .limit = 60 * S, .grace = 5 * S, .warn_before = 20 * S, .warn_signal = SIGUSR1 },
	        END_TIME_LIMIT,
	        { { STARTED, 0, 0, 0, 0, 0, DEADLINE_RUNNING, 0, 40 * S },
	                { CLOCK, 40 * S, 0, 0, 0, I | W, DEADLINE_RUNNING, SIGUSR1, 60 * S },
	                { CLOCK, 41 * S, 0, 0, 0, 0, DEADLINE_RUNNING, 0, 60 * S },
	                { CLOCK, 60 * S, 0, 0, 0, I | G, DEADLINE_GRACE, SIGTERM, 65 * S },
	                { CLOCK, 65 * S, 0, 0, 0, K, DEADLINE_KILLING, 0, 0 },
	                { EMPTY, 66 * S, 0, 0, 0, F, DEADLINE_OVER, 0, 0 } },
	        6 },
	{ "warning acknowledged ahead of the limit",
	        { .limit = 60 * S, .grace = 5 * S, .warn_before = 20 * S }, END_TIME_LIMIT,
	        { { STARTED, 0, 0, 0, 0, 0, DEADLINE_RUNNING, 0, 0 },
	                { ACK, 1 * S, 0, 0, 0, 0, DEADLINE_RUNNING, 0, 0 },
	                { CLOCK, 40 * S, 0, 0, 0, I | W, DEADLINE_RUNNING, SIGTERM, 0 },
	                { ACK, 41 * S, 0, 0, 0, I | K, DEADLINE_KILLING, 0, INT64_MAX },
	                { EMPTY, 41 * S, 0, 0, 0, F, DEADLINE_OVER, 0, 0 } },
	        5 },
	{ "a warning longer than the limit comes at the start",
	        { .limit = 60 * S, .grace = 5 * S, .warn_before = 100 * S }, END_NONE,
	        { { STARTED, 7 * S, 0, 0, 0, I | W, DEADLINE_RUNNING, SIGTERM, 67 * S } }, 1 },
	{ "a warning signal without time ahead is the limit's",
	        { .limit = 60 * S, .grace = 5 * S, .warn_signal = SIGUSR2 }, END_TIME_LIMIT,
	        { { STARTED, 0, 0, 0, 0, 0, DEADLINE_RUNNING, 0, 60 * S },
	                { CLOCK, 60 * S, 0, 0, 0, I | G, DEADLINE_GRACE, SIGUSR2, 65 * S } },
	        2 },
	{ "preempted, acknowledged", { 0 }, END_PREEMPT,
	        { { STARTED, 0, 0, 0, 0, 0, DEADLINE_RUNNING, 0, INT64_MAX },
	                { ORDER, 9 * S, END_PREEMPT, SIGUSR1, 120 * S, I | G, DEADLINE_GRACE, SIGUSR1,
	                        129 * S },
	                { ACK, 10 * S, 0, 0, 0, K, DEADLINE_KILLING, 0, INT64_MAX },
	                { MAIN_GONE, 10 * S, 0, 0, 0, 0, DEADLINE_KILLING, 0, 0 },
	                { EMPTY, 10 * S, 0, 0, 0, F, DEADLINE_OVER, 0, 0 } },
	        5 },
	{ "asked to give back, and does: it runs on, and ends by itself",
	        { .limit = 60 * S, .grace = 5 * S }, END_NONE,
	        { { ASK, 0, 0, 0, 9 * S, 0, DEADLINE_LAUNCHING, 0, 0 },
	                { STARTED, 0, 0, 0, 0, 0, DEADLINE_RUNNING, 0, 60 * S },
	                { WITHDRAW, 1 * S, 0, 0, 0, 0, DEADLINE_RUNNING, 0, 60 * S },
	                { ASK, 9 * S, 0, SIGUSR1, 20 * S, I | G, DEADLINE_GRACE, SIGUSR1, 29 * S },
	                { ASK, 10 * S, 0, 0, 5 * S, 0, DEADLINE_GRACE, 0, 29 * S },
	                { WITHDRAW, 28 * S, 0, 0, 0, 0, DEADLINE_RUNNING, 0, 60 * S },
	                { ACK, 28 * S, 0, 0, 0, 0, DEADLINE_RUNNING, 0, 60 * S },
	                { CLOCK, 30 * S, 0, 0, 0, 0, DEADLINE_RUNNING, 0, 60 * S },
	                { MAIN_GONE, 31 * S, 0, 0, 0, K, DEADLINE_KILLING, 0, 0 },
	                { WITHDRAW, 31 * S, 0, 0, 0, 0, DEADLINE_KILLING, 0, 0 },
	                { EMPTY, 31 * S, 0, 0, 0, F, DEADLINE_OVER, 0, 0 } },
	        11 },
	{ "asked twice: the second time has its own grace", { 0 }, END_RECLAIM,
	        { { STARTED, 0, 0, 0, 0, 0, DEADLINE_RUNNING, 0, INT64_MAX },
	                { ASK, 9 * S, 0, 0, 20 * S, I | G, DEADLINE_GRACE, SIGTERM, 29 * S },
	                { WITHDRAW, 10 * S, 0, 0, 0, 0, DEADLINE_RUNNING, 0, INT64_MAX },
	                { ASK, 20 * S, 0, 0, 20 * S, I | G, DEADLINE_GRACE, SIGTERM, 40 * S },
	                { CLOCK, 40 * S, 0, 0, 0, K, DEADLINE_KILLING, 0, 0 } },
	        5 },
	{ "asked while it is paused: the pause ends, and its limit comes later by that",
	        { .limit = 60 * S, .grace = 5 * S }, END_NONE,
	        { { STARTED, 0, 0, 0, 0, 0, DEADLINE_RUNNING, 0, 60 * S },
	                { PAUSE, 10 * S, 0, 0, 0, 0, DEADLINE_RUNNING, 0, INT64_MAX },
	                { ASK, 30 * S, 0, 0, 9 * S, I | G, DEADLINE_GRACE, SIGTERM, 39 * S },
	                { WITHDRAW, 31 * S, 0, 0, 0, 0, DEADLINE_RUNNING, 0, 80 * S } },
	        4 },
	{ "asked to give back, and does not", { 0 }, END_RECLAIM,
	        { { STARTED, 0, 0, 0, 0, 0, DEADLINE_RUNNING, 0, INT64_MAX },
	                { ASK, 9 * S, 0, 0, 20 * S, I | G, DEADLINE_GRACE, SIGTERM, 29 * S },
	                { MAIN_GONE, 10 * S, 0, 0, 0, 0, DEADLINE_GRACE, 0, 29 * S },
	                { CLOCK, 29 * S, 0, 0, 0, K, DEADLINE_KILLING, 0, 0 },
	                { EMPTY, 29 * S, 0, 0, 0, F, DEADLINE_OVER, 0, 0 } },
	        5 },
	{ "asked with no grace", { 0 }, END_RECLAIM,
	        { { STARTED, 0, 0, 0, 0, 0, DEADLINE_RUNNING, 0, 0 },
	                { ASK, 9 * S, 0, 0, 0, I | K, DEADLINE_KILLING, 0, 0 } },
	        2 },
	{ "asked, and then ordered to end: that is no more withdrawn", { 0 }, END_CANCEL,
	        { { STARTED, 0, 0, 0, 0, 0, DEADLINE_RUNNING, 0, 0 },
	                { ASK, 9 * S, 0, 0, 20 * S, I | G, DEADLINE_GRACE, SIGTERM, 29 * S },
	                { ORDER, 10 * S, END_CANCEL, 0, 60 * S, I | G, DEADLINE_GRACE, SIGTERM,
	                        29 * S },
	                { WITHDRAW, 11 * S, 0, 0, 0, 0, DEADLINE_GRACE, 0, 29 * S },
	                { CLOCK, 29 * S, 0, 0, 0, K, DEADLINE_KILLING, 0, 0 } },
	        5 },
	{ "asked after it was warned of its limit: that warning stands",
	        { .limit = 60 * S, .grace = 5 * S, .warn_before = 20 * S }, END_NONE,
	        { { STARTED, 0, 0, 0, 0, 0, DEADLINE_RUNNING, 0, 40 * S },
	                { CLOCK, 40 * S, 0, 0, 0, I | W, DEADLINE_RUNNING, SIGTERM, 60 * S },
	                { ASK, 41 * S, 0, 0, 9 * S, I | G, DEADLINE_GRACE, SIGTERM, 50 * S },
	                { WITHDRAW, 42 * S, 0, 0, 0, I, DEADLINE_RUNNING, 0, 60 * S } },
	        4 },
	{ "no grace", { 0 }, END_CANCEL,
	        { { STARTED, 0, 0, 0, 0, 0, DEADLINE_RUNNING, 0, 0 },
	                { ORDER, 9 * S, END_CANCEL, 0, 0, I | K, DEADLINE_KILLING, 0, INT64_MAX } },
	        2 },
	{ "a later order brings the deadline forward, never back", { 0 }, END_PREEMPT,
	        { { STARTED, 0, 0, 0, 0, 0, DEADLINE_RUNNING, 0, 0 },
	                { ORDER, 0, END_PREEMPT, 0, 100 * S, I | G, DEADLINE_GRACE, SIGTERM,
	                        100 * S },
	                { ORDER, 1 * S, END_CANCEL, 0, 200 * S, I | G, DEADLINE_GRACE, 0, 100 * S },
	                { ORDER, 2 * S, END_CANCEL, 0, 3 * S, I | G, DEADLINE_GRACE, 0, 5 * S },
	                { CLOCK, 5 * S, 0, 0, 0, K, DEADLINE_KILLING, 0, 0 } },
	        5 },
	{ "an order that is said again is nothing, one that hurries is not", { 0 }, END_PREEMPT,
	        { { STARTED, 0, 0, 0, 0, 0, DEADLINE_RUNNING, 0, 0 },
	                { ORDER, 0, END_PREEMPT, 0, 100 * S, I | G, DEADLINE_GRACE, SIGTERM,
	                        100 * S },
	                { ORDER, 9 * S, END_PREEMPT, 0, 100 * S, 0, DEADLINE_GRACE, 0, 100 * S },
	                { ORDER, 9 * S, END_PREEMPT, 0, 91 * S, 0, DEADLINE_GRACE, 0, 100 * S },
	                { ORDER, 9 * S, END_PREEMPT, 0, 5 * S, I | G, DEADLINE_GRACE, 0, 14 * S } },
	        5 },
	{ "the limit ends a long grace", { .limit = 60 * S, .grace = 10 * S }, END_PREEMPT,
	        { { STARTED, 0, 0, 0, 0, 0, DEADLINE_RUNNING, 0, 0 },
	                { ORDER, 50 * S, END_PREEMPT, 0, 3600 * S, I | G, DEADLINE_GRACE, 0, 70 * S },
	                { CLOCK, 70 * S, 0, 0, 0, K, DEADLINE_KILLING, 0, 0 } },
	        3 },
	{ "an order after the limit says whose it is", { .limit = 60 * S, .grace = 10 * S },
	        END_CANCEL,
	        { { STARTED, 0, 0, 0, 0, 0, DEADLINE_RUNNING, 0, 0 },
	                { CLOCK, 60 * S, 0, 0, 0, I | G, DEADLINE_GRACE, 0, 70 * S },
	                { ORDER, 61 * S, END_CANCEL, 0, 1 * S, I | G, DEADLINE_GRACE, 0, 62 * S } },
	        3 },
	{ "could not be launched", { .limit = 60 * S }, END_LAUNCH,
	        { { FAILED, 0, 0, 0, 0, K, DEADLINE_KILLING, 0, INT64_MAX },
	                { STARTED, 0, 0, 0, 0, 0, DEADLINE_KILLING, 0, INT64_MAX },
	                { EMPTY, 0, 0, 0, 0, F, DEADLINE_OVER, 0, 0 } },
	        3 },
	{ "ended while launching", { .limit = 60 * S }, END_CANCEL,
	        { { ORDER, 0, END_CANCEL, 0, 100 * S, K, DEADLINE_KILLING, 0, INT64_MAX },
	                { FAILED, 0, 0, 0, 0, 0, DEADLINE_KILLING, 0, 0 },
	                { EMPTY, 0, 0, 0, 0, F, DEADLINE_OVER, 0, 0 } },
	        3 },
	{ "nothing before its time", { .limit = 60 * S }, END_NONE,
	        { { CLOCK, 100 * S, 0, 0, 0, 0, DEADLINE_LAUNCHING, 0, INT64_MAX },
	                { EMPTY, 100 * S, 0, 0, 0, 0, DEADLINE_LAUNCHING, 0, 0 },
	                { MAIN_GONE, 100 * S, 0, 0, 0, 0, DEADLINE_LAUNCHING, 0, 0 },
	                { ACK, 100 * S, 0, 0, 0, 0, DEADLINE_LAUNCHING, 0, 0 } },
	        4 },
	{ "a pause does not count", { .limit = 60 * S, .grace = 10 * S }, END_TIME_LIMIT,
	        { { PAUSE, 0, 0, 0, 0, 0, DEADLINE_LAUNCHING, 0, 0 },
	                { STARTED, 0, 0, 0, 0, 0, DEADLINE_RUNNING, 0, 60 * S },
	                { PAUSE, 50 * S, 0, 0, 0, 0, DEADLINE_RUNNING, 0, INT64_MAX },
	                { PAUSE, 55 * S, 0, 0, 0, 0, DEADLINE_RUNNING, 0, INT64_MAX },
	                { CLOCK, 900 * S, 0, 0, 0, 0, DEADLINE_RUNNING, 0, INT64_MAX },
	                { GO_ON, 1000 * S, 0, 0, 0, 0, DEADLINE_RUNNING, 0, 1010 * S },
	                { GO_ON, 1001 * S, 0, 0, 0, 0, DEADLINE_RUNNING, 0, 1010 * S },
	                { CLOCK, 1009 * S, 0, 0, 0, 0, DEADLINE_RUNNING, 0, 1010 * S },
	                { CLOCK, 1010 * S, 0, 0, 0, I | G, DEADLINE_GRACE, SIGTERM, 1020 * S },
	                { PAUSE, 1011 * S, 0, 0, 0, 0, DEADLINE_GRACE, 0, 1020 * S },
	                { CLOCK, 1020 * S, 0, 0, 0, K, DEADLINE_KILLING, 0, INT64_MAX } },
	        11 },
	{ "a pause moves the deadline that was told", { .limit = 60 * S, .warn_before = 20 * S },
	        END_NONE,
	        { { STARTED, 0, 0, 0, 0, 0, DEADLINE_RUNNING, 0, 40 * S },
	                { PAUSE, 30 * S, 0, 0, 0, 0, DEADLINE_RUNNING, 0, INT64_MAX },
	                { GO_ON, 31 * S, 0, 0, 0, 0, DEADLINE_RUNNING, 0, 41 * S },
	                { CLOCK, 41 * S, 0, 0, 0, I | W, DEADLINE_RUNNING, 0, 61 * S },
	                { PAUSE, 42 * S, 0, 0, 0, 0, DEADLINE_RUNNING, 0, INT64_MAX },
	                { GO_ON, 52 * S, 0, 0, 0, I, DEADLINE_RUNNING, 0, 71 * S },
	                { MAIN_GONE, 53 * S, 0, 0, 0, K, DEADLINE_KILLING, 0, INT64_MAX } },
	        7 },
	{ "what is paused can be ended, by its own grace", { .limit = 60 * S, .grace = 10 * S },
	        END_CANCEL,
	        { { STARTED, 0, 0, 0, 0, 0, DEADLINE_RUNNING, 0, 60 * S },
	                { PAUSE, 50 * S, 0, 0, 0, 0, DEADLINE_RUNNING, 0, INT64_MAX },
	                { ORDER, 500 * S, END_CANCEL, 0, 5 * S, I | G, DEADLINE_GRACE, SIGTERM,
	                        505 * S },
	                { GO_ON, 501 * S, 0, 0, 0, 0, DEADLINE_GRACE, 0, 505 * S },
	                { CLOCK, 505 * S, 0, 0, 0, K, DEADLINE_KILLING, 0, 0 } },
	        5 },
	{ "what is paused can die", { .limit = 60 * S }, END_NONE,
	        { { STARTED, 0, 0, 0, 0, 0, DEADLINE_RUNNING, 0, 60 * S },
	                { PAUSE, 1 * S, 0, 0, 0, 0, DEADLINE_RUNNING, 0, INT64_MAX },
	                { MAIN_GONE, 99 * S, 0, 0, 0, K, DEADLINE_KILLING, 0, INT64_MAX },
	                { GO_ON, 99 * S, 0, 0, 0, 0, DEADLINE_KILLING, 0, INT64_MAX } },
	        4 },
	{ "an endless grace", { 0 }, END_CANCEL,
	        { { STARTED, 5 * S, 0, 0, 0, 0, DEADLINE_RUNNING, 0, 0 },
	                { ORDER, 9 * S, END_CANCEL, 0, INT64_MAX, I | G, DEADLINE_GRACE, 0,
	                        INT64_MAX } },
	        2 },
};

static void apply(struct run_deadline *e, const struct step *s)
{
	switch (s->what) {
	case LAUNCHED:
		deadline_launched(e, s->at);
		break;
	case STARTED:
		deadline_started(e, s->at);
		break;
	case FAILED:
		deadline_failed(e, END_LAUNCH, s->at);
		break;
	case MAIN_GONE:
		deadline_main_gone(e, s->at);
		break;
	case EMPTY:
		deadline_empty(e);
		break;
	case ACK:
		deadline_ack(e, s->at);
		break;
	case CLOCK:
		deadline_clock(e, s->at);
		break;
	case PAUSE:
		deadline_pause(e, s->at);
		break;
	case LIMIT:
		deadline_set_limit(e, s->grace);
		break;
	case GO_ON:
		deadline_resume(e, s->at);
		break;
	case ASK:
		deadline_reclaim(e, s->signal, s->grace, s->at);
		break;
	case WITHDRAW:
		deadline_withdraw(e, s->at);
		break;
	case ORDER:
		deadline_order(e, s->cause, s->signal, s->grace, s->at);
		break;
	}
}

static void tell_stories(void **state)
{
	struct run_deadline e;

	(void)state;
	for (size_t i = 0; i < LEN(stories); i++) {
		const struct story *story = &stories[i];

		deadline_init(&e, &story->limits);
		for (size_t j = 0; j < story->n; j++) {
			const struct step *s = &story->steps[j];
			unsigned todo;

			apply(&e, s);
			todo = deadline_actions(&e);
			if (todo != s->todo || e.phase != s->phase ||
			        (s->sent && e.signal != s->sent) ||
			        (s->next && deadline_next(&e) != s->next))
				fail_msg("%s, step %zu: todo %x phase %d signal %d next %lld",
				        story->name, j, todo, (int)e.phase, e.signal,
				        (long long)deadline_next(&e));
			assert_int_equal(deadline_actions(&e), 0);
		}
		assert_int_equal(e.cause, story->cause);
	}
}

/* Whatever happens in whatever order: it never leaves OVER, kills before it finishes unless nothing
 * was left, and finishes once. */
static void no_order_of_events_confuses_it(void **state)
{
	uint32_t seed = 20261121;

	(void)state;
	for (int round = 0; round < 20000; round++) {
		struct deadline_limits limits = { .limit = round % 3 * 10 * S,
			.warn_before = round % 5 * S,
			.grace = round % 4 * S };
		struct run_deadline e;
		usec_t now = 0;
		int finished = 0;

		deadline_init(&e, &limits);
		for (int i = 0; i < 30; i++) {
			struct step s;
			enum deadline_phase before = e.phase;
			unsigned todo;

			seed = seed * 1664525 + 1013904223;
			now += (usec_t)(seed >> 12) % (4 * S);
			s = (struct step){ .what = (enum what)((seed >> 24) % (ORDER + 1)),
				.at = now,
				.cause = END_CANCEL,
				.grace = (seed >> 8) % 3 * S };
			s.grace += s.what == LIMIT ? 10 * S : 0;
			apply(&e, &s);
			todo = deadline_actions(&e);
			finished += (todo & DEADLINE_FINISH) != 0;
			assert_true(e.phase >= before ||
			            (s.what == WITHDRAW && before == DEADLINE_GRACE));
			assert_true(!(todo & DEADLINE_FINISH) || e.phase == DEADLINE_OVER);
			assert_true(e.phase != DEADLINE_OVER || deadline_next(&e) == INT64_MAX);
			assert_true(e.phase == DEADLINE_OVER || deadline_next(&e) >= 0);
		}
		assert_int_equal(finished, e.phase == DEADLINE_OVER);
	}
}

static const struct {
	struct interrupt in;
	const char *text;
} files[] = {
	{ { END_PREEMPT, 4820, "deploy", "serving", "production", 1795255320000000, true, 0 },
	        "reason=preempt\nby_job=4820\nby_user=deploy\nby_account=serving\n"
	        "by_qos=production\ndeadline=1795255320\nthen=requeue\n" },
	{ { END_TIME_LIMIT, 0, "", "", "", 1795255320999999, false, 0 },
	        "reason=timeout\ndeadline=1795255320\nthen=end\n" },
	{ { END_CANCEL, 0, "a'; rm -rf ~ $(x)\n`", "", "", INT64_MAX, false, 0 },
	        "reason=cancel\nby_user=a___rm_-rf_____x___\nthen=end\n" },
	{ { END_DRAIN, 0, "j.doe@x", "", "", INT64_MAX, true, 0 },
	        "reason=drain\nby_user=j.doe@x\nthen=requeue\n" },
	{ { END_RECLAIM, 4820, "deploy", "", "", 1795255320000000, true, 20480 },
	        "reason=reclaim\nby_job=4820\nby_user=deploy\ngpu_mem_mb=20480\n"
	        "deadline=1795255320\nthen=requeue\n" },
	{ { END_NONE, 0, "", "", "", INT64_MAX, false, 0 }, "reason=end\nthen=end\n" },
};

static void interrupt_files(void **state)
{
	char out[INTERRUPT_MAX], longest[1000];
	struct interrupt in = {
		.cause = END_CANCEL, .by_job = UINT64_MAX, .deadline = INT64_MAX - 1
	};

	(void)state;
	for (size_t i = 0; i < LEN(files); i++) {
		size_t n = interrupt_text(&files[i].in, out);

		assert_string_equal(out, files[i].text);
		assert_int_equal(n, strlen(out));
	}
	memset(longest, 'a', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	in.by_user = in.by_account = in.by_qos = longest;
	assert_true(interrupt_text(&in, out) < INTERRUPT_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tell_stories),
		cmocka_unit_test(no_order_of_events_confuses_it),
		cmocka_unit_test(interrupt_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
