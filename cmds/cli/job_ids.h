/* job_ids.h - jobs by number; of an array perhaps only some tasks: 123_7, 123_[3-9,12]
 *
 * The tasks of an array have ids of their own too: those after the array's, in the order of its
 * set.
 *
 * One rule for all commands that take several: what there is of them is shown or done, each that
 * there is not is named (of an array each task), and the exit status is that of ERR_NO_JOB (3). */
#ifndef CMDS_JOB_IDS_H
#define CMDS_JOB_IDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/base/taskset.h"
#include "common/gpusched.pb-c.h"

struct cmd_id {
	uint64_t id;
	bool some; /* only tasks of it, `left` of which were not seen */
	bool seen; /* cmd_ids_saw() was told of all of it */
	struct taskset left;
};
struct cmd_ids {
	struct cmd_id *v; /* all of them */
	size_t n;
	uint64_t *whole; /* those that are meant as a whole */
	size_t n_whole;
	Gpusched__JobTasks **some; /* the others */
	size_t n_some;
};

/* Ids with commas between. */
int cmd_ids_add(struct cmd_ids *ids, const char *text, struct error *err);
void cmd_ids_clear(struct cmd_ids *ids);

/* A job of an answer: its id, and of an array (else both are "") the set that was submitted and
 * these tasks of it. */
struct cmd_id_reported {
	uint64_t id;
	const char *array, *tasks;
};
/* Is the id of a task of an array that of one of these? */
bool cmd_id_is_task(uint64_t id, const struct cmd_id_reported *job);

/* The answer has this job. */
void cmd_ids_saw(struct cmd_ids *ids, const struct cmd_id_reported *job);
/* Was it asked for, and not seen yet? */
bool cmd_ids_miss(const struct cmd_ids *ids, const struct cmd_id_reported *job);
#define CMD_REPORTED(job) (&(struct cmd_id_reported){ (job)->id, (job)->array, (job)->tasks })
/* The end of the answer, which was `rc` with its error: as it is, or ERR_NO_JOB with the numbers
 * that were not seen and `why` ("not known"). */
int cmd_ids_end(struct cmd_ids *ids, int rc, const char *why, struct error *err);

#endif
