/* terminal.h - the terminal of a command that lends it to a program elsewhere
 *
 * The terminal is raw: every key goes to the program, ^C too. Its settings are restored when the
 * process ends, however it ends (except by KILL).
 */
#ifndef CMDS_TERMINAL_H
#define CMDS_TERMINAL_H

#include <stdbool.h>
#include <stdint.h>

/* Rows and columns of the terminal that stdin, stdout or stderr is; 0 and 0: none is. */
void terminal_window(uint16_t *rows, uint16_t *cols);

/* Stdin, if it is a terminal. Each may be called again. */
void terminal_raw(void);
void terminal_restore(void);

/* Would reading from stdin stop us: a terminal whose foreground we are not? */
bool terminal_is_others(void);

#endif
