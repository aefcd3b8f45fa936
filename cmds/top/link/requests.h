/* requests.h - the requests of gtop: how each is made, and the update that its answer gives
 *
 * Of the link's thread alone. One request of a kind is under way at a time.
 */
#ifndef CMDS_TOP_LINK_REQUESTS_H
#define CMDS_TOP_LINK_REQUESTS_H

#include "cmds/top/model/command.h"
#include "cmds/top/model/update.h"
#include "common/base/arena.h"
#include "common/base/error.h"
#include "common/net/dial.h"

enum ask_kind {
	ASK_WATCH,
	ASK_PING, /* is it there? */
	ASK_NODES,
	ASK_SHOWN, /* the rows on the screen */
	ASK_ORDER, /* all that wait: their places in the queue */
	ASK_SHARES,
	ASK_SERVICES,
	ASK_WHY,
	ASK_CONTROL,
	ASK_KINDS
};

struct ask {
	uint64_t id; /* that is under way; 0: none */
	int64_t sent_ms;
	int64_t due_ms;        /* INT64_MAX: when there is a reason */
	int64_t rest_ms;       /* not before */
	struct update *so_far; /* of its answer */
};

/* What all of them know. */
struct asks {
	struct ask v[ASK_KINDS];
	uint64_t cursor;      /* of the watch */
	bool listed;          /* it has told all jobs: there is an order to ask for */
	int64_t now_ms;       /* of the answer that is taken */
	struct command look;  /* what is on the screen */
	struct command order; /* of ASK_WHY and ASK_CONTROL: under way */
	struct arena *arena;
	/* An update is ready. */
	void (*push)(struct update *u, void *arg);
	void *arg;
};

/* Send what is due. `paused`: nothing is followed. */
int asks_send_due(struct asks *a, struct dial *d, int64_t now_ms, bool paused, struct error *err);
int64_t asks_next_ms(const struct asks *a, bool paused); /* when there may be more to send */

/* Take an answer. -1: the connection must be closed. */
int asks_take(
        struct asks *a, const struct frame *f, int64_t now_ms, int64_t now_us, struct error *err);

/* The connection is lost: pending requests are sent again, except actions that the user asked
 * for. */
void asks_forget(struct asks *a, int64_t now_ms, int64_t now_us);

/* How long the oldest question has no answer; 0: there is none. */
int64_t asks_oldest_ms(const struct asks *a, int64_t now_ms);

/* Ask at once. ASK_WHY and ASK_CONTROL are about `order`. */
void asks_want(struct asks *a, enum ask_kind kind);

#endif
