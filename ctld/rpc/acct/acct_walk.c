/* acct_walk.c - see acct_walk.h */
#include "ctld/rpc/acct/acct_walk.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include <event2/event.h>

#include "common/base/bisect.h"
#include "common/base/xalloc.h"
#include "common/net/event_end.h"
#include "common/net/worker.h"
#include "ctld/core/core.h"
#include "ctld/core/records/job.h"
#include "ctld/core/rows/row_codec.h"
#include "ctld/ctld.h"
#include "ctld/loop/commit_gate.h"
#include "ctld/loop/peers.h"
#include "ctld/loop/slice.h"
#include "ctld/loop/tick.h"
#include "ctld/rpc/acct/acct_record.h"
#include "ctld/store/history_reader.h"
#include "ctld/wire/convert.h"

#define SLICE_JOBS   200    /* of them made into messages */
#define QUEUED_MAX   100000 /* walks that wait for the thread: those of all peers */

enum phase {
	WALK_LIVING,
	WALK_COMMIT, /* waits for its change to be committed */
	WALK_FLUSH,  /* waits for history.db to have it */
	WALK_PAST,
	WALK_WAIT, /* a walk that follows: for new events */
};

struct walk {
	LIST_ENTRY(walk) next;
	struct acct *acct;
	uint64_t call; /* its number; 0: the client has gone */
	uid_t uid;
	struct acct_query *query; /* NULL: events are asked for */
	struct past_events events;
	struct visibility *visibility; /* owned: the job of the events must be in it; NULL: it is,
	                                  or no matter */
	bool follow;
	uint64_t generation; /* of the configuration that says what the caller may see */
	uint64_t upto; /* walks that follow: of events by time only those up to here */
	bool hidden;   /* else it is as if there were none */
	const struct acct_taker *taker;
	void *data;
	enum phase phase;
	struct filter_walk living;
	uint64_t *given; /* ids, ascending: of jobs of the core */
	size_t n_given, room;
	uint64_t change;      /* the core's change when it was read */
	struct error missing; /* why the answer is not whole; code ERR_NONE: it is */
	struct store_batch *batch;
	struct arena *arena;
	/* the thread's while it works */
	struct worker_job *job; /* NULL: it does not */
	bool ready;             /* a slice of the past is there */
	bool found_tasks;       /* ids of tasks of past arrays were found */
	size_t tasks_at;        /* else: among the ids */
	bool passed;            /* all jobs were given */
	struct past_cursor cursor;
	uint64_t n_jobs; /* that the taker got */
	struct error error;
	bool failed;
};

struct acct {
	struct ctld *c;
	struct worker_pool *pool; /* one thread */
	struct past *past;        /* its own */
	LIST_HEAD(, walk) walks;
	bool flushing;
	struct event *news; /* timer: there are new events for walks that follow */
	size_t n_waiting;   /* walks in WALK_WAIT */
	uint64_t told;      /* the last event when they began to wait, or later */
	struct acct_stats stats;
};

static void on_news(evutil_socket_t fd, short what, void *arg);

struct acct *acct_new(struct ctld *c, struct error *err)
{
	struct worker_limits limits = { .threads = 1,
		.max_queued = QUEUED_MAX,
		.max_per_key = ACCT_WALKS_MAX + ACCT_FOLLOW_MAX };
	struct acct *a = xcalloc(1, sizeof(*a));

	a->c = c;
	LIST_INIT(&a->walks);
	a->news = evtimer_new(c->base, on_news, a);
	if (!a->news)
		error_set(err, ERR_SYSTEM, "event loop: out of memory");
	else
		a->past = past_open(c->conf->controller.state_dir, err);
	if (a->past)
		a->pool = worker_pool_new(c->base, &limits, err);
	if (a->pool)
		return a;
	acct_free(a);
	return NULL;
}

