/* peers.h - what is connected to gstepd's socket: clients, and managers of other nodes
 *
 * A peer is a process of the same user (SO_PEERCRED). One that begins with STEP_RESUME is at the
 * other end of a stream, and may come back after a break: its link is resumable_link.h's. Any other
 * is a client on this node, and its end is the end of its connection.
 */
#ifndef CMDS_STEPS_PEERS_H
#define CMDS_STEPS_PEERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmds/steps/loop.h"
#include "common/base/error.h"
#include "common/net/steplink.h"

#define PEERS_MAX         20000
#define PEERS_PATIENCE_MS 30000 /* for a client that is to come back */

struct peers;

struct peers_ops {
	void (*arrived)(void *arg, uint64_t peer);
	/* -1: it is not heard any more. */
	int (*message)(
	        void *arg, uint64_t peer, const struct steplink_message *m, struct error *err);
	void (*gone)(void *arg, uint64_t peer);
	bool for_ever; /* peers that are to come back are waited for as long as it takes */
	void *arg;
};

/* Listens on `path`, mode 0600. NULL with `err`: another one listens there, or it cannot. */
struct peers *peers_new(
        struct loop *loop, const char *path, const struct peers_ops *ops, struct error *err);
void peers_free(struct peers *p); /* what is still to be sent is, as far as it goes at once */

/* A connection that is there already. Returns its peer. */
uint64_t peers_add(struct peers *p, int fd);

void peers_put(
        struct peers *p, uint64_t peer, unsigned kind, uint32_t step, const void *data, size_t len);

size_t peers_count(const struct peers *p); /* connected, or to come back */
void peers_tick(struct peers *p);
int64_t peers_wait_ms(const struct peers *p);

#endif
