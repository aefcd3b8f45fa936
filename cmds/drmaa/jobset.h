/* jobset.h - jobs, and of arrays some of their tasks: those of a session, those that are waited for
 *
 * A job's name is its id, "4812", or that of a task, "4812_7". An array costs what its set of tasks
 * costs. Pure.
 */
#ifndef CMDS_DRMAA_JOBSET_H
#define CMDS_DRMAA_JOBSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/base/taskset.h"
#include "common/gpusched.pb-c.h"

#define JOBSET_NAME 64 /* bytes of a job's name, with its NUL */

struct jobset_job {
	uint64_t id;
	bool array;
	struct taskset tasks;
};

struct jobset {
	struct jobset_job *v; /* in the order in which they were added; none is empty */
	size_t n, size;
};

/* "4812" or "4812_7": *task is TASK_NONE of the first. ERR_USAGE. */
int jobset_parse(const char *name, uint64_t *id, uint32_t *task, struct error *err);
char *jobset_name(char name[JOBSET_NAME], uint64_t id, uint32_t task);

void jobset_add(struct jobset *set, uint64_t id, uint32_t task);
void jobset_add_array(struct jobset *set, uint64_t id, const struct taskset *tasks);
/* False: it was not in it. */
bool jobset_remove(struct jobset *set, uint64_t id, uint32_t task);
void jobset_remove_all(struct jobset *set, const struct jobset *what);
bool jobset_has(const struct jobset *set, uint64_t id, uint32_t task);
void jobset_join(struct jobset *set, const struct jobset *more);
void jobset_copy(struct jobset *to, const struct jobset *from);
void jobset_clear(struct jobset *set);

/* What an answer says of tasks, "3-9,12" ("" of a job that is no array): the first of these that is
 * in the set is *task. False: none is. */
bool jobset_first(const struct jobset *set, uint64_t id, const char *tasks, uint32_t *task);
/* Take all of these out. */
void jobset_take(struct jobset *set, uint64_t id, const char *tasks);

/* The set as a request names it, as far as `most` tasks (UINT32_MAX: all of them, and perhaps more
 * of their arrays); `all`: that is all of it. */
struct jobset_message {
	uint64_t *ids;
	size_t n_ids;
	Gpusched__JobTasks **tasks;
	size_t n_tasks;
	bool all;
};
void jobset_message(const struct jobset *set, uint32_t most, struct jobset_message *out);
void jobset_message_clear(struct jobset_message *m);

#endif
