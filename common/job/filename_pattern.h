/* filename_pattern.h - file names of a job's input and output, as sbatch(1) has them
 *
 *   %j %J job id    %A the array's job id    %a the task's id    %x the job's name
 *   %u login name    %N %n node: its name, its number in the job    %s step (batch)    %t rank %% %
 *
 * A number between % and the letter pads numbers with zeros ("%5j"), up to PATTERN_PAD_MAX. Text
 * that is no pattern stays as it is. A backslash anywhere turns patterns off; it is removed itself.
 * A '/' in the job's name becomes '_': a name names no directory.
 *
 * The tasks of an array have ids of their own, as in Slurm, and %j is that of the task. Those of an
 * array that was submitted before tasks had ids would destroy each other's output: where a file is
 * written to and the pattern has no %a, %j of such a task is "4812_7".
 *
 * Nodes that write to one file on a shared file system would destroy each other's output. So where
 * a file is written to and the pattern tells no nodes apart (%N, %n, %t), ranks after the first get
 * theirs with ".RANK" at its end: "log", "log.1", "log.2". What lies in /dev is shared.
 *
 * Pure.
 */
#ifndef COMMON_FILENAME_PATTERN_H
#define COMMON_FILENAME_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

#define PATTERN_PAD_MAX 10

#define PATTERN_OUTPUT       "gpusched-%j.out" /* where output goes that was not directed */
#define PATTERN_OUTPUT_ARRAY "gpusched-%A_%a.out"

struct pattern_values {
	uint64_t job;
	uint64_t raw_id; /* of an array's task its own id; 0: it has none */
	uint32_t task;
	bool is_array;
	const char *name; /* of the job */
	const char *user;
	const char *node;
	uint32_t rank; /* of the node in the job */
	bool own;      /* it is written to: each node has a file of its own */
};

/* Expand into `out`, which has `size` bytes. -1 with ERR_JOB_SPEC if it does not fit. */
int pattern_expand(const char *pattern, const struct pattern_values *values, char *out, size_t size,
        struct error *err);

#endif
