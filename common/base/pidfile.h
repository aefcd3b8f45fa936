/* pidfile.h - a daemon's process id, in a file for other programs
 *
 * The process that starts the daemon opens the file (root may write where a daemon's user may not)
 * and locks it at once: a second daemon with the same file is refused, and the file stays
 * untouched. A link is not followed. The id is written when the daemon is ready, and removed at
 * its end, unless another file has been put there meanwhile.
 */
#ifndef COMMON_PIDFILE_H
#define COMMON_PIDFILE_H

#include "common/base/error.h"

struct pidfile;

/* *out NULL for path "". `what` is said of the one that holds the lock: "another controller runs".
 * -1 with ERR_SYSTEM. */
int pidfile_open(const char *path, const char *what, struct pidfile **out, struct error *err);
int pidfile_write(struct pidfile *p, struct error *err); /* NULL is fine */
void pidfile_close(struct pidfile *p); /* removes it where that is permitted; NULL is fine */

/* In a child that is not the daemon: let go of it, which changes neither file nor lock. NULL is
 * fine. */
void pidfile_leave(struct pidfile *p);

#endif
