/* discovered_hardware.c - see discovered_hardware.h
 *
 * `items` are the indices of one node as this file decides them: read from its row (found), kept,
 * given to new GPUs or removed by the rules of the header, and written back. An index on which a
 * run is booked is never changed, whatever the agent says. If the list differs from that in the
 * row, the configuration of the whole core is made again (core_rehardware()), with the new list
 * filled in.
 */
#include "ctld/core/nodes/discovered_hardware.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"
#include "common/base/xalloc.h"
#include "common/gpu/gpus_by_type.h"
#include "common/job/run.h"
#include "ctld/core/nodes/devices_list.h"
#include "ctld/core/nodes/mig_layout.h"
#include "ctld/core/place/ledger.h"
#include "ctld/core/records/audit_note.h"
#include "ctld/core/records/node.h"
#include "ctld/core/records/run.h"
#include "ctld/core/rows/state.h"
#include "ctld/core/runs/node_state.h"

#define TYPE_TEXT  (GPUS_BY_TYPE_NAME_MAX + 1)
#define FOUND_TEXT (CONF_MAX_GPUS_PER_NODE * (TYPE_TEXT + 24))

/* One GPU of a node's list. */
struct item {
	char type[TYPE_TEXT];
	uint64_t mem_mb;
	uint32_t mig; /* as in struct conf_gpu_count */
	char uuid[DEVICE_UUID_MAX];
	bool kept, booked;
};

struct items {
	struct item v[CONF_MAX_GPUS_PER_NODE];
	size_t n;
};

/* --- the list as text ------------------------------------------------------------------------ */

/* Stops at the first item that cannot be read: a damaged row loses only what follows in it. */
static void items_read(struct items *items, const char *text)
{
	items->n = 0;
	while (*text) {
		size_t n = strcspn(text, ":");
		unsigned long count;
		struct item item = { 0 };
		char *end;

		if (!n || n >= TYPE_TEXT || text[n] != ':')
			return;
		memcpy(item.type, text, n);
		count = strtoul(text + n + 1, &end, 10);
		if (*end != ':' || count > CONF_MAX_GPUS_PER_NODE - items->n)
			return;
		item.mem_mb = strtoull(end + 1, &end, 10);
		if (*end == '@')
			item.mig = (uint32_t)strtoul(end + 1, &end, 10) + 1;
		if (item.mig > CONF_MAX_GPUS_PER_NODE)
			return;
		while (count--)
			items->v[items->n++] = item;
		if (*end != ',')
			return;
		text = end + 1;
	}
}

static bool alike(const struct item *a, const struct item *b)
{
	return !strcmp(a->type, b->type) && a->mem_mb == b->mem_mb && a->mig == b->mig;
}

static void items_write(const struct items *items, char text[FOUND_TEXT])
{
	size_t i, end, used = 0;

	text[0] = '\0';
	for (i = 0; i < items->n; i = end) {
		for (end = i + 1; end < items->n && alike(&items->v[i], &items->v[end]);)
			end++;
		used += (size_t)snprintf(text + used, FOUND_TEXT - used, "%s%s:%zu:%llu",
		        used ? "," : "", items->v[i].type, end - i,
		        (unsigned long long)items->v[i].mem_mb);
		if (items->v[i].mig)
			used += (size_t)snprintf(
			        text + used, FOUND_TEXT - used, "@%u", items->v[i].mig - 1);
	}
}

/* For people: "h100:8,1g.10gb:2". */
static void items_say(const struct items *items, char *text, size_t size)
{
	size_t i, end, used = 0;

	snprintf(text, size, "none");
	for (i = 0; i < items->n && used < size; i = end) {
		for (end = i + 1; end < items->n && !strcmp(items->v[i].type, items->v[end].type);)
			end++;
		used += (size_t)snprintf(text + used, size - used, "%s%s:%zu", used ? "," : "",
		        items->v[i].type, end - i);
	}
}

/* --- what `mig` demands ---------------------------------------------------------------------- */

