/* gpu_mark.c - see gpu_mark.h */
#include "cmds/web/pages/gpu_mark.h"

#include <string.h>

static const char *const words[GPU_MARKS] = {
	[GPU_MARK_FREE] = "free",
	[GPU_MARK_HELD] = "held",
	[GPU_MARK_IDLE] = "held, idle",
	[GPU_MARK_SHARED] = "shared",
	[GPU_MARK_DRAINED] = "drained",
	[GPU_MARK_TROUBLE] = "in trouble",
};
static const char *const classes[GPU_MARKS] = {
	[GPU_MARK_FREE] = "g free",
	[GPU_MARK_HELD] = "g held",
	[GPU_MARK_IDLE] = "g idle",
	[GPU_MARK_SHARED] = "g shared",
	[GPU_MARK_DRAINED] = "g drained",
	[GPU_MARK_TROUBLE] = "g trouble",
};

const char *gpu_mark_word(enum gpu_mark mark)
{
	return words[mark];
}

static bool is(const char *state, const char *word)
{
	return !strcmp(state, word);
}

bool node_answers(const Gpusched__Node *n)
{
	return !is(n->state, "down") && !is(n->state, "unknown") && !is(n->state, "invalid");
}

bool node_takes_jobs(const Gpusched__Node *n)
{
	return node_answers(n) && !is(n->state, "drained") && !is(n->state, "draining");
}

bool gpu_use(const Gpusched__NodeGpu *g, uint32_t *percent)
{
	if (g->sample_known && g->sm_known)
		*percent = g->sm_pct;
	else if (g->use_known)
		*percent = g->util_pct;
	else
		return false;
	return true;
}

enum gpu_mark gpu_mark(const Gpusched__Node *n, const Gpusched__NodeGpu *g)
{
	uint32_t use;

	if (!node_answers(n) || is(g->state, "missing") || is(g->state, "trouble"))
		return GPU_MARK_TROUBLE;
	if (is(g->state, "shared"))
		return GPU_MARK_SHARED;
	if (is(g->state, "whole"))
		return gpu_use(g, &use) && use < GPU_IDLE_PCT ? GPU_MARK_IDLE : GPU_MARK_HELD;
	if (!is(g->state, "free") || !node_takes_jobs(n))
		return GPU_MARK_DRAINED;
	return GPU_MARK_FREE;
}

const char *gpu_mark_class(enum gpu_mark mark, const Gpusched__NodeGpu *g)
{
	uint32_t use;

	if (mark != GPU_MARK_HELD || !gpu_use(g, &use) || use >= 88)
		return classes[mark];
	return use < 38 ? "g u1" : use < 63 ? "g u2" : "g u3";
}
