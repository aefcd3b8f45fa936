/* job_filter.h - which jobs a request is about
 *
 * The one meaning of JobFilter, for listings and for control. Fields that are given restrict
 * together; within a field, one of its values must fit. Jobs that have ended are left out unless
 * include_ended says otherwise or a state that is asked for is theirs.
 *
 * A walk visits the jobs that fit in order of id, of arrays each record (core_job_next()), in
 * slices: the core may change between them, and a job that comes or goes meanwhile is seen or not;
 * none is seen twice.
 */
#ifndef CTLD_RPC_JOB_FILTER_H
#define CTLD_RPC_JOB_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/base/taskset.h"
#include "common/gpusched.pb-c.h"
#include "ctld/core/core.h"
#include "ctld/loop/slice.h"
#include "ctld/rpc/call/visibility.h"

/* Names of nodes in one request: parsing one costs some 0.5 us, for which all else waits. */
#define FILTER_NODES_MAX 16384

struct filter;

/* Copies what it keeps; `conf` says what is below an account. `m` NULL: all jobs that have not
 * ended. NULL with ERR_USAGE: a state or node list that cannot be. */
struct filter *filter_new(const Gpusched__JobFilter *m, const struct conf *conf, struct error *err);
void filter_free(struct filter *f); /* NULL is fine */

/* Is the id, which no job has, that of an array's task? */
typedef bool filter_task_fn(void *arg, uint64_t id, uint64_t *array, uint32_t *task);
/* Ids in the filter may be those of tasks of arrays: look up the next `max` of them, from *at on.
 * 1: there are more; 0: that was all; -1 with ERR_USAGE. */
int filter_find_tasks(struct filter *f, filter_task_fn *find, void *arg, size_t *at, size_t max,
        struct error *err);
/* The same of all, by the core. */
int filter_find_tasks_in(struct filter *f, const struct core *core, struct error *err);

/* Bytes of memory that it takes, roughly. */
size_t filter_size(const struct filter *f);

/* From now on jobs that have ended fit too, unless their state was restricted. */
void filter_include_ended(struct filter *f);

/* Jobs outside it do not fit, and for the caller they do not exist. Takes it over; NULL: all jobs
 * are visible. */
void filter_see_only(struct filter *f, struct visibility *visibility);

/* The service of which the job is a generation or a replica; NULL: none. */
const char *filter_service_of(const struct job_view *job);
bool filter_fits(const struct filter *f, const struct job_view *job);

/* At the end of a walk: -1 if the filter names what neither the configuration nor any job has that
 * was found (unknown_names.h). */
int filter_check_names(const struct filter *f, struct error *err);

/* May the job fit, going by its ref and its user alone? `user` is filter_user() of its user's
 * name. */
bool filter_may_fit(const struct filter *f, uint64_t ref, uint32_t user);
uint32_t filter_user(const char *name);
/* The argument of filter_see_only(); NULL: the caller may see everything. */
const struct visibility *filter_visibility(const struct filter *f);

/* A job that is named, or some tasks of it. */
struct filter_named {
	uint64_t id;
	bool some; /* `tasks` only */
	struct taskset tasks;
};

/* If the filter names jobs and restricts them by nothing else: these jobs, by id. NULL: it does
 * not. */
const struct filter_named *filter_only_named(const struct filter *f, size_t *n);

/* The jobs it names, by id, each once; n 0: it names none, and so restricts to none. */
const struct filter_named *filter_named(const struct filter *f, size_t *n);

struct filter_walk {
	uint64_t after;              /* the ref of the last one visited */
	size_t at;                   /* in the jobs that are named */
	bool brief;                  /* a brief view of each job will do */
	bool heavy;                  /* the last visit may have cost much */
	bool inside;                 /* one record at least of that one was visited */
	size_t known;                /* named jobs that exist */
	const struct taskset *tasks; /* of the last one found: only these are meant; NULL: all */
};

/* The next job that fits: 1; none is left: 0; the slice is over: -1, call again. */
int filter_next(const struct filter *f, struct filter_walk *walk, const struct core *core,
        struct clocks now, struct slice *slice, struct job_view *job);

/* Ids, and tasks one by one, as refs, ascending and each once; an id of a task is that task. At
 * most `max`, else -1 with ERR_USAGE; the caller frees *refs. */
int filter_refs(const struct core *core, const uint64_t *ids, size_t n_ids,
        Gpusched__JobTasks *const *tasks, size_t n_tasks, size_t max, uint64_t **refs, size_t *n,
        struct error *err);

#endif