/* Call `each` for each type on each GPU, by their numbers. */
static void demands_each(const struct conf *conf, const struct conf_node *node,
        void (*each)(const struct conf_gpu_count *want, const char *type, void *arg), void *arg)
{
	for (uint32_t number = 0; number < CONF_MAX_GPUS_PER_NODE && node->n_mig; number++) {
		const struct conf_mig *mig = layout_demanded(node, number);

		for (size_t k = 0; mig && k < mig->n_layout; k++) {
			struct conf_gpu_count want = mig->layout[k];

			want.mig = (uint16_t)(number + 1);
			each(&want, conf->gpu_types[want.type].name, arg);
		}
	}
}

/* The first index that nothing keeps, or a new one at the end; NULL: the node has as many as it can
 * have. */
static struct item *free_item(struct items *items)
{
	for (size_t i = 0; i < items->n; i++) {
		if (!items->v[i].kept)
			return &items->v[i];
	}
	return items->n < CONF_MAX_GPUS_PER_NODE ? &items->v[items->n++] : NULL;
}

static bool is_demanded(
        const struct item *item, const struct conf_gpu_count *want, const char *type)
{
	return item->mig == want->mig && !strcmp(item->type, type);
}

/* Demanded instances that have no index yet get one. */
static void demand_rest(const struct conf_gpu_count *want, const char *type, void *arg)
{
	struct items *items = arg;
	uint32_t n = 0;

	for (size_t i = 0; i < items->n; i++)
		n += items->v[i].kept && is_demanded(&items->v[i], want, type);
	for (; n < want->count; n++) {
		struct item *item = free_item(items);

		if (!item)
			return;
		*item = (struct item){ .mig = want->mig, .kept = true };
		snprintf(item->type, TYPE_TEXT, "%s", type);
	}
}

/* --- names of types -------------------------------------------------------------------------- */

/* The site's name for the type: the first whose `match` fits the maker's name, else what the agent
 * says. */
static const char *whole_type(const struct conf *conf, const char *told, const char *name)
{
	for (size_t t = 0; t < conf->n_gpu_types; t++) {
		const struct conf_gpu_type *type = &conf->gpu_types[t];

		if (!*type->mig_of && *type->match && text_like(type->match, name))
			return type->name;
	}
	return told;
}

static const char *mig_type(const struct conf *conf, const struct node_gpu *gpu)
{
	const char *parent = whole_type(conf, gpu->of, gpu->name);

	for (size_t t = 0; t < conf->n_gpu_types; t++) {
		const struct conf_gpu_type *type = &conf->gpu_types[t];

		if (strcmp(type->mig_of, parent))
			continue;
		if (*type->match ? text_like(type->match, gpu->name) ||
		                           text_like(type->match, gpu->told)
		                 : !strcmp(type->name, gpu->told))
			return type->name;
	}
	return gpu->told;
}

static void name_types(struct core *core, struct node_link *l)
{
	for (size_t i = 0; i < l->n_gpus; i++) {
		struct node_gpu *gpu = &l->gpus[i];

		node_set_text(core->nodes, &gpu->type,
		        gpu->mig ? mig_type(core->given, gpu)
		                 : whole_type(core->given, gpu->told, gpu->name));
	}
}

/* --- binding indices to the GPUs found ------------------------------------------------------- */

struct taking {
	struct core *core;
	struct node *node;
	const struct node_link *l;
	struct items items;
	struct layouts layouts;
	uint64_t taken[4]; /* of the GPUs found: bits */
	size_t n_gpus;
};

/* The type of what is booked at an index. */
static const char *booked_type(const struct node_link *l, size_t index)
{
	const struct run *run = l->runs;

	for (; run; run = run_link_of(run)->next_of_node) {
		if (run_link_of(run)->booked >> index & 1)
			return run_info(run)->gpu_type;
	}
	return "";
}

/* From what the row has: each index with its type and UUID, and whether a run is booked there. An
 * index may be booked beyond the list, of hardware that the row does not have any more. */
