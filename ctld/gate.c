/* gate.c - see gate.h */
#include "ctld/gate.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "common/xalloc.h"

struct gate_slot {
	STAILQ_ENTRY(gate_slot) next;
	struct gate *gate;
	uint64_t session, change;
	uint8_t *frames; /* owned */
	size_t len;
	bool ready;
};

struct gate {
	STAILQ_HEAD(, gate_slot) queue;
	gate_send_fn *send;
	void *arg;
	uint64_t committed;
	uint64_t youngest; /* the change of the last slot: they never go back */
	struct gate_stats stats;
};

struct gate *gate_new(gate_send_fn *send, void *arg)
{
	struct gate *g = xcalloc(1, sizeof(*g));

	STAILQ_INIT(&g->queue);
	g->send = send;
	g->arg = arg;
	return g;
}

void gate_free(struct gate *g)
{
	struct gate_slot *slot;

	if (!g)
		return;
	while ((slot = STAILQ_FIRST(&g->queue))) {
		STAILQ_REMOVE_HEAD(&g->queue, next);
		free(slot->frames);
		free(slot);
	}
	free(g);
}

static void send_frames(struct gate *g, uint64_t session, const uint8_t *frames, size_t len)
{
	g->stats.sent++;
	g->stats.sent_bytes += len;
	g->send(g->arg, session, frames, len);
}

struct gate_slot *gate_reserve(struct gate *g, uint64_t session, uint64_t change)
{
	struct gate_slot *slot = xcalloc(1, sizeof(*slot));

	assert(change >= g->youngest);
	g->youngest = change;
	slot->gate = g;
	slot->session = session;
	slot->change = change;
	STAILQ_INSERT_TAIL(&g->queue, slot, next);
	if (++g->stats.held > g->stats.max_held)
		g->stats.max_held = g->stats.held;
	return slot;
}

void gate_fill(struct gate_slot *slot, uint8_t *frames, size_t len)
{
	assert(!slot->ready);
	slot->ready = true;
	slot->frames = frames;
	slot->len = len;
	slot->gate->stats.held_bytes += len;
}

void gate_put(struct gate *g, uint64_t session, uint64_t change, uint8_t *frames, size_t len)
{
	if (change > g->committed || !STAILQ_EMPTY(&g->queue)) {
		gate_fill(gate_reserve(g, session, change), frames, len);
		return;
	}
	g->stats.sent_at_once++;
	send_frames(g, session, frames, len);
	free(frames);
}

/* The head of the queue, if it may go. */
static struct gate_slot *due(struct gate *g)
{
	struct gate_slot *slot = STAILQ_FIRST(&g->queue);

	return slot && slot->ready && slot->change <= g->committed ? slot : NULL;
}

bool gate_release(struct gate *g, uint64_t committed)
{
	struct gate_slot *slot;

	assert(committed >= g->committed);
	g->committed = committed;
	for (unsigned n = 0; n < GATE_SLICE && (slot = due(g)); n++) {
		STAILQ_REMOVE_HEAD(&g->queue, next);
		g->stats.held--;
		g->stats.held_bytes -= slot->len;
		if (slot->len)
			send_frames(g, slot->session, slot->frames, slot->len);
		free(slot->frames);
		free(slot);
	}
	return due(g) != NULL;
}

uint64_t gate_committed(const struct gate *g)
{
	return g->committed;
}

void gate_stats(const struct gate *g, struct gate_stats *out)
{
	*out = g->stats;
}
