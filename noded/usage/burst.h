/* burst.h - memory of a GPU that runs have borrowed, and who gives it back; no I/O
 *
 * A run with a burst (gsubmit --gpu-mem-burst) may use more of a shared card than its part, of what
 * is in nobody's part or not used by whose it is. What is in a part must be there when it is
 * needed: where parts and what is borrowed come to more than the card has, it is *short*, and
 * borrowers are asked to give back. Who is asked has his interruption as with a preemption, may
 * give back until its deadline, and goes on if he does; else he is ended (lburst.c).
 *
 * Asked are the fewest who have borrowed enough, and of those who would do alone the one who would
 * lose least work. Who was asked stays so until the card is no longer short or he has nothing
 * borrowed any more. Where all borrowers together do not have enough nobody is asked: then it is
 * not they who make the card short.
 */
#ifndef NODED_BURST_H
#define NODED_BURST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A run with a part of the card; also one that waits to be started. */
struct burst_run {
	uint64_t share_mb; /* its part */
	uint64_t own_mb;   /* that it uses */
	uint64_t work_us;  /* that would be lost: GPUs times microseconds */
	bool may;          /* it has a burst and runs: it can be asked */
	bool asked;
};

uint64_t burst_borrowed(const struct burst_run *run);

/* What is missing on a card of `card_mb`, 0: nothing, or its size is not known. Never more than is
 * borrowed: that parts are more than the card has is nothing that anybody could give back. */
uint64_t burst_short(const struct burst_run *runs, size_t n, uint64_t card_mb);

/* Set `asked` of those who are to give back besides those who were asked. */
void burst_choose(struct burst_run *runs, size_t n, uint64_t card_mb);

#endif
