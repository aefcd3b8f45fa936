/* gctl_resign.c - gctl resign: jobs get a younger signature of their owner (resign.h) */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cmds/cmd.h"
#include "cmds/gctl.h"
#include "cmds/resign.h"
#include "common/text.h"

static void tell_resigned(const struct resigned *r, void *arg)
{
	time_t before = (time_t)r->before;
	char when[32] = "?", job[40], *name;
	struct tm tm;
	int *status = arg;

	if (r->error) {
		size_t len = (size_t)snprintf(job, sizeof(job), "job %" PRIu64, r->job);
		bool named = strncmp(r->error->text, job, len) == 0;

		if (*status == EXIT_DONE)
			*status = error_exit_status(r->error->code);
		fprintf(stderr, "gctl: error: %s%s%s\n", named ? "" : job, named ? "" : ": ",
		        r->error->text);
		if (*r->error->hint)
			fprintf(stderr, "hint: %s\n", r->error->hint);
		return;
	}
	if (localtime_r(&before, &tm))
		strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%S", &tm);
	name = text_escape_dup(r->name);
	printf("%" PRIu64 " %s: signed anew; first %s\n", r->job, name, when);
	free(name);
}

int gctl_resign_ids(struct client *client, const struct cmd_ids *ids,
        const struct resign_wish *wish, int *done, struct error *err)
{
	int status = EXIT_DONE;

	if (ids->n_some)
		return error_set(err, ERR_USAGE,
		        "the tasks of an array have one signature: name all of it, %" PRIu64,
		        ids->some[0]->job);
	*done = resign_jobs(client, ids->whole, ids->n_whole, wish, tell_resigned, &status, err);
	return *done < 0 ? -1 : status;
}

int gctl_resign(struct run *r, struct error *err)
{
	struct resign_wish wish = { .reason = gctl_reason(r) };
	struct cmd_ids ids = { .n = 0 };
	int status = EXIT_DONE, done = 0;

	for (size_t i = 0; i < r->n && status >= 0; i++)
		status = cmd_ids_add(&ids, r->words[i], err) < 0 ? -1 : EXIT_DONE;
	if (status >= 0)
		status = gctl_resign_ids(r->client, &ids, &wish, &done, err);
	if (status >= 0)
		printf("Signed %d job%s\n", done, done == 1 ? "" : "s");
	else if (ids.n_some)
		error_hint(err, "gctl resign %" PRIu64, ids.some[0]->job);
	cmd_ids_clear(&ids);
	return status;
}
