/* gpu_checks.c - see gpu_checks.h
 *
 * One heap (core->checks) has the nodes with GPUs to be checked, by the time of the next check; a
 * registration brings it forward.
 */
#include "ctld/core/nodes/gpu_checks.h"

#include <stdio.h>
#include <string.h>

#include "common/gpu/gpufault.h"
#include "ctld/core/records/node.h"
#include "ctld/core/rows/effects.h"
#include "ctld/core/rows/state.h"
#include "ctld/core/util/heap.h"

void gpu_boot(const struct node *node, char boot[GPU_BOOT_MAX])
{
	snprintf(boot, GPU_BOOT_MAX, "%s%s", node_info(node)->boot_id,
	        strcmp(node_info(node)->boot_id, "-") ? "" : "-");
	for (char *c = boot; *c; c++)
		*c = *c == ' ' ? '_' : *c;
}

bool gpu_may_return(const struct node *node, const struct gpu_drain *d)
{
	char boot[GPU_BOOT_MAX];

	if (d->uid != GPU_NOBODY)
		return false;
	switch (gpu_fault_row((enum gpu_fault_kind)d->kind, d->code)->back) {
	case GPU_BACK_WELL:
		return true;
	case GPU_BACK_RESET:
		gpu_boot(node, boot);
		return strcmp(d->boot, boot) != 0;
	case GPU_BACK_NEVER:
		break;
	}
	return false;
}

/* Those that are worth a look: how many; `uuids` may be NULL. */
static size_t returning(struct core *core, const struct node *node, const char **uuids)
{
	struct gpu_drain d;
	size_t n = 0;

	for (uint32_t i = 0; i < CONF_MAX_GPUS_PER_NODE && *node_info(node)->health; i++) {
		if (!gpu_drained(node, i, &d) || !gpu_may_return(node, &d) || *d.gpu == '#')
			continue;
		if (uuids)
			uuids[n] = effects_text(core->effects, d.gpu);
		n++;
	}
	return n;
}

void gpu_checks_moved(void *item, uint32_t index)
{
	node_link(item)->check_slot = index;
}

/* The one place that puts a node into the heap of checks, or takes it out; mono, INT64_MAX: no
 * check. */
static void set_due(struct core *core, struct node *node, usec_t due)
{
	struct node_link *l = node_link(node);

	if (l->check_slot != HEAP_NOWHERE)
		heap_remove(core->checks, l->check_slot);
	l->check_due = due;
	if (due != INT64_MAX)
		heap_put(core->checks, (struct heap_key){ due < 0 ? 0 : (uint64_t)due, l->index },
		        node);
}

void gpu_checks_later(struct core *core, struct node *node)
{
	const struct node_link *l = node_link_of(node);
	uint32_t ms = l->index == NODE_LEFT ? 0 : core->conf->nodes[l->index].health_recheck_ms;

	if (!ms || !returning(core, node, NULL))
		set_due(core, node, INT64_MAX);
	else if (l->check_slot == HEAP_NOWHERE)
		set_due(core, node, core->now.mono + (usec_t)ms * 1000);
}

/* The next check is set before the order goes out, so a check that gets no answer is ordered
 * again. */
void gpu_checks_order(struct core *core, struct node *node)
{
	const struct node_link *l = node_link_of(node);
	struct effect *e;
	const char **uuids;
	size_t n;

	set_due(core, node, INT64_MAX);
	gpu_checks_later(core, node);
	if (l->check_slot == HEAP_NOWHERE || !l->session || !l->tells_faults)
		return;
	n = returning(core, node, NULL);
	uuids = effects_alloc(core->effects, n * sizeof(*uuids));
	returning(core, node, uuids);
	e = effects_add(core->effects, EFFECT_CHECK_GPUS);
	e->node = l->index;
	e->session = l->session;
	e->check.uuids = uuids;
	e->check.n = n;
}

void gpu_checks_timer(struct core *core)
{
	struct node *node;

	for (unsigned n = 0; n < TIMER_SLICE && (node = heap_first(core->checks)); n++) {
		if (heap_first_key(core->checks).a > (uint64_t)core->now.mono)
			break;
		gpu_checks_order(core, node);
	}
}

usec_t gpu_checks_next(const struct core *core)
{
	return heap_first(core->checks) ? (usec_t)heap_first_key(core->checks).a : INT64_MAX;
}
