/* term.h - the terminal: a grid onto it, keys from it (ncurses)
 *
 * Its settings are restored by term_end(), and when the process is stopped with ^Z and goes on.
 */
#ifndef CMDS_TOP_TTY_TERM_H
#define CMDS_TOP_TTY_TERM_H

#include <stdbool.h>

#include "cmds/top/grid.h"
#include "common/base/error.h"

/* Can it show a screen? ERR_USAGE: standard input or output is no terminal, or one that cannot move
 * its cursor. */
int term_check(struct error *err);

int term_begin(struct error *err);
void term_end(void); /* may be called again */

/* As large as the terminal is now; true: that is another size. */
bool term_fit(struct grid *g);
void term_show(const struct grid *g);

/* The next key (keys.h), without waiting; 0: none. */
int term_key(void);

#endif
