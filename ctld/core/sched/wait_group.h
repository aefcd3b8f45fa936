/* wait_group.h - classes whose turn has come, and blocked classes that ask for the same
 *
 * A *wait group* is the set of classes of one partition with equal alternatives (same request,
 * CPUs, memory) and the same length: whether a node has room for a part is the same for all of
 * them. Where the GPUs of a node may be shared by one user only, classes that ask for shares form
 * one group for each user. So a release is checked once for each group. Its members are the classes
 * that are blocked and wait for capacity.
 *
 * A group that may have room for a part is *marked for retry*: then it has a turn like a class that
 * is to be tried, by the key of its best candidate. A member that enters while the group is marked
 * has been tried since, and is no candidate until what refused it may have changed: the next mark
 * recalls it. A group loses its mark when it has no candidates left, or when it is *suppressed*:
 * the room is gone, or a member was refused for a cause that holds for all others.
 *
 *	                 enter, the group is not marked
 *	              +----------------------------------> candidate
 *	not a member -+                                      ^   |
 *	   ^   ^      +----------------------------> tried --+   |
 *	   |   |         enter, the group is marked    |  recall |
 *	   |   +------------------- exit --------------+         |
 *	   +----------------------- exit ------------------------+
 *
 * The classes that are ready, all of them, are one more group, which is always marked.
 *
 * How far an account is over its quota is the first word of each key and changes with what other
 * jobs hold. It is the same for all classes of one account, tier and request: those of one group
 * are an *account subgroup*. So the word is computed once for a subgroup, and only in groups that
 * are marked:
 *
 *	turns       marked groups, by the key of their first subgroup
 *	wait group  subgroups with candidates, by first word and that of their first candidate
 *	subgroup    candidates, by the second word of their keys, which only an ordering changes
 *
 * What other jobs take only moves classes back. So the word that a subgroup stands by may be too
 * small; it is checked when the subgroup comes to the top. After a release it may be too large:
 * wait_released() checks all of them.
 *
 * A group or subgroup exists as long as a class has joined it.
 */
#ifndef CTLD_CORE_WAIT_GROUP_H
#define CTLD_CORE_WAIT_GROUP_H

#include "ctld/core/sched/class.h"

#define WAIT_GROUP_NODES 8 /* that a marked group remembers; with more, any node counts */
#define WAIT_ANY_NODE    UINT32_MAX

struct subgroup {
	/* what is equal */
	struct wait_group *group;
	uint32_t account, tier;     /* CONF_NONE: the account has no quota */
	const struct request *gpus; /* its classes keep it; NULL: no quotas */

	struct subgroup *ready; /* of the ready classes that have the same first word */
	uint32_t classes;       /* that have joined it */
	uint64_t word, version; /* of a subgroup of ready classes: the first word, and as of when */
	uint64_t stands;        /* the first word that its place in the group goes by */
	struct heap *candidates; /* waiters by the second word of their keys */
	uint32_t slot; /* index in the group's order; HEAP_NOWHERE: it has no candidates */
};

/* What is equal for all classes of a group. */
struct wait_key {
	uint32_t partition, alternative, cpus, length_s;
	uint32_t user;              /* owner of the shares, where that makes a difference */
	const struct request *gpus; /* its classes keep it; NULL: the ready classes */
	uint64_t mem_mb;
};

struct wait_group {
	struct wait_key key;
	uint32_t subgroups, members;
	struct heap *order;       /* subgroups that have candidates */
	struct waiter_list tried; /* members that were tried since it was marked */
	uint32_t turn;            /* index among the turns; HEAP_NOWHERE: it is not marked */
	uint32_t nodes[WAIT_GROUP_NODES],
	        n_nodes; /* where it may have room; WAIT_GROUP_NODES + 1: anywhere */
	/* blocked_retry.c: its place in the list of its node set, and whether it is to be marked
	 * later */
	uint32_t list, at;
	LIST_ENTRY(wait_group) noted; /* linked while it is to be marked */
	bool recall;                  /* with its tried members */
};

/* Where first words come from: the word, and a number that grows whenever it may have changed. */
struct wait_words {
	uint64_t (*word)(void *arg, uint64_t tier, uint32_t account, const struct request *gpus);
	uint64_t (*version)(void *arg, uint32_t account);
	void *arg;
	uint64_t
	        *work; /* counts the words that were computed and the subgroups that were checked */
};

struct wait_groups;

struct wait_groups *wait_groups_new(uint64_t seed, const struct wait_words *words);
void wait_groups_free(struct wait_groups *ws); /* NULL is fine; no class may have joined */

/* The class joins the ready classes, and a group for each alternative. `account`: CONF_NONE where
 * its quota does not count. Without `groups` the class is of no partition and joins none. */
void wait_join(
        struct wait_groups *ws, struct class *class, uint32_t tier, uint32_t account, bool groups);
void wait_leave(struct wait_groups *ws, struct class *class); /* it must be in none of them */

/* The first word of the keys of the class, as of now. */
uint64_t wait_word(struct wait_groups *ws, const struct class *class);

/* The waiter becomes a candidate; or a member, which is one unless the group is marked; it is no
 * longer in its group; its key has changed. */
void wait_put(struct wait_groups *ws, struct waiter *w);
void wait_enter(struct wait_groups *ws, struct waiter *w);
void wait_exit(struct wait_groups *ws, struct waiter *w);
void wait_rekey(struct wait_groups *ws, struct waiter *w);
bool wait_inside(const struct waiter *w);
bool wait_is_candidate(const struct waiter *w);

/* The node, or WAIT_ANY_NODE, may have room for a part. `recall`: what refused the tried members
 * may have changed too, so all members are candidates. */
void wait_mark(struct wait_groups *ws, struct wait_group *g, uint32_t node, bool recall);
bool wait_marked(const struct wait_group *g);
void wait_suppress(struct wait_groups *ws, struct wait_group *g);
void wait_untry(struct wait_groups *ws, struct waiter *w); /* it is a candidate again */

/* The best of all turns, and its key as of now; NULL: there is none. */
struct waiter *wait_first(struct wait_groups *ws, struct heap_key *key);
bool wait_none(const struct wait_groups *ws);
size_t wait_ready(const struct wait_groups *ws); /* how many classes are ready */
bool wait_is_ready(const struct wait_groups *ws, const struct waiter *w);
/* Some usage has fallen. */
void wait_released(struct wait_groups *ws);

struct ask wait_group_ask(const struct wait_group *g);

#endif
