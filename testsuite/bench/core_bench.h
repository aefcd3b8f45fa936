/* core_bench.h - what the parts of bench_core share */
#ifndef TESTSUITE_BENCH_CORE_H
#define TESTSUITE_BENCH_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/conf/conf.h"

/* Processor time of this thread: the wall clock also counts what the machine gives to others. */
long long cpu_ns(void);
uint64_t next_random(void);
/* Prints "NAME VALUE UNIT". */
void figure(const char *name, double value, const char *unit);
/* A cluster of so many nodes with eight GPUs each. */
struct conf *make_conf(size_t nodes);

/* Prints how long each search takes; `close`: on nodes whose GPUs say how close they are. */
void bench_places(size_t nodes, bool close);

#endif
