/* devices.c - see devices.h
 *
 * A binding is made anew from three things whenever one of them changes: what the node has as
 * indices (configuration and row), what its agent found, and what is booked. It goes by the rules
 * of the header: keep() is rule 1, room_for() rule 2, is_well() rule 3. Nothing is remembered but
 * the result, a list of UUIDs in the node's row; so binding twice gives the same, and a restart
 * before the agent is back has the indices as they were. say() and the functions beside it tell
 * users which indices are out, and why.
 */
#include "ctld/core/nodes/devices.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"
#include "ctld/core/nodes/devices_list.h"
#include "ctld/core/nodes/gpu_drains.h"
#include "ctld/core/nodes/gpu_link_faults.h"
#include "ctld/core/nodes/mig_layout.h"
#include "ctld/core/place/ledger.h"
#include "ctld/core/place/node_topology.h"
#include "ctld/core/records/audit_note.h"
#include "ctld/core/records/node.h"
#include "ctld/core/rows/state.h"

#define NOTE_MAX 400

struct slot {
	char uuid[DEVICE_UUID_MAX];
	const char *type;
	uint32_t mig;               /* as in struct conf_gpu_count */
	const struct node_gpu *gpu; /* NULL: it is missing */
	bool told;                  /* the agent has reported what there is */
	bool booked, drained;
	struct gpu_drain drain; /* if so */
};

struct binding {
	const struct core *core;
	const struct conf_node *conf;
	const struct node_link *link;
	struct layouts layouts;
	uint64_t differ; /* numbers of GPUs whose MIG layout is not the demanded one */
	struct slot slots[CONF_MAX_GPUS_PER_NODE];
	size_t n;
	uint64_t taken[4]; /* of the GPUs found: bits */
	size_t n_gpus;
	struct closeness *near; /* of find_near() */
	struct gpu_link_fault link_faults[CONF_MAX_GPUS_PER_NODE]; /* of each index */
};

#define FOUND_MAX (4 * 64)

/* --- binding --------------------------------------------------------------------------------- */

/* The indices of the node in their order, each with what the row and the bookings say of it. */
static void begin(struct binding *b, const struct core *core, const struct node *node)
{
	const struct node_link *l = node_link_of(node);
	const struct conf_node *conf = &core->conf->nodes[l->index];
	uint64_t used = ledger_gpus_used(core->ledger, l->index);
	uint32_t i;

	b->core = core;
	b->conf = conf;
	b->link = l;
	b->n_gpus = l->n_gpus < FOUND_MAX ? l->n_gpus : FOUND_MAX;
	for (size_t g = 0; g < conf->n_gpus; g++) {
		for (i = 0; i < conf->gpus[g].count && b->n < CONF_MAX_GPUS_PER_NODE; i++) {
			struct slot *s = &b->slots[b->n];

			s->type = core->conf->gpu_types[conf->gpus[g].type].name;
			s->mig = conf->gpus[g].mig;
			s->booked = used >> b->n & 1;
			device_uuid(node_info(node)->gpus, (uint32_t)b->n, s->uuid);
			s->drained = gpu_drained(node, (uint32_t)b->n, &s->drain);
			b->n++;
		}
	}
}

static void find_layouts(struct binding *b)
{
	struct layout_slot slots[CONF_MAX_GPUS_PER_NODE];

	for (size_t i = 0; i < b->n; i++)
		slots[i] = (struct layout_slot){ b->slots[i].uuid, b->slots[i].mig };
	layouts_find(&b->layouts, b->conf, slots, b->n, b->link->gpus, b->n_gpus);
}

/* Does the layout of that GPU differ from the demanded one? */
static bool differs(const struct binding *b, uint32_t number, char *text, size_t size)
{
	const struct conf_mig *mig = layout_demanded(b->conf, number);

	return mig && layout_differs(&b->layouts, b->core->conf, mig, number, b->link->gpus,
	                      b->n_gpus, text, size);
}

static bool is_taken(const struct binding *b, size_t gpu)
{
	return b->taken[gpu / 64] >> gpu % 64 & 1;
}

static void take(struct binding *b, size_t gpu)
{
	b->taken[gpu / 64] |= 1ULL << gpu % 64;
}

/* May the GPU be given to the index: is it of its type, and on a GPU where such an index
 * belongs? */
static bool fits(const struct binding *b, const struct slot *s, const struct node_gpu *gpu)
{
	return !strcmp(gpu->type, s->type) && layouts_allow(&b->layouts, s->mig, gpu->host);
}

