/* conf_qos.c - which QOS preempts which; see conf_check.h */
#include "common/conf/conf_check.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"

/* reach[i * n + j]: QOS i preempts j, or one that does. */
struct graph {
	size_t n;
	bool *direct, *reach;
};

static void direct_find(struct conf_checker *c, struct graph *g)
{
	const struct conf *conf = &c->reader->raw.conf;

	for (size_t i = 0; i < g->n; i++) {
		const struct conf_texts *names = &conf->qos[i].preempts_names;

		for (size_t k = 0; k < names->n; k++) {
			const struct conf_named *found = conf_names_resolve(
			        &c->qos, c->reader, "qos", i, "preempts", names->v[k]);

			if (found)
				g->direct[i * g->n + found->index] = true;
		}
	}
}

static void close_transitively(struct graph *g)
{
	memcpy(g->reach, g->direct, g->n * g->n * sizeof(*g->reach));
	for (size_t via = 0; via < g->n; via++) {
		for (size_t i = 0; i < g->n; i++) {
			if (!g->reach[i * g->n + via])
				continue;
			for (size_t j = 0; j < g->n; j++)
				g->reach[i * g->n + j] |= g->reach[via * g->n + j];
		}
	}
}

/* A shortest circle through `first`, as next[]. */
static void circle_find(const struct graph *g, size_t first, size_t *next)
{
	size_t *queue = xcalloc(g->n, sizeof(*queue)), n = 0;
	bool *seen = xcalloc(g->n, sizeof(*seen));

	/* Backwards, so that each one met knows its next. */
	queue[n++] = first;
	for (size_t k = 0; k < n && !seen[first]; k++) {
		for (size_t i = 0; i < g->n; i++) {
			if (!g->direct[i * g->n + queue[k]] || seen[i])
				continue;
			seen[i] = true;
			next[i] = queue[k];
			if (i != first)
				queue[n++] = i;
		}
	}
	free(queue);
	free(seen);
}

/* One circle of each set of QOS that preempt one another. Returns if there is any. */
static bool circles_tell(struct conf_reader *r, const struct graph *g)
{
	const struct conf *conf = &r->raw.conf;
	const char **names = xcalloc(g->n, sizeof(*names));
	size_t *next = xcalloc(g->n, sizeof(*next));
	bool *told = xcalloc(g->n, sizeof(*told)), any = false;
	char *circle;

	for (size_t i = 0; i < g->n; i++)
		names[i] = conf->qos[i].name;
	for (size_t i = 0; i < g->n; i++) {
		if (!g->reach[i * g->n + i] || told[i])
			continue;
		any = true;
		circle_find(g, i, next);
		circle = conf_circle(i, names, next);
		conf_reader_problem(r, conf_setting_at(r, "qos", i, "preempts"),
		        "qos[%zu].preempts: %s: none may preempt itself, by others neither", i,
		        circle);
		free(circle);
		for (size_t j = 0; j < g->n; j++)
			told[j] |= g->reach[i * g->n + j] && g->reach[j * g->n + i];
	}
	free(names);
	free(next);
	free(told);
	return any;
}

/* Each level is above those of all that it preempts: as many rounds as the longest chain. */
static void levels_find(struct conf *conf, const struct graph *g)
{
	bool changed = true;

	while (changed) {
		changed = false;
		for (size_t i = 0; i < g->n; i++) {
			for (size_t j = 0; j < g->n; j++) {
				if (!g->direct[i * g->n + j] ||
				        conf->qos[i].level > conf->qos[j].level)
					continue;
				conf->qos[i].level = conf->qos[j].level + 1;
				changed = true;
			}
		}
	}
}

static void preempts_fill(struct conf_qos *qos, const bool *reach, size_t n)
{
	qos->preempts = xcalloc(n, sizeof(*qos->preempts));
	for (size_t j = 0; j < n; j++) {
		if (reach[j])
			qos->preempts[qos->n_preempts++] = (uint32_t)j;
	}
}

void conf_check_qos(struct conf_checker *c)
{
	struct conf *conf = &c->reader->raw.conf;
	struct graph g = { .n = conf->n_qos };

	conf_names_of(&c->qos, "qos", &c->reader->raw);
	g.direct = xcalloc(g.n * g.n, sizeof(*g.direct));
	g.reach = xcalloc(g.n * g.n, sizeof(*g.reach));
	direct_find(c, &g);
	close_transitively(&g);
	if (!circles_tell(c->reader, &g))
		levels_find(conf, &g);
	for (size_t i = 0; i < g.n; i++) {
		preempts_fill(&conf->qos[i], g.reach + i * g.n, g.n);
		conf_accounts_resolve(c, "qos", i, &conf->qos[i].accounts_names,
		        &conf->qos[i].accounts, &conf->qos[i].n_accounts);
	}
	free(g.direct);
	free(g.reach);
}
