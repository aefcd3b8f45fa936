/* health.h - whether a replica is ready, by what its probes find
 *
 *	LOADING -- a probe succeeds --> READY <-- a probe succeeds -- UNREADY
 *	                                READY -- `fails` failures in a row --> UNREADY
 *
 * A replica ends if it was READY and its live probe fails `fails` times in a row, or if it is not
 * READY within its load time. While it is drained nothing is told and nothing ends. Pure.
 */
#ifndef CMDS_SERVICES_HEALTH_H
#define CMDS_SERVICES_HEALTH_H

#include <stdbool.h>
#include <stdint.h>

#define HEALTH_TEXT_MAX 256

enum health_state { HEALTH_LOADING, HEALTH_READY, HEALTH_UNREADY };

/* What follows from an event. */
enum health_news {
	HEALTH_SAME,
	HEALTH_TELL, /* state or text are others than before */
	HEALTH_END,  /* the replica must end; `text` says why */
};

struct health {
	enum health_state state;
	char text[HEALTH_TEXT_MAX]; /* what the last probe found; "" when READY */
	bool was_ready, draining;
	unsigned fails; /* so many in a row count */
	unsigned ready_failed, live_failed;
	int64_t load_until_ms;
};

void health_begin(struct health *h, unsigned fails, int64_t load_until_ms);

/* A probe has succeeded, or failed with `text`. */
enum health_news health_ready(struct health *h, bool well, const char *text);
enum health_news health_live(struct health *h, bool well, const char *text);

/* Time has passed. */
enum health_news health_clock(struct health *h, int64_t now_ms);
int64_t health_wake_ms(const struct health *h); /* when health_clock() is due; INT64_MAX: never */

const char *health_word(enum health_state state); /* "loading" */

#endif
