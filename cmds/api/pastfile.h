/* pastfile.h - asking a file instead of the controller
 *
 * What gacct, greport and gctl events ask can be answered from a file that `gctl archive` made, or
 * a copy of history.db: by gpast, a program of its own that is started for it and speaks as the
 * controller does.
 */
#ifndef CMDS_PASTFILE_H
#define CMDS_PASTFILE_H

#include "cmds/api/call.h"

struct pastfile;

/* Starts gpast. NULL with `err`: also what it says of the file. */
struct pastfile *pastfile_open(const char *path, struct error *err);
/* Ends it. NULL is fine. */
void pastfile_close(struct pastfile *f);

/* The cluster that the history belongs to; "": the file does not say. */
const char *pastfile_cluster(const struct pastfile *f);

/* One request; there can be no other. */
int pastfile_call(struct pastfile *f, const struct client_call *call, struct error *err);

#endif
