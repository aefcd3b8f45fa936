/* health_check.c - see health_check.h, site_program_tasks.h
 *
 * The limits name the program and its interval (effective_limits.h), and may change both at any
 * time. Until the first check has ended the node is not known to be well. The result is reported
 * with the GPUs, in the hello and whenever it has changed. The hello, or the report of a new
 * program, waits a moment for the first check, so that a node whose check is quick reports once.
 * Two checks never run at a time: a check whose program is no longer the site's is waited for, and
 * its result is ignored.
 */
#include "config.h"

#include "noded/watch/health_check.h"

#include <event2/event.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "common/conf/nodewords.h"
#include "noded/confine/containment_active.h"
#include "noded/confine/effective_limits.h"
#include "noded/confine/spool_full.h"
#include "noded/contain/process_tracking.h"
#include "noded/exec/site_program_allowed.h"
#include "noded/record/inherit.h"
#include "noded/runs/launcher_state.h"
#include "noded/runs/shepherd_task.h"

#define LEAF        "health"
#define FIRST       "the health check has not ended yet"
#define NO_RESULT   "the health check was killed"
#define PATIENCE_MS 2000 /* the hello waits this long for the first check */

struct health {
	struct launcher *l;
	char trouble[PROGRAM_TROUBLE_MAX]; /* what the check found wrong; "": nothing */
	struct shepherd_task *check;       /* NULL: no check is in progress */
	struct event *next;
	struct event *patience; /* pending: the hello waits */
	char *path;             /* NULL: the site has none */
	uint64_t timeout_ms, interval_s;
	bool unheard; /* the check in progress is of another program */
};

static void check_later(struct health *h)
{
	struct timeval tv = { .tv_sec = (time_t)h->interval_s };

	evtimer_del(h->next);
	if (tv.tv_sec)
		evtimer_add(h->next, &tv);
}

static void start_check(struct health *h);

static void take_result(struct health *h, const char *found)
{
	check_later(h);
	evtimer_del(h->patience);
	if (strcmp(h->trouble, found) == 0)
		return;
	if (*found)
		log_error("nothing is started here: %s", found);
	else
		log_info("the health check finds nothing wrong");
	snprintf(h->trouble, sizeof(h->trouble), "%s", found);
	h->l->hooks->node_changed(h->l);
}

static void check_ended(const char *trouble, void *arg)
{
	struct health *h = arg;

	h->check = NULL;
	if (!h->unheard) {
		take_result(h, !trouble ? "" : *trouble ? trouble : NO_RESULT);
		return;
	}
	h->unheard = false;
	if (h->path)
		start_check(h);
}

static void start_check(struct health *h)
{
	struct launcher *l = h->l;
	char *path = xstrdup(h->path), *ms = xasprintf("%" PRIu64, h->timeout_ms);
	char *node = xstrdup(l->options->node),
	     *leaf = contain_root_leaf(l->containment->root, LEAF);
	char name[] = "gshepherd", check[] = SHEPHERD_CHECK;
	char *argv[] = { name, check, path, ms, node, leaf, NULL };
	struct error err;

	h->check = shepherd_task_start(l, argv, -1, check_ended, h, &err);
	free(leaf);
	free(node);
	free(ms);
	free(path);
	if (!h->check)
		take_result(h, err.text);
}

static void check_due(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	start_check(arg);
}

static void patience_over(evutil_socket_t fd, short what, void *arg)
{
	const struct health *h = arg;

	(void)fd;
	(void)what;
	h->l->hooks->node_changed(h->l);
}

const char *health_why(const struct launcher *l)
{
	if (*l->limits->programs_why)
		return l->limits->programs_why;
	return l->health && *l->health->trouble ? l->health->trouble : spool_full_why(l);
}

bool health_awaited(const struct health *h)
{
	return h && event_pending(h->patience, EV_TIMEOUT, NULL);
}

bool health_is_leaf(const struct launcher *l, const char *name)
{
	return l->health && l->health->check && strcmp(name, LEAF) == 0;
}

static bool is_another(const struct health *h, const struct effective_program *p)
{
	if (!h->path || !p->path)
		return h->path || p->path;
	return strcmp(h->path, p->path) != 0 || h->timeout_ms != p->timeout_ms;
}

/* Use the limits' program from now on. */
static void replace_program(struct health *h, const struct effective_program *p)
{
	static const struct timeval patience = { .tv_sec = PATIENCE_MS / 1000 };

	free(h->path);
	h->path = p->path ? xstrdup(p->path) : NULL;
	h->timeout_ms = p->timeout_ms;
	h->unheard = h->check != NULL;
	evtimer_del(h->next);
	snprintf(h->trouble, sizeof(h->trouble), "%s", h->path ? FIRST : "");
	if (!h->path) {
		evtimer_del(h->patience);
		return;
	}
	evtimer_add(h->patience, &patience);
	if (!h->check)
		start_check(h);
}

void health_follow(struct launcher *l)
{
	const struct effective_program *p = &l->limits->programs[PROGRAM_HEALTH];
	struct health *h = l->health;
	bool sooner;

	if (!h)
		return;
	sooner = h->interval_s != l->limits->health_interval_s;
	h->interval_s = l->limits->health_interval_s;
	if (is_another(h, p)) {
		replace_program(h, p);
		if (!h->path)
			l->hooks->node_changed(l);
	} else if (sooner && h->path && !h->check) {
		check_later(h);
	}
}

struct health *health_start(struct launcher *l)
{
	struct health *h = xcalloc(1, sizeof(*h));

	h->l = l;
	h->next = evtimer_new(l->base, check_due, h);
	h->patience = evtimer_new(l->base, patience_over, h);
	if (!h->next || !h->patience)
		abort();
	l->health = h;
	health_follow(l);
	return h;
}

void health_free(struct health *h)
{
	if (!h)
		return;
	shepherd_task_free(h->check);
	event_free(h->patience);
	event_free(h->next);
	free(h->path);
	free(h);
}
