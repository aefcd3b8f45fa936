/* health.c - see health.h */
#include "cmds/services/health.h"

#include <stdio.h>
#include <string.h>

void health_begin(struct health *h, unsigned fails, int64_t load_until_ms)
{
	*h = (struct health){ .fails = fails, .load_until_ms = load_until_ms };
}

const char *health_word(enum health_state state)
{
	static const char *const words[] = { "loading", "ready", "unready" };

	return words[state];
}

static enum health_news become(struct health *h, enum health_state state, const char *text)
{
	bool same = h->state == state && strncmp(h->text, text, sizeof(h->text) - 1) == 0;

	h->state = state;
	snprintf(h->text, sizeof(h->text), "%s", text);
	return same || h->draining ? HEALTH_SAME : HEALTH_TELL;
}

enum health_news health_ready(struct health *h, bool well, const char *text)
{
	if (well) {
		h->ready_failed = 0;
		h->was_ready = true;
		return become(h, HEALTH_READY, "");
	}
	if (h->ready_failed < h->fails)
		h->ready_failed++;
	if (h->state == HEALTH_READY && h->ready_failed < h->fails)
		return HEALTH_SAME;
	return become(h, h->was_ready ? HEALTH_UNREADY : HEALTH_LOADING, text);
}

enum health_news health_live(struct health *h, bool well, const char *text)
{
	if (well || !h->was_ready) {
		h->live_failed = 0;
		return HEALTH_SAME;
	}
	if (h->live_failed < h->fails)
		h->live_failed++;
	if (h->live_failed < h->fails || h->draining)
		return HEALTH_SAME;
	snprintf(h->text, sizeof(h->text), "its live probe failed %u times in a row: %.180s",
	        h->live_failed, text);
	return HEALTH_END;
}

int64_t health_wake_ms(const struct health *h)
{
	return h->was_ready || h->draining ? INT64_MAX : h->load_until_ms;
}

enum health_news health_clock(struct health *h, int64_t now_ms)
{
	char last[HEALTH_TEXT_MAX];

	if (now_ms < health_wake_ms(h))
		return HEALTH_SAME;
	memcpy(last, h->text, sizeof(last));
	snprintf(h->text, sizeof(h->text), "it was not ready within its load time%s%.180s",
	        *last ? ": " : "", last);
	return HEALTH_END;
}
