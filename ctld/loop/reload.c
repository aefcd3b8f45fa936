/* reload.c - see reload.h */
#include "ctld/loop/reload.h"

#include <errno.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/strbuf.h"
#include "common/base/xalloc.h"
#include "common/net/worker.h"
#include "ctld/core/core.h"
#include "ctld/core/nodes/unconfigured.h"
#include "ctld/ctld.h"
#include "ctld/loop/agents.h"
#include "ctld/loop/calls.h"
#include "ctld/loop/inputs.h"
#include "ctld/loop/tick.h"

#define NOTE_TEXT 500 /* bytes of the audit event; the log has all of it */
#define KEY       1   /* one reading at a time: any queue will do */

/* A caller that requested the reading. */
struct asking_caller {
	uint64_t call;
	uint32_t uid;
	bool tries; /* a trial: only report what would change */
	char *user, *host, *reason;
};

struct callers {
	struct asking_caller *v;
	size_t n;
	bool apply; /* not all of them only try */
};

struct reload {
	struct ctld *c;
	reload_done_fn *done;
	struct worker_job *job;
	bool reading;
	struct callers now, next; /* callers answered by this reading, and by the one after it */
	bool again;
};

/* In a thread. */
struct reading {
	struct reload *reload;
	char *path;
	struct conf *conf;
	char *text; /* of conf */
	struct conf_problems problems;
	uid_t agent_uid;
	struct error error; /* code 0: none */
};

static void reading_free(void *arg)
{
	struct reading *r = arg;

	conf_free(r->conf);
	conf_problems_clear(&r->problems);
	free(r->text);
	free(r->path);
	free(r);
}

static void problems_as_error(const struct reading *r, struct error *err)
{
	const struct conf_problem *p = &r->problems.v[0];

	if (p->line)
		error_set(err, ERR_CONFIG, "%s:%u: %s", p->file, p->line, p->text);
	else
		error_set(err, ERR_CONFIG, "%s: %s", p->file, p->text);
	if (r->problems.n > 1)
		error_hint(err, "%zu more mistakes: gctld --test-config %s", r->problems.n - 1,
		        r->path);
}

static void run_reading(void *arg)
{
	struct reading *r = arg;
	struct passwd entry, *found = NULL;
	char buf[16384];
	int rc;

	r->conf = conf_load(r->path, &r->problems);
	if (!r->conf) {
		problems_as_error(r, &r->error);
		return;
	}
	r->text = inputs_conf_text(r->conf);
	rc = getpwnam_r(r->conf->controller.agent_user, &entry, buf, sizeof(buf), &found);
	if (found)
		r->agent_uid = found->pw_uid;
	else if (rc && rc != ENOENT)
		error_set(&r->error, ERR_SYSTEM,
		        "controller.agent_user: '%s' cannot be looked up: %s",
		        r->conf->controller.agent_user, strerror(rc));
	else
		error_set(&r->error, ERR_CONFIG, "controller.agent_user: there is no user '%s'",
		        r->conf->controller.agent_user);
}

static void callers_add(
        struct callers *a, const struct caller *by, const char *reason, bool tries)
{
	a->apply |= !tries;
	if (!by)
		return;
	a->v = xrealloc(a->v, a->n + 1, sizeof(*a->v));
	a->v[a->n++] = (struct asking_caller){ by->reply, by->uid, tries, xstrdup(by->user),
		xstrdup(by->host), xstrdup(reason) };
}

static void callers_clear(struct callers *a)
{
	for (size_t i = 0; i < a->n; i++) {
		free(a->v[i].user);
		free(a->v[i].host);
		free(a->v[i].reason);
	}
	a->n = 0;
	a->apply = false;
}

/* Everything that is not the core and goes by the configuration. */
static void switch_to(struct ctld *c, struct reading *r, struct clocks now)
{
	struct conf *old = c->conf;
	struct error err;

	c->conf = r->conf;
	r->conf = NULL;
	c->agent_uid = r->agent_uid;
	c->generation++;
	free(c->conf_text);
	c->conf_text = r->text;
	r->text = NULL;
	inputs_reconfigure(c, now);
	agents_remap(c);
	if (log_open(c->conf->controller.log, c->conf->controller.log_level, "gctld", &err))
		log_error("%s; the log stays where it was", err.text);
	conf_free(old);
}

static void answer_all(struct reload *r, const struct reload_lines *lines, const struct error *err)
{
	for (size_t i = 0; i < r->now.n; i++)
		r->done(r->c, r->now.v[i].call, lines, err);
	callers_clear(&r->now);
}

/* "2 changes: ..., ...", of which the log has all. Caller frees. */
static char *changes_text(char *const *lines, int n)
{
	struct strbuf text = { .s = NULL };
	char *all;

	strbuf_addf(&text, "%d change%s", n, n == 1 ? "" : "s");
	for (int i = 0; i < n && text.len < NOTE_TEXT; i++)
		strbuf_addf(&text, "%s%s", i ? ", " : ": ", lines[i]);
	all = strbuf_take(&text);
	if (strlen(all) > NOTE_TEXT)
		memcpy(all + NOTE_TEXT - 3, "...", 4);
	return all;
}