static void walk_free(struct walk *w)
{
	LIST_REMOVE(w, next);
	w->acct->n_waiting -= w->phase == WALK_WAIT;
	w->acct->stats.open--;
	w->taker->free(w->data);
	acct_query_free(w->query);
	visibility_free(w->visibility);
	batch_free(w->batch);
	arena_free(w->arena);
	free(w->given);
	free(w);
}

void acct_free(struct acct *a)
{
	struct walk *w;

	if (!a)
		return;
	worker_pool_free(a->pool);
	while ((w = LIST_FIRST(&a->walks)))
		walk_free(w);
	event_end(a->news);
	past_close(a->past);
	free(a);
}

void acct_stats(const struct acct *a, struct acct_stats *out)
{
	*out = a->stats;
}

struct visibility *acct_visibility(struct ctld *c, const struct peer *peer)
{
	const struct conf_roles *roles = &c->conf->roles;
	struct caller caller = peer_caller(c, peer);

	return visibility_new(c->conf, &caller, roles->private_jobs || roles->private_usage);
}

/* --- giving --------------------------------------------------------------------------------- */

/* Records in the order in which the core tells them. */
static uint64_t key_of(const Gpusched__Acct *job)
{
	return job->id << (64 - JOB_REF_BITS) | job->part;
}

static bool was_given(const struct walk *w, uint64_t id)
{
	size_t at;

	BISECT(at, w->n_given, w->given[at] < id);
	return at < w->n_given && w->given[at] == id;
}

static void note_given(struct walk *w, uint64_t id)
{
	*XADD(w->given, w->n_given, w->room) = id;
}

/* The jobs of the batch that fit, to the taker. */
static void give_jobs(struct walk *w)
{
	struct acct_reader reader = { .batch = w->batch, .arena = w->arena };
	Gpusched__Acct *job;

	while ((job = acct_next(&reader))) {
		if (!acct_query_fits(w->query, job))
			continue;
		if (w->phase == WALK_LIVING)
			note_given(w, key_of(job));
		else if (was_given(w, key_of(job)))
			continue;
		w->n_jobs++;
		acct_query_found(w->query, job);
		w->taker->job(w->data, job);
	}
}

static void forget_slice(struct walk *w)
{
	batch_reset(w->batch);
	arena_reset(w->arena, WIRE_ARENA_CAP);
}

/* Where a taker's answers go. */
struct asker {
	struct ctld *c;
	struct call *call;
};

static void send_to(void *to, unsigned type, const ProtobufCMessage *m)
{
	struct asker *asker = to;

	peers_send(asker->c, asker->call->session, type, asker->call->id, m);
}

static struct acct_out out_of(struct asker *asker, struct arena *arena)
{
	return (struct acct_out){
		.currency = asker->c->conf->prices.currency,
		.arena = arena,
		.now = ctld_now().wall,
		.send = send_to,
		.to = asker,
	};
}

static void end_slice(struct ctld *c, struct call *call, struct walk *w)
{
	struct asker asker = { c, call };
	struct acct_out out = out_of(&asker, w->arena);

	if (w->taker->slice)
		w->taker->slice(&out, w->data);
	forget_slice(w);
}

static void finish(struct ctld *c, struct call *call, struct walk *w, const struct error *err)
{
	struct error last = w->missing;
	struct asker asker = { c, call };
	struct acct_out out = out_of(&asker, w->arena);

	w->acct->stats.jobs += w->n_jobs;
	if (err)
		last = *err;
	else if (w->taker->end && w->taker->end(&out, w->data, &last) < 0)
		assert(last.code != ERR_NONE);
	else if (last.code == ERR_NONE && w->query &&
	         acct_query_check_names(w->query, &last) < 0)
		assert(last.code != ERR_NONE);
	call_done(c, call, last.code == ERR_NONE ? NULL : &last);
}

/* --- the core ------------------------------------------------------------------------------- */

static void keep_row(void *arg, const struct row *row)
{
	store_batch_row(arg, row);
}

static void leave_living(struct ctld *c, struct walk *w)
{
	w->phase = WALK_COMMIT;
	w->change = core_change(c->core);
	w->upto = core_last_event(c->core);
	tick_wake(c->tick);
}

