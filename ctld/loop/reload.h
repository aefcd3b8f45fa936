/* reload.h - the configuration, read again
 *
 * Either all of the new file is used or nothing of it: it is read and checked in a worker; if it
 * is complete and changes no key that needs a restart, the core and everything else switch to it
 * within one event. The caller gets the list of changes, and the log has it too.
 */
#ifndef CTLD_RELOAD_H
#define CTLD_RELOAD_H

#include <stdint.h>

#include "common/base/error.h"

struct caller;
struct ctld;
struct reload;

/* Borrowed by the callback. */
struct reload_lines {
	char **changes, **warnings; /* of conf_diff() and core_unconfigured() */
	size_t n_changes, n_warnings;
};

/* err NULL: done. */
typedef void reload_done_fn(struct ctld *c, uint64_t call, const struct reload_lines *lines,
        const struct error *err);

struct reload *reload_new(struct ctld *c, reload_done_fn *done);
void reload_free(struct reload *r); /* NULL is fine */

/* Read it again. `by`: the caller; done() gets the number of its call (by->reply); NULL: no caller
 * (SIGHUP). A request during a reading is answered by the next reading. Each leaves an event of
 * its own in the audit trail, even if its caller no longer waits for the answer. */
void reload_start(struct reload *r, const struct caller *by, const char *reason);

/* The same, but only tell what would change; nothing does, and there is no event. Together with
 * another request it may be done all the same. */
void reload_try(struct reload *r, const struct caller *by);

#endif
