/* fairtree.h - the order of users by fair share: the Fair Tree algorithm
 *
 * After Ryan Cox and Levi Morrison, as Slurm documents it (fair_tree.shtml). Among siblings (users
 * and accounts with the same parent) each has
 *
 *	level_fs = norm / effective	norm: its share of the siblings' shares
 *					effective: its share of the siblings' usage
 *
 * where no usage gives INFINITY and no shares give 0. The tree is walked depth first, the siblings
 * with the largest level_fs first, and users are numbered in the order of the walk. So the users
 * of the account that used less of its share come first, however the use is divided among the
 * users of the two accounts. Ties:
 *
 *	- users who are siblings and equal share a rank
 *	- accounts that are siblings and equal are walked as one: their children are merged
 *	- a user who is equal to a sibling account has the rank of its first user
 *
 * A user's factor is (users - rank + 1) / users: 1 for the first. Ranks are dense, so a weight of
 * one or two times the number of users gives each rank a different priority.
 */
#ifndef CTLD_CORE_FAIRTREE_H
#define CTLD_CORE_FAIRTREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FAIR_ROOT UINT32_MAX

struct fair_node {
	/* in */
	uint32_t parent; /* index of an account before this one, or FAIR_ROOT */
	bool user;       /* a leaf */
	uint32_t shares;
	double usage; /* of users: input, in any unit; of accounts: output, the sum of what is
		       * below */
	/* out */
	double norm, effective; /* 0..1 */
	double level_fs;
	uint32_t rank; /* users: from 1 on */
	double factor; /* users */
};

/* Rank the `n` nodes of a tree. O(n log n). The result does not depend on the order in which the
 * nodes are given, except for the last digits of sums. `order` has the numbers of all nodes as the
 * previous call left them, or in any order; it is filled with them in the order of this walk. Few
 * nodes change places between two calls, and then it is O(n). NULL: start from no order and return
 * none. */
void fairtree_rank(struct fair_node *v, size_t n, uint32_t *order);

#endif
