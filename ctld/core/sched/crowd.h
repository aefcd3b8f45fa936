/* crowd.h - parked classes that ask for the same
 *
 * A *crowd* is the set of parked classes of one partition with equal alternatives (same request,
 * CPUs, memory) and the same length: whether a node has room for a part is the same for all of
 * them. Where the GPUs of a node may be shared by one user only, classes that ask for shares form
 * one crowd for each user. So a release is checked once for each crowd. Where the room suffices for
 * a part, the crowd is *stirred*: its members become candidates and are tried in their order, until
 * nothing is left on those nodes.
 *
 * A member that was tried since then is no candidate until the crowd is stirred again. If it was
 * refused by the nodes, or by what is planned on them for classes before it, so are all members
 * after it: for them the same or more is planned before them, never less. Then the crowd is
 * *settled*: the other members are not tried. The cause of the refusal is noted, because it may
 * change without any release:
 *
 *	behind    refused by planned starts: stirred again when the order changes
 *	again     no run may be stopped for it now (the searches are used up, or it is too soon
 *	          after a start): stirred again at the next ordering
 *
 * How far an account is over its quota is a part of each key and changes with what other jobs hold.
 * It is the same for all members of a crowd whose jobs are of one account: these members are a
 * *camp*. So that word is computed once for each camp, and the members of a camp are ordered by the
 * rest of their keys.
 *
 * A crowd or camp exists as long as there is a class that could be in it.
 */
#ifndef CTLD_CORE_CROWD_H
#define CTLD_CORE_CROWD_H

#include <stdbool.h>
#include <stdint.h>

#include "ctld/core/sched/class.h"

#define CROWD_NODES 8 /* node numbers that a stirred crowd remembers; with more, any node counts */

/* A parked class in a list of classes that wait for the same: at a gate, or in a crowd. */
struct waiter {
	struct class *class;
	uint32_t alternative;
	struct waiter *next, **back; /* at a gate; in a crowd: among the members that were tried */
	struct camp *camp;           /* capacity only: set by each configuration */
	uint32_t slot;               /* index among the candidates of the camp */
};

struct camp {
	struct crowd *crowd;
	uint32_t account;   /* CONF_NONE where no account has a quota: then one camp for all */
	uint32_t classes;   /* parked or not */
	uint64_t over;      /* the first word of its members' keys, as last computed */
	struct heap *order; /* candidates: waiters by the second word of their keys */
	uint32_t slot;      /* index among the camps of the crowd that have candidates */
};

struct crowd {
	/* what is equal */
	uint32_t partition, alternative, cpus, length_s;
	uint32_t user;              /* owner of the shares, where that makes a difference */
	const struct request *gpus; /* its classes keep it alive */
	uint64_t mem_mb;

	uint32_t camps;
	uint32_t list;                        /* the list that holds it while it has members */
	uint32_t at, n;                       /* its index in that list; how many members it has */
	struct heap *order;                   /* camps with candidates, by their first candidate */
	struct waiter *done;                  /* members tried since it was stirred */
	uint32_t stirred;                     /* index among the stirred crowds; HEAP_NOWHERE */
	uint32_t nodes[CROWD_NODES], n_nodes; /* where; CROWD_NODES + 1: on any */
	bool behind, again;
	struct crowd *next_noted, **back_noted; /* linked while behind or again is set */
};

struct crowds;

struct crowds *crowds_new(uint64_t seed);
void crowds_free(struct crowds *cs); /* NULL is fine; it must be empty */

/* Join: the camp of this alternative gets one class more. Leave: it loses one. */
struct camp *crowds_join(
        struct crowds *cs, const struct class *class, uint32_t alternative, bool quotas);
void crowds_leave(struct crowds *cs, struct camp *camp);

/* Make the waiter a candidate; take it out; its key has changed. */
void crowd_put(struct waiter *w);
void crowd_take(struct waiter *w);
void crowd_rekey(struct waiter *w);
/* Set the first word of the keys of the camp's members. */
void camp_rekey(struct camp *camp, uint64_t over);

/* The best candidate, or NULL. Its key: only if there is a candidate. */
struct waiter *crowd_first(const struct crowd *crowd);
struct heap_key crowd_first_key(const struct crowd *crowd);

struct ask crowd_ask(const struct crowd *crowd);

#endif
