/* fence.c - see fence.h */
#include "ctld/site/fence.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "ctld/ctld.h"
#include "ctld/loop/inputs.h"
#include "ctld/loop/node_names.h"
#include "ctld/loop/tick.h"
#include "ctld/site/programs.h"

/* A node whose fence program has not reported yet. */
struct asked {
	TAILQ_ENTRY(asked) next;
	struct fence *fence;
	char *node; /* by name: numbers change with the configuration */
	bool running;
};

struct fence {
	struct ctld *c;
	struct programs *programs;
	TAILQ_HEAD(, asked) asked;
};

static void start_some(void *arg);

struct fence *fence_new(struct ctld *c)
{
	struct fence *f = xcalloc(1, sizeof(*f));

	f->c = c;
	f->programs = programs_new(c->base, FENCE_AT_ONCE, start_some, f);
	TAILQ_INIT(&f->asked);
	return f;
}

static void asked_free(struct asked *a)
{
	TAILQ_REMOVE(&a->fence->asked, a, next);
	free(a->node);
	free(a);
}

void fence_free(struct fence *f)
{
	if (!f)
		return;
	while (!TAILQ_EMPTY(&f->asked))
		asked_free(TAILQ_FIRST(&f->asked));
	programs_free(f->programs);
	free(f);
}

/* --- its word ------------------------------------------------------------------------------ */

struct word {
	bool off;
	char node[];
};

static void apply_word(struct ctld *c, void *arg, struct clocks now)
{
	struct core_event ev = { .kind = EV_FENCED };
	struct word *w = arg;

	ev.fenced.off = w->off;
	if (node_names_find(c->node_names, w->node, &ev.fenced.node))
		inputs_apply(c, &ev, now);
	free(w);
}

static const struct tick_work word_work = { apply_word, free };

static void finish(struct asked *a, bool off)
{
	struct fence *f = a->fence;
	size_t len = strlen(a->node) + 1;
	struct word *w = xcalloc(1, sizeof(*w) + len);

	w->off = off;
	memcpy(w->node, a->node, len);
	asked_free(a);
	tick_post(f->c->tick, &word_work, w);
}

static void on_done(void *arg, const struct program_end *end)
{
	struct asked *a = arg;
	char buf[PROGRAM_END_TEXT_MAX];

	if (program_succeeded(end))
		log_info("node %s: the fence program says that it is off", a->node);
	else
		log_error("node %s: the fence program %s", a->node, program_end_text(end, buf));
	finish(a, program_succeeded(end));
}

/* --- starting it --------------------------------------------------------------------------- */

static int start(struct asked *a, struct error *err)
{
	const struct conf *conf = a->fence->c->conf;
	char *argv[] = { (char *)conf->controller.fence, a->node, NULL };
	char node_var[128], cluster_var[320];
	char *env[] = { "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C", node_var, cluster_var,
		NULL };

	if (!*argv[0])
		return error_set(err, ERR_CONFIG, "there is none any more");
	snprintf(node_var, sizeof(node_var), "GPUSCHED_NODE=%s", a->node);
	snprintf(cluster_var, sizeof(cluster_var), "GPUSCHED_CLUSTER=%s", conf->cluster);
	return programs_start(
	        a->fence->programs, argv, env, conf->controller.fence_timeout_s, on_done, a, err);
}

static void start_some(void *arg)
{
	struct fence *f = arg;
	struct asked *a, *next;
	struct error err;

	for (a = TAILQ_FIRST(&f->asked); a && programs_have_space(f->programs); a = next) {
		next = TAILQ_NEXT(a, next);
		if (a->running)
			continue;
		a->running = true;
		if (start(a, &err) == 0) {
			log_info("node %s: fence program started", a->node);
			continue;
		}
		log_error("node %s: fence program: %s", a->node, err.text);
		finish(a, false);
	}
}

void fence_effect(struct ctld *c, const struct effect *effect, struct clocks now)
{
	const char *name = c->conf->nodes[effect->node].name;
	struct fence *f = c->fence;
	struct asked *a;

	(void)now;
	TAILQ_FOREACH (a, &f->asked, next)
		if (strcmp(a->node, name) == 0)
			return;
	a = xcalloc(1, sizeof(*a));
	a->fence = f;
	a->node = xstrdup(name);
	TAILQ_INSERT_TAIL(&f->asked, a, next);
	start_some(f);
}
