/* archive.c - MSG_ARCHIVE: what is old in history.db goes into a file, while everything goes on */
#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/each.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "ctld/ctld.h"
#include "ctld/loop/peers.h"
#include "ctld/loop/user_names.h"
#include "ctld/rpc/acct/acct_walk.h"
#include "ctld/store/archive.h"
#include "ctld/store/store.h"

#define PROGRESS_US 250000

struct archiving {
	char *dir, *path;
	int64_t before;
	struct store *store; /* NULL: history.db keeps it too */
	bool progress;
	usec_t told; /* when its progress was last reported */
	/* the thread's */
	struct archive *archive;
	struct store_batch *moved;
};

static int do_slice(void *data, struct error *err)
{
	struct archiving *a = data;
	int rc;

	if (!a->archive)
		a->archive = archive_open(a->dir, a->path, a->before, err);
	if (!a->archive)
		return -1;
	rc = archive_step(a->archive, a->moved, err);
	if (rc >= 0 && a->store && !store_batch_empty(a->moved) &&
	        store_drop_past(a->store, a->moved, err) < 0)
		return -1;
	return rc;
}

static void send_result(const struct acct_out *out, const struct archive_counts *n, bool partial)
{
	Gpusched__ArchiveResult m = GPUSCHED__ARCHIVE_RESULT__INIT;

	COPY_FIELDS(&m, n, jobs, runs, events);
	m.partial = partial;
	out->send(out->to, GPUSCHED__MSG_TYPE__MSG_ARCHIVE_RESULT, &m.base);
}

/* The thread waits while this runs on the loop. */
static void send_progress(const struct acct_out *out, void *data)
{
	struct archiving *a = data;
	struct archive_counts n;
	int64_t now = clock_us(CLOCK_MONOTONIC);

	if (!a->progress || !a->archive || now - a->told < PROGRESS_US)
		return;
	a->told = now;
	n = archive_counts(a->archive);
	send_result(out, &n, true);
}

static int send_counts(const struct acct_out *out, void *data, struct error *err)
{
	struct archiving *a = data;
	struct archive_counts n = archive_counts(a->archive);

	(void)err;
	log_info("archive: %s: %llu jobs, %llu runs, %llu events", a->path,
	        (unsigned long long)n.jobs, (unsigned long long)n.runs,
	        (unsigned long long)n.events);
	send_result(out, &n, false);
	return 0;
}

static void archiving_free(void *data)
{
	struct archiving *a = data;

	archive_close(a->archive);
	batch_free(a->moved);
	free(a->dir);
	free(a->path);
	free(a);
}

static const struct acct_taker taker = {
	.work = do_slice, .slice = send_progress, .end = send_counts, .free = archiving_free
};

static int check(const Gpusched__Archive *m, const struct rpc *rpc, struct error *err)
{
	if (m->path[0] != '/')
		return error_set(
		        err, ERR_USAGE, "archive '%s': the path must be absolute", m->path);
	if (m->before_time <= 0 || m->before_time > rpc->now.wall)
		return error_set(err, ERR_USAGE, "archive: a time in the past is needed");
	return 0;
}

int rpc_archive(struct ctld *c, const struct rpc *rpc, struct error *err)
{
	const Gpusched__Archive *m = (const Gpusched__Archive *)rpc->msg;
	struct archiving *a;
	const char *name;

	if (check(m, rpc, err) < 0)
		return -1;
	if (rpc_reason(m->reason, err) < 0)
		return -1;
	users_name(c->users, rpc->peer->uid, &name);
	rpc_note(c, rpc, "controller.archive", m->path, m->reason);
	log_info("archive to %s asked for by %s at %s", m->path, name, rpc->peer->address);
	a = xcalloc(1, sizeof(*a));
	a->dir = xstrdup(c->conf->controller.state_dir);
	a->path = xstrdup(m->path);
	a->before = m->before_time;
	a->store = m->remove ? c->store : NULL;
	a->progress = m->progress;
	a->moved = batch_new();
	acct_work(c, rpc, &taker, a);
	return 0;
}