static void begin(struct taking *t)
{
	uint64_t used = ledger_gpus_used(t->core->ledger, t->l->index);
	struct layout_slot slots[CONF_MAX_GPUS_PER_NODE];
	size_t i, n;

	items_read(&t->items, node_info(t->node)->found);
	n = t->items.n;
	for (i = 0; i < CONF_MAX_GPUS_PER_NODE; i++) {
		struct item *item = &t->items.v[i];

		if (i >= n)
			*item = (struct item){ 0 };
		device_uuid(node_info(t->node)->gpus, (uint32_t)i, item->uuid);
		item->booked = used >> i & 1;
		if (item->booked && !*item->type)
			snprintf(item->type, TYPE_TEXT, "%s", booked_type(t->l, i));
		if (item->booked || *item->uuid)
			t->items.n = i + 1 > t->items.n ? i + 1 : t->items.n;
	}
	for (i = 0; i < t->items.n; i++)
		slots[i] = (struct layout_slot){ t->items.v[i].uuid, t->items.v[i].mig };
	layouts_find(&t->layouts, &t->core->given->nodes[t->l->index], slots, t->items.n,
	        t->l->gpus, t->n_gpus);
}

static bool is_taken(const struct taking *t, size_t gpu)
{
	return t->taken[gpu / 64] >> gpu % 64 & 1;
}

/* Binds the index to this GPU. While a run is booked there the index keeps its type, and a GPU in
 * trouble does not report its type. */
static void take(struct taking *t, struct item *item, size_t i)
{
	const struct node_gpu *gpu = &t->l->gpus[i];

	if (!item->booked && *gpu->type && !*gpu->trouble) {
		snprintf(item->type, TYPE_TEXT, "%s", gpu->type);
		item->mem_mb = gpu->mem_mb;
	}
	snprintf(item->uuid, sizeof(item->uuid), "%s", gpu->uuid);
	item->kept = *item->type;
	t->taken[i / 64] |= 1ULL << i % 64;
}

/* The host's number of the GPU to which the index is bound; LAYOUT_NOWHERE: it was not found. */
static uint32_t host_of(const struct taking *t, const struct item *item)
{
	for (size_t i = 0; *item->uuid && i < t->n_gpus; i++) {
		if (!strcmp(t->l->gpus[i].uuid, item->uuid))
			return t->l->gpus[i].host;
	}
	return LAYOUT_NOWHERE;
}

/* Is the index bound to something on the GPU that the number of `mig` stands for? */
static bool is_on(const struct taking *t, const struct item *item, uint32_t mig)
{
	uint32_t host = host_of(t, item);

	return host != LAYOUT_NOWHERE && host == t->layouts.host[mig - 1];
}

/* Rule 4: first the indices that already serve this demand, those in use before the others; then
 * indices that turn out to be on the demanded GPU. */
static void demand(const struct conf_gpu_count *want, const char *type, void *arg)
{
	struct taking *t = arg;
	uint32_t n = 0, pass;

	for (pass = 0; pass < 3; pass++) {
		for (size_t i = 0; i < t->items.n && n < want->count; i++) {
			struct item *item = &t->items.v[i];

			if (item->kept || strcmp(item->type, type))
				continue;
			if (pass < 2 ? item->mig != want->mig || (!pass && !item->booked)
			             : item->mig || !is_on(t, item, want->mig))
				continue;
			item->mig = want->mig;
			item->mem_mb = 0;
			item->kept = true;
			n++;
		}
	}
}

/* Rules 1 and 2. */
static void keep(struct taking *t, struct item *item, bool rebooted)
{
	if (item->kept)
		return;
	item->mig = 0;
	if (!item->booked && layouts_have(&t->layouts, host_of(t, item)))
		return;
	for (size_t i = 0; *item->uuid && i < t->n_gpus; i++) {
		if (!is_taken(t, i) && !strcmp(t->l->gpus[i].uuid, item->uuid)) {
			take(t, item, i);
			return;
		}
	}
	item->kept = *item->type &&
	             (item->booked || (*item->uuid && !rebooted && strncmp(item->uuid, "MIG-", 4)));
}

/* Rule 3. A GPU in trouble that was not known before is only reported. */
static void add_new(struct taking *t)
{
	struct error err;

	for (size_t i = 0; i < t->n_gpus; i++) {
		const struct node_gpu *gpu = &t->l->gpus[i];
		struct item *item;

		if (is_taken(t, i) || *gpu->trouble || !*gpu->uuid ||
		        layouts_have(&t->layouts, gpu->host) ||
		        gpus_by_type_check(gpu->type, &err) < 0 ||
		        strlen(gpu->uuid) >= DEVICE_UUID_MAX)
			continue;
		item = free_item(&t->items);
		if (!item)
			return;
		*item = (struct item){ 0 };
		take(t, item, i);
	}
}

