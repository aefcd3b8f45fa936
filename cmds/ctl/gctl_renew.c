/* gctl_renew.c - gctl renew: jobs get a younger signature of their owner (renew_signature.h) */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cmds/api/renew_signature.h"
#include "cmds/cli/cmd.h"
#include "cmds/ctl/gctl.h"
#include "common/base/text.h"

static const struct cmd cmd = { .name = "gctl" }; /* the command named in errors */

static void tell_resigned(const struct renewed_signature *r, void *arg)
{
	time_t before = (time_t)r->before;
	char when[32] = "?", job[40], *name;
	struct tm tm;
	int *status = arg;

	if (r->error) {
		size_t len = (size_t)snprintf(job, sizeof(job), "job %" PRIu64, r->job);
		struct error err = *r->error;
		int failed;

		if (strncmp(err.text, job, len) != 0)
			error_wrap(&err, "%s", job);
		failed = cmd_fail(&cmd, &err);
		if (*status == EXIT_DONE)
			*status = failed;
		return;
	}
	if (r->before && localtime_r(&before, &tm))
		strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%S", &tm);
	name = text_escape_dup(r->name);
	if (r->before)
		printf("%" PRIu64 " %s: signed anew; first %s\n", r->job, name, when);
	else
		printf("%" PRIu64 " %s: signed anew, as the controller shows it\n", r->job, name);
	free(name);
}

int gctl_renew_ids(struct client *client, const struct cmd_ids *ids,
        const struct renew_request *wish, int *done, struct error *err)
{
	int status = EXIT_DONE;

	if (ids->n_some)
		return error_set(err, ERR_USAGE,
		        "the tasks of an array have one signature: name all of it, %" PRIu64,
		        ids->some[0]->job);
	*done = renew_signatures(
	        client, ids->whole, ids->n_whole, wish, tell_resigned, &status, err);
	return *done < 0 ? -1 : status;
}

int gctl_renew(struct run *r, struct error *err)
{
	struct renew_request wish = { .reason = gctl_reason(r), .unchecked = r->g->unchecked };
	struct cmd_ids ids = { .n = 0 };
	int status = EXIT_DONE, done = 0;

	for (size_t i = 0; i < r->n && status >= 0; i++)
		status = cmd_ids_add(&ids, r->words[i], err) < 0 ? -1 : EXIT_DONE;
	if (status >= 0)
		status = gctl_renew_ids(r->client, &ids, &wish, &done, err);
	if (status >= 0)
		printf("Signed %d job%s\n", done, done == 1 ? "" : "s");
	else if (ids.n_some)
		error_hint(err, "gctl renew %" PRIu64, ids.some[0]->job);
	cmd_ids_clear(&ids);
	return status;
}
