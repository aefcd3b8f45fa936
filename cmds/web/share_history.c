/* share_history.c - see share_history.h */
#include "cmds/web/share_history.h"

#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cmds/web/snapshot.h"
#include "common/base/xalloc.h"

#define UNKNOWN UINT16_MAX
#define SCALE   (UINT16_MAX - 1)
#define SLOTS_BACK 12 /* set back by more than that, a clock begins the history anew */

/* Slots are numbered by the clock: that of a moment is moment / SHARE_STEP_S. */
struct line {
	char *account, *user;
	int64_t seen; /* the slot of its last known sample */
	uint16_t v[SHARE_SLOTS];
};

struct share_history {
	pthread_mutex_t lock;
	int64_t first, last; /* slots; 0: none */
	struct line *lines[SHARE_LINES];
	size_t n;
};

struct share_history *share_history_new(void)
{
	struct share_history *h = xcalloc(1, sizeof(*h));

	pthread_mutex_init(&h->lock, NULL);
	return h;
}

static void line_free(struct line *l)
{
	free(l->account);
	free(l->user);
	free(l);
}

static void forget(struct share_history *h)
{
	while (h->n)
		line_free(h->lines[--h->n]);
	h->first = h->last = 0;
}

void share_history_free(struct share_history *h)
{
	if (!h)
		return;
	forget(h);
	pthread_mutex_destroy(&h->lock);
	free(h);
}

/* Lines come in the same order each time: the search begins behind the one found before. NULL:
 * there is none. */
static struct line *find(
        const struct share_history *h, size_t *from, const char *account, const char *user)
{
	for (size_t i = 0; i < h->n; i++) {
		size_t at = (*from + i) % h->n;
		struct line *l = h->lines[at];

		if (!strcmp(l->account, account) && !strcmp(l->user, user)) {
			*from = at + 1;
			return l;
		}
	}
	return NULL;
}

static struct line *add(struct share_history *h, const char *account, const char *user)
{
	struct line *l;

	if (h->n == SHARE_LINES)
		return NULL;
	l = xcalloc(1, sizeof(*l));
	l->account = xstrdup(account);
	l->user = xstrdup(user);
	memset(l->v, 0xff, sizeof(l->v));
	return h->lines[h->n++] = l;
}

/* The slots since the last sample are not known, and lines without any other are dropped. */
static void begin_slot(struct share_history *h, int64_t slot)
{
	int64_t from = slot - h->last < SHARE_SLOTS ? h->last + 1 : slot - SHARE_SLOTS + 1;
	size_t kept = 0;

	for (size_t i = 0; i < h->n; i++) {
		struct line *l = h->lines[i];

		if (slot - l->seen >= SHARE_SLOTS) {
			line_free(l);
			continue;
		}
		for (int64_t s = from; s <= slot; s++)
			l->v[s % SHARE_SLOTS] = UNKNOWN;
		h->lines[kept++] = l;
	}
	h->n = kept;
}

static uint16_t packed(double v)
{
	return v >= 0 && v <= 1 ? (uint16_t)lround(v * SCALE) : v > 1 ? SCALE : UNKNOWN;
}

void share_history_note(struct share_history *h, const struct snapshot *snap)
{
	int64_t slot = snap->taken_us / (SHARE_STEP_S * INT64_C(1000000));
	size_t at = 0;

	/* Only this thread changes it. A clock that was set back a little comes to h->last
	 * again. */
	if (!snap->n_shares || (slot <= h->last && h->last - slot < SLOTS_BACK))
		return;
	pthread_mutex_lock(&h->lock);
	if (slot < h->last)
		forget(h);
	begin_slot(h, slot);
	h->first = h->first ? h->first : slot;
	h->last = slot;
	for (size_t i = 0; i < snap->n_shares; i++) {
		const Gpusched__Share *s = snap->shares[i];
		struct line *l = find(h, &at, s->account, s->user);

		if (!l && !(l = add(h, s->account, s->user)))
			continue;
		l->seen = slot;
		l->v[slot % SHARE_SLOTS] = packed(*s->user ? s->fair_share : s->effective);
	}
	pthread_mutex_unlock(&h->lock);
}

int64_t share_history_get(struct share_history *h, const char *account, const char *user,
        struct share_samples *out)
{
	const struct line *l;
	size_t at = 0;
	int64_t since;

	out->n = 0;
	pthread_mutex_lock(&h->lock);
	l = find(h, &at, account, user);
	since = h->last - h->first < SHARE_SLOTS ? h->first : h->last - SHARE_SLOTS + 1;
	for (int64_t s = since; l && s <= h->last; s++) {
		uint16_t v = l->v[s % SHARE_SLOTS];

		if (v == UNKNOWN && !out->n)
			continue;
		out->at[out->n] = (double)(s * SHARE_STEP_S);
		out->v[out->n++] = v == UNKNOWN ? NAN : (double)v / SCALE;
	}
	pthread_mutex_unlock(&h->lock);
	return since * SHARE_STEP_S;
}
