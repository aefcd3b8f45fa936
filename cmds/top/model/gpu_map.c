/* gpu_map.c - see gpu_map.h */
#include "cmds/top/model/gpu_map.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"
#include "common/base/xalloc.h"

const struct gpu_mark_row gpu_marks[MARKS] = {
	[MARK_FREE] = { '.', LOOK_FREE, "free" },
	[MARK_BUSY] = { 'B', LOOK_BUSY, "busy" },
	[MARK_IDLE] = { 'i', LOOK_IDLE, "idle" },
	[MARK_HELD] = { 'h', LOOK_BUSY, "held" },
	[MARK_SHARED] = { 's', LOOK_SHARED, "shared" },
	[MARK_DRAINED] = { 'd', LOOK_DRAINED, "drained" },
	[MARK_LOST] = { '!', LOOK_LOST, "missing" },
	[MARK_SILENT] = { '?', LOOK_LOST, "lost" },
};

bool map_node_works(const Gpusched__Node *node)
{
	static const char *const words[] = { "idle", "mixed", "allocated" };

	return text_among(node->state, words, sizeof(words) / sizeof(words[0]));
}

bool map_node_silent(const Gpusched__Node *node)
{
	static const char *const words[] = { "unknown", "down" };

	return text_among(node->state, words, sizeof(words) / sizeof(words[0]));
}

static enum gpu_mark held_mark(const Gpusched__NodeGpu *g)
{
	if (g->sample_known && g->sm_known)
		return g->sm_pct < MAP_IDLE_PCT ? MARK_IDLE : MARK_BUSY;
	if (g->use_known)
		return g->util_pct < MAP_IDLE_PCT ? MARK_IDLE : MARK_BUSY;
	return MARK_HELD;
}

enum gpu_mark map_gpu(const Gpusched__Node *node, const Gpusched__NodeGpu *g)
{
	static const struct {
		const char *state;
		enum gpu_mark mark;
	} states[] = {
		{ "shared", MARK_SHARED },
		{ "draining", MARK_DRAINED },
		{ "drained", MARK_DRAINED },
		{ "missing", MARK_LOST },
		{ "trouble", MARK_LOST },
	};

	if (map_node_silent(node))
		return MARK_SILENT;
	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		if (!strcmp(g->state, states[i].state))
			return states[i].mark;
	if (!strcmp(g->state, "whole"))
		return held_mark(g);
	return map_node_works(node) ? MARK_FREE : MARK_DRAINED;
}

char map_node_letter(const Gpusched__Node *node, enum look *look)
{
	size_t count[MARKS] = { 0 }, most = MARK_BUSY;

	*look = LOOK_DIM;
	if (!node->n_devices && !map_node_silent(node))
		return '-';
	for (size_t i = 0; i < node->n_devices; i++)
		count[map_gpu(node, node->devices[i])]++;
	if (map_node_silent(node))
		most = MARK_SILENT;
	else if (count[MARK_LOST])
		most = MARK_LOST;
	else if (count[MARK_FREE]) {
		*look = LOOK_FREE;
		return count[MARK_FREE] == node->n_devices ? '.'
		       : count[MARK_FREE] > 9              ? '+'
		                                           : (char)('0' + count[MARK_FREE]);
	}
	for (size_t i = 0; most == MARK_BUSY && i < MARKS; i++)
		most = count[i] > count[most] ? i : most;
	*look = gpu_marks[most].look;
	return gpu_marks[most].letter;
}

/* --- types ------------------------------------------------------------------------------------ */

static struct map_type *find_type(struct map_type **types, size_t *n, const char *name)
{
	for (size_t i = 0; i < *n; i++)
		if (!strcmp((*types)[i].name, name))
			return &(*types)[i];
	*types = xrealloc(*types, *n + 1, sizeof(**types));
	(*types)[*n] = (struct map_type){ .name = name, .largest_node = "" };
	return &(*types)[(*n)++];
}

/* What is free of the type on one node. */
static uint32_t free_on(const Gpusched__Node *node, const char *type)
{
	uint32_t n = 0;

	for (size_t i = 0; i < node->n_devices; i++)
		if (!strcmp(node->devices[i]->type, type))
			n += map_gpu(node, node->devices[i]) == MARK_FREE;
	return n;
}

struct map_type *map_types(ProtobufCMessage *const *nodes, size_t n, size_t *n_types)
{
	struct map_type *types = NULL;

	*n_types = 0;
	for (size_t i = 0; i < n; i++) {
		const Gpusched__Node *node = (const Gpusched__Node *)nodes[i];
		const char *seen = NULL;

		for (size_t k = 0; k < node->n_devices; k++) {
			const Gpusched__NodeGpu *g = node->devices[k];
			struct map_type *t = find_type(&types, n_types, g->type);
			enum gpu_mark mark = map_gpu(node, g);
			uint32_t on_node;

			t->total++;
			t->count[mark]++;
			t->free += mark == MARK_FREE;
			if (seen && !strcmp(seen, g->type))
				continue;
			seen = g->type;
			on_node = free_on(node, g->type);
			if (on_node > t->largest) {
				t->largest = on_node;
				t->largest_node = node->name;
			}
		}
	}
	return types;
}
