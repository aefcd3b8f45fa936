/* gpus.c - see gpus.h */
#include "testsuite/sim/gpus.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "common/gpu/gpufault.h"

#define MAX_GPUS  16
#define MAX_KINDS 16
#define PENDING   64
#define TEXT      64

/* What is to become of it, as the manual says. */
enum action { NOTE, GPU, NODE };
enum back { WELL, RESET, NEVER };

static const struct kind {
	enum gpu_fault_kind kind;
	uint32_t code;
	enum action action;
	enum back back;
	bool lasts; /* a look finds it too */
	const char *text;
} kinds[] = {
	{ GPU_FAULT_XID, 31, NOTE, WELL, false, "" },
	{ GPU_FAULT_XID, 13, NOTE, WELL, false, "" },
	{ GPU_FAULT_XID, 79, GPU, RESET, false, "" },
	{ GPU_FAULT_XID, 48, GPU, RESET, false, "" },
	{ GPU_FAULT_XID, 95, NODE, NEVER, false, "" },
	{ GPU_FAULT_HOT, 0, GPU, WELL, true, "91 C, it slows down at 87 C" },
	{ GPU_FAULT_LOST, 0, GPU, WELL, true, "GPU is lost" },
	{ GPU_FAULT_HUNG, 0, GPU, WELL, true, "" },
	{ GPU_FAULT_PROCESS, 0, GPU, WELL, true, "process 4711 (python) is left on it" },
	{ GPU_FAULT_ECC, 0, GPU, RESET, true, "2 uncorrectable memory errors" },
	{ GPU_FAULT_REMAP_FAILED, 0, GPU, NEVER, true, "" },
	{ GPU_FAULT_ECC_TOTAL, 0, NOTE, NEVER, true, "9 uncorrectable memory errors in its life" },
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

struct pending {
	uint64_t seq;
	uint32_t gpu;
	const struct kind *kind; /* NULL: it was reset */
	bool answered;           /* it was found well and said so, after this */
};

struct slot {
	char uuid[TEXT];
	uint64_t mem_mb;
	bool is[KINDS]; /* so it is at the moment */
	bool reset;     /* needs one before it comes back: that was acknowledged */
	bool never;     /* does not come back by itself: the same */
	bool unsure;    /* perhaps the controller thinks so */
};

struct sim_gpus {
	struct engine *engine;
	struct checker *checker;
	const struct conf_node *node;
	uint32_t n;
	struct slot v[MAX_GPUS];
	struct pending pending[PENDING];
	size_t n_pending, n_faults;
	uint64_t seq;
	Gpusched__Inventory inventory;
	Gpusched__GpuDevice devices[MAX_GPUS], *list[MAX_GPUS];
};

static const char empty[] = "";

/* --- making ---------------------------------------------------------------------------------- */

static void add_device(struct sim_gpus *g, const struct conf_gpu_type *type)
{
	struct slot *s = &g->v[g->n];
	Gpusched__GpuDevice *d = &g->devices[g->n];
	bool mig = *type->mig_of != '\0';

	snprintf(s->uuid, sizeof(s->uuid), "%s-%s-%u", mig ? "MIG" : "GPU", g->node->name, g->n);
	s->mem_mb = type->mem_mb - type->mem_reserve_mb;
	gpusched__gpu_device__init(d);
	d->index = d->host = g->n;
	d->type = type->name;
	d->name = (char *)(uintptr_t)empty;
	d->uuid = s->uuid;
	d->mem_mb = type->mem_mb;
	d->mig = mig;
	checker_say(g->checker, "card %s %u %" PRIu64, g->node->name, g->n, s->mem_mb);
	g->list[g->n++] = d;
}

struct sim_gpus *sim_gpus_new(
        struct engine *e, struct checker *checker, const struct conf *conf, uint32_t node)
{
	static const char *const words[] = { "run", "requeue", "end" };
	struct sim_gpus *g = xcalloc(1, sizeof(*g));

	g->engine = e;
	g->checker = checker;
	g->node = &conf->nodes[node];
	for (size_t i = 0; i < g->node->n_gpus; i++) {
		for (uint32_t k = 0; k < g->node->gpus[i].count && g->n < MAX_GPUS; k++)
			add_device(g, &conf->gpu_types[g->node->gpus[i].type]);
	}
	/* The instances are of the first GPU that is none, as far as anybody asks. */
	for (uint32_t i = 0; i < g->n; i++) {
		if (g->devices[i].mig)
			g->devices[i].host = 0;
	}
	gpusched__inventory__init(&g->inventory);
	g->inventory.asked = true;
	g->inventory.gpus = g->list;
	g->inventory.n_gpus = g->n;
	if (g->node->share_users == CONF_USERS_ONE)
		checker_say(checker, "apart %s", g->node->name);
	checker_say(checker, "health %s %s", g->node->name, words[g->node->health_jobs]);
	return g;
}

void sim_gpus_free(struct sim_gpus *g)
{
	free(g);
}

const Gpusched__Inventory *sim_gpus_inventory(const struct sim_gpus *g)
{
	return &g->inventory;
}

uint64_t sim_gpus_mem_mb(const struct sim_gpus *g, unsigned gpu)
{
	return gpu < g->n ? g->v[gpu].mem_mb : 0;
}

size_t sim_gpus_faults(const struct sim_gpus *g)
{
	return g->n_faults;
}

/* --- what happens ---------------------------------------------------------------------------- */

static uint64_t bit(uint32_t gpu)
{
	return UINT64_C(1) << gpu;
}

static bool add(struct sim_gpus *g, uint32_t gpu, const struct kind *kind)
{
	if (g->n_pending == PENDING)
		return false;
	g->pending[g->n_pending++] = (struct pending){ .seq = ++g->seq, .gpu = gpu, .kind = kind };
	if (kind && kind->action != NOTE)
		checker_say(g->checker, "fault %s %" PRIx64, g->node->name,
		        kind->action == NODE ? UINT64_MAX : bit(gpu));
	g->n_faults += kind && kind->action != NOTE;
	return true;
}

/* It becomes so, or it passes; what only a reset or a new GPU cures stays. */
static bool changes(struct sim_gpus *g, uint32_t gpu, size_t k)
{
	bool *is = &g->v[gpu].is[k];

	if (!kinds[k].lasts)
		return add(g, gpu, &kinds[k]);
	if (*is) {
		*is = kinds[k].back != WELL;
		return false;
	}
	*is = add(g, gpu, &kinds[k]);
	return *is;
}

static bool was_reset(struct sim_gpus *g, uint32_t gpu)
{
	if (!add(g, gpu, NULL))
		return false;
	for (size_t k = 0; k < KINDS; k++)
		g->v[gpu].is[k] &= kinds[k].back == NEVER;
	g->v[gpu].reset = false;
	return true;
}

bool sim_gpus_happens(struct sim_gpus *g)
{
	uint32_t gpu = (uint32_t)engine_below(g->engine, g->n);
	size_t k = (size_t)engine_below(g->engine, KINDS);

	if (engine_chance(g->engine, 150000))
		return was_reset(g, gpu);
	if (kinds[k].back == NEVER && engine_chance(g->engine, 700000))
		return false; /* seldom */
	return changes(g, gpu, k);
}

void sim_gpus_boot(struct sim_gpus *g)
{
	for (size_t i = 0; i < g->n_pending; i++) {
		const struct pending *p = &g->pending[i];

		g->v[p->gpu].unsure |= p->kind && p->kind->back == NEVER;
	}
	g->n_pending = 0;
	g->seq = 0;
	for (uint32_t i = 0; i < g->n; i++) {
		g->v[i].reset = false;
		for (size_t k = 0; k < KINDS; k++) {
			bool is = g->v[i].is[k] && kinds[k].back == NEVER;

			g->v[i].is[k] = is && add(g, i, &kinds[k]); /* found anew */
		}
	}
}

void sim_gpus_heal(struct sim_gpus *g)
{
	for (uint32_t i = 0; i < g->n; i++) {
		memset(g->v[i].is, 0, sizeof(g->v[i].is));
		was_reset(g, i);
	}
}

/* --- what is told ---------------------------------------------------------------------------- */

static const char *trouble_of(const struct slot *s)
{
	for (size_t k = 0; k < KINDS; k++) {
		if (s->is[k] && kinds[k].action != NOTE)
			return *kinds[k].text ? kinds[k].text : "it does not answer";
	}
	return "";
}

/* Once the controller has all that is pending and a look that finds nothing: may it be in use? */
static bool may_return(const struct sim_gpus *g, uint32_t gpu)
{
	bool reset = g->v[gpu].reset, never = g->v[gpu].never;

	for (size_t i = 0; i < g->n_pending; i++) {
		const struct pending *p = &g->pending[i];

		if (p->gpu != gpu)
			continue;
		reset = p->kind ? reset || (p->kind->action == GPU && p->kind->back == RESET)
		                : false;
		never |= p->kind && p->kind->action == GPU && p->kind->back == NEVER;
	}
	return !reset && !never;
}

static void found_well(struct sim_gpus *g, uint32_t gpu)
{
	if (!may_return(g, gpu))
		return;
	checker_say(g->checker, "returned %s %" PRIx64, g->node->name, bit(gpu));
	for (size_t i = 0; i < g->n_pending; i++)
		g->pending[i].answered |= g->pending[i].gpu == gpu;
}

static void answer(struct sim_gpus *g, const char *uuid, Gpusched__GpuLooked *out)
{
	gpusched__gpu_looked__init(out);
	out->uuid = (char *)(uintptr_t)uuid;
	out->trouble = (char *)(uintptr_t) "there is no such GPU";
	for (uint32_t i = 0; i < g->n; i++) {
		if (strcmp(g->v[i].uuid, uuid) != 0)
			continue;
		out->trouble = (char *)(uintptr_t)trouble_of(&g->v[i]);
		if (!*out->trouble)
			found_well(g, i);
	}
}

static void tell(const struct sim_gpus *g, const struct pending *p, Gpusched__GpuFault *out)
{
	gpusched__gpu_fault__init(out);
	out->seq = p->seq;
	out->uuid = (char *)(uintptr_t)g->v[p->gpu].uuid;
	out->kind = p->kind ? p->kind->kind : GPU_FAULT_RESET;
	out->code = p->kind ? p->kind->code : 0;
	out->text = (char *)(uintptr_t)(p->kind ? p->kind->text : "");
}

const Gpusched__GpuReport *sim_gpus_report(
        struct sim_gpus *g, const Gpusched__GpuCheck *check, struct arena *arena)
{
	size_t n_looked = check ? check->n_uuids : 0;
	Gpusched__GpuReport *m = arena_alloc(arena, sizeof(*m));
	Gpusched__GpuFault *faults = arena_alloc(arena, (g->n_pending + 1) * sizeof(*faults));
	Gpusched__GpuLooked *looked = arena_alloc(arena, (n_looked + 1) * sizeof(*looked));

	gpusched__gpu_report__init(m);
	m->faults = arena_alloc(arena, (g->n_pending + 1) * sizeof(*m->faults));
	m->looked = arena_alloc(arena, (n_looked + 1) * sizeof(*m->looked));
	for (; m->n_faults < g->n_pending; m->n_faults++) {
		m->faults[m->n_faults] = &faults[m->n_faults];
		tell(g, &g->pending[m->n_faults], &faults[m->n_faults]);
	}
	for (; m->n_looked < n_looked; m->n_looked++) {
		m->looked[m->n_looked] = &looked[m->n_looked];
		answer(g, check->uuids[m->n_looked], &looked[m->n_looked]);
	}
	return m->n_faults || m->n_looked ? m : NULL;
}

/* The controller has it, and has done what the manual says. */
static void took_effect(struct sim_gpus *g, const struct pending *p)
{
	struct slot *s = &g->v[p->gpu];

	if (!p->kind) {
		s->reset = false;
		return;
	}
	if (p->kind->action == NODE)
		checker_say(g->checker, "closed %s", g->node->name);
	if (p->kind->action != GPU || p->answered)
		return;
	s->reset |= p->kind->back == RESET;
	s->never |= p->kind->back == NEVER;
	checker_say(g->checker, "drained %s %" PRIx64, g->node->name, bit(p->gpu));
}

void sim_gpus_ack(struct sim_gpus *g, uint64_t seq)
{
	size_t kept = 0;

	for (size_t i = 0; i < g->n_pending; i++) {
		if (g->pending[i].seq > seq)
			g->pending[kept++] = g->pending[i];
		else
			took_effect(g, &g->pending[i]);
	}
	g->n_pending = kept;
}

bool sim_gpus_resume(struct sim_gpus *g, uint64_t *gpus)
{
	*gpus = 0;
	if (g->n_pending)
		return false;
	for (uint32_t i = 0; i < g->n; i++) {
		struct slot *s = &g->v[i];

		if (!s->never && !s->unsure)
			continue;
		*gpus |= bit(i);
		s->never = s->unsure = s->reset = false;
	}
	checker_say(g->checker, "returned %s %" PRIx64, g->node->name, *gpus);
	checker_say(g->checker, "opened %s", g->node->name);
	return true;
}
