/* gpu_checks.c - see gpu_checks.h */
#include "noded/watch/gpu_checks.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "noded/gpu/gpus.h"
#include "noded/runs/launcher_state.h"
#include "noded/watch/gpu_faults.h"
#include "noded/watch/gpu_inventory.h"
#include "noded/watch/gpu_leftovers.h"

struct gpu_checks {
	char (*uuids)[GPUS_TEXT]; /* NULL: none is examined */
	size_t n;
	bool probing;
};

struct gpu_checks *gpu_checks_new(void)
{
	return xcalloc(1, sizeof(struct gpu_checks));
}

void gpu_checks_free(struct gpu_checks *c)
{
	if (c)
		free(c->uuids);
	free(c);
}

static void answer_check(struct launcher *l)
{
	struct gpu_checks *c = l->gpu_checks;

	gpu_faults_answer(l, c->uuids, c->n);
	free(c->uuids);
	c->uuids = NULL;
	c->n = 0;
}

static void occupants_known(const char *left, void *arg)
{
	(void)left; /* it is a condition by now */
	answer_check(arg);
}

void gpu_checks_order(struct launcher *l, const Gpusched__GpuCheck *m)
{
	struct gpu_checks *c = l->gpu_checks;

	if (!c || c->uuids || !m->n_uuids)
		return;
	c->uuids = xcalloc(m->n_uuids, sizeof(*c->uuids));
	for (size_t i = 0; i < m->n_uuids; i++) {
		if (strlen(m->uuids[i]) < GPUS_TEXT)
			memcpy(c->uuids[c->n++], m->uuids[i], strlen(m->uuids[i]));
	}
	c->probing = true;
	gpu_inventory_probe(l);
}

void gpu_checks_probed(struct launcher *l, const struct gpus *now)
{
	struct gpu_checks *c = l->gpu_checks;

	if (!c || !c->probing)
		return;
	c->probing = false;
	if (now->state == GPUS_FOUND)
		gpu_leftovers_check(l, c->uuids, c->n, occupants_known, l);
	else
		answer_check(l);
}
