/* crowd.h - parked classes that ask for the same
 *
 * Classes of one partition with equal alternatives (same request, CPUs, memory) and the same length
 * are a *crowd*: whether a node has room for a part is the same for all of them. Where one user's
 * runs share a GPU, those who ask for shares are a crowd for each user. So what is
 * released is looked at once a crowd. Where that is enough for a part, the crowd is *stirred*: its
 * members are candidates in their order, until nothing is left on those nodes.
 *
 * A member that was tried since then is no candidate until the crowd is stirred anew. If it was
 * refused by the nodes, or by what is planned on them for others before it, so are all who come
 * after it: more is planned before them, never less. Then the crowd is *settled*, without a look at
 * those. What they were refused for is noted, since it may change without anything being released:
 *
 *	behind    what is planned, when the order changes
 *	again     the number of searches for victims, when that begins anew
 *
 * What of a key changes with what others hold, how far over quota somebody is, is the same for all
 * of a crowd whose jobs are of one account: they are a *camp*. So it is worked out once a camp, and
 * members of a camp stand by the rest of their keys.
 *
 * Crowds and camps are kept as long as a class that could be in them.
 */
#ifndef CTLD_CORE_CROWD_H
#define CTLD_CORE_CROWD_H

#include "ctld/core/sched/class.h"

#define CROWD_NODES 8 /* that a stirred crowd remembers; more are any */

/* A parked class in the list of those that wait for one thing: at a gate, or in a crowd. */
struct waiter {
	struct class *class;
	uint32_t alternative;
	struct waiter *next, **back; /* at a gate; in a crowd of those that were tried */
	struct camp *camp;           /* capacity: from configuration to configuration */
	uint32_t slot;               /* among the candidates of the camp */
};

struct camp {
	struct crowd *crowd;
	uint32_t account;   /* CONF_NONE where nobody has a quota: one camp for all */
	uint32_t classes;   /* parked or not */
	uint64_t over;      /* the first word of its members' keys, when last looked at */
	struct heap *order; /* candidates, waiters by the second word */
	uint32_t slot;      /* among those of the crowd that have candidates */
};

struct crowd {
	/* what is equal */
	uint32_t partition, alternative, cpus, length_s;
	uint32_t user;              /* whose shares, where that makes a difference */
	const struct request *gpus; /* its classes keep it */
	uint64_t mem_mb;

	uint32_t camps;
	uint32_t list;                        /* that it stands in while it has members */
	uint32_t at, n;                       /* the place there; members */
	struct heap *order;                   /* camps with candidates, by the first of them */
	struct waiter *done;                  /* those that were tried since it was stirred */
	uint32_t stirred;                     /* among the stirred crowds; HEAP_NOWHERE */
	uint32_t nodes[CROWD_NODES], n_nodes; /* why; CROWD_NODES + 1: any */
	bool behind, again;
	struct crowd *next_noted, **back_noted; /* if one of these */
};

struct crowds;

struct crowds *crowds_new(uint64_t seed);
void crowds_free(struct crowds *cs); /* NULL is fine; it must be empty */

/* The camp of an alternative, with one class more; and with one less. */
struct camp *crowds_join(
        struct crowds *cs, const struct class *class, uint32_t alternative, bool quotas);
void crowds_leave(struct crowds *cs, struct camp *camp);

/* The waiter is a candidate; no longer; has another key. */
void crowd_put(struct waiter *w);
void crowd_take(struct waiter *w);
void crowd_rekey(struct waiter *w);
/* The camp's members have another first word. */
void camp_rekey(struct camp *camp, uint64_t over);

/* The best candidate; NULL: there is none. Its key; only if there is one. */
struct waiter *crowd_first(const struct crowd *crowd);
struct heap_key crowd_first_key(const struct crowd *crowd);

struct ask crowd_ask(const struct crowd *crowd);

#endif
