/* gctl_resign.c - gctl resign: jobs get a younger signature of their owner (resign.h) */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "cmds/cmd.h"
#include "cmds/gctl.h"
#include "cmds/resign.h"
#include "common/text.h"

static void tell(const struct resigned *r, void *arg)
{
	time_t before = (time_t)r->before;
	char when[32] = "?", *name;
	struct tm tm;
	int *status = arg;

	if (r->error) {
		if (*status == EXIT_DONE)
			*status = error_exit_status(r->error->code);
		fprintf(stderr, "gctl: job %" PRIu64 ": %s\n", r->job, r->error->text);
		return;
	}
	if (localtime_r(&before, &tm))
		strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%S", &tm);
	name = text_escape_dup(r->name);
	printf("%" PRIu64 " %s: signed anew; first %s\n", r->job, name, when);
	free(name);
}

int gctl_resign(struct run *r, struct error *err)
{
	struct cmd_ids ids = { .n = 0 };
	int status = EXIT_DONE, rc = 0;

	for (size_t i = 0; i < r->n && rc >= 0; i++)
		rc = cmd_ids_add(&ids, r->words[i], err);
	if (rc >= 0 && ids.n_some) {
		rc = error_set(err, ERR_USAGE,
		        "resign: the tasks of an array have one signature: gctl resign %" PRIu64,
		        ids.some[0]->job);
	}
	if (rc >= 0)
		rc = resign_jobs(
		        r->client, ids.whole, ids.n_whole, gctl_reason(r), tell, &status, err);
	if (rc >= 0)
		printf("Signed %d job%s\n", rc, rc == 1 ? "" : "s");
	cmd_ids_clear(&ids);
	return rc < 0 ? -1 : status;
}
