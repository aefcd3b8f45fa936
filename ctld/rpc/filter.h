/* filter.h - which jobs a request is about
 *
 * The one meaning of JobFilter, for listings and for control. Fields that are given restrict
 * together; within a field, one of its values must fit. Jobs that have ended are left out unless
 * include_ended says otherwise or a state that is asked for is theirs.
 *
 * A walk visits the jobs that fit in order of id, in slices: the core may change between them, and
 * a job that comes or goes meanwhile is seen or not; none is seen twice.
 */
#ifndef CTLD_RPC_FILTER_H
#define CTLD_RPC_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "common/gpusched.pb-c.h"
#include "ctld/core/core.h"

struct filter;

/* Copies what it keeps. `m` NULL: all jobs that have not ended. NULL with ERR_USAGE: a state or
 * node list that cannot be. */
struct filter *filter_new(const Gpusched__JobFilter *m, struct error *err);
void filter_free(struct filter *f); /* NULL is fine */

/* From now on jobs that have ended fit too, unless their state was restricted. */
void filter_include_ended(struct filter *f);

bool filter_fits(const struct filter *f, const struct job_view *job);

/* Does it name jobs by id and restrict them by nothing else? Then these are the ids, ascending. */
const uint64_t *filter_only_ids(const struct filter *f, size_t *n);

/* The ids it names, ascending, each once; n 0: it names none, and so restricts to none. */
const uint64_t *filter_ids(const struct filter *f, size_t *n);

struct filter_walk {
	uint64_t after; /* the last id visited */
	size_t at;      /* in the ids that are named */
	size_t known;   /* named ids that exist */
};

/* The next job that fits: 1; none is left: 0; *budget visits are used up: -1, call again. */
int filter_next(const struct filter *f, struct filter_walk *walk, const struct core *core,
        struct clocks now, unsigned *budget, struct job_view *job);

#endif
