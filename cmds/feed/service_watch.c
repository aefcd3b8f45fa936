/* service_watch.c - see service_watch.h */
#include "cmds/feed/service_watch.h"

#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cmds/api/client.h"
#include "cmds/api/service.h"
#include "cmds/feed/poll_interval.h"
#include "common/base/backoff.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "common/net/dial.h"

#define PAUSE_MIN_MS 20
#define PAUSE_MAX_MS 1000

struct service_watch {
	struct service_watch_which which;
	struct client *asks, *waits;
	char *user;          /* only this user's services; owned; NULL: all users' */
	uint64_t request;    /* the watch that is under way on `waits`; 0: none */
	uint64_t cursor;     /* of what was told */
	bool due;            /* to be asked for */
	int64_t poll_ms;     /* asked for then at the latest */
	int64_t rest_ms;     /* and not before */
	struct poll_interval rest;
	int64_t again_ms;    /* after a failure: not before */
	struct backoff backoff;
	struct error left_out; /* what was said last */
};

struct service_watch *service_watch_new(const struct service_watch_which *which, struct error *err)
{
	struct service_watch *s = xcalloc(1, sizeof(*s));
	struct passwd *me = which->mine ? getpwuid(geteuid()) : NULL;

	s->which = *which;
	if (which->mine)
		s->user = me ? xstrdup(me->pw_name) : xasprintf("uid %u", (unsigned)geteuid());
	s->asks = client_new(NULL, err);
	s->waits = s->asks ? client_new(NULL, err) : NULL;
	if (!s->waits) {
		service_watch_free(s);
		return NULL;
	}
	/* Pauses are made here, not by the client, because there is other work in between. */
	client_set_retry(s->asks, 0);
	client_set_retry(s->waits, 0);
	backoff_init(&s->backoff, PAUSE_MIN_MS, PAUSE_MAX_MS,
	        (uint64_t)clock_us(CLOCK_MONOTONIC) ^ ((uint64_t)getpid() << 32));
	return s;
}

void service_watch_free(struct service_watch *s)
{
	if (!s)
		return;
	client_free(s->asks);
	client_free(s->waits);
	free(s->user);
	free(s);
}

const char *service_watch_cluster(const struct service_watch *s)
{
	return client_conf(s->asks)->cluster;
}

/* --- the watch -------------------------------------------------------------------------------- */

static void stop_watch(struct service_watch *s)
{
	client_drop(s->waits);
	s->request = 0;
}

/* Of all replicas of the services, also of those that there are not yet. */
static int start_watch(struct service_watch *s, struct error *err)
{
	Gpusched__WatchJobs m = GPUSCHED__WATCH_JOBS__INIT;
	Gpusched__JobFilter filter = GPUSCHED__JOB_FILTER__INIT;
	char *any[] = { "*" };
	struct dial *d;

	stop_watch(s);
	filter.services = s->which.n ? (char **)(uintptr_t)s->which.names : any;
	filter.n_services = s->which.n ? s->which.n : 1;
	filter.users = &s->user;
	filter.n_users = s->user != NULL;
	m.filter = &filter;
	m.since = s->cursor;
	d = client_dial(s->waits, err);
	if (d)
		s->request = dial_send(d, GPUSCHED__MSG_TYPE__MSG_WATCH_JOBS, &m.base, err);
	return s->request ? dial_flush(d, PAUSE_MAX_MS, err) : -1;
}

static void note_cursor(struct service_watch *s, const struct frame *f)
{
	Gpusched__JobChunk *chunk = gpusched__job_chunk__unpack(NULL, f->len, f->body);

	if (chunk && chunk->cursor)
		s->cursor = chunk->cursor;
	if (chunk)
		gpusched__job_chunk__free_unpacked(chunk, NULL);
}

static void nap(int64_t ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

	if (ms > 0)
		nanosleep(&t, NULL);
}

