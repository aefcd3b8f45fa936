/* replica_status.c - see replica_status.h */
#include "config.h"

#include "noded/runs/replica_status.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/each.h"
#include "common/base/xalloc.h"
#include "noded/runs/agent_channel.h"
#include "noded/runs/launcher_state.h"
#include "noded/runs/run_report.h"
#include "noded/runs/runs.h"

#define BATCH_MAX 500              /* runs in one message */
#define EARLY     ((usec_t)100000) /* a timer may fire so much before its time */

struct replicas {
	struct event *timer;
	usec_t sent; /* mono: the last message; 0: none yet */
	usec_t due;  /* mono: when the timer fires; INT64_MAX: not set */
};

static usec_t mono(void)
{
	return clock_us(CLOCK_MONOTONIC);
}

/* --- load ------------------------------------------------------------------------------------- */

struct batch {
	struct launcher *l;
	Gpusched__RunLoad loads[BATCH_MAX], *list[BATCH_MAX];
	size_t n;
	usec_t now;
	bool any; /* a run here tells its load */
};

static void send_batch(struct batch *b)
{
	Gpusched__RunsLoad m = GPUSCHED__RUNS_LOAD__INIT;

	m.n_runs = b->n;
	m.runs = b->list;
	if (b->n)
		agent_send(b->l, GPUSCHED__MSG_TYPE__MSG_RUNS_LOAD, &m.base);
	b->n = 0;
}

static void add_load(struct run *r, void *arg)
{
	struct batch *b = arg;
	const struct run_load *load = &r->load;
	Gpusched__RunLoad *m = &b->loads[b->n];

	if (r->state != RUN_RUNNING || !r->load_time)
		return;
	b->any = true;
	if (!r->load_changed && b->now - r->load_sent < REPLICAS_AGAIN - EARLY)
		return;
	gpusched__run_load__init(m);
	m->run = r->report->run;
	m->known = load->known;
	m->running = (double)load->running_milli / 1000;
	m->waiting = (double)load->waiting_milli / 1000;
	COPY_FIELDS(m, load, kv_milli, requests, tokens);
	m->time = r->load_time;
	r->load_changed = false;
	r->load_sent = b->now;
	b->list[b->n++] = m;
	if (b->n == BATCH_MAX)
		send_batch(b);
}

static void set_timer(struct replicas *p, usec_t at, usec_t now)
{
	usec_t wait = at > now ? at - now : 0;
	struct timeval t = { .tv_sec = wait / 1000000, .tv_usec = wait % 1000000 };

	p->due = at;
	evtimer_add(p->timer, &t);
}

static void timer_fired(evutil_socket_t fd, short what, void *arg)
{
	struct launcher *l = arg;
	struct batch *b = xcalloc(1, sizeof(*b));

	(void)fd;
	(void)what;
	b->l = l;
	b->now = l->replicas->sent = mono();
	l->replicas->due = INT64_MAX;
	runs_each(l, add_load, b);
	send_batch(b);
	if (b->any)
		set_timer(l->replicas, b->now + REPLICAS_AGAIN, b->now);
	free(b);
}

static void load_changed(struct run *r)
{
	struct replicas *p = r->l->replicas;
	usec_t now = mono(), at = p->sent + REPLICAS_PAUSE;

	r->load_changed = true;
	if (at < p->due)
		set_timer(p, at, now);
}

/* Not negative, and not much: gprobe_messages.c has seen to that. */
static uint64_t milli(double n)
{
	return (uint64_t)(n * 1000 + 0.5);
}

static void take_load(struct run *r, const Gpusched__RunLoad *m)
{
	const struct run_load old = r->load;
	bool changed = !r->load_time;

	r->load = (struct run_load){ .known = m->known,
		.kv_milli = m->kv_milli,
		.running_milli = milli(m->running),
		.waiting_milli = milli(m->waiting),
		.requests = m->requests,
		.tokens = m->tokens };
	r->load_time = m->time;
	changed = changed || !run_load_equal(&r->load, &old);
	if (r->report->replica) {
		r->report->replica->requests = m->requests;
		r->report->replica->tokens = m->tokens;
	}
	if (changed)
		load_changed(r);
}

/* --- health ----------------------------------------------------------------------------------- */

bool replicas_take(struct run *r, const Gpusched__NotesRecord *notes)
{
	Gpusched__Replica *now = r->report->replica;
	const Gpusched__Replica *new = notes->replica;
	bool changed;

	if (notes->load)
		take_load(r, notes->load);
	if (!now || !new)
		return false;
	changed = now->health != new->health || now->ready_time != new->ready_time ||
	          strcmp(now->text, new->text) != 0;
	now->health = new->health;
	now->ready_time = new->ready_time;
	now->ready_us = r->ready_us = new->ready_us;
	r->ready_mono = notes->ready_mono;
	run_report_set(&now->text, new->text);
	return changed;
}

/* --- the whole -------------------------------------------------------------------------------- */

struct replicas *replicas_new(struct launcher *l)
{
	struct replicas *p = xcalloc(1, sizeof(*p));

	p->due = INT64_MAX;
	p->timer = evtimer_new(l->base, timer_fired, l);
	if (!p->timer)
		abort();
	return p;
}

void replicas_free(struct replicas *p)
{
	if (!p)
		return;
	event_free(p->timer);
	free(p);
}
