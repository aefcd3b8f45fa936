/* step_filename.h - file names of a step's output and input, as srun(1) has them
 *
 *	%j job    %J job.step    %A %a array's job and task    %s step    %t task
 *	%n node's number in the step    %N node    %x the job's name    %u user    %% %
 *
 * A number between % and the letter pads numbers with zeros, up to ten digits. A backslash anywhere
 * turns patterns off and goes itself. A '/' in a name becomes '_'.
 */
#ifndef CMDS_STEPS_STEP_FILENAME_H
#define CMDS_STEPS_STEP_FILENAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct filename_in {
	char *const *env; /* of the run, or of srun: the job, its array and its name */
	uint32_t step, task, node_id;
	const char *node, *name; /* of the node, of the step */
};

/* The caller frees it. */
char *filename_expand(const char *pattern, size_t len, const struct filename_in *in);

/* Has each task, or each node, a file of its own: %t, %n, %N? Then the nodes open it. */
bool filename_is_of_task(const char *pattern);

#endif
