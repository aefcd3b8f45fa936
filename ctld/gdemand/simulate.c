/* simulate.c - see simulate.h */
#include "ctld/gdemand/simulate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "common/conf/conf_find.h"
#include "ctld/gsim/cluster.h"
#include "ctld/gsim/job_results.h"
#include "ctld/gsim/replay_history.h"

/* --- the cluster ----------------------------------------------------------------------------- */

static struct conf *read_cluster(const struct trial_options *o, struct error *err)
{
	struct conf *conf =
	        o->nodes ? cluster_make(o->nodes, false, err) : cluster_read(o->conf, err);
	size_t i;

	for (i = 0; conf && o->nodes && i < conf->n_nodes; i++)
		conf->nodes[i].share = CONF_SHARE_WATCH;
	return conf;
}

static bool alike(const struct conf_node *a, const struct conf_node *b)
{
	size_t i;

	if (a->n_gpus != b->n_gpus)
		return false;
	for (i = 0; i < a->n_gpus; i++) {
		if (a->gpus[i].type != b->gpus[i].type || a->gpus[i].count != b->gpus[i].count)
			return false;
	}
	return true;
}

/* Which node the others of the kind are like; CONF_NONE with `err`. */
static uint32_t find_kind(const struct conf *conf, const char *like, struct error *err)
{
	uint32_t node = CONF_NONE, i;

	if (like) {
		node = CONF_FIND(conf, nodes, like);
		if (node == CONF_NONE)
			error_set(err, ERR_NO_NODE, "--size=%.100s: there is no node of that name",
			        like);
		else if (!conf->nodes[node].n_gpus)
			error_set(err, ERR_USAGE, "--size=%.100s: the node has no GPUs", like);
		return node == CONF_NONE || !conf->nodes[node].n_gpus ? CONF_NONE : node;
	}
	for (i = 0; i < conf->n_nodes; i++) {
		if (!conf->nodes[i].n_gpus)
			continue;
		if (node != CONF_NONE && !alike(&conf->nodes[node], &conf->nodes[i])) {
			error_set(err, ERR_USAGE, "the nodes have different GPUs");
			error_hint(err,
			        "--size=NODE says of which there may be more or fewer: %.60s "
			        "or %.60s",
			        conf->nodes[node].name, conf->nodes[i].name);
			return CONF_NONE;
		}
		node = node == CONF_NONE ? i : node;
	}
	if (node == CONF_NONE)
		error_set(err, ERR_CONFIG, "no node has GPUs configured");
	return node;
}

static uint32_t gpus_of(const struct conf_node *node)
{
	uint32_t sum = 0;
	size_t i;

	for (i = 0; i < node->n_gpus; i++)
		sum += node->gpus[i].count;
	return sum;
}

static uint32_t count_kind(const struct conf *conf, uint32_t node)
{
	uint32_t n = 0;
	size_t i;

	for (i = 0; i < conf->n_nodes; i++)
		n += alike(&conf->nodes[node], &conf->nodes[i]);
	return n;
}

int trial_kind(
        const struct trial_options *o, uint32_t *nodes, uint32_t *gpus_each, struct error *err)
{
	struct conf *conf = read_cluster(o, err);
	uint32_t node = conf ? find_kind(conf, o->like, err) : CONF_NONE;

	if (node != CONF_NONE) {
		*nodes = count_kind(conf, node);
		*gpus_each = gpus_of(&conf->nodes[node]);
	}
	conf_free(conf);
	return node == CONF_NONE ? -1 : 0;
}

/* Nodes of the kind beyond the first `nodes` have no GPUs any more. */
static void take_away(struct conf *conf, uint32_t node, uint32_t nodes)
{
	struct conf_node like = conf->nodes[node];
	uint32_t kept = 0;
	size_t i;

	for (i = 0; i < conf->n_nodes; i++) {
		if (alike(&like, &conf->nodes[i]) && kept++ >= nodes)
			conf->nodes[i].n_gpus = 0;
	}
}

static int set_nodes(
        struct conf *conf, const struct trial_options *o, uint32_t nodes, struct error *err)
{
	uint32_t node = find_kind(conf, o->like, err), have;
	char *more;
	int rc = 0;

	if (node == CONF_NONE)
		return -1;
	have = count_kind(conf, node);
	if (nodes < have)
		take_away(conf, node, nodes);
	if (nodes <= have)
		return 0;
	more = xasprintf("%u:%s", (unsigned)(nodes - have), conf->nodes[node].name);
	rc = cluster_add(conf, more, err);
	free(more);
	return rc;
}

/* --- the run --------------------------------------------------------------------------------- */

struct running {
	const struct past *past;
	const struct trial_options *o;
	struct trial *t;
	usec_t base; /* when the first job of the replay came */
};

static void take_starts(const struct running *r, const struct results *results)
{
	size_t i, k;

	for (i = 0; i < results->n; i++) {
		const struct result *v = &results->v[i];

		k = strtoull(text_numbers_text(results->names, v->name), NULL, 10);
		if (k < r->past->n && !v->refused && isfinite(v->job.start))
			r->t->starts[k] = (usec_t)llround(v->job.start * 1e6) + r->base;
	}
}

static void progress(void *arg, const struct world *w)
{
	const struct running *r = arg;
	const struct measures *m = world_measures((struct world *)w);

	if (r->o->progress)
		r->o->progress(r->o->arg, m->ended + m->refused);
}

static int run(struct running *r, const struct conf *conf, struct error *err)
{
	static const char *const name = "the history";
	const struct world_options world = {
		.seed = r->o->seed, .limits = LIMITS_NONE, .factor = 1
	};
	struct past_replay from = { r->past, r->o->nodes };
	const struct history_options history = { .reader = &past_reader, .arg = &from };
	const struct replay_options how = { .shared = r->o->nodes ? SHARED_SHARE : SHARED_ROUND,
		.scale_load = 1,
		.until = WORLD_NEVER,
		.progress = progress,
		.arg = r };
	struct world *w = world_new(conf, &world, err);
	struct history_files *h = w ? history_files_open(&name, 1, &history, err) : NULL;
	struct results *results = results_new();
	int rc = -1;

	if (h) {
		world_measures(w)->results = results;
		rc = replay(w, h, &how, err);
	}
	if (rc == 0) {
		const struct measures *m = world_measures(w);

		take_starts(r, results);
		r->t->refused = m->refused;
		r->t->allocation = m->capacity_us > 0 ? m->used_us / m->capacity_us : 0;
	}
	history_files_close(h);
	world_free(w);
	results_free(results);
	return rc;
}

int trial_run(const struct past *past, const struct trial_options *o, uint32_t nodes,
        struct trial *t, struct error *err)
{
	struct running r = { past, o, t, 0 };
	struct conf *conf = read_cluster(o, err);
	size_t i, first = 0;
	int rc = -1;

	*t = (struct trial){ .nodes = nodes, .starts = xcalloc(past->n, sizeof(*t->starts)) };
	for (i = 0; i < past->n; i++)
		t->starts[i] = PAST_UNKNOWN;
	while (first < past->n && past->v[first].duration == PAST_UNKNOWN)
		first++;
	r.base = first < past->n ? past->v[first].eligible : 0;
	if (conf && (nodes == TRIAL_AS_IT_IS || set_nodes(conf, o, nodes, err) == 0)) {
		t->gpus = cluster_gpus(conf);
		cluster_prepare(conf);
		rc = run(&r, conf, err);
	}
	conf_free(conf);
	if (rc < 0)
		trial_clear(t);
	return rc;
}

void trial_clear(struct trial *t)
{
	free(t->starts);
	t->starts = NULL;
}
