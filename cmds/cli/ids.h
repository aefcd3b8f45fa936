/* ids.h - jobs by number; of an array perhaps only some tasks: 123_7, 123_[3-9,12]
 *
 * One rule for all commands that take several: what there is of them is shown or done, each that
 * there is not is named (of an array each task), and the exit status is that of ERR_NO_JOB (3). */
#ifndef CMDS_IDS_H
#define CMDS_IDS_H

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

/* The answer has this job; of an array these tasks ("" in any other). */
void cmd_ids_saw(struct cmd_ids *ids, uint64_t id, const char *tasks);
/* Was it asked for, and not seen yet? */
bool cmd_ids_miss(const struct cmd_ids *ids, uint64_t id, const char *tasks);
/* The end of the answer, which was `rc` with its error: as it is, or ERR_NO_JOB with the numbers
 * that were not seen and `why` ("not known"). */
int cmd_ids_end(struct cmd_ids *ids, int rc, const char *why, struct error *err);

#endif
