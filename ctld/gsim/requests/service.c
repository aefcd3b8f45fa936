/* service.c - see service.h */
#include "ctld/gsim/requests/service.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"

#define NEVER INT64_MAX

enum replica_state { GONE, LOADING, READY, DRAINING };

struct replica {
	enum replica_state state;
	uint32_t in_flight;
	usec_t started, ready_at;
};

struct answer {
	usec_t at;
	uint32_t replica;
};

struct service {
	const struct service_options *o;
	const struct requests *requests;
	struct autoscaler *a;
	struct service_result *r;
	struct service_view view;
	size_t arrived, taken; /* requests; those between wait */
	struct replica *v;     /* places of GONE ones are used again */
	size_t n, size;
	uint32_t alive;
	struct answer *heap; /* the soonest first */
	size_t n_heap, heap_size;
	usec_t next_step, next_row;
	uint32_t want;
};

/* --- answers to come ------------------------------------------------------------------------- */

static void swap(struct answer *x, struct answer *y)
{
	struct answer z = *x;

	*x = *y;
	*y = z;
}

static bool before(const struct answer *x, const struct answer *y)
{
	return x->at != y->at ? x->at < y->at : x->replica < y->replica;
}

static void heap_put(struct service *s, struct answer answer)
{
	size_t i = s->n_heap;

	*XADD(s->heap, s->n_heap, s->heap_size) = answer;
	for (; i && before(&s->heap[i], &s->heap[(i - 1) / 2]); i = (i - 1) / 2)
		swap(&s->heap[i], &s->heap[(i - 1) / 2]);
}

static struct answer heap_take(struct service *s)
{
	struct answer first = s->heap[0];
	size_t i = 0, child;

	s->heap[0] = s->heap[--s->n_heap];
	while ((child = 2 * i + 1) < s->n_heap) {
		if (child + 1 < s->n_heap && before(&s->heap[child + 1], &s->heap[child]))
			child++;
		if (!before(&s->heap[child], &s->heap[i]))
			break;
		swap(&s->heap[child], &s->heap[i]);
		i = child;
	}
	return first;
}

/* --- replicas -------------------------------------------------------------------------------- */

static void replica_start(struct service *s, bool ready)
{
	size_t i = 0;

	while (i < s->n && s->v[i].state != GONE)
		i++;
	if (i == s->n) {
		s->v = xgrow(s->v, s->n, &s->size, sizeof(*s->v));
		s->n++;
	}
	s->v[i] = (struct replica){ .state = ready ? READY : LOADING,
		.started = s->view.now,
		.ready_at = s->view.now + (ready ? 0 : s->o->load_time) };
	if (ready)
		s->view.ready++;
	else
		s->view.loading++;
	s->r->starts += !ready;
	s->alive++;
	s->r->most = s->alive > s->r->most ? s->alive : s->r->most;
}

static void replica_end(struct service *s, struct replica *r)
{
	double time = (double)(s->view.now - r->started);

	r->state = GONE;
	s->alive--;
	s->r->replica_us += time;
	s->r->gpu_us += time * s->o->replica_gpus;
}

/* The one to give up: the youngest that loads, else the one with the fewest requests. */
static struct replica *replica_spare(struct service *s)
{
	struct replica *best = NULL;
	size_t i;

	for (i = 0; i < s->n; i++) {
		struct replica *r = &s->v[i];

		if (r->state == LOADING &&
		        (!best || best->state != LOADING || r->ready_at > best->ready_at))
			best = r;
		else if (r->state == READY &&
		         (!best || (best->state == READY && r->in_flight < best->in_flight)))
			best = r;
	}
	return best;
}

static void give_up(struct service *s, struct replica *r)
{
	if (r->state == LOADING)
		s->view.loading--;
	else
		s->view.ready--;
	if (r->in_flight)
		r->state = DRAINING;
	else
		replica_end(s, r);
}

static void scale(struct service *s, uint32_t want)
{
	s->want = want;
	while (s->view.ready + s->view.loading > want)
		give_up(s, replica_spare(s));
	while (s->view.ready + s->view.loading < want)
		replica_start(s, false);
}

/* --- requests -------------------------------------------------------------------------------- */

static struct replica *replica_free(struct service *s)
{
	struct replica *best = NULL;
	size_t i;

	for (i = 0; i < s->n; i++) {
		struct replica *r = &s->v[i];

		if (r->state == READY && r->in_flight < s->o->replica_requests &&
		        (!best || r->in_flight < best->in_flight))
			best = r;
	}
	return best;
}

