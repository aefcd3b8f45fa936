/* run_records.h - a run's files: its record directory, the copy of its end on disk, its RUN_DIR
 *
 * record/record.h lists the records; launcher_dirs.h has the directories that they lie in.
 */
#ifndef NODED_RUN_RECORDS_H
#define NODED_RUN_RECORDS_H

#include <stdbool.h>

#include "common/gpusched.pb-c.h"

struct launcher;
struct run;

/* A descriptor of its record directory, made if need be; -1 with errno. */
int run_dir(const struct run *r, bool make);
/* 1; 0: there is no record, or a torn one, which is logged; -1: it cannot be read now. *m is the
 * caller's to free. */
int run_read(const struct run *r, const char *name, const ProtobufCMessageDescriptor *desc,
        ProtobufCMessage **m);
/* Write the exit record here, since there is no shepherd. */
void run_write_exit(struct run *r, const Gpusched__RunReport *report);
/* Remove all records of a run that is to be forgotten. */
void run_remove_records(const struct run *r);
/* A launch that executed nothing does not count as a use of the signature: take it back. */
void run_take_back_use(struct run *r);

/* Copy the run's end to SPOOL/exits, in the background; run.on_disk says that it is there. */
void run_copy_to_disk(struct run *r);
/* The run is about to be freed: a copy in progress goes on alone, and is removed at its end. */
void run_forget_copy(struct run *r);

/* Remove RUN_DIR and its private directories in the background. */
void run_remove_rundir(struct launcher *l, const char *name);

#endif
