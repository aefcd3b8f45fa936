/* cursor.c - see cursor.h */
#include "cmds/top/model/cursor.h"

void cursor_move(struct cursor *c, ssize_t by, size_t n, size_t height)
{
	size_t most = n ? n - 1 : 0;

	if (by < 0)
		c->index = c->index > (size_t)-by ? c->index - (size_t)-by : 0;
	else
		c->index = c->index + (size_t)by < most ? c->index + (size_t)by : most;
	c->follows = c->index > 0;
	cursor_fit(c, n, height);
}

void cursor_carry(struct cursor *c, size_t index)
{
	size_t line = c->index > c->top ? c->index - c->top : 0;

	c->index = index;
	c->top = index > line ? index - line : 0;
}

void cursor_fit(struct cursor *c, size_t n, size_t height)
{
	if (c->index >= n)
		c->index = n ? n - 1 : 0;
	if (c->top > c->index)
		c->top = c->index;
	if (height && c->index >= c->top + height)
		c->top = c->index + 1 - height;
	if (c->top + height > n)
		c->top = n > height ? n - height : 0;
}
