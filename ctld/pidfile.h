/* pidfile.h - the controller's process id, where others find it
 *
 * The file is opened by whoever started us (root may write where controller.user may not) and
 * locked at once: a second controller with the same file is refused, and the file untouched. The
 * id is written when the controller is ready, and taken out at its end.
 */
#ifndef CTLD_PIDFILE_H
#define CTLD_PIDFILE_H

#include "common/error.h"

struct pidfile;

/* *out NULL for path "". -1 with ERR_SYSTEM. */
int pidfile_open(const char *path, struct pidfile **out, struct error *err);
int pidfile_write(struct pidfile *p, struct error *err); /* NULL is fine */
void pidfile_close(struct pidfile *p); /* removes it where that is permitted; NULL is fine */

#endif
