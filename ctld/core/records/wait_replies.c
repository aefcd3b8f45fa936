/* wait_replies.c - see wait_replies.h
 *
 * Two tables over the same objects: a wait stands in the chain of its job and in that of its reply.
 * So a job that ends and a client that goes both find theirs without a search, and taking one out
 * of both is O(1). A chain exists as long as something is in it.
 */
#include "ctld/core/records/wait_replies.h"

#include <stdlib.h>

#include "common/base/xalloc.h"
#include "ctld/core/util/hash.h"
#include "ctld/core/util/table.h"

struct wait {
	uint64_t job, reply;
	struct chain *of_job, *of_reply;
	struct wait *next_of_job, *prev_of_job, *next_of_reply, *prev_of_reply;
};

struct chain {
	uint64_t key;
	struct wait *first, *last;
};

struct wait_replies {
	struct table *by_job, *by_reply;
	size_t n;
};

static uint64_t chain_hash(const void *item, uint64_t seed)
{
	return hash_u64(((const struct chain *)item)->key, seed);
}

static bool chain_equal(const void *item, const void *key)
{
	return ((const struct chain *)item)->key == *(const uint64_t *)key;
}

struct wait_replies *wait_replies_new(uint64_t seed)
{
	struct wait_replies *w = xcalloc(1, sizeof(*w));

	w->by_job = table_new(chain_hash, seed);
	w->by_reply = table_new(chain_hash, seed);
	return w;
}

static struct chain *chain_find(const struct table *t, uint64_t key)
{
	return table_find(t, hash_u64(key, table_seed(t)), chain_equal, &key);
}

static struct chain *chain_want(struct table *t, uint64_t key)
{
	struct chain *c = chain_find(t, key);

	if (!c) {
		c = xcalloc(1, sizeof(*c));
		c->key = key;
		table_add(t, c);
	}
	return c;
}

void wait_replies_add(struct wait_replies *w, uint64_t job, uint64_t reply)
{
	struct wait *wait = xcalloc(1, sizeof(*wait));
	struct chain *j = chain_want(w->by_job, job), *r = chain_want(w->by_reply, reply);

	*wait = (struct wait){ .job = job,
		.reply = reply,
		.of_job = j,
		.of_reply = r,
		.prev_of_job = j->last,
		.prev_of_reply = r->last };
	*(j->last ? &j->last->next_of_job : &j->first) = wait;
	j->last = wait;
	*(r->last ? &r->last->next_of_reply : &r->first) = wait;
	r->last = wait;
	w->n++;
}

static void chain_drop(struct table *t, struct chain *c)
{
	if (c->first)
		return;
	table_remove(t, c);
	free(c);
}

/* Out of both chains; empty ones go too. */
static void drop(struct wait_replies *w, struct wait *x)
{
	*(x->prev_of_job ? &x->prev_of_job->next_of_job : &x->of_job->first) = x->next_of_job;
	*(x->next_of_job ? &x->next_of_job->prev_of_job : &x->of_job->last) = x->prev_of_job;
	*(x->prev_of_reply ? &x->prev_of_reply->next_of_reply : &x->of_reply->first) =
	        x->next_of_reply;
	*(x->next_of_reply ? &x->next_of_reply->prev_of_reply : &x->of_reply->last) =
	        x->prev_of_reply;
	chain_drop(w->by_job, x->of_job);
	chain_drop(w->by_reply, x->of_reply);
	free(x);
	w->n--;
}

bool wait_replies_take(struct wait_replies *w, uint64_t job, uint64_t *reply)
{
	struct chain *c = chain_find(w->by_job, job);

	if (!c)
		return false;
	*reply = c->first->reply;
	drop(w, c->first);
	return true;
}

void wait_replies_cancel(struct wait_replies *w, uint64_t reply)
{
	struct chain *c;

	while ((c = chain_find(w->by_reply, reply)))
		drop(w, c->first);
}

size_t wait_replies_count(const struct wait_replies *w)
{
	return w->n;
}

void wait_replies_free(struct wait_replies *w)
{
	size_t cursor = 0;
	struct chain *c;

	if (!w)
		return;
	while ((c = table_each(w->by_job, &cursor))) {
		struct wait *x = c->first, *next;

		for (; x; x = next) {
			next = x->next_of_job;
			free(x);
		}
		free(c);
	}
	for (cursor = 0; (c = table_each(w->by_reply, &cursor));)
		free(c);
	table_free(w->by_job);
	table_free(w->by_reply);
	free(w);
}
