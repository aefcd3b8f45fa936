/* http_workers.c - handlers that ask the controller, in threads
 *
 * The connection is suspended meanwhile: its request, headers and snapshot stay as they are, and
 * nothing else touches them. Each thread takes a client of those that are free: a connection is
 * used again, by one thread at a time.
 */
#include <stdlib.h>

#include "cmds/api/client.h"
#include "cmds/web/http_impl.h"
#include "common/base/xalloc.h"

#define RETRY_MS 1000

struct asks {
	struct http *http;
	struct worker_pool *pool;
	pthread_mutex_t lock;
	struct client *idle[HTTP_WORKERS];
	size_t n_idle;
};

static struct client *take_client(struct asks *a, struct error *err)
{
	struct client *c = NULL;

	pthread_mutex_lock(&a->lock);
	if (a->n_idle)
		c = a->idle[--a->n_idle];
	pthread_mutex_unlock(&a->lock);
	if (c)
		return c;
	c = client_new(a->http->config->client_conf, err);
	if (c)
		client_set_retry(c, RETRY_MS);
	return c;
}

static void give_client(struct asks *a, struct client *c)
{
	pthread_mutex_lock(&a->lock);
	if (a->n_idle < HTTP_WORKERS) {
		a->idle[a->n_idle++] = c;
		c = NULL;
	}
	pthread_mutex_unlock(&a->lock);
	client_free(c);
}

static void run(void *arg)
{
	struct http_call *call = arg;
	struct asks *a = call->http->asks;
	struct error err;

	call->r.client = take_client(a, &err);
	if (!call->r.client) {
		http_answer_error(&call->a, http_status_of(&err), "%s", err.text);
		return;
	}
	if (call->identify)
		http_call_identify(call);
	if (call->route->kind == HTTP_ASKS && call->a.status == 200)
		call->route->handler(&call->r, &call->a);
	else
		call->retry = call->a.status == 200; /* it is for the loop */
	give_client(a, call->r.client);
	call->r.client = NULL;
}

static void done(void *arg)
{
	struct http_call *call = arg;

	call->job = NULL;
	MHD_resume_connection(call->c);
	if (call->conn)
		http_kick(call->conn->listener);
}

/* The server ends. */
static void drop(void *arg)
{
	struct http_call *call = arg;

	http_answer_error(&call->a, 503, "the server ends");
	done(call);
}

static const struct worker_ops ops = { .run = run, .done = done, .drop = drop };

int asks_submit(struct http_call *call, struct error *err)
{
	uint64_t key = call->viewer ? (uint64_t)call->viewer->uid << 1 | 1
	                                  : (uint64_t)(call->conn ? call->conn->bucket : 0) << 1;

	call->job = worker_submit(call->http->asks->pool, key, &ops, call, err);
	if (!call->job)
		return -1;
	MHD_suspend_connection(call->c);
	return 0;
}

struct asks *asks_new(struct http *h, struct error *err)
{
	static const struct worker_limits limits = { HTTP_WORKERS, HTTP_ASKS_MAX,
		HTTP_ASKS_A_VIEWER };
	struct asks *a = xcalloc(1, sizeof(*a));

	a->http = h;
	pthread_mutex_init(&a->lock, NULL);
	a->pool = worker_pool_new(h->base, &limits, err);
	if (!a->pool) {
		asks_free(a);
		return NULL;
	}
	return a;
}

void asks_free(struct asks *a)
{
	if (!a)
		return;
	worker_pool_free(a->pool);
	while (a->n_idle)
		client_free(a->idle[--a->n_idle]);
	pthread_mutex_destroy(&a->lock);
	free(a);
}