static void slice_living(struct ctld *c, struct call *call, struct walk *w, struct clocks now)
{
	struct slice budget = slice_begin(SLICE_US / 2); /* the other half is for messages */
	struct job_view view;
	unsigned n = 0;
	int found = 1;

	w->living.brief = true;
	while (n < SLICE_JOBS && (found = filter_next(acct_query_filter(w->query), &w->living,
	                                  c->core, now, &budget, &view)) > 0) {
		core_job_rows(c->core, view.ref, now, keep_row, w->batch);
		n++;
	}
	give_jobs(w);
	end_slice(c, call, w);
	if (found != 0) {
		call_go_on(c, call);
		return;
	}
	leave_living(c, w);
}

/* --- from the core to history --------------------------------------------------------------- */

static void flushed(void *arg, const struct store_result *result, const struct error *err)
{
	struct acct *a = arg;
	struct walk *w;

	(void)result;
	a->flushing = false;
	LIST_FOREACH (w, &a->walks, next) {
		struct call *call = w->call ? call_find(a->c, w->call) : NULL;

		if (w->phase != WALK_FLUSH)
			continue;
		w->phase = WALK_PAST;
		if (err)
			w->missing = *err;
		if (call)
			call_go_on(a->c, call);
	}
	acct_tick(a);
}

static void on_news(evutil_socket_t fd, short what, void *arg)
{
	struct acct *a = arg;
	struct walk *w;

	(void)fd;
	(void)what;
	a->n_waiting = 0;
	LIST_FOREACH (w, &a->walks, next)
		if (w->phase == WALK_WAIT)
			leave_living(a->c, w);
}

static void check_for_news(struct acct *a)
{
	static const struct timeval soon = { .tv_usec = ACCT_FOLLOW_MS * 1000 };

	if (a->n_waiting && core_last_event(a->c->core) != a->told &&
	        !event_pending(a->news, EV_TIMEOUT, NULL)) {
		a->told = core_last_event(a->c->core);
		event_add(a->news, &soon);
	}
}

void acct_tick(struct acct *a)
{
	bool any = false;
	struct walk *w;

	check_for_news(a);
	if (a->flushing)
		return;
	LIST_FOREACH (w, &a->walks, next)
		if (w->phase == WALK_COMMIT && w->change <= commit_gate_committed(a->c->gate)) {
			w->phase = WALK_FLUSH;
			any = true;
		}
	if (!any)
		return;
	a->flushing = true;
	store_flush(a->c->store, flushed, a);
}

/* --- history -------------------------------------------------------------------------------- */

struct looked {
	const struct visibility *visibility;
	bool found, his;
};

static bool note_owner(void *arg, const struct row *job)
{
	struct looked *looked = arg;

	looked->found = true;
	looked->his = visibility_has(
	        looked->visibility, (uint32_t)job->v[COL_JOB_uid].i, job->v[COL_JOB_account].p);
	return false;
}

/* May the caller ask about this job, which is in history? */
static int check_owner(struct walk *w, struct error *err)
{
	struct looked looked = { .visibility = w->visibility };
	const struct past_query query = {
		.by = PAST_BY_ID, .ids = &w->events.job, .n = 1, .wants = note_owner, .arg = &looked
	};
	struct past_cursor cursor = { 0 };

	if (!w->visibility)
		return 0;
	if (past_jobs(w->acct->past, &query, &cursor, 1, w->batch, err) < 0)
		return -1;
	if (!looked.found || (!looked.his && w->hidden))
		return error_set(err, ERR_NO_JOB, "no job %llu", (unsigned long long)w->events.job);
	if (!looked.his) {
		verb_refuse(VERB_JOB_EVENTS, err);
		return error_wrap(err, "job %llu is not yours", (unsigned long long)w->events.job);
	}
	visibility_free(w->visibility);
	w->visibility = NULL;
	return 0;
}

