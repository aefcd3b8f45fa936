/* gserve_watch.c - gserve --watch: on a terminal drawn anew, else a line for each change
 *
 * A change of the services' jobs is the trigger (WatchJobs, on a connection of its own), and then
 * all that is shown is asked for. Loads change without one, and new services have other jobs: so it
 * is asked for every few seconds too. Breaks of the connection are sat out, as by gqueue --watch.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cmds/cli/signal_exit.h"
#include "cmds/serve/gserve.h"
#include "cmds/views/serviceview.h"
#include "common/base/clock.h"
#include "common/base/xalloc.h"
#include "common/net/dial.h"
#include "common/net/msg.h"

#define REDRAW_MS   2000 /* at most so long between two looks, on a terminal */
#define LINES_MS    5000 /* and into a pipe */
#define TOGETHER_MS 200  /* what changes within so long after a change is one with it */
#define CLEAR       "\033[H\033[2J"

struct known {
	char *name;
	Gpusched__Service *service; /* as it was printed last */
};

struct watch {
	struct gserve *g;
	struct client *asks, *waits; /* waits: for changes of the jobs */
	uint64_t *jobs;              /* of the services, as listed last */
	size_t n_jobs;
	uint64_t request;  /* under way on `waits`; 0: none */
	uint64_t *watched; /* the jobs of that */
	size_t n_watched;
	bool redraws;
	bool added;          /* of lines: there is one */
	struct known *known; /* of lines: what was printed */
	size_t n_known;
};

/* --- what is waited for ---------------------------------------------------------------------- */

static void add_job(struct watch *w, uint64_t id)
{
	if (!id)
		return;
	w->jobs = xrealloc(w->jobs, w->n_jobs + 1, sizeof(*w->jobs));
	w->jobs[w->n_jobs++] = id;
}

static void note_jobs(struct watch *w, const Gpusched__Service *s)
{
	add_job(w, s->job);
	add_job(w, s->next_job);
}

static bool is_watched(const struct watch *w)
{
	return (w->request || !w->n_jobs) && w->n_jobs == w->n_watched &&
	       (!w->n_jobs || !memcmp(w->jobs, w->watched, w->n_jobs * sizeof(*w->jobs)));
}

static void stop_waiting(struct watch *w)
{
	client_drop(w->waits);
	w->request = 0;
}

static int start_waiting(struct watch *w, struct error *err)
{
	Gpusched__WatchJobs m = GPUSCHED__WATCH_JOBS__INIT;
	Gpusched__JobFilter filter = GPUSCHED__JOB_FILTER__INIT;
	struct dial *d;

	stop_waiting(w);
	free(w->watched);
	w->watched = w->n_jobs ? xmemdup(w->jobs, w->n_jobs * sizeof(*w->jobs)) : NULL;
	w->n_watched = w->n_jobs;
	if (!w->n_watched)
		return 0; /* no filter would mean all jobs */
	filter.ids = w->watched;
	filter.n_ids = w->n_watched;
	filter.include_ended = true;
	m.filter = &filter;
	m.only_new = true;
	d = client_dial(w->waits, err);
	if (d)
		w->request = dial_send(d, GPUSCHED__MSG_TYPE__MSG_WATCH_JOBS, &m.base, err);
	return w->request ? 0 : -1;
}

static void pause_ms(int ms)
{
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000L };

	while (clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, &ts) == EINTR)
		;
}

/* For a change, or a time. */
static int wait_for_change(struct watch *w, struct error *err)
{
	int64_t end = clock_ms(CLOCK_MONOTONIC) + (w->redraws ? REDRAW_MS : LINES_MS), left;
	bool changed = false;
	struct frame f;
	int rc;

	while ((left = end - clock_ms(CLOCK_MONOTONIC)) > 0 && w->request) {
		rc = dial_recv(client_dial(w->waits, NULL), &f, (int)left, err);
		if (rc < 0)
			return -1;
		if (rc > 0 && !changed)
			end = clock_ms(CLOCK_MONOTONIC) + TOGETHER_MS;
		changed |= rc > 0;
		/* The answer has ended: one of the jobs is gone. */
		if (rc > 0 && f.type == GPUSCHED__MSG_TYPE__MSG_REPLY)
			stop_waiting(w);
	}
	if (left > 0)
		pause_ms((int)left);
	client_worked(w->waits);
	return 0;
}

/* --- what is shown --------------------------------------------------------------------------- */

/* A changed load does not count as a change: it would print a line every few seconds. */
static Gpusched__Service *without_load(const Gpusched__Service *s)
{
	Gpusched__Service *copy = (Gpusched__Service *)msg_copy(&s->base);

	if (!copy)
		return NULL;
	copy->in_flight = copy->waiting = 0;
	copy->requests = copy->tokens = 0;
	for (size_t i = 0; i < copy->n_replicas; i++) {
		copy->replicas[i]->running = copy->replicas[i]->waiting = 0;
		copy->replicas[i]->kv_milli = 0;
	}
	return copy;
}

