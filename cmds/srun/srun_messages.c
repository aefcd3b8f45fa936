/* srun_messages.c - lines on stderr in Slurm's form; see srun.h */
#include <stdarg.h>
#include <stdio.h>

#include "cmds/srun/srun.h"
#include "common/base/text.h"

#include <stdlib.h>

static void __attribute__((format(printf, 2, 0))) say(const char *kind, const char *fmt, va_list ap)
{
	char text[4096], *plain;

	vsnprintf(text, sizeof(text), fmt, ap);
	plain = text_escape_dup(text);
	fprintf(stderr, "%s: %s%s\n", srun_name, kind, plain);
	free(plain);
}

void srun_info(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say("", fmt, ap);
	va_end(ap);
}

void srun_fail(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say("error: ", fmt, ap);
	va_end(ap);
}
