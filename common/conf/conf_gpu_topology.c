/* conf_gpu_topology.c - how close a node's GPUs are said to be: one thing of each two; see
 * conf_check.h */
#include "common/conf/conf_check.h"

#include <stdlib.h>

#include "common/base/xalloc.h"
#include "common/gpu/gpu_topology.h"

/* Both say something of the same: of a level a GPU is in one group, two GPUs have one number of
 * NVLinks. The GPU; -1: no. */
static int said_twice(const struct near_said *a, const struct near_said *b)
{
	uint64_t both = a->gpus & b->gpus;

	if (!a->links != !b->links || (!a->links && a->level != b->level) ||
	        (a->links && !(both & (both - 1))))
		return -1;
	return both ? __builtin_ctzll(both) : -1;
}

/* The GPUs that an entry's host has, as far as they are known by numbers; 0: they are not. */
static unsigned hosts(const struct conf *conf, const struct conf_node *entry)
{
	unsigned n = 0;

	for (size_t g = 0; g < entry->n_gpus; g++) {
		if (*conf->gpu_types[entry->gpus[g].type].mig_of)
			return 0;
		n += entry->gpus[g].count;
	}
	for (size_t i = 0; n && i < entry->n_mig; i++)
		n += (unsigned)__builtin_popcountll(entry->mig[i].set);
	return n;
}

static void check_list(struct conf_reader *r, const config_setting_t *at, const char *path,
        const struct conf_texts *texts)
{
	struct near_said *said;
	char *where;
	int gpu;

	if (!at || config_setting_length(at) != (int)texts->n)
		return; /* one of them could not be read */
	said = xcalloc(texts->n ? texts->n : 1, sizeof(*said));
	for (size_t i = 0; i < texts->n; i++) {
		if (near_said_read(texts->v[i], &said[i], NULL) < 0)
			said[i].gpus = 0; /* it was read before */
		for (size_t k = 0; k < i; k++) {
			gpu = said_twice(&said[i], &said[k]);
			if (gpu < 0)
				continue;
			where = xasprintf("%s[%zu]", path, i);
			conf_reader_problem(r, config_setting_get_elem(at, (unsigned)i),
			        said[i].links ? "%s: \"%s\": NVLinks between GPU %d and another "
			                        "are in \"%s\" already"
			                      : "%s: \"%s\": GPU %d is in \"%s\" already",
			        where, texts->v[i], gpu, texts->v[k]);
			free(where);
			break;
		}
	}
	free(said);
}

/* GPUs that there are not. */
static void check_numbers(struct conf_reader *r, size_t i)
{
	const struct conf_node *entry = &r->raw.entries[i];
	unsigned n = hosts(&r->raw.conf, entry);
	struct near_said said;

	for (size_t k = 0; n && k < entry->gpu_near.n; k++) {
		if (near_said_read(entry->gpu_near.v[k], &said, NULL) < 0 || n >= 64 ||
		        !(said.gpus >> n))
			continue;
		conf_reader_problem(r, conf_setting_at(r, "nodes", i, "gpu_near"),
		        "nodes[%zu].gpu_near: \"%s\": the node has GPUs 0 to %u", i,
		        entry->gpu_near.v[k], n - 1);
		return;
	}
}

void conf_check_near(struct conf_checker *c)
{
	struct conf_reader *r = c->reader;
	const config_setting_t *root = config_root_setting(&r->tree);
	const config_setting_t *defaults = config_setting_get_member(root, "node_defaults");
	const config_setting_t *nodes = config_setting_get_member(root, "nodes"), *own;

	if (r->raw.node_defaults.gpu_near.n)
		check_list(r, config_setting_get_member(defaults, "gpu_near"),
		        "node_defaults.gpu_near", &r->raw.node_defaults.gpu_near);
	for (size_t i = 0; i < r->raw.n_entries; i++) {
		const config_setting_t *entry = config_setting_get_elem(nodes, (unsigned)i);
		char *path = xasprintf("nodes[%zu].gpu_near", i);

		own = entry && config_setting_is_group(entry)
		              ? config_setting_get_member(entry, "gpu_near")
		              : NULL;
		if (own)
			check_list(r, own, path, &r->raw.entries[i].gpu_near);
		check_numbers(r, i);
		free(path);
	}
}
