/* commit_gate.c - see commit_gate.h */
#include "ctld/loop/commit_gate.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "common/base/xalloc.h"
#include "ctld/core/util/idmap.h"

struct commit_gate_slot {
	STAILQ_ENTRY(commit_gate_slot) next;
	struct commit_gate *gate;
	uint64_t session, change;
	uint8_t *frames; /* owned */
	size_t len;
	bool ready;
};

STAILQ_HEAD(slots, commit_gate_slot);

/* Of one user; kept when it is empty. */
struct line {
	TAILQ_ENTRY(line) next; /* in the ring, if it is there */
	bool waits;             /* is in the ring */
	struct slots queue;
};

struct commit_gate {
	struct slots agents;
	struct idmap *users; /* their lines */
	TAILQ_HEAD(ring, line)
	ring; /* of those that hold something: the next to be released first */
	size_t n_ring;
	commit_gate_send_fn *send;
	void *arg;
	uint64_t committed;
	uint64_t youngest; /* the change of the last slot: they never go back */
	struct commit_gate_stats stats;
};

struct commit_gate *commit_gate_new(commit_gate_send_fn *send, void *arg)
{
	struct commit_gate *g = xcalloc(1, sizeof(*g));

	STAILQ_INIT(&g->agents);
	g->users = idmap_new();
	TAILQ_INIT(&g->ring);
	g->send = send;
	g->arg = arg;
	return g;
}

static void drop_all(struct slots *queue)
{
	struct commit_gate_slot *slot;

	while ((slot = STAILQ_FIRST(queue))) {
		STAILQ_REMOVE_HEAD(queue, next);
		free(slot->frames);
		free(slot);
	}
}

void commit_gate_free(struct commit_gate *g)
{
	struct line *line;

	if (!g)
		return;
	drop_all(&g->agents);
	while ((line = idmap_take_any(g->users))) {
		drop_all(&line->queue);
		free(line);
	}
	idmap_free(g->users);
	free(g);
}

static struct line *line_of(struct commit_gate *g, uint64_t user)
{
	struct line *line = idmap_find(g->users, user);

	if (line)
		return line;
	line = xcalloc(1, sizeof(*line));
	STAILQ_INIT(&line->queue);
	idmap_insert(g->users, user, line);
	return line;
}

static void send_frames(struct commit_gate *g, uint64_t session, const uint8_t *frames, size_t len)
{
	g->stats.sent++;
	g->stats.sent_bytes += len;
	g->send(g->arg, session, frames, len);
}

static void line_up(struct commit_gate *g, uint64_t line, struct commit_gate_slot *slot)
{
	struct line *user;

	if (line == COMMIT_GATE_AGENTS) {
		STAILQ_INSERT_TAIL(&g->agents, slot, next);
		return;
	}
	user = line_of(g, line);
	if (!user->waits) {
		user->waits = true;
		TAILQ_INSERT_TAIL(&g->ring, user, next);
		g->n_ring++;
	}
	STAILQ_INSERT_TAIL(&user->queue, slot, next);
}

struct commit_gate_slot *commit_gate_reserve(
        struct commit_gate *g, uint64_t line, uint64_t session, uint64_t change)
{
	struct commit_gate_slot *slot = xcalloc(1, sizeof(*slot));

	assert(change >= g->youngest);
	g->youngest = change;
	slot->gate = g;
	slot->session = session;
	slot->change = change;
	line_up(g, line, slot);
	if (++g->stats.held > g->stats.max_held)
		g->stats.max_held = g->stats.held;
	return slot;
}

void commit_gate_fill(struct commit_gate_slot *slot, uint8_t *frames, size_t len)
{
	assert(!slot->ready);
	slot->ready = true;
	slot->frames = frames;
	slot->len = len;
	slot->gate->stats.held_bytes += len;
}

static bool is_empty(const struct commit_gate *g, uint64_t line)
{
	const struct line *user;

	if (line == COMMIT_GATE_AGENTS)
		return STAILQ_EMPTY(&g->agents);
	user = idmap_find(g->users, line);
	return !user || STAILQ_EMPTY(&user->queue);
}

void commit_gate_put(struct commit_gate *g, uint64_t line, uint64_t session, uint64_t change,
        uint8_t *frames, size_t len)
{
	if (change > g->committed || !is_empty(g, line)) {
		commit_gate_fill(commit_gate_reserve(g, line, session, change), frames, len);
		return;
	}
	g->stats.sent_at_once++;
	send_frames(g, session, frames, len);
	free(frames);
}

/* The head of a line, if it may go. */
static struct commit_gate_slot *due(const struct commit_gate *g, const struct slots *queue)
{
	struct commit_gate_slot *slot = STAILQ_FIRST(queue);

	return slot && slot->ready && slot->change <= g->committed ? slot : NULL;
}

/* Send what is due of a line, `most` frames at most; returns how many. */
static unsigned release(struct commit_gate *g, struct slots *queue, unsigned most)
{
	struct commit_gate_slot *slot;
	unsigned n;

	for (n = 0; n < most && (slot = due(g, queue)); n++) {
		STAILQ_REMOVE_HEAD(queue, next);
		g->stats.held--;
		g->stats.held_bytes -= slot->len;
		if (slot->len)
			send_frames(g, slot->session, slot->frames, slot->len);
		free(slot->frames);
		free(slot);
	}
	return n;
}

/* Go round the users' lines until `most` frames are sent or nothing is due. Sending may put more
 * behind; a line that is empty then leaves the ring. */
static unsigned release_users(struct commit_gate *g, unsigned most)
{
	unsigned sent = 0;
	size_t idle = 0;

	while (sent < most && idle < g->n_ring) {
		struct line *line = TAILQ_FIRST(&g->ring);
		unsigned turn = most - sent < COMMIT_GATE_TURN ? most - sent : COMMIT_GATE_TURN;
		unsigned n = release(g, &line->queue, turn);

		TAILQ_REMOVE(&g->ring, line, next);
		line->waits = !STAILQ_EMPTY(&line->queue);
		if (line->waits)
			TAILQ_INSERT_TAIL(&g->ring, line, next);
		else
			g->n_ring--;
		idle = n ? 0 : idle + 1;
		sent += n;
	}
	return sent;
}

static bool is_due(const struct commit_gate *g)
{
	const struct line *line;

	TAILQ_FOREACH (line, &g->ring, next)
		if (due(g, &line->queue))
			return true;
	return due(g, &g->agents) != NULL;
}

bool commit_gate_release(struct commit_gate *g, uint64_t committed)
{
	unsigned sent;

	assert(committed >= g->committed);
	g->committed = committed;
	sent = release(g, &g->agents, COMMIT_GATE_SLICE / 2);
	sent += release_users(g, COMMIT_GATE_SLICE - sent);
	sent += release(g, &g->agents, COMMIT_GATE_SLICE - sent);
	return sent == COMMIT_GATE_SLICE && is_due(g);
}

uint64_t commit_gate_committed(const struct commit_gate *g)
{
	return g->committed;
}

void commit_gate_stats(const struct commit_gate *g, struct commit_gate_stats *out)
{
	*out = g->stats;
}
