/* output_summary.h - what a GPU job used, at the end of its output
 *
 *	== gpusched: job 4655 COMPLETED 0:0 in 1:30:00 after 0:12; EUR 8.58
 *	   asked  2 h100, 28 CPUs, 440G, 4:00:00
 *	   used   compute 91%, GPU memory 61G of 80G, 9.1 CPUs, 120G
 *	   next   --mem=160G --time=2:00:00 are enough
 *
 * A job on several nodes gets the summary from its first node only, without advice, since the other
 * nodes may have used more:
 *
 *	   nodes  this is of the first of 4; of each: gacct --runs -j 4655
 *
 * A part of a GPU is "1 h100/20G,25%". If the job ran out of memory a line under the first says so:
 *
 *	   reason used 24.3G of 20G of GPU 2
 *
 * The shepherd makes the text when all of the run has ended. A process that has become the run's
 * owner writes it, to the file of the run's standard output and nowhere else (no pipe, no terminal,
 * no device), and gives up if that takes long. Values that were not measured are left out. The cost
 * is of all nodes. Only the first attempt says how long the job has waited.
 */
#ifndef NODED_OUTPUT_SUMMARY_H
#define NODED_OUTPUT_SUMMARY_H

#include <stdbool.h>
#include <stddef.h>

#include "common/gpusched.pb-c.h"

#define SUMMARY_MAX 640

/* Should the run have a summary? */
bool summary_wanted(const Gpusched__LaunchRecord *launch, const Gpusched__RunReport *end);

/* Returns its length. */
size_t summary_text(const Gpusched__LaunchRecord *launch, const Gpusched__RunReport *end,
        char out[SUMMARY_MAX]);

/* One line with a note that was recorded while the run was running. Returns its length. It must not
 * be written before the end of the run: a program that does not append would overwrite it. */
size_t summary_note(const Gpusched__LaunchRecord *launch, const char *note, char out[SUMMARY_MAX]);

/* For processes with one thread only. Errors are not reported: nothing depends on the summary. */
void summary_write(const Gpusched__LaunchRecord *launch, const char *text, size_t len);

#endif
