/* asked.h - what the options of a submit ask for, as a text to compare */
#ifndef TESTSUITE_UNIT_ASKED_H
#define TESTSUITE_UNIT_ASKED_H

#include <stddef.h>

#include "cmds/options/options.h"

/* Of the warnings "LINE: TEXT;". */
struct asked_seen {
	char text[1024];
};
void asked_warning(void *arg, unsigned line, const char *text);

/* What is set, in the words of gsubmit. */
void asked_show(const struct submit_options *o, char *out, size_t size);

/* Cut at blanks; how many words. */
size_t asked_words(char *text, char **words, size_t max);

#endif