static void serve(struct service *s)
{
	struct replica *r;

	while (s->taken < s->arrived && (r = replica_free(s))) {
		const struct request *q = &s->requests->v[s->taken++];
		usec_t wait = s->view.now - q->at;
		usec_t time = s->o->prefill + (usec_t)(q->output * 1e6 / s->o->token_rate);

		samples_add(&s->r->wait, wait);
		samples_add(&s->r->completion, wait + time);
		s->r->over += wait > s->o->request_wait;
		r->in_flight++;
		s->view.running++;
		heap_put(s, (struct answer){ s->view.now + time, (uint32_t)(r - s->v) });
	}
	s->view.waiting = (uint32_t)(s->arrived - s->taken);
}

/* --- time ------------------------------------------------------------------------------------ */

static usec_t next_ready(const struct service *s)
{
	usec_t next = NEVER;
	size_t i;

	for (i = 0; s->view.loading && i < s->n; i++) {
		if (s->v[i].state == LOADING && s->v[i].ready_at < next)
			next = s->v[i].ready_at;
	}
	return next;
}

static usec_t next_arrival(const struct service *s)
{
	return s->arrived < s->requests->n ? s->requests->v[s->arrived].at : NEVER;
}

static usec_t sooner(usec_t x, usec_t y)
{
	return x < y ? x : y;
}

static void rows_until(struct service *s, usec_t to)
{
	for (; s->o->series && s->next_row < to; s->next_row += s->o->series_step)
		fprintf(s->o->series, "%g,%s,%zu,%u,%u,%u,%u,%u,\"%s\"\n",
		        (double)s->next_row / 1e6, s->r->name, s->arrived, s->view.waiting,
		        s->view.running, s->view.ready, s->view.loading, s->want,
		        autoscaler_text(s->a));
}

static void advance(struct service *s, usec_t to)
{
	double past = (double)(to - s->view.now);

	rows_until(s, to);
	s->view.running_us += past * s->view.running;
	s->view.waiting_us += past * s->view.waiting;
	s->view.now = to;
}

static void answers(struct service *s)
{
	while (s->n_heap && s->heap[0].at <= s->view.now) {
		struct replica *r = &s->v[heap_take(s).replica];

		s->view.running--;
		s->view.answered++;
		if (--r->in_flight == 0 && r->state == DRAINING)
			replica_end(s, r);
	}
}

static void becoming_ready(struct service *s)
{
	size_t i;

	for (i = 0; s->view.loading && i < s->n; i++) {
		if (s->v[i].state != LOADING || s->v[i].ready_at > s->view.now)
			continue;
		s->v[i].state = READY;
		s->view.loading--;
		s->view.ready++;
		s->view.learned++;
		s->view.load_time = s->o->load_time;
	}
}

static void arrivals(struct service *s)
{
	while (next_arrival(s) <= s->view.now) {
		s->arrived++;
		if (!s->want && autoscaler_wakes(s->a))
			s->next_step = s->view.now;
	}
}

static void run(struct service *s)
{
	while (s->arrived < s->requests->n || s->taken < s->arrived || s->n_heap) {
		usec_t next = sooner(next_arrival(s), sooner(s->next_step, next_ready(s)));

		next = sooner(next, s->n_heap ? s->heap[0].at : NEVER);
		if (next == NEVER)
			break; /* no replica will ever answer what waits */
		advance(s, next);
		answers(s);
		becoming_ready(s);
		arrivals(s);
		serve(s);
		if (s->next_step <= s->view.now) {
			scale(s, autoscaler_step(s->a, &s->view, &s->next_step));
			serve(s);
		}
	}
}

int service_run(struct service_result *r, const char *autoscaler, const struct requests *requests,
        const struct service_options *o)
{
	struct service s = { .o = o, .requests = requests, .r = r };
	usec_t ignored;
	uint32_t begin;
	size_t i;

	*r = (struct service_result){ .name = autoscaler };
	s.a = autoscaler_new(autoscaler, &o->policy);
	if (!s.a)
		return -1;
	begin = autoscaler_step(s.a, &s.view, &ignored);
	begin = begin < o->policy.min && strncmp(autoscaler, "fixed:", 6) ? o->policy.min : begin;
	s.want = begin;
	while (s.view.ready < begin)
		replica_start(&s, true);
	run(&s);
	for (i = 0; i < s.n; i++) {
		if (s.v[i].state != GONE)
			replica_end(&s, &s.v[i]);
	}
	r->end = s.view.now;
	autoscaler_free(s.a);
	free(s.v);
	free(s.heap);
	return 0;
}

void service_result_clear(struct service_result *r)
{
	samples_clear(&r->wait);
	samples_clear(&r->completion);
}
