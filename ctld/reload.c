/* reload.c - see reload.h */
#include "ctld/reload.h"

#include <errno.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/strbuf.h"
#include "common/worker.h"
#include "common/xalloc.h"
#include "ctld/agents.h"
#include "ctld/calls.h"
#include "ctld/core/core.h"
#include "ctld/ctld.h"
#include "ctld/inputs.h"
#include "ctld/tick.h"

#define NOTE_TEXT 500 /* bytes of the audit event; the log has all of it */
#define KEY       1   /* one reading at a time: any queue will do */

/* Who asked for it. */
struct asker {
	uint64_t call;
	uint32_t uid;
	char *user, *host, *reason;
};

struct askers {
	struct asker *v;
	size_t n;
};

struct reload {
	struct ctld *c;
	reload_done_fn *done;
	struct worker_job *job;
	bool reading;
	struct askers now, next; /* who is answered by this reading, by the one after it */
	bool again;
};

/* In a thread. */
struct reading {
	struct reload *reload;
	char *path;
	struct conf *conf;
	bool wants_text;
	char *text; /* of conf, to be recorded */
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
	if (r->wants_text)
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

static void askers_add(struct askers *a, const struct caller *by, const char *reason)
{
	if (!by)
		return;
	a->v = xrealloc(a->v, a->n + 1, sizeof(*a->v));
	a->v[a->n++] = (struct asker){ by->reply, by->uid, xstrdup(by->user), xstrdup(by->host),
		xstrdup(reason) };
}

static void askers_clear(struct askers *a)
{
	for (size_t i = 0; i < a->n; i++) {
		free(a->v[i].user);
		free(a->v[i].host);
		free(a->v[i].reason);
	}
	a->n = 0;
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
	inputs_reconfigure(c, r->text, now);
	agents_remap(c);
	if (log_open(c->conf->controller.log, c->conf->controller.log_level, "gctld", &err))
		log_error("%s; the log stays where it was", err.text);
	conf_free(old);
}

static void tell_all(struct reload *r, char *const *lines, int n, const struct error *err)
{
	for (size_t i = 0; i < r->now.n; i++)
		r->done(r->c, r->now.v[i].call, lines, n, err);
	askers_clear(&r->now);
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

/* Nobody: NULL. */
static void note_one(struct ctld *c, const struct asker *by, const char *changes, struct clocks now)
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

static void note(
        struct ctld *c, const struct reload *r, char *const *lines, int n, struct clocks now)
{
	char *changes = changes_text(lines, n);

	for (size_t i = 0; i < r->now.n; i++)
		note_one(c, &r->now.v[i], changes, now);
	if (!r->now.n)
		note_one(c, NULL, changes, now);
	free(changes);
}

static void apply(struct ctld *c, void *arg, struct clocks now)
{
	struct reading *reading = arg;
	struct reload *r = reading->reload;
	char **lines = NULL;
	int n = 0;

	if (reading->error.code == 0) {
		n = conf_diff(c->conf, reading->conf, &lines, &reading->error);
		if (n >= 0)
			switch_to(c, reading, now);
	}
	if (reading->error.code) {
		log_error("%s; the running configuration is untouched", reading->error.text);
		tell_all(r, NULL, 0, &reading->error);
	} else {
		log_info("%s read again: %d change%s", reading->path, n, n == 1 ? "" : "s");
		for (int i = 0; i < n; i++)
			log_info("%s", lines[i]);
		note(c, r, lines, n, now);
		tell_all(r, lines, n, NULL);
	}
	for (int i = 0; i < n; i++)
		free(lines[i]);
	free(lines);
	reading_free(reading);
	r->reading = false;
	if (r->again) {
		struct askers empty = r->now;

		r->now = r->next;
		r->next = empty;
		r->again = false;
		reload_start(r, NULL, "");
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

void reload_start(struct reload *r, const struct caller *by, const char *reason)
{
	struct reading *reading;
	struct error err;

	if (r->reading) {
		askers_add(&r->next, by, reason);
		r->again = true;
		return;
	}
	askers_add(&r->now, by, reason);
	reading = xcalloc(1, sizeof(*reading));
	reading->reload = r;
	reading->path = xstrdup(r->c->conf_path);
	reading->wants_text = inputs_recorded(r->c->inputs);
	r->job = worker_submit(r->c->aside, KEY, &reading_ops, reading, &err);
	if (r->job) {
		r->reading = true;
		return;
	}
	reading_free(reading);
	log_error("%s is not read again: %s", r->c->conf_path, err.text);
	tell_all(r, NULL, 0, &err);
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
	askers_clear(&r->now);
	askers_clear(&r->next);
	free(r->now.v);
	free(r->next.v);
	free(r);
}
