/* owner_messages.c - see owner_messages.h */
#include "cmds/services/owner_messages.h"

#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/base/text.h"

#define SAY_MAX 1024

void owner_message(const char *fmt, ...)
{
	struct pollfd room = { .fd = STDERR_FILENO, .events = POLLOUT };
	char text[SAY_MAX], line[SAY_MAX] = "gprobe: ";
	size_t n = strlen(line);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	n += text_escape(line + n, sizeof(line) - n - 1, text, strlen(text));
	line[n++] = '\n';
	if (poll(&room, 1, 0) == 1 && room.revents & POLLOUT)
		(void)!write(STDERR_FILENO, line, n);
}
