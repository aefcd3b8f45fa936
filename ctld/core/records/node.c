/* node.c - see node.h
 *
 * A node is made by its first appearance in the configuration. One that leaves the configuration
 * keeps its record (index NODE_LEFT), because runs may still be booked there. What an agent says
 * about it is durable where a start needs it before the agent is back: CPUs, memory, the GPUs
 * found, drains.
 *
 * The runs that are booked on a node are a list (node_runs.h). Each change that the scheduler could
 * see marks the node's snapshots as unknown (node_runs_changed()); they are made again when a
 * search next looks there.
 *
 * All nodes but the UNKNOWN ones stand in a list, the one that was silent for the longest time
 * first (nodes_oldest()): to find the next lost node costs nothing.
 */
#include "ctld/core/records/node.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "ctld/core/rows/row_codec.h"
#include "ctld/core/util/hash.h"
#include "ctld/core/util/heap.h"
#include "ctld/core/util/table.h"

struct node {
	struct mark mark;
	struct node_info info;
	struct node_link link;
	bool has_row;
};

struct nodes {
	struct strings *strings;
	struct dirty *dirty;
	struct table *by_name; /* owns */
	struct node **at;      /* by index in conf.nodes */
	size_t n_at, heard, expected;
	usec_t mono; /* of the last configuration: new nodes count from then */
	struct node *oldest, *youngest;
};

#define X(sym, next) [sym] = next,
static const uint32_t hearing_next[NODE_HEARING_COUNT] = { NODE_HEARINGS(X) };
#undef X

const struct node_info *node_info(const struct node *node)
{
	return &node->info;
}

struct node_link *node_link(struct node *node)
{
	return &node->link;
}

const struct node_link *node_link_of(const struct node *node)
{
	return &node->link;
}

/* May anything be started there? Heard, configured, neither drained nor down, and nothing that it
 * reports speaks against it. */
bool node_accepts(const struct node *node)
{
	return node->link.hearing == NODE_HEARD && node->link.index != NODE_LEFT &&
	       !node->info.drain && !node->info.down && !*node->link.invalid && !*node->link.unwell;
}

static uint64_t node_name_hash(const void *item, uint64_t seed)
{
	return hash_u64((uintptr_t)((const struct node *)item)->info.name, seed);
}

static bool node_equal(const void *item, const void *key)
{
	return ((const struct node *)item)->info.name == (const char *)key;
}

struct nodes *nodes_new(struct strings *strings, struct dirty *dirty, uint64_t seed)
{
	struct nodes *ns = xcalloc(1, sizeof(*ns));

	ns->strings = strings;
	ns->dirty = dirty;
	ns->by_name = table_new(node_name_hash, seed);
	return ns;
}

static void node_free(struct nodes *ns, struct node *node)
{
	free(node->link.samples);
	DROP_TEXTS(ns->strings, &node->info, name, reason, incarnation, boot_id, gpus, found,
	        health);
	DROP_TEXTS(ns->strings, &node->link, gpu_trouble, unwell, gpu_note, version, containment,
	        containment_why, invalid);
	node_set_gpus(ns, node, NULL, 0);
	free(node->link.snapshot);
	free(node);
}

void nodes_free(struct nodes *ns)
{
	size_t cursor = 0;
	struct node *node;

	if (!ns)
		return;
	while ((node = table_each(ns->by_name, &cursor)))
		node_free(ns, node);
	table_free(ns->by_name);
	free(ns->at);
	free(ns);
}

/* --- finding --------------------------------------------------------------------------------- */

struct node *nodes_at(const struct nodes *ns, uint32_t index)
{
	return index < ns->n_at ? ns->at[index] : NULL;
}

struct node *nodes_find(const struct nodes *ns, const char *name)
{
	const char *kept = strings_peek(ns->strings, name);

	return kept ? table_find(ns->by_name, hash_u64((uintptr_t)kept, table_seed(ns->by_name)),
	                      node_equal, kept)
	            : NULL;
}

static void list_append(struct nodes *ns, struct node *node)
{
	node->link.prev = ns->youngest;
	node->link.next = NULL;
	*(ns->youngest ? &ns->youngest->link.next : &ns->oldest) = node;
	ns->youngest = node;
}

static void list_remove(struct nodes *ns, struct node *node)
{
	struct node_link *l = &node->link;

	*(l->prev ? &l->prev->link.next : &ns->oldest) = l->next;
	*(l->next ? &l->next->link.prev : &ns->youngest) = l->prev;
	l->prev = l->next = NULL;
}

