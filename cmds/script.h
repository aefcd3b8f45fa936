/* script.h - the script of a job, read once
 *
 * A script is read from beginning to end in one go, so what is checked, hashed, signed and sent are
 * the same bytes, whatever happens to the file meanwhile.
 */
#ifndef CMDS_SCRIPT_H
#define CMDS_SCRIPT_H

#include <stddef.h>

#include "common/error.h"

#define SCRIPT_MAX (4096 * 1024) /* bytes; MSG_SCRIPT_MAX of the protocol */

struct script {
	char *text; /* owned; NUL-terminated for convenience */
	size_t len;
};

/* From a file, "-" is the standard input. ERR_USAGE (with the path) for what cannot be read or is
 * too large. Not checked otherwise. */
int script_read(const char *path, struct script *out, struct error *err);

/* A script that runs `command` with sh, as --wrap has it. */
void script_wrap(const char *command, struct script *out);

void script_clear(struct script *s);

/* Could it be run: not empty, "#!" first, no NUL byte, no DOS line ends? ERR_USAGE; where it helps
 * the text begins with a line number ("7: ..."). */
int script_check(const struct script *s, struct error *err);

#endif
