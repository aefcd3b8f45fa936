/* devices.c - see devices.h */
#include "ctld/core/devices.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "ctld/core/health.h"
#include "ctld/core/internal.h"

#define NOTE_MAX 400

struct slot {
	char uuid[DEVICE_UUID_MAX];
	const char *type;
	const struct node_gpu *gpu; /* NULL: it is missing */
	bool told;                  /* the agent has told what there is */
	bool booked, drained;
	struct gpu_drain drain; /* if so */
};

struct binding {
	const struct core *core;
	const struct node_link *link;
	struct slot slots[CONF_MAX_GPUS_PER_NODE];
	size_t n;
	uint64_t taken[4]; /* of the GPUs found: bits */
	size_t n_gpus;
};

#define FOUND_MAX (4 * 64)

/* --- binding --------------------------------------------------------------------------------- */

static void begin(struct binding *b, const struct core *core, const struct node *node)
{
	const struct node_link *l = node_link_of(node);
	const struct conf_node *conf = &core->conf->nodes[l->index];
	uint64_t used = ledger_gpus_used(core->ledger, l->index);
	size_t g;
	uint32_t i;

	b->core = core;
	b->link = l;
	b->n_gpus = l->n_gpus < FOUND_MAX ? l->n_gpus : FOUND_MAX;
	for (g = 0; g < conf->n_gpus; g++) {
		for (i = 0; i < conf->gpus[g].count && b->n < CONF_MAX_GPUS_PER_NODE; i++) {
			struct slot *s = &b->slots[b->n];

			s->type = core->conf->gpu_types[conf->gpus[g].type].name;
			s->booked = used >> b->n & 1;
			device_uuid(node_info(node)->gpus, (uint32_t)b->n, s->uuid);
			s->drained = gpu_drained(node, (uint32_t)b->n, &s->drain);
			b->n++;
		}
	}
}

static bool is_taken(const struct binding *b, size_t gpu)
{
	return b->taken[gpu / 64] >> gpu % 64 & 1;
}

static void take(struct binding *b, size_t gpu)
{
	b->taken[gpu / 64] |= 1ULL << gpu % 64;
}

/* Rule 1. */
static void keep(struct binding *b, struct slot *s)
{
	size_t i;

	for (i = 0; *s->uuid && i < b->n_gpus; i++) {
		const struct node_gpu *gpu = &b->link->gpus[i];

		if (is_taken(b, i) || strcmp(gpu->uuid, s->uuid))
			continue;
		if (!strcmp(gpu->type, s->type))
			s->gpu = gpu;
		else if (!s->booked)
			s->uuid[0] = '\0';
		if (*s->uuid)
			take(b, i);
		return;
	}
}

/* Rule 2. */
static struct slot *room_for(struct binding *b, const struct node_gpu *gpu)
{
	struct slot *missing = NULL;
	size_t i;

	for (i = 0; i < b->n; i++) {
		struct slot *s = &b->slots[i];

		if (s->gpu || s->booked || strcmp(s->type, gpu->type))
			continue;
		if (!*s->uuid)
			return s;
		if (!missing)
			missing = s;
	}
	return missing;
}

static void bind(struct binding *b)
{
	size_t i;

	for (i = 0; i < b->n; i++)
		keep(b, &b->slots[i]);
	for (i = 0; i < b->n_gpus; i++) {
		const struct node_gpu *gpu = &b->link->gpus[i];
		struct slot *s = is_taken(b, i) || *gpu->trouble || !*gpu->uuid ||
		                                 strlen(gpu->uuid) >= DEVICE_UUID_MAX
		                         ? NULL
		                         : room_for(b, gpu);

		if (!s)
			continue;
		s->gpu = gpu;
		snprintf(s->uuid, sizeof(s->uuid), "%s", gpu->uuid);
		take(b, i);
	}
}

/* --- telling --------------------------------------------------------------------------------- */

static bool is_well(const struct slot *s)
{
	return !s->drained && (!s->told || (s->gpu && !*s->gpu->trouble));
}

__attribute__((format(printf, 2, 3))) static void say(char note[NOTE_MAX], const char *format, ...)
{
	size_t used = strlen(note);
	va_list ap;

	if (used)
		used += (size_t)snprintf(note + used, NOTE_MAX - used, ", ");
	if (used >= NOTE_MAX)
		return;
	va_start(ap, format);
	vsnprintf(note + used, NOTE_MAX - used, format, ap);
	va_end(ap);
}