/* The node with that name, made if there is none. It has no row before something about it is
 * durable. */
struct node *nodes_want(struct nodes *ns, const char *name)
{
	struct node *node = nodes_find(ns, name);

	if (node)
		return node;
	node = xcalloc(1, sizeof(*node));
	node->mark.table = TABLE_NODE;
	node->info.name = name;
	KEEP_TEXTS(ns->strings, &node->info, name, reason, incarnation, boot_id, gpus, found,
	        health);
	KEEP_TEXTS(ns->strings, &node->link, gpu_trouble, unwell, gpu_note, version, containment,
	        containment_why, invalid);
	node->link.index = NODE_LEFT;
	node->link.slot = HEAP_NOWHERE;
	node->link.check_slot = HEAP_NOWHERE;
	node->link.hearing = NODE_UNHEARD;
	node->link.heard_mono = ns->mono;
	table_add(ns->by_name, node);
	list_append(ns, node);
	return node;
}

/* Indices are positions in conf->nodes. Records stay, whatever the configuration drops. */
void nodes_configure(struct nodes *ns, const struct conf *conf, usec_t mono)
{
	ns->mono = mono;
	for (size_t i = 0; i < ns->n_at; i++)
		ns->at[i]->link.index = NODE_LEFT;
	free(ns->at);
	ns->n_at = conf->n_nodes;
	ns->at = xcalloc(ns->n_at, sizeof(struct node *));
	for (size_t i = 0; i < ns->n_at; i++) {
		ns->at[i] = nodes_want(ns, conf->nodes[i].name);
		ns->at[i]->link.index = (uint32_t)i;
		node_runs_changed(ns->at[i]); /* numbers of types, accounts, ... are others */
	}
}

static size_t nodes_count(const struct nodes *ns)
{
	return table_count(ns->by_name);
}

static int by_name(const void *x, const void *y)
{
	const struct node *a = *(struct node *const *)x, *b = *(struct node *const *)y;

	return strcmp(a->info.name, b->info.name);
}

struct node **nodes_sorted(const struct nodes *ns, size_t *n)
{
	struct node **v = xcalloc(nodes_count(ns), sizeof(struct node *)), *node;
	size_t cursor = 0;

	*n = 0;
	while ((node = table_each(ns->by_name, &cursor)))
		v[(*n)++] = node;
	qsort(v, *n, sizeof(struct node *), by_name);
	return v;
}

struct node *nodes_each(const struct nodes *ns, size_t *cursor)
{
	return table_each(ns->by_name, cursor);
}

size_t nodes_heard(const struct nodes *ns)
{
	return ns->heard;
}

/* --- movers ---------------------------------------------------------------------------------- */

static void changed(struct nodes *ns, struct node *node)
{
	node->has_row = true;
	dirty_put(ns->dirty, &node->mark);
}

void node_set_admin(struct nodes *ns, struct node *node, bool drain, bool down, const char *reason,
        uint32_t uid, usec_t wall)
{
	struct node_info *i = &node->info;

	i->drain = drain;
	i->down = down;
	strings_set(ns->strings, &i->reason, reason);
	i->reason_uid = uid;
	i->reason_time = wall;
	changed(ns, node);
}

/* Another incarnation numbers its faults from the beginning. */
void node_set_registered(struct nodes *ns, struct node *node, const char *incarnation,
        const char *boot_id, uint32_t cpus, uint64_t mem_mb)
{
	struct node_info *i = &node->info;
	bool other = i->cpus != cpus || i->mem_mb != mem_mb;

	if (strings_set(ns->strings, &i->incarnation, incarnation)) {
		i->faults_seen = 0;
		other = true;
	}
	other |= strings_set(ns->strings, &i->boot_id, boot_id);
	i->cpus = cpus;
	i->mem_mb = mem_mb;
	if (other)
		changed(ns, node);
}

/* What was sampled was of the GPUs that had these indices before. */
void node_set_devices(struct nodes *ns, struct node *node, const char *gpus)
{
	if (!strings_set(ns->strings, &node->info.gpus, gpus))
		return;
	changed(ns, node);
	for (size_t i = 0; i < node->link.n_samples; i++)
		node->link.samples[i].known = false;
}

void node_set_found(struct nodes *ns, struct node *node, const char *found)
{
	if (strings_set(ns->strings, &node->info.found, found))
		changed(ns, node);
}

