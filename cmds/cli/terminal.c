/* terminal.c - see terminal.h */
#include "cmds/cli/terminal.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

static struct termios before;
static bool is_raw, registered;

void terminal_window(uint16_t *rows, uint16_t *cols)
{
	struct winsize w;

	*rows = *cols = 0;
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (ioctl(fd, TIOCGWINSZ, &w) == 0) {
			*rows = w.ws_row;
			*cols = w.ws_col;
			return;
		}
}

void terminal_restore(void)
{
	if (is_raw)
		tcsetattr(STDIN_FILENO, TCSADRAIN, &before);
	is_raw = false;
}

void terminal_raw(void)
{
	struct termios t;

	if (is_raw || terminal_is_others() || tcgetattr(STDIN_FILENO, &before) < 0)
		return;
	if (!registered)
		atexit(terminal_restore);
	registered = true;
	t = before;
	cfmakeraw(&t);
	is_raw = tcsetattr(STDIN_FILENO, TCSADRAIN, &t) == 0;
}

bool terminal_is_others(void)
{
	return isatty(STDIN_FILENO) && tcgetpgrp(STDIN_FILENO) != getpgrp();
}
