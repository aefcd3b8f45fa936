/* file_checks.h - the files that a job names, as this host sees them
 *
 * A job whose output file has no folder fails when it is started, perhaps hours later. Where the
 * node sees the same file system the mistake can be seen at once, so gsubmit looks. The node may
 * see another one: what is missing here is a warning and no error.
 */
#ifndef CMDS_FILE_CHECKS_H
#define CMDS_FILE_CHECKS_H

#include "cmds/api/gpusched.h"

/* Tell of the working directory, the input, output and error file of a spec, those that a job on
 * this host could not use: one line each. Folders with a pattern (%j) in their name are left out.
 * `cwd` of the spec is set. */
void files_check(const struct gpusched_spec *spec, void (*warn)(const char *text, void *arg),
        void *arg);

#endif
