/* gctl_archive.c - gctl archive: what is old goes from the history into a file */
#include <inttypes.h>
#include <string.h>

#include "cmds/cli/parse_time.h"
#include "cmds/ctl/gctl.h"
#include "common/base/progress.h"
#include "common/base/units.h"

struct archiving {
	const struct run *r;
	struct progress *bar;
};

static int on_archived(const ProtobufCMessage *m, void *arg, struct error *err)
{
	const Gpusched__ArchiveResult *result = (const Gpusched__ArchiveResult *)m;
	struct archiving *a = arg;
	const struct run *r = a->r;

	(void)err;
	if (result->partial) {
		progress_at(a->bar, result->jobs + result->runs + result->events);
		return 0;
	}
	progress_hide(a->bar);
	printf("%s: %" PRIu64 " job%s, %" PRIu64 " run%s and %" PRIu64 " event%s %s\n", r->words[0],
	        result->jobs, result->jobs == 1 ? "" : "s", result->runs,
	        result->runs == 1 ? "" : "s", result->events, result->events == 1 ? "" : "s",
	        r->g->remove ? "moved there" : "copied; the history has them too");
	return 0;
}

/* --before or --older-than, as us UTC. */
static int find_time(const struct gctl *g, int64_t *time, struct error *err)
{
	int64_t now = parse_time_now();
	uint64_t ms;

	if (g->before && g->older_than)
		return error_set(
		        err, ERR_USAGE, "archive: --before and --older-than exclude each other");
	if (!g->before && !g->older_than) {
		error_set(err, ERR_USAGE, "archive: --before or --older-than is required");
		return error_hint(err, "--before=2026-01-01, or --older-than=90d");
	}
	if (g->before) {
		if (parse_time(g->before, now, time, err) < 0)
			return cmd_blame("--before", g->before, err);
		if (*time > now)
			return error_set(err, ERR_USAGE, "--before: must be in the past");
		return 0;
	}
	if (duration_parse_ms(g->older_than, DURATION_BARE_REFUSED, &ms, err) < 0)
		return cmd_blame("--older-than", g->older_than, err);
	if (ms >= (uint64_t)now / 1000)
		return error_set(
		        err, ERR_USAGE, "--older-than=%s: that is before 1970", g->older_than);
	*time = now - (int64_t)ms * 1000;
	return 0;
}

int gctl_archive(struct run *r, struct error *err)
{
	struct archiving archiving = { .r = r };
	Gpusched__Archive request = GPUSCHED__ARCHIVE__INIT;
	struct client_call call = {
		CLIENT_CALL(ARCHIVE, &request.base, ARCHIVE_RESULT, on_archived, &archiving),
		.timeout_ms = -1 /* it takes as long as it takes */
	};
	int rc;

	if (find_time(r->g, &request.before_time, err) < 0)
		return -1;
	if (r->words[0][0] != '/')
		return error_set(err, ERR_USAGE,
		        "archive: the path must be absolute: the controller writes it, on its "
		        "host");
	request.path = (char *)r->words[0];
	request.remove = r->g->remove;
	request.reason = gctl_reason(r);
	request.progress = true;
	archiving.bar = progress_new("archiving", "rows", PROGRESS_COUNT, 0, r->g->quiet);
	rc = client_call(r->client, &call, err) < 0 ? -1 : EXIT_DONE;
	progress_end(archiving.bar);
	return rc;
}