/* Events about the tasks of an array name the array. */
static int find_task(struct walk *w, struct error *err)
{
	uint64_t array;
	uint32_t task;
	int rc;

	if (w->found_tasks || !w->events.job)
		return 0;
	w->found_tasks = true;
	rc = past_task(w->acct->past, w->events.job, &array, &task, err);
	if (rc > 0)
		w->events.job = array;
	return rc;
}

static void events_run(struct walk *w)
{
	struct batch_item item;
	size_t offset = 0;

	w->failed =
	        find_task(w, &w->error) < 0 || check_owner(w, &w->error) < 0 || past_events(w->acct->past, &w->events, &w->cursor,
	                                                 PAST_SLICE, w->batch, &w->error) < 0;
	while (!w->failed && batch_next(w->batch, &offset, &item)) {
		uint64_t seq = (uint64_t)item.row.v[COL_EVENT_seq].i;

		/* Events above `upto` follow next time, by number. */
		if (!w->follow || seq <= w->upto)
			w->taker->event(w->data, &item.row, w->arena);
	}
}

static void work_run(void *arg)
{
	struct walk *w = arg;
	int rc;

	if (w->taker->work) {
		rc = w->taker->work(w->data, &w->error);
		w->failed = rc < 0;
		w->cursor.end = rc == 0;
		return;
	}
	if (!w->query) {
		events_run(w);
		return;
	}
	if (!w->found_tasks) {
		rc = acct_query_find_past(w->query, w->acct->past, &w->tasks_at, &w->error);
		w->failed = rc < 0;
		w->found_tasks = rc == 0;
		return;
	}
	if (!w->passed) {
		w->failed = past_jobs(w->acct->past, acct_query_past(w->query), &w->cursor,
		                    PAST_SLICE, w->batch, &w->error) < 0;
		if (w->failed)
			return;
		give_jobs(w);
		w->passed = w->cursor.end;
	}
	if (!w->passed || !w->taker->past)
		return;
	rc = w->taker->past(w->data, w->acct->past, &w->error);
	w->failed = rc < 0;
	w->cursor.end = rc == 0;
}

static void work_done(void *arg)
{
	struct walk *w = arg;
	struct call *call = w->call ? call_find(w->acct->c, w->call) : NULL;

	w->job = NULL;
	w->ready = true;
	if (call)
		call_go_on(w->acct->c, call);
	else
		walk_free(w);
}

static void work_drop(void *arg)
{
	struct walk *w = arg;

	w->job = NULL;
	if (!w->call)
		walk_free(w);
}

static const struct worker_ops work_ops = { work_run, work_done, work_drop };

/* All up to `upto` is told. */
static void wait_for_news(struct ctld *c, struct call *call, struct walk *w)
{
	struct asker asker = { c, call };
	struct acct_out out = out_of(&asker, w->arena);

	w->taker->caught_up(&out, w->data, w->upto);
	w->events.by_seq = true;
	w->events.after = w->upto;
	w->cursor = (struct past_cursor){ 0 };
	w->phase = WALK_WAIT;
	w->acct->n_waiting++;
	/* The other waiting walks learn of new events earlier, and none gets one twice. */
	w->acct->told = w->upto;
	check_for_news(w->acct);
}

static void slice_past(struct ctld *c, struct call *call, struct walk *w)
{
	struct error err;

	if (w->ready) {
		w->ready = false;
		if (w->failed) {
			finish(c, call, w, &w->error);
			return;
		}
		end_slice(c, call, w);
		if (w->cursor.end && w->follow && w->missing.code == ERR_NONE) {
			wait_for_news(c, call, w);
			return;
		}
		if (w->cursor.end) {
			finish(c, call, w, NULL);
			return;
		}
	}
	w->job = worker_submit(w->acct->pool, w->uid, &work_ops, w, &err);
	if (!w->job)
		finish(c, call, w, &err);
}

/* --- the walk as a call --------------------------------------------------------------------- */