void node_set_health(struct nodes *ns, struct node *node, const char *health)
{
	if (strings_set(ns->strings, &node->info.health, health))
		changed(ns, node);
}

void node_set_faults_seen(struct nodes *ns, struct node *node, uint64_t seq)
{
	if (node->info.faults_seen == seq)
		return;
	node->info.faults_seen = seq;
	changed(ns, node);
}

/* --- volatile -------------------------------------------------------------------------------- */

/* Moves the node to where its new hearing belongs in the list, and keeps the counts. */
void node_hear(struct nodes *ns, struct node *node, enum node_hearing hearing, struct clocks now)
{
	struct node_link *l = &node->link;

	assert(l->hearing == hearing || hearing_next[l->hearing] >> hearing & 1);
	if (l->hearing != NODE_UNKNOWN && (hearing == NODE_HEARD || hearing == NODE_UNKNOWN))
		list_remove(ns, node);
	if (hearing == NODE_HEARD) {
		l->heard_mono = now.mono;
		l->heard_wall = now.wall;
		l->off = false;
		list_append(ns, node);
	}
	ns->expected -= l->expected;
	l->expected = false;
	ns->heard += (size_t)(hearing == NODE_HEARD) - (size_t)(l->hearing == NODE_HEARD);
	l->hearing = hearing;
}

struct node *nodes_oldest(const struct nodes *ns)
{
	return ns->oldest;
}

void nodes_start(struct nodes *ns, struct clocks now)
{
	for (struct node *node = ns->oldest; node; node = node->link.next)
		node->link.heard_mono = now.mono;
}

/* After a start: nodes with runs have yet to report. Each is expected until it is heard or given up
 * (node_hear()). */
void nodes_expect(struct nodes *ns)
{
	for (struct node *node = ns->oldest; node; node = node->link.next) {
		node->link.expected = node->link.runs != NULL;
		ns->expected += node->link.expected;
	}
}

size_t nodes_expected(const struct nodes *ns)
{
	return ns->expected;
}

void node_set_text(struct nodes *ns, const char **field, const char *text)
{
	strings_set(ns->strings, field, text);
}

void node_set_gpus(struct nodes *ns, struct node *node, const struct gpu_found *v, size_t n)
{
	struct node_link *l = &node->link;

	for (size_t i = 0; i < l->n_gpus; i++)
		DROP_TEXTS(ns->strings, &l->gpus[i], type, uuid, trouble, told, name, of, near);
	free(l->gpus);
	l->gpus = n ? xcalloc(n, sizeof(*l->gpus)) : NULL;
	l->n_gpus = n;
	for (size_t i = 0; i < n; i++) {
		l->gpus[i].told = v[i].type;
		COPY_FIELDS(&l->gpus[i], &v[i], type, uuid, trouble, name, of, near, mem_mb, host,
		        mig);
		KEEP_TEXTS(ns->strings, &l->gpus[i], type, uuid, trouble, told, name, of, near);
	}
}

void node_runs_changed(struct node *node)
{
	if (node)
		node->link.snapshots_known = false;
}

/* --- rows ------------------------------------------------------------------------------------ */

#define F(field) [COL_NODE_##field] = COLUMN(struct node, info.field)
static const struct codec_column columns[COL_NODE_COUNT] = { F(name), F(drain), F(down), F(reason),
	F(reason_uid), F(reason_time), F(incarnation), F(boot_id), F(cpus), F(mem_mb), F(gpus),
	F(found), F(health), F(faults_seen) };
#undef F

void node_encode(const struct node *node, struct row *row, enum row_change change)
{
	row_begin(row, TABLE_NODE, change);
	codec_encode(columns, node, row);
}

int nodes_load(struct nodes *ns, const struct row *row, struct error *err)
{
	const struct value *key = &row->v[COL_NODE_name];
	char *name = xstrndup(key->p ? key->p : "", key->n);
	struct node *node = nodes_want(ns, name);

	free(name);
	if (node->has_row)
		return row_error(row, COL_NODE_name, err, "twice the same node");
	node->has_row = true;
	return codec_decode(columns, node, row, ns->strings, err);
}

uint64_t nodes_hash(const struct nodes *ns)
{
	size_t cursor = 0;
	const struct node *node;
	struct row row;
	uint64_t sum = 0;

	while ((node = table_each(ns->by_name, &cursor))) {
		if (!node->has_row)
			continue;
		node_encode(node, &row, ROW_PUT);
		sum += row_hash(&row);
	}
	return sum;
}