/* Rule 1. */
static void keep(struct binding *b, struct slot *s)
{
	for (size_t i = 0; *s->uuid && i < b->n_gpus; i++) {
		const struct node_gpu *gpu = &b->link->gpus[i];

		if (is_taken(b, i) || strcmp(gpu->uuid, s->uuid))
			continue;
		if (fits(b, s, gpu))
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

	for (size_t i = 0; i < b->n; i++) {
		struct slot *s = &b->slots[i];

		if (s->gpu || s->booked || !fits(b, s, gpu))
			continue;
		if (!*s->uuid)
			return s;
		if (!missing)
			missing = s;
	}
	return missing;
}

/* First all that is kept, then what is new: so a GPU never loses its index to another. */
static void bind(struct binding *b)
{
	char text[NOTE_MAX];

	find_layouts(b);
	for (size_t i = 0; i < CONF_MAX_GPUS_PER_NODE; i++)
		b->differ |= (uint64_t)differs(b, (uint32_t)i, text, sizeof(text)) << i;
	for (size_t i = 0; i < b->n; i++)
		keep(b, &b->slots[i]);
	for (size_t i = 0; i < b->n_gpus; i++) {
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

/* --- the note for users ---------------------------------------------------------------------- */

/* Is the index on a GPU whose MIG layout is not the demanded one? That is reported for the GPU, not
 * for its instances. */
static bool is_cut_otherwise(const struct binding *b, const struct slot *s)
{
	return s->told && s->mig && b->differ >> (s->mig - 1) & 1;
}

static const struct gpu_link_fault *link_fault_of(const struct binding *b, const struct slot *s)
{
	return &b->link_faults[s - b->slots];
}

static bool is_well(const struct binding *b, const struct slot *s)
{
	return !s->drained && (!s->told || (s->gpu && !*s->gpu->trouble)) &&
	       !is_cut_otherwise(b, s) && !link_fault_of(b, s)->is;
}

/* Adds to the note, with a comma between; what does not fit is cut. */
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
	note[text_plain_prefix(note, strlen(note))] = '\0'; /* cut between characters */
}

/* "7 of 8 h100, GPU-6f1c missing": of the type of slot `first`, if that is its first. */
static void say_type(const struct binding *b, size_t first, char note[NOTE_MAX])
{
	const char *type = b->slots[first].type;
	char words[GPU_LINK_FAULT_WORDS];
	uint32_t all = 0, well = 0;

	for (size_t i = 0; i < b->n; i++) {
		if (strcmp(b->slots[i].type, type))
			continue;
		if (i < first)
			return;
		all++;
		well += is_well(b, &b->slots[i]);
	}
	if (well == all)
		return;
	say(note, "%u of %u %s", well, all, type);
	for (size_t i = first; i < b->n; i++) {
		const struct slot *s = &b->slots[i];

		if (strcmp(s->type, type) || is_well(b, s) || (!*s->uuid && !s->drained) ||
		        (!s->drained && is_cut_otherwise(b, s)))
			continue;
		if (s->drained)
			say(note, "%s%s drained: %s", *s->uuid ? "" : "GPU ",
			        *s->uuid ? s->uuid : s->drain.gpu + 1, s->drain.reason);
		else if (s->gpu && *s->gpu->trouble)
			say(note, "%s: %s", s->uuid, s->gpu->trouble);
		else if (s->gpu)
			say(note, "%s: %s", s->uuid,
			        gpu_link_fault_words(link_fault_of(b, s), words));
		else
			say(note, "%s missing", s->uuid);
	}
}

/* "GPU 3: 1g.10gb:7 wanted, 3g.40gb:2 found" */
static void say_layouts(const struct binding *b, char note[NOTE_MAX])
{
	char text[NOTE_MAX];

	for (uint32_t number = 0; number < CONF_MAX_GPUS_PER_NODE; number++) {
		if (b->differ >> number & 1 && differs(b, number, text, sizeof(text)))
			say(note, "GPU %u: %s", number, text);
	}
}

/* Was the GPU already reported because of its layout? */
static bool is_said(const struct binding *b, const struct node_gpu *gpu)
{
	for (uint32_t number = 0; number < CONF_MAX_GPUS_PER_NODE && !*gpu->trouble; number++) {
		if (b->differ >> number & 1 && b->layouts.host[number] == gpu->host)
			return true;
	}
	return false;
}

#define NAMED_MAX 8 /* of one type; more are counted */

/* " GPU-6f1c" of one more. */
static size_t add_name(char names[NOTE_MAX], size_t used, uint32_t n, const struct node_gpu *gpu)
{
	if (n >= NAMED_MAX || used >= NOTE_MAX)
		return used;
	return used + (size_t)snprintf(names + used, NOTE_MAX - used, "%s%s", n ? " " : "",
	                      *gpu->uuid ? gpu->uuid : "no-UUID");
}

/* Reports GPUs that were found but are demanded nowhere, or have no UUID. */
static void say_others(const struct binding *b, char note[NOTE_MAX])
{
	for (size_t i = 0; i < b->n_gpus; i++) {
		const struct node_gpu *gpu = &b->link->gpus[i];
		uint32_t n = 0, before = 0;
		char names[NOTE_MAX] = "";
		size_t used = 0;

		if (is_taken(b, i) || is_said(b, gpu))
			continue;
		if (*gpu->trouble)
			say(note, "%s: %s", *gpu->uuid ? gpu->uuid : "a GPU", gpu->trouble);
		for (size_t k = 0; k < b->n_gpus && !*gpu->trouble; k++) {
			const struct node_gpu *other = &b->link->gpus[k];
			bool same = !is_taken(b, k) && !*other->trouble && !is_said(b, other) &&
			            !strcmp(other->type, gpu->type);

			before += same && k < i;
			if (same)
				used = add_name(names, used, n++, other);
		}
		if (n && !before)
			say(note, "%u %s not configured (%s%s)", n, gpu->type, names,
			        n > NAMED_MAX ? " ..." : "");
	}
}

/* UUIDs by index, without those at the end that have none. */
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

/* Which of the host's GPUs an index is, and its reported place. */
static void find_near(struct binding *b)
{
	struct nearness_gpu gpus[CONF_MAX_GPUS_PER_NODE];
	struct nearness_pairs farther;

	nearness_written(b->core->conf, b->conf, gpus);
	for (size_t i = 0; i < b->n; i++) {
		const struct node_gpu *gpu = b->slots[i].gpu;

		if (!b->slots[i].told)
			continue;
		gpus[i].number = gpu && !gpu->mig ? gpu->host : NEARNESS_NOWHERE;
		gpus[i].told = gpu ? gpu->near : "";
	}
	b->near = nearness_new(b->conf, gpus, b->n, &farther);
	gpu_link_faults(&farther, gpus, b->n, b->link_faults);
}

/* Without a session, or if the GPUs cannot be queried, nothing is known and all stays as it is.
 * Each change of the result is an event of the trail, once. */
void devices_bind(struct core *core, struct node *node)
{
	struct node_link *l = node_link(node);
	struct binding b = { 0 };
	char note[NOTE_MAX] = "", list[CONF_MAX_GPUS_PER_NODE * DEVICE_UUID_MAX];
	uint64_t out = 0;

	if (l->stale) { /* indices may be of other types already */
		l->gpus_out = UINT64_MAX;
		return;
	}
	begin(&b, core, node);
	if (!l->session) /* the next registration brings the list of GPUs */
		return;
	if (*l->gpu_trouble) { /* no list of GPUs: the indices stay as they were */
		if (!b.n)
			node_set_text(core->nodes, &l->gpu_note, l->gpu_trouble);
		return;
	}
	bind(&b);
	write_list(&b, list, sizeof(list));
	for (size_t i = 0; i < b.n; i++) {
		b.slots[i].told = l->gpus_asked || *list;
		l->unsettled |= b.slots[i].told && b.slots[i].booked && !b.slots[i].gpu;
	}
	find_near(&b);
	for (size_t i = 0; i < b.n; i++) {
		out |= is_well(&b, &b.slots[i]) ? 0 : 1ULL << i;
		ledger_gpu_mem(core->ledger, l->index, (uint32_t)i,
		        b.slots[i].gpu ? b.slots[i].gpu->mem_mb : 0);
		ledger_gpu_shared(core->ledger, l->index, (uint32_t)i,
		        b.slots[i].gpu && b.slots[i].gpu->mig ? b.slots[i].gpu->host + 1 : 0);
		say_type(&b, i, note);
	}
	ledger_gpus_near(core->ledger, l->index, b.near);
	ledger_near_told(core->ledger, l->index);
	if (l->gpus_asked || *list) {
		say_layouts(&b, note);
		say_others(&b, note);
	}
	l->gpus_out = out;
	node_set_devices(core->nodes, node, list);
	if (!strcmp(note, l->gpu_note))
		return;
	audit_note(
	        core, "node.gpus", NULL, 0, node_info(node)->name, *note ? note : "as configured");
	node_set_text(core->nodes, &l->gpu_note, note);
}

/* Restores the previous binding, with what has been reported. */
static void bound(struct binding *b, const struct core *core, const struct node *node)
{
	const struct node_link *l = node_link_of(node);

	begin(b, core, node);
	for (size_t i = 0; i < b->n; i++) {
		struct slot *s = &b->slots[i];

		s->told = l->gpus_asked || *node_info(node)->gpus;
		for (size_t k = 0; *s->uuid && k < b->n_gpus && !s->gpu; k++)
			s->gpu = strcmp(b->link->gpus[k].uuid, s->uuid) ? NULL : &b->link->gpus[k];
	}
}

bool devices_differ(
        const struct core *core, const struct node *node, uint32_t index, char *text, size_t size)
{
	struct binding b = { 0 };
	char words[GPU_LINK_FAULT_WORDS];
	size_t used;

	*text = '\0';
	bound(&b, core, node);
	if (index >= b.n || !b.slots[index].told)
		return false;
	find_near(&b);
	free(b.near);
	if (b.link_faults[index].is)
		snprintf(text, size, "%s", gpu_link_fault_words(&b.link_faults[index], words));
	if (!b.slots[index].mig)
		return b.link_faults[index].is;
	find_layouts(&b);
	used = (size_t)snprintf(text, size, "GPU %u: ", b.slots[index].mig - 1);
	if (differs(&b, b.slots[index].mig - 1, text + used, size - used))
		return true;
	*text = '\0';
	return false;
}
