/* summary.h - what a GPU job used, at the end of its output
 *
 *	== gpusched: job 4655 COMPLETED 0:0 in 1:30:00 after 0:12; EUR 8.58
 *	   asked  2 h100, 28 CPUs, 440G, 4:00:00
 *	   used   compute 91%, GPU memory 61G of 80G, 9.1 CPUs, 120G
 *	   next   --mem=160G --time=2:00:00 are enough
 *
 * Of a job on several nodes the first writes what it knows of itself, without advice, since the
 * others may have used more:
 *
 *	   nodes  this is of the first of 4; of each: gacct --runs -j 4655
 *
 * A part of a GPU is "1 h100/20G,25%". Who ran out of memory hears of what, under the first line:
 *
 *	   reason used 24.3G of 20G of GPU 2
 *
 * Made by the shepherd when all of the run has ended, written by a process that has become the
 * run's owner: to the file of its standard output and nowhere else (no pipe, no terminal, no
 * device), and given up if that takes long. What nothing has measured is left out. What it cost is
 * of all nodes. How long it has waited the first attempt says.
 */
#ifndef NODED_SUMMARY_H
#define NODED_SUMMARY_H

#include <stdbool.h>
#include <stddef.h>

#include "common/gpusched.pb-c.h"

#define SUMMARY_MAX 640

/* Is there to be one? */
bool summary_wanted(const Gpusched__LaunchRecord *launch, const Gpusched__RunReport *end);

/* Returns its length. */
size_t summary_text(const Gpusched__LaunchRecord *launch, const Gpusched__RunReport *end,
        char out[SUMMARY_MAX]);

/* One line, of what was noted while it ran. Returns its length. Not before its end: a program that
 * does not append would write over it. */
size_t summary_note(const Gpusched__LaunchRecord *launch, const char *note, char out[SUMMARY_MAX]);

/* For processes with one thread only. Whether it could be written nobody needs to know. */
void summary_write(const Gpusched__LaunchRecord *launch, const char *text, size_t len);

#endif
