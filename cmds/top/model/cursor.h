/* cursor.h - where the cursor is in a list that changes under it
 *
 * Pure. The list scrolls so that the cursor's line keeps its place on the screen where it can.
 */
#ifndef CMDS_TOP_MODEL_CURSOR_H
#define CMDS_TOP_MODEL_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct cursor {
	size_t index, top; /* the line; the first one that is shown */
	bool follows;      /* the user has moved it: it stays with what it is on */
};

/* Move by so many lines of `n`, of which `height` are shown; past an end it stops there. */
void cursor_move(struct cursor *c, ssize_t by, size_t n, size_t height);
/* What it is on stands at `index` now, in the line of the screen where it was. */
void cursor_carry(struct cursor *c, size_t index);
/* After any change: both within the list. */
void cursor_fit(struct cursor *c, size_t n, size_t height);

#endif