/* For a change; what has come with it is the same one. */
static int wait_for_change(struct service_watch *s, int ms, struct error *err)
{
	struct dial *d = client_dial(s->waits, err);
	struct frame f;
	int rc;

	if (!d)
		return -1;
	while ((rc = dial_recv(d, &f, ms, err)) > 0) {
		s->due = true;
		if (f.type == GPUSCHED__MSG_TYPE__MSG_REPLY) {
			stop_watch(s); /* what the caller may see has changed */
			return 0;
		}
		note_cursor(s, &f);
		ms = 0;
	}
	return rc;
}

/* --- the question ----------------------------------------------------------------------------- */

struct answer {
	struct service_watch *source;
	struct feed *feed;
};

static int on_service(const Gpusched__Service *service, void *arg, struct error *err)
{
	struct answer *a = arg;
	struct service_watch *s = a->source;
	struct error why;

	(void)err;
	if (feed_add(a->feed, service, &why) < 0 && strcmp(why.text, s->left_out.text) != 0) {
		log_warning("left out: %s", why.text);
		s->left_out = why;
	}
	return 0;
}

static int ask_for(struct answer *a, char *const *names, size_t n, struct error *err)
{
	struct service_query query = {
		.names = names, .n = n, .mine = a->source->which.mine, .replicas = true
	};

	return service_list(a->source->asks, &query, on_service, a, err);
}

/* One of several services is unknown: ask for them one by one to find out which. */
static int ask_one_by_one(struct answer *a, struct error *err)
{
	for (size_t i = 0; i < a->source->which.n; i++) {
		struct error why;

		if (ask_for(a, &a->source->which.names[i], 1, &why) < 0 &&
		        why.code != ERR_NO_SERVICE) {
			*err = why;
			return -1;
		}
	}
	return 0;
}

int service_watch_ask(struct service_watch *s, struct feed *out, struct error *err)
{
	struct answer a = { s, out };
	int rc;

	*out = (struct feed){ .n = 0 };
	rc = ask_for(&a, s->which.names, s->which.n, err);
	if (rc < 0 && err->code == ERR_NO_SERVICE) {
		feed_clear(out);
		rc = ask_one_by_one(&a, err);
	}
	if (rc < 0) {
		feed_clear(out);
		return -1;
	}
	for (size_t i = 0; i < s->which.n; i++)
		feed_add_unknown(out, s->which.names[i]);
	return 0;
}

/* --- both ------------------------------------------------------------------------------------- */

static int attempt(struct service_watch *s, int ms, struct feed *out, struct error *err)
{
	int64_t now = clock_ms(CLOCK_MONOTONIC);

	/* Starts before the question, so that no change after the question is missed. */
	if (!s->request && start_watch(s, err) < 0)
		return -1;
	if (!s->due && now < s->poll_ms) {
		if (s->poll_ms - now < ms)
			ms = (int)(s->poll_ms - now);
		if (wait_for_change(s, ms, err) < 0)
			return -1;
	} else if (now < s->rest_ms) {
		nap(s->rest_ms - now < ms ? s->rest_ms - now : ms);
	}
	now = clock_ms(CLOCK_MONOTONIC);
	if (now < s->rest_ms || (!s->due && now < s->poll_ms))
		return 0;
	if (service_watch_ask(s, out, err) < 0)
		return -1;
	s->due = false;
	s->poll_ms = now + SERVICE_WATCH_POLL_MS;
	s->rest_ms = clock_ms(CLOCK_MONOTONIC) +
	             poll_interval_after(&s->rest, clock_ms(CLOCK_MONOTONIC) - now);
	return 1;
}

int service_watch_wait(struct service_watch *s, int ms, struct feed *out, struct error *err)
{
	int64_t now = clock_ms(CLOCK_MONOTONIC);
	int rc;

	if (now < s->again_ms) {
		nap(s->again_ms - now < ms ? s->again_ms - now : ms);
		return 0;
	}
	rc = attempt(s, ms, out, err);
	if (rc >= 0) {
		if (rc > 0)
			backoff_reset(&s->backoff);
		return rc;
	}
	client_drop(s->asks);
	stop_watch(s);
	s->due = true;
	s->again_ms = clock_ms(CLOCK_MONOTONIC) + backoff_next_ms(&s->backoff);
	return -1;
}