/* Removes indices that stand for nothing any more; the last index takes their place. If a run is
 * booked on the last one, the gap stays, without a GPU, until that run has ended. */
static void close_up(struct taking *t)
{
	struct items *items = &t->items;

	for (size_t i = 0; i < items->n; i++) {
		while (items->n && !items->v[items->n - 1].kept)
			items->n--;
		if (i >= items->n || items->v[i].kept)
			continue;
		if (items->v[items->n - 1].booked) {
			node_link(t->node)->unsettled = true;
			items->v[i].uuid[0] = '\0';
			if (!*items->v[i].type)
				memcpy(items->v[i].type, items->v[items->n - 1].type, TYPE_TEXT);
		} else {
			items->v[i] = items->v[--items->n];
		}
	}
}

static void write_uuids(const struct items *items, char *list, size_t size)
{
	size_t i, used = 0;

	list[0] = '\0';
	for (i = 0; i < items->n && used < size; i++)
		used += (size_t)snprintf(
		        list + used, size - used, i ? ",%s" : "%s", items->v[i].uuid);
}

/* The configuration is made again at most once a second, since that costs as much as a reload. */
static void set_found(struct core *core, struct node *node, const char *found)
{
	if (!strcmp(found, node_info(node)->found))
		return;
	node_set_found(core->nodes, node, found);
	node_link(node)->stale = true;
	node_hardware_due(core);
}

/* Does the node's list of GPUs come from its agent, and not from the configuration? */
static bool hardware_as_found(const struct core *core, const struct node *node)
{
	return !core->given->nodes[node_link_of(node)->index].gpus;
}

/* The rules of the header in order: what `mig` demands, what is kept, what of the demand is left,
 * what is new; then gaps are closed. Only a list that differs from the row costs more than this. */
void hardware_take(struct core *core, struct node *node)
{
	struct node_link *l = node_link(node);
	struct taking t = { .core = core, .node = node, .l = l };
	char found[FOUND_TEXT], list[CONF_MAX_GPUS_PER_NODE * DEVICE_UUID_MAX], text[400];
	bool rebooted = l->rebooted;

	name_types(core, l);
	l->rebooted = false;
	if (!hardware_as_found(core, node)) {
		set_found(core, node, "");
		return;
	}
	if (*l->gpu_trouble) {
		l->rebooted = rebooted; /* nothing is known yet */
		return;
	}
	t.n_gpus = l->n_gpus < sizeof(t.taken) * 8 ? l->n_gpus : sizeof(t.taken) * 8;
	begin(&t);
	demands_each(core->given, &core->given->nodes[l->index], demand, &t);
	for (size_t i = 0; i < t.items.n; i++)
		keep(&t, &t.items.v[i], rebooted);
	demands_each(core->given, &core->given->nodes[l->index], demand_rest, &t.items);
	add_new(&t);
	close_up(&t);
	items_write(&t.items, found);
	if (!strcmp(found, node_info(node)->found) && !t.items.n)
		return;
	write_uuids(&t.items, list, sizeof(list));
	node_set_devices(core->nodes, node, list);
	if (!strcmp(found, node_info(node)->found))
		return;
	items_say(&t.items, text, sizeof(text));
	audit_note(core, "node.found", NULL, 0, node_info(node)->name, text);
	set_found(core, node, found);
}

/* --- the configuration with the GPUs filled in ----------------------------------------------- */

struct hardware {
	struct conf conf; /* arrays that differ are owned, all else is the given one's */
	struct conf_gpu_count *counts; /* of all filled nodes, one after another */
	size_t n_counts;
	char **names; /* of the types that were added */
	size_t n_names;
};

static char no_text[] = "";

