/* erlang.h - waits at c servers, when jobs come at random (M/M/c; Erlang, 1917)
 *
 * `load` is how many servers would be busy if there were enough: the rate of arrivals times the
 * mean duration. Jobs come independently of each other, take one server each, durations are
 * exponential, and the first that came is the first that starts. Real jobs are not like this; it is
 * what measurements are checked against, and where the search for a size begins.
 */
#ifndef GDEMAND_ERLANG_H
#define GDEMAND_ERLANG_H

#include <stdint.h>

/* The part of jobs that must wait; 1: `load` is `servers` or more. */
double erlang_waits(double load, uint32_t servers);

/* The part of the jobs that waits longer than `time`, in the unit of `duration`, which is the mean
 * of the jobs. 1 where the queue grows for ever. */
double erlang_waits_over(double load, uint32_t servers, double duration, double time);

/* The least number of servers at which at most the part `late` waits longer than `time`. */
uint32_t erlang_servers(double load, double duration, double time, double late);

#endif