/* "7 of 8 h100, GPU-6f1c missing": of the type of slot `first`, if that is its first. */
static void say_type(const struct binding *b, size_t first, char note[NOTE_MAX])
{
	const char *type = b->slots[first].type;
	uint32_t all = 0, well = 0;
	size_t i;

	for (i = 0; i < b->n; i++) {
		if (strcmp(b->slots[i].type, type))
			continue;
		if (i < first)
			return;
		all++;
		well += is_well(&b->slots[i]);
	}
	if (well == all)
		return;
	say(note, "%u of %u %s", well, all, type);
	for (i = first; i < b->n; i++) {
		const struct slot *s = &b->slots[i];

		if (strcmp(s->type, type) || is_well(s) || (!*s->uuid && !s->drained))
			continue;
		if (s->drained)
			say(note, "%s%s drained: %s", *s->uuid ? "" : "GPU ",
			        *s->uuid ? s->uuid : s->drain.gpu + 1, s->drain.reason);
		else if (s->gpu)
			say(note, "%s: %s", s->uuid, s->gpu->trouble);
		else
			say(note, "%s missing", s->uuid);
	}
}

/* What was found and is demanded nowhere, or says no UUID. */
static void say_others(const struct binding *b, char note[NOTE_MAX])
{
	size_t i, k;

	for (i = 0; i < b->n_gpus; i++) {
		const struct node_gpu *gpu = &b->link->gpus[i];
		uint32_t n = 0, before = 0;

		if (is_taken(b, i))
			continue;
		if (*gpu->trouble)
			say(note, "%s: %s", *gpu->uuid ? gpu->uuid : "a GPU", gpu->trouble);
		for (k = 0; k < b->n_gpus && !*gpu->trouble; k++) {
			bool same = !is_taken(b, k) && !*b->link->gpus[k].trouble &&
			            !strcmp(b->link->gpus[k].type, gpu->type);

			before += same && k < i;
			n += same;
		}
		if (n && !before)
			say(note, "%u %s not configured", n, gpu->type);
	}
}

static void write_list(const struct binding *b, char *list, size_t size)
{
	size_t i, used = 0, last = 0;

	list[0] = '\0';
	for (i = 0; i < b->n; i++) {
		if (*b->slots[i].uuid)
			last = i + 1;
	}
	for (i = 0; i < last && used < size; i++)
		used += (size_t)snprintf(
		        list + used, size - used, i ? ",%s" : "%s", b->slots[i].uuid);
}

void devices_bind(struct core *core, struct node *node)
{
	struct node_link *l = node_link(node);
	struct binding b = { 0 };
	char note[NOTE_MAX] = "", list[CONF_MAX_GPUS_PER_NODE * DEVICE_UUID_MAX];
	uint64_t out = 0;
	size_t i;

	if (l->stale) { /* indices may be of other types already */
		l->gpus_out = UINT64_MAX;
		return;
	}
	begin(&b, core, node);
	if (!l->session) /* the next registration says what there is */
		return;
	if (*l->gpu_trouble) { /* they are as they were: nothing is known */
		if (!b.n)
			node_set_text(core->nodes, &l->gpu_note, l->gpu_trouble);
		return;
	}
	bind(&b);
	write_list(&b, list, sizeof(list));
	for (i = 0; i < b.n; i++)
		b.slots[i].told = l->gpus_asked || *list;
	for (i = 0; i < b.n; i++) {
		out |= is_well(&b.slots[i]) ? 0 : 1ULL << i;
		ledger_gpu_mem(core->ledger, l->index, (uint32_t)i,
		        b.slots[i].gpu ? b.slots[i].gpu->mem_mb : 0);
		say_type(&b, i, note);
	}
	if (l->gpus_asked || *list)
		say_others(&b, note);
	l->gpus_out = out;
	node_set_devices(core->nodes, node, list);
	if (!strcmp(note, l->gpu_note))
		return;
	audit_note(
	        core, "node.gpus", NULL, 0, node_info(node)->name, *note ? note : "as configured");
	node_set_text(core->nodes, &l->gpu_note, note);
}
