/* gctl_reasons.c - what gctl knows without asking: the words of errors and of reasons */
#include <stdio.h>

#include "cmds/ctl/gctl.h"
#include "common/job/reason.h"

int gctl_list_errors(struct run *r, struct error *err)
{
	(void)r, (void)err;
	for (int code = 0; code < ERR_COUNT; code++)
		printf("%-27s %3d  %s\n", error_name(code), error_exit_status(code),
		        error_meaning(code));
	return EXIT_DONE;
}

int gctl_list_reasons(struct run *r, struct error *err)
{
	char word[REASON_TEXT], meaning[REASON_TEXT];
	size_t i;
	(void)r, (void)err;

	for (i = 0; reason_list(i, word, meaning); i++)
		printf("%-33s %s\n", word, meaning);
	return EXIT_DONE;
}
