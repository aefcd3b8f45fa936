/* launch_record.h - the record of a run that is to be launched (record/record.h): all that its
 * shepherd is told
 */
#ifndef NODED_LAUNCH_RECORD_H
#define NODED_LAUNCH_RECORD_H

#include <stdint.h>

#include "common/base/error.h"
#include "common/gpusched.pb-c.h"

struct launch_parts;
struct launcher;
struct node_user;
struct run;

/* What a launch is made from; borrowed. */
struct launch {
	struct launcher *l;
	struct run *run;
	const Gpusched__StartRun *order;
	const Gpusched__SignedSpec *spec; /* signed by the owner */
	int64_t signed_at;                /* as its start is counted */
	const struct node_user *user;
};

/* The parts of a record that are made for it. NULL with ERR_LAUNCH: a GPU is not there, or a text
 * of the owner's cannot be expanded. */
struct launch_parts *launch_parts_new(const struct launch *s, struct error *err);
void launch_parts_free(struct launch_parts *p); /* NULL is fine */
/* The run's report, STARTING: the caller's from now on. */
Gpusched__RunReport *launch_parts_take_report(struct launch_parts *p);

/* The record borrows from both. */
void launch_record_fill(
        const struct launch *s, const struct launch_parts *p, Gpusched__LaunchRecord *r);

#endif
