/* run_impl.h - the inside of runs and of their collection, for the files of records/ that make run.h */
#ifndef CTLD_CORE_RUN_IMPL_H
#define CTLD_CORE_RUN_IMPL_H

#include "ctld/core/records/run.h"
#include "ctld/core/rows/dirty.h"

struct row;
struct strings;
struct table;

struct run {
	struct mark mark;
	bool started_known, imagined_over;
	struct run_info info;
	struct run_link link;
};

struct runs {
	struct strings *strings;
	struct dirty *dirty;
	struct table *table;
};

/* Made when they are first needed. */
struct run_past *run_past_made(struct runs *runs, struct run *run);
struct run_more *run_more_made(struct run *run);
/* What of its row is of a replica (run_replica.c). -1: a value that cannot be. */
int run_replica_decode(
        struct runs *runs, struct run *run, const struct row *row, struct error *err);
void run_replica_encode(const struct run *run, struct row *row);
void run_replica_drop(struct runs *runs, struct run *run); /* its memory */

#endif