static void slice(struct ctld *c, struct call *call, struct clocks now)
{
	struct walk *w = call->data;
	struct error err;

	if (w->follow && w->generation != c->generation) {
		error_set(&err, ERR_BUSY, "the configuration was read again: who may see what?");
		finish(c, call, w, &err);
		return;
	}
	if (w->phase == WALK_LIVING && !w->query)
		leave_living(c, w);
	else if (w->phase == WALK_LIVING)
		slice_living(c, call, w, now);
	else if (w->phase == WALK_PAST && !w->job)
		slice_past(c, call, w);
}

/* The call has ended, one way or the other. */
static void walk_drop(void *data)
{
	struct walk *w = data;

	w->call = 0;
	if (w->job)
		worker_cancel(w->job); /* frees it, now or when the thread has done its slice */
	else
		walk_free(w);
}

static const struct call_ops walk_ops = { .slice = slice, .free = walk_drop };

static unsigned walks_of(const struct acct *a, uid_t uid, bool follow)
{
	const struct walk *w;
	unsigned n = 0;

	LIST_FOREACH (w, &a->walks, next)
		n += w->uid == uid && w->call && w->follow == follow;
	return n;
}

static void begin_walk(struct ctld *c, const struct rpc *rpc, const struct walk *from)
{
	struct acct *a = c->acct;
	struct error err;
	struct call *call;
	struct walk *w;
	unsigned max = from->follow ? ACCT_FOLLOW_MAX : ACCT_WALKS_MAX;

	if (walks_of(a, peer_acts_as(rpc->peer), from->follow) >= max) {
		error_set(
		        &err, ERR_BUSY, "%u questions of yours about the past are under way", max);
		rpc_reply(c, rpc, &err);
		from->taker->free(from->data);
		acct_query_free(from->query);
		visibility_free(from->visibility);
		return;
	}
	w = xmemdup(from, sizeof(*from));
	w->acct = a;
	w->uid = peer_acts_as(rpc->peer);
	w->generation = c->generation;
	w->batch = batch_new();
	w->arena = arena_new(WIRE_ARENA_CAP);
	LIST_INSERT_HEAD(&a->walks, w, next);
	a->stats.walks++;
	a->stats.open++;
	call = call_new(c, rpc->peer, rpc->id, &walk_ops, w);
	if (!call)
		return;
	w->call = call->number;
	call_go_on(c, call);
}

static bool find_in_core(void *arg, uint64_t id, uint64_t *array, uint32_t *task)
{
	return core_raw_task(arg, id, array, task);
}

void acct_walk(struct ctld *c, const struct rpc *rpc, struct acct_query *query,
        const struct acct_taker *taker, void *data)
{
	const struct walk from = { .query = query,
		.found_tasks = !acct_query_past(query)->ids,
		.taker = taker,
		.data = data };
	size_t at = 0;
	struct error err;

	if (acct_query_find_tasks(query, find_in_core, (void *)(uintptr_t)c->core, &at, SIZE_MAX,
	            &err) == 0) {
		begin_walk(c, rpc, &from);
		return;
	}
	rpc_reply(c, rpc, &err);
	taker->free(data);
	acct_query_free(query);
}

void acct_walk_events(struct ctld *c, const struct rpc *rpc, const struct past_events *events,
        bool follow, struct visibility *visibility, const struct acct_taker *taker, void *data)
{
	const struct walk from = { .events = *events,
		.follow = follow,
		.visibility = visibility,
		.hidden = c->conf->roles.private_jobs,
		.taker = taker,
		.data = data };

	begin_walk(c, rpc, &from);
}

void acct_work(struct ctld *c, const struct rpc *rpc, const struct acct_taker *taker, void *data)
{
	const struct walk from = { .taker = taker, .data = data };
	struct error err;
	struct walk *w;

	LIST_FOREACH (w, &c->acct->walks, next)
		if (w->taker == taker) {
			error_set(&err, ERR_BUSY, "another request of this kind is in progress");
			rpc_reply(c, rpc, &err);
			taker->free(data);
			return;
		}
	begin_walk(c, rpc, &from);
}
