/* service_finder.c - see service_finder.h */
#include "cmds/feed/service_finder.h"

#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmds/api/client.h"
#include "cmds/api/service.h"
#include "cmds/feed/endpoints.h"
#include "cmds/feed/service_watch.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "common/net/worker.h"

enum key { LOOKS = 1, WAKES };

struct service_finder {
	struct worker_pool *pool;
	struct service_watch *source; /* of the thread that looks, while it does */
	struct client *client; /* of the thread that wakes, while it does */
	char *const *names;
	size_t n;
	struct service_finder_ops ops;
	bool looks, wakes;             /* under way */
	bool look_failed, wake_failed; /* it was said */
	struct word {
		uint32_t held;
		bool due;
	} * words; /* what is to be told, of each service */
};

/* --- where it answers ------------------------------------------------------------------------- */

struct look {
	struct service_finder *finder;
	struct found {
		enum service_finder_state state;
		struct service_finder_address *v;
		size_t n;
	} * found; /* of each service */
	int rc;
	struct error err;
};

static void look_free(void *arg)
{
	struct look *l = arg;

	for (size_t i = 0; i < l->finder->n; i++)
		free(l->found[i].v);
	free(l->found);
	free(l);
}

static void add_address(struct found *f, const struct endpoint *e)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV }, *all;
	char port[8];

	snprintf(port, sizeof(port), "%u", e->ports[0]);
	if (getaddrinfo(e->address, port, &hints, &all) != 0)
		return;
	f->v = xrealloc(f->v, f->n + 1, sizeof(*f->v));
	memcpy(&f->v[f->n].to, all->ai_addr, all->ai_addrlen);
	f->v[f->n++].len = all->ai_addrlen;
	freeaddrinfo(all);
}

static enum service_finder_state state_of(const struct feed_service *s)
{
	if (!s || !strcmp(s->state, SERVICE_UNKNOWN))
		return SERVICE_FINDER_UNKNOWN;
	return strcmp(s->state, "STOPPED") != 0 ? SERVICE_FINDER_STANDS
	                                        : SERVICE_FINDER_STOPPED;
}

static void look_run(void *arg)
{
	struct look *l = arg;
	struct feed feed;

	l->rc = service_watch_ask(l->finder->source, &feed, &l->err);
	if (l->rc < 0)
		return;
	for (size_t i = 0; i < l->finder->n; i++) {
		const struct feed_service *s = feed_find(&feed, l->finder->names[i]);

		l->found[i].state = state_of(s);
		for (size_t k = 0; s && k < s->n; k++)
			if (s->v[k].serves)
				add_address(&l->found[i], &s->v[k]);
	}
	feed_clear(&feed);
}

static void look_done(void *arg)
{
	struct look *l = arg;
	struct service_finder *a = l->finder;

	a->looks = false;
	if (l->rc < 0 && !a->look_failed)
		log_warning("services are asked for again and again: %s", l->err.text);
	a->look_failed = l->rc < 0;
	for (size_t i = 0; l->rc >= 0 && i < a->n; i++)
		a->ops.found(
		        a->ops.arg, i, l->found[i].state, l->found[i].v, l->found[i].n);
	look_free(l);
}

static const struct worker_ops look_ops = { look_run, look_done, look_free };

void service_finder_ask(struct service_finder *a)
{
	struct look *l;

	if (a->looks)
		return;
	l = xcalloc(1, sizeof(*l));
	l->finder = a;
	l->found = xcalloc(a->n, sizeof(*l->found));
	a->looks = worker_submit(a->pool, LOOKS, &look_ops, l, NULL);
	if (!a->looks)
		look_free(l);
}

/* --- waking ----------------------------------------------------------------------------------- */

struct wake {
	struct service_finder *finder;
	size_t service;
	uint32_t held;
	int rc;
	struct error err;
};

static void wake_run(void *arg)
{
	Gpusched__ServiceControl m = GPUSCHED__SERVICE_CONTROL__INIT;
	struct wake *w = arg;
	char reason[] = "";

	m.verb = GPUSCHED__SERVICE_CONTROL__VERB__WAKE;
	m.name = w->finder->names[w->service];
	m.held = w->held;
	m.reason = reason;
	w->rc = service_control(w->finder->client, &m, &w->err);
	/* The connection was older and had ended: the request did nothing, or it can be sent
	 * again. */
	if (w->rc < 0 && w->err.code == ERR_UNREACHABLE)
		w->rc = service_control(w->finder->client, &m, &w->err);
}

static void send_words(struct service_finder *a);

static void wake_done(void *arg)
{
	struct wake *w = arg;
	struct service_finder *a = w->finder;

	a->wakes = false;
	if (w->rc < 0 && !a->wake_failed)
		log_warning("service %s cannot be woken: %s", a->names[w->service], w->err.text);
	a->wake_failed = w->rc < 0;
	free(w);
	send_words(a);
}

static const struct worker_ops wake_ops = { wake_run, wake_done, free };

/* The next word that is due. */
static void send_words(struct service_finder *a)
{
	for (size_t i = 0; !a->wakes && i < a->n; i++) {
		struct wake *w;

		if (!a->words[i].due)
			continue;
		w = xcalloc(1, sizeof(*w));
		*w = (struct wake){ .finder = a, .service = i, .held = a->words[i].held };
		a->words[i].due = false;
		a->wakes = worker_submit(a->pool, WAKES, &wake_ops, w, NULL);
		if (!a->wakes) {
			free(w);
			return;
		}
	}
}

void service_finder_wake(struct service_finder *a, size_t service, uint32_t held)
{
	a->words[service] = (struct word){ held, true };
	send_words(a);
}

/* --- both ------------------------------------------------------------------------------------- */

struct service_finder *service_finder_new(struct event_base *base, char *const *names, size_t n,
        const struct service_finder_ops *ops, struct error *err)
{
	const struct worker_limits limits = { .threads = 2, .max_queued = 4, .max_per_key = 2 };
	const struct service_watch_which which = { .names = names, .n = n };
	struct service_finder *a = xcalloc(1, sizeof(*a));

	*a = (struct service_finder){ .names = names, .n = n, .ops = *ops };
	a->words = xcalloc(n, sizeof(*a->words));
	a->source = service_watch_new(&which, err);
	a->client = a->source ? client_new(NULL, err) : NULL;
	a->pool = a->client ? worker_pool_new(base, &limits, err) : NULL;
	if (!a->pool) {
		service_finder_free(a);
		return NULL;
	}
	client_set_retry(a->client, 0);
	return a;
}

void service_finder_free(struct service_finder *a)
{
	if (!a)
		return;
	worker_pool_free(a->pool);
	service_watch_free(a->source);
	client_free(a->client);
	free(a->words);
	free(a);
}