/* The number of a type; one that is not there is added. -1: there are too many. */
static int type_want(struct hardware *h, const struct item *item)
{
	struct conf_gpu_type *type;
	size_t t;

	for (t = 0; t < h->conf.n_gpu_types; t++) {
		if (!strcmp(h->conf.gpu_types[t].name, item->type))
			return (int)t;
	}
	if (t == CONF_MAX_GPU_TYPES)
		return -1;
	h->names = xrealloc(h->names, h->n_names + 1, sizeof(*h->names));
	h->names[h->n_names] = xstrdup(item->type);
	h->conf.gpu_types = xrealloc(h->conf.gpu_types, t + 1, sizeof(*type));
	/* The size by which the GPU is sold: 81559 MiB are 80 GB. */
	h->conf.gpu_types[t] = (struct conf_gpu_type){ .name = h->names[h->n_names++],
		.mem_mb = (item->mem_mb + 1023) / 1024 * 1024,
		.match = no_text,
		.mig_of = no_text };
	h->conf.n_gpu_types = t + 1;
	return (int)t;
}

static void count_add(struct hardware *h, const struct conf_gpu_count *count)
{
	h->counts = xrealloc(h->counts, h->n_counts + 1, sizeof(*h->counts));
	h->counts[h->n_counts++] = *count;
}

/* As found, and what `mig` demands, which may be newer. */
static void fill_found(struct hardware *h, const struct conf_node *given, const char *found)
{
	struct items items;
	size_t i, end;

	items_read(&items, found);
	for (i = 0; i < items.n; i++)
		items.v[i].kept = true;
	demands_each(&h->conf, given, demand_rest, &items);
	for (i = 0; i < items.n; i = end) {
		const struct item *item = &items.v[i];
		int type = type_want(h, item);

		for (end = i + 1; end < items.n && !strcmp(item->type, items.v[end].type) &&
		                  item->mig == items.v[end].mig;)
			end++;
		if (type < 0) /* else what follows would get other indices */
			break;
		count_add(h, &(struct conf_gpu_count){
		                     (uint16_t)type, (uint16_t)(end - i), (uint16_t)item->mig });
	}
}

static void fill_demanded(const struct conf_gpu_count *want, const char *type, void *arg)
{
	(void)type;
	count_add(arg, want);
}

/* Does the node have more than the configuration says? */
static bool is_filled(const struct conf_node *given)
{
	return !given->gpus || given->n_mig;
}

/* Appends the GPUs of the node to h->counts. */
static void fill_node(struct hardware *h, const struct conf_node *given, struct conf_node *node,
        const char *found)
{
	size_t before = h->n_counts, g;

	if (!given->gpus) {
		fill_found(h, given, found);
	} else {
		for (g = 0; g < given->n_gpus; g++)
			count_add(h, &given->gpus[g]);
		demands_each(&h->conf, given, fill_demanded, h);
	}
	node->n_gpus = h->n_counts - before;
}

/* Copies of the arrays that differ, filled in; counts of all nodes lie one behind the other, so the
 * pointers are set when none is added any more. */
struct hardware *hardware_new(const struct conf *given, const struct nodes *nodes)
{
	struct hardware *h = xcalloc(1, sizeof(*h));
	size_t i, used = 0;

	h->conf = *given;
	h->conf.gpu_types = xcalloc(given->n_gpu_types, sizeof(*given->gpu_types));
	for (i = 0; i < given->n_gpu_types; i++)
		h->conf.gpu_types[i] = given->gpu_types[i];
	h->conf.nodes = xcalloc(given->n_nodes, sizeof(*given->nodes));
	for (i = 0; i < given->n_nodes; i++) {
		const struct node *node = nodes_find(nodes, given->nodes[i].name);

		h->conf.nodes[i] = given->nodes[i];
		if (is_filled(&given->nodes[i]))
			fill_node(h, &given->nodes[i], &h->conf.nodes[i],
			        node ? node_info(node)->found : "");
	}
	for (i = 0; i < given->n_nodes; i++) {
		if (!is_filled(&given->nodes[i]) || !h->conf.nodes[i].n_gpus)
			continue;
		h->conf.nodes[i].gpus = h->counts + used;
		used += h->conf.nodes[i].n_gpus;
	}
	return h;
}

void hardware_free(struct hardware *h)
{
	if (!h)
		return;
	for (size_t i = 0; i < h->n_names; i++)
		free(h->names[i]);
	free(h->names);
	free(h->counts);
	free(h->conf.gpu_types);
	free(h->conf.nodes);
	free(h);
}

const struct conf *hardware_conf(const struct hardware *h)
{
	return &h->conf;
}
