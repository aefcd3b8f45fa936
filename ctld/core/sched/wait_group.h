/* wait_group.h - blocked classes that ask for the same
 *
 * A *wait group* is the set of blocked classes of one partition with equal alternatives (same
 * request, CPUs, memory) and the same length: whether a node has room for a part is the same for all
 * of them. Where the GPUs of a node may be shared by one user only, classes that ask for shares form
 * one wait group for each user. So a release is checked once for each wait group. Where the room
 * suffices for a part, the wait group is *marked for retry*: its members become candidates and are
 * tried in their order, until nothing is left on those nodes.
 *
 * A member that was tried since then is no candidate until the wait group is marked for retry
 * again. If it was refused by the nodes, or by what is planned on them for classes before it, so are
 * all members after it: for them the same or more is planned before them, never less. Then the wait
 * group is *suppressed*: the other members are not tried. The cause of the refusal is noted, because
 * it may change without any release:
 *
 *	behind    refused by planned starts: marked for retry again when the order changes
 *	again     no run may be stopped for it now (the searches are used up, or it is too soon
 *	          after a start): marked for retry again at the next ordering
 *
 * How far an account is over its quota is a part of each key and changes with what other jobs hold.
 * It is the same for all members of a wait group whose jobs are of one account: these members are a
 * *account subgroup*. So that word is computed once for each account subgroup, and the members of
 * an account subgroup are ordered by the rest of their keys.
 *
 * A wait group or account subgroup exists as long as there is a class that could be in it.
 */
#ifndef CTLD_CORE_WAIT_GROUP_H
#define CTLD_CORE_WAIT_GROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "ctld/core/sched/class.h"

#define WAIT_GROUP_NODES \
	8 /* node numbers that a marked wait group remembers; with more, any node counts */

/* A blocked class in a list of classes that wait for the same: at a limit, or in a wait group. */
struct waiter {
	struct class *class;
	uint32_t alternative;
	struct waiter *next,
	        **back; /* at a limit; in a wait group: among the members that were tried */
	struct subgroup *subgroup; /* capacity only: set by each configuration */
	uint32_t slot;             /* index among the candidates of the account subgroup */
};

struct subgroup {
	struct wait_group *wait_group;
	uint32_t account;   /* CONF_NONE where no account has a quota: then one account subgroup for
	                       all */
	uint32_t classes;   /* blocked or not */
	uint64_t over;      /* the first word of its members' keys, as last computed */
	struct heap *order; /* candidates: waiters by the second word of their keys */
	uint32_t
	        slot; /* index among the account subgroups of the wait group that have candidates */
};

struct wait_group {
	/* what is equal */
	uint32_t partition, alternative, cpus, length_s;
	uint32_t user;              /* owner of the shares, where that makes a difference */
	const struct request *gpus; /* its classes keep it alive */
	uint64_t mem_mb;

	uint32_t subgroups;
	uint32_t list;       /* the list that holds it while it has members */
	uint32_t at, n;      /* its index in that list; how many members it has */
	struct heap *order;  /* account subgroups with candidates, by their first candidate */
	struct waiter *done; /* members tried since it was marked for retry */
	uint32_t marked;     /* index among the marked wait groups; HEAP_NOWHERE */
	uint32_t nodes[WAIT_GROUP_NODES], n_nodes; /* where; WAIT_GROUP_NODES + 1: on any */
	bool behind, again;
	struct wait_group *next_noted, **back_noted; /* linked while behind or again is set */
};

struct wait_groups;

struct wait_groups *wait_groups_new(uint64_t seed);
void wait_groups_free(struct wait_groups *cs); /* NULL is fine; it must be empty */

/* Join: the account subgroup of this alternative gets one class more. Leave: it loses one. */
struct subgroup *wait_groups_join(
        struct wait_groups *cs, const struct class *class, uint32_t alternative, bool quotas);
void wait_groups_leave(struct wait_groups *cs, struct subgroup *subgroup);

/* Make the waiter a candidate; take it out; its key has changed. */
void wait_group_put(struct waiter *w);
void wait_group_take(struct waiter *w);
void wait_group_rekey(struct waiter *w);
/* Set the first word of the keys of the account subgroup's members. */
void subgroup_rekey(struct subgroup *subgroup, uint64_t over);

/* The best candidate, or NULL. Its key: only if there is a candidate. */
struct waiter *wait_group_first(const struct wait_group *wait_group);
struct heap_key wait_group_first_key(const struct wait_group *wait_group);

struct ask wait_group_ask(const struct wait_group *wait_group);

#endif
