/* signal_exit.c - see signal_exit.h */
#include "cmds/cli/signal_exit.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* What the handler says: the other of the two is being written. */
static char farewell[2][98];
static volatile sig_atomic_t farewell_at;

static void on_signal(int number)
{
	const char *text = farewell[farewell_at];

	if (write(STDERR_FILENO, text, strlen(text)) < 0)
		_exit(128 + number);
	_exit(128 + number);
}

void signal_exit_begin(void)
{
	struct sigaction sa = { .sa_handler = on_signal };

	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
}

void signal_exit_say(const char *fmt, ...)
{
	int other = !farewell_at;
	char *text = farewell[other];
	va_list ap;

	text[0] = '\n';
	va_start(ap, fmt);
	vsnprintf(text + 1, sizeof(farewell[other]) - 2, fmt, ap);
	va_end(ap);
	text[strlen(text) + 1] = '\0';
	text[strlen(text)] = '\n';
	farewell_at = other;
}
