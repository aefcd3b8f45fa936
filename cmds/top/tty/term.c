/* term.c - see term.h */
#include "cmds/top/tty/term.h"

#include <errno.h>
#include <ncurses.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cmds/top/screens/keys.h"

#define ESCAPE_MS 30 /* so long may the rest of a key's bytes take */

static bool begun, coloured;

/* How a look is shown on a terminal with colours, and on one without. */
static const struct {
	short colour; /* of the letters; -1: the terminal's own */
	attr_t with, without;
} looks[LOOKS] = {
	[LOOK_PLAIN] = { -1, A_NORMAL, A_NORMAL },
	[LOOK_GOOD] = { COLOR_GREEN, A_NORMAL, A_NORMAL },
	[LOOK_WARN] = { COLOR_YELLOW, A_NORMAL, A_BOLD },
	[LOOK_BAD] = { COLOR_RED, A_BOLD, A_BOLD },
	[LOOK_DIM] = { -1, A_DIM, A_NORMAL },
	[LOOK_STRONG] = { -1, A_BOLD, A_BOLD },
	[LOOK_HEADING] = { -1, A_REVERSE, A_REVERSE },
	[LOOK_FREE] = { COLOR_GREEN, A_NORMAL, A_NORMAL },
	[LOOK_BUSY] = { COLOR_CYAN, A_NORMAL, A_NORMAL },
	[LOOK_IDLE] = { COLOR_YELLOW, A_BOLD, A_BOLD },
	[LOOK_SHARED] = { COLOR_BLUE, A_BOLD, A_NORMAL },
	[LOOK_DRAINED] = { COLOR_MAGENTA, A_NORMAL, A_NORMAL },
	[LOOK_LOST] = { COLOR_RED, A_BOLD, A_BOLD },
};

static const struct {
	int curses;
	enum key key;
} keys[] = {
	{ KEY_UP, KEY_IS_UP },
	{ KEY_DOWN, KEY_IS_DOWN },
	{ KEY_LEFT, KEY_IS_LEFT },
	{ KEY_RIGHT, KEY_IS_RIGHT },
	{ KEY_PPAGE, KEY_IS_PAGE_UP },
	{ KEY_NPAGE, KEY_IS_PAGE_DOWN },
	{ KEY_HOME, KEY_IS_HOME },
	{ KEY_END, KEY_IS_END },
	{ KEY_ENTER, KEY_IS_ENTER },
	{ KEY_BTAB, KEY_IS_BACK_TAB },
	{ KEY_BACKSPACE, KEY_IS_BACKSPACE },
};

/* --- beginning and end ------------------------------------------------------------------------ */

static int refuse(struct error *err, const char *why)
{
	error_set(err, ERR_USAGE, "%s: gtop needs a terminal that can move its cursor", why);
	return error_hint(
	        err, "gqueue and ginfo print the same as text, gtop --once prints the map");
}

int term_check(struct error *err)
{
	const char *term = getenv("TERM");

	if (!isatty(STDOUT_FILENO))
		return refuse(err, "standard output is no terminal");
	if (!isatty(STDIN_FILENO))
		return refuse(err, "standard input is no terminal");
	if (!term || !*term || !strcmp(term, "dumb"))
		return refuse(err, term && *term ? "TERM=dumb" : "TERM is not set");
	return 0;
}

static void begin_colours(void)
{
	const char *no_color = getenv("NO_COLOR");

	coloured = has_colors() && (!no_color || !*no_color);
	if (!coloured)
		return;
	start_color();
	use_default_colors();
	for (short i = 0; i < LOOKS; i++)
		init_pair((short)(i + 1), looks[i].colour, -1);
}

int term_begin(struct error *err)
{
	const char *term = getenv("TERM");

	set_escdelay(ESCAPE_MS);
	/* initscr() would end the process for a terminal that it does not know. */
	if (!newterm(NULL, stdout, stdin)) {
		char why[80];

		snprintf(why, sizeof(why), "TERM=%.40s is not known on this host", term);
		return refuse(err, why);
	}
	begun = true;
	raw();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	meta(stdscr, TRUE);
	curs_set(0);
	begin_colours();
	return 0;
}

void term_end(void)
{
	if (begun)
		endwin();
	begun = false;
}

/* --- the grid --------------------------------------------------------------------------------- */

bool term_fit(struct grid *g)
{
	struct winsize w;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_row && w.ws_col &&
	        (w.ws_row != LINES || w.ws_col != COLS))
		resizeterm(w.ws_row, w.ws_col);
	if (g->rows == (unsigned)LINES && g->cols == (unsigned)COLS)
		return false;
	grid_resize(g, (unsigned)LINES, (unsigned)COLS);
	return true;
}

void term_show(const struct grid *g)
{
	erase();
	for (unsigned row = 0; row < g->rows; row++) {
		for (unsigned col = 0; col < g->cols; col++) {
			const struct grid_cell *c = &g->cells[(size_t)row * g->cols + col];
			attr_t attr = coloured ? looks[c->look].with : looks[c->look].without;
			cchar_t cc;

			if (!c->ch[0] ||
			        (c->ch[0] == L' ' && !c->marked && c->look != LOOK_HEADING))
				continue;
			if (c->marked)
				attr ^= A_REVERSE;
			setcchar(&cc, c->ch, attr, coloured ? (short)(c->look + 1) : 0, NULL);
			mvadd_wch((int)row, (int)col, &cc);
		}
	}
	refresh();
}

/* --- keys ------------------------------------------------------------------------------------- */

int term_key(void)
{
	wint_t wc;
	int rc = get_wch(&wc);

	if (rc == ERR)
		return 0;
	if (rc == OK)
		return wc == '\r' || wc == '\n' ? KEY_IS_ENTER
		       : wc == '\t'             ? KEY_IS_TAB
		       : wc == 0x1b             ? KEY_IS_ESCAPE
		                                : (int)wc;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if ((int)wc == keys[i].curses)
			return keys[i].key;
	return KEYS_BEGIN; /* does nothing */
}
