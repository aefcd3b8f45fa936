/* acct_per_day.h - the use of a run that lasts over midnight, divided between the days
 *
 * In proportion to the time that the run ran on each. The parts add up to the whole, to the last
 * unit: each is a difference of two values of one growing function. Days are those of the local
 * time zone. Times are microseconds since 1970.
 */
#ifndef CTLD_RPC_ACCT_PER_DAY_H
#define CTLD_RPC_ACCT_PER_DAY_H

#include <stdint.h>

/* So much of `whole`, the use from `start` to `end`, was between `from` and `to`. */
uint64_t use_between(uint64_t whole, int64_t start, int64_t end, int64_t from, int64_t to);

/* When the day after that of `t` begins. */
int64_t day_after(int64_t t);

#endif