/* `by` NULL: no caller. */
static void record_event(struct ctld *c, const struct asking_caller *by, const char *changes,
        struct clocks now)
{
	struct core_event ev = { .kind = EV_NOTE };
	struct strbuf text = { .s = NULL };

	strbuf_addf(&text, "%s%s%s", changes, by && *by->reason ? ": " : "", by ? by->reason : "");
	if (by)
		ev.caller = (struct caller){ .uid = by->uid, .user = by->user, .host = by->host };
	ev.note.kind = "controller.reconfigure";
	ev.note.text = text.s;
	ev.note.nobody = !by;
	inputs_apply(c, &ev, now);
	strbuf_free(&text);
}

static void record_changes(struct ctld *c, const struct reload *r, const struct reload_lines *lines,
        struct clocks now)
{
	char *changes = changes_text(lines->changes, (int)lines->n_changes);
	size_t noted = 0;

	for (size_t i = 0; i < r->now.n; i++) {
		if (r->now.v[i].tries)
			continue;
		record_event(c, &r->now.v[i], changes, now);
		noted++;
	}
	if (!noted)
		record_event(c, NULL, changes, now);
	free(changes);
}

static void log_lines(const struct reading *reading, const struct reload_lines *l)
{
	log_info("%s read again: %zu change%s", reading->path, l->n_changes,
	        l->n_changes == 1 ? "" : "s");
	for (size_t i = 0; i < l->n_changes; i++)
		log_info("%s", l->changes[i]);
	for (size_t i = 0; i < l->n_warnings; i++)
		log_warning("%s", l->warnings[i]);
}

static void lines_clear(struct reload_lines *l)
{
	for (size_t i = 0; i < l->n_changes; i++)
		free(l->changes[i]);
	for (size_t i = 0; i < l->n_warnings; i++)
		free(l->warnings[i]);
	free(l->changes);
	free(l->warnings);
}

/* -1: it cannot take the place of what is in force; reading->error says why. */
static int compare(const struct ctld *c, struct reading *reading, struct reload_lines *l)
{
	int n = reading->error.code ? -1
	                            : conf_diff(c->conf, reading->conf, &l->changes, &reading->error);

	if (n < 0)
		return -1;
	l->n_changes = (size_t)n;
	l->n_warnings = core_unconfigured(c->core, reading->conf, &l->warnings);
	return 0;
}

static void start_reading(struct reload *r);

static void apply(struct ctld *c, void *arg, struct clocks now)
{
	struct reading *reading = arg;
	struct reload *r = reading->reload;
	struct reload_lines lines = { 0 };

	if (compare(c, reading, &lines) < 0) {
		log_error("%s; the running configuration is untouched", reading->error.text);
		answer_all(r, &lines, &reading->error);
	} else {
		if (r->now.apply) {
			switch_to(c, reading, now);
			log_lines(reading, &lines);
			record_changes(c, r, &lines, now);
		}
		answer_all(r, &lines, NULL);
	}
	lines_clear(&lines);
	reading_free(reading);
	r->reading = false;
	if (r->again) {
		struct callers empty = r->now;

		r->now = r->next;
		r->next = empty;
		r->again = false;
		start_reading(r);
	}
}

static const struct tick_work apply_work = { apply, reading_free };

static void reading_done(void *arg)
{
	struct reading *reading = arg;

	reading->reload->job = NULL;
	tick_post(reading->reload->c->tick, &apply_work, reading);
}

static const struct worker_ops reading_ops = { run_reading, reading_done, reading_free };

static void start_reading(struct reload *r)
{
	struct reading *reading = xcalloc(1, sizeof(*reading));
	struct error err;

	reading->reload = r;
	reading->path = xstrdup(r->c->conf_path);
	r->job = worker_submit(r->c->aside, KEY, &reading_ops, reading, &err);
	if (r->job) {
		r->reading = true;
		return;
	}
	reading_free(reading);
	log_error("%s is not read again: %s", r->c->conf_path, err.text);
	answer_all(r, &(struct reload_lines){ 0 }, &err);
}

static void request_reading(
        struct reload *r, const struct caller *by, const char *reason, bool tries)
{
	callers_add(r->reading ? &r->next : &r->now, by, reason, tries);
	if (r->reading)
		r->again = true;
	else
		start_reading(r);
}

void reload_start(struct reload *r, const struct caller *by, const char *reason)
{
	request_reading(r, by, reason, false);
}

void reload_try(struct reload *r, const struct caller *by)
{
	request_reading(r, by, "", true);
}

struct reload *reload_new(struct ctld *c, reload_done_fn *done)
{
	struct reload *r = xcalloc(1, sizeof(*r));

	r->c = c;
	r->done = done;
	return r;
}

void reload_free(struct reload *r)
{
	if (!r)
		return;
	if (r->job)
		worker_cancel(r->job);
	callers_clear(&r->now);
	callers_clear(&r->next);
	free(r->now.v);
	free(r->next.v);
	free(r);
}