static bool is_same(const Gpusched__Service *a, const Gpusched__Service *b)
{
	size_t n = gpusched__service__get_packed_size(a);
	uint8_t *x, *y;
	bool same = n == gpusched__service__get_packed_size(b);

	if (!same)
		return false;
	x = xcalloc(2, n + 1);
	y = x + n;
	gpusched__service__pack(a, x);
	gpusched__service__pack(b, y);
	same = !memcmp(x, y, n);
	free(x);
	return same;
}

static struct known *known_of(struct watch *w, const char *name)
{
	for (size_t i = 0; i < w->n_known; i++)
		if (!strcmp(w->known[i].name, name))
			return &w->known[i];
	w->known = xrealloc(w->known, w->n_known + 1, sizeof(*w->known));
	w->known[w->n_known] = (struct known){ .name = xstrdup(name) };
	return &w->known[w->n_known++];
}

/* The next of a list: a line, if it has changed. */
static int on_service(const Gpusched__Service *s, void *arg, struct error *err)
{
	struct watch *w = arg;
	struct known *k = known_of(w, s->name);
	Gpusched__Service *now = without_load(s);

	note_jobs(w, s);
	if (!now)
		return error_set(err, ERR_PROTOCOL, "a malformed service");
	if (!k->service || !is_same(k->service, now)) {
		listing_add(&w->g->listing, s, &s->base);
		w->added = true;
	}
	if (k->service)
		gpusched__service__free_unpacked(k->service, NULL);
	k->service = now;
	return 0;
}

static int note_service(const Gpusched__Service *s, void *arg, struct error *err)
{
	(void)err;
	note_jobs(arg, s);
	return 0;
}

static int redraw(struct watch *w, struct error *err)
{
	struct listing *l = &w->g->listing;
	struct service_query query = serve_query(w->g);

	query.replicas = false;
	if (service_list(w->asks, &query, note_service, w, err) < 0)
		return -1;
	if (!w->g->details && listing_begin(l, &service_kind, err) < 0)
		return -1;
	fputs(CLEAR, stdout);
	if (serve_print(w->g, w->asks, err) < 0) {
		view_drop(l->view);
		l->view = NULL;
		return -1;
	}
	if (l->view)
		view_end(l->view);
	l->view = NULL;
	return 0;
}

static int show(struct watch *w, struct error *err)
{
	struct service_query query = serve_query(w->g);
	int rc;

	w->n_jobs = 0;
	if (w->redraws)
		rc = redraw(w, err);
	else
		rc = service_list(w->asks, &query, on_service, w, err);
	if (rc >= 0 && w->added)
		listing_part(&w->g->listing, 0, false);
	w->added = false;
	if (rc >= 0 && (fflush(stdout) != 0 || ferror(stdout)))
		return error_set(err, ERR_SYSTEM, "output: %s", strerror(errno));
	return rc;
}

/* --- all of it ------------------------------------------------------------------------------- */

/* Until something fails. The jobs are watched before they are looked at: nothing is missed. */
static int follow(struct watch *w, struct error *err)
{
	for (;;) {
		if (show(w, err) < 0)
			return -1;
		client_worked(w->asks);
		if (!is_watched(w)) {
			if (start_waiting(w, err) < 0)
				return -1;
			continue;
		}
		if (wait_for_change(w, err) < 0)
			return -1;
	}
}

static void clear(struct watch *w)
{
	for (size_t i = 0; i < w->n_known; i++) {
		free(w->known[i].name);
		if (w->known[i].service)
			gpusched__service__free_unpacked(w->known[i].service, NULL);
	}
	free(w->known);
	free(w->jobs);
	free(w->watched);
	client_free(w->waits);
}

int serve_watch(struct gserve *g, struct error *err)
{
	struct listing *l = &g->listing;
	struct watch w = { .g = g, .redraws = isatty(STDOUT_FILENO) && !l->json && !l->csv };
	struct error why = { .code = ERR_NONE };

	l->stream = true;
	g->details &= w.redraws;
	w.asks = listing_open(l, &serve_cmd, &service_kind, "services", NULL, err);
	if (!w.asks)
		return -1;
	if (w.redraws) {
		view_drop(l->view);
		l->view = NULL;
	}
	w.waits = client_new(NULL, err);
	if (!w.waits) {
		listing_close(l, w.asks, -1, false, err);
		return -1;
	}
	client_set_retry(w.waits, 0); /* `asks` has the patience, and says so */
	client_for_reader(w.asks, STDOUT_FILENO);
	client_for_reader(w.waits, STDOUT_FILENO);
	signal_exit_begin();
	do {
		stop_waiting(&w);
		follow(&w, &why);
		if (!getenv(CLIENT_RETRY_VARIABLE) && w.n_watched + w.n_known)
			client_set_retry(w.asks, -1); /* the controller will come back */
	} while (client_pause(w.asks, &why));
	*err = why;
	clear(&w);
	return listing_close(l, w.asks, -1, false, err);
}
