/* fairtree.h - whose turn it is: the Fair Tree algorithm
 *
 * After Ryan Cox and Levi Morrison, as Slurm documents it (fair_tree.shtml). Among siblings (users
 * and accounts with the same parent) each has
 *
 *	level_fs = norm / effective	norm: its share of the siblings' shares
 *					effective: its share of the siblings' usage
 *
 * where no usage is INFINITY and no shares is 0. The tree is walked depth first, siblings by
 * level_fs, largest first, and users are numbered in the order in which they are met. So whatever
 * two accounts' users did among themselves, those of the account that used less of its share come
 * first. Ties:
 *
 *	- users who are siblings and equal share a rank
 *	- accounts that are siblings and equal are walked as one: their children are merged
 *	- a user who is equal to a sibling account has the rank of its first user
 *
 * A user's factor is (users - rank + 1) / users: 1 for the first. Ranks are dense, so a weight of
 * one or two times the number of users tells all of them apart.
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
	double usage; /* of users, in any unit; accounts: out, the sum of what is below */
	/* out */
	double norm, effective; /* 0..1 */
	double level_fs;
	uint32_t rank; /* users: from 1 on */
	double factor; /* users */
};

/* Rank the `n` nodes of a tree. O(n log n). Nothing depends on the order in which nodes are given,
 * but for the last digits of sums. `order`: the numbers of all nodes as they were met last, or in
 * any order; filled with those as they are met now. From one time to the next few pass each other,
 * and then it is O(n). NULL: nobody knows, nobody asks. */
void fairtree_rank(struct fair_node *v, size_t n, uint32_t *order);

#endif
