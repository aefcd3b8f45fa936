/* script.h - the script of a job, read once
 *
 * A script is read from beginning to end in one go, so what is checked, hashed, signed and sent are
 * the same bytes, whatever happens to the file meanwhile.
 */
#ifndef CMDS_SCRIPT_H
#define CMDS_SCRIPT_H

#include <stddef.h>

#include "common/base/error.h"
#include "common/net/msg.h"

#define SCRIPT_MAX MSG_SCRIPT_MAX /* bytes */

struct script {
	char *text; /* owned; NUL-terminated for convenience */
	size_t len;
};

/* From a file, "-" is the standard input. ERR_SYSTEM for what cannot be read, ERR_JOB_SPEC for
 * what is too large, both with the path. Not checked otherwise. */
int script_read(const char *path, struct script *out, struct error *err);

/* Any file in the same way, of up to `max` bytes; errors call it `what`. */
int script_read_max(
        const char *what, const char *path, size_t max, struct script *out, struct error *err);

/* A script that runs `command` with sh, as --wrap has it. */
void script_wrap(const char *command, struct script *out);

void script_clear(struct script *s);

/* Could it be run: not empty, "#!" first, no NUL byte, no DOS line ends? ERR_JOB_SPEC; where it
 * helps the text begins with a line number ("7: ..."). */
int script_check(const struct script *s, struct error *err);

#endif
