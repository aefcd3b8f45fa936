/* places_conf.c - see places_conf.h */
#include "testsuite/unit/lib/places_conf.h"

#include <stdlib.h>

#include "common/base/xalloc.h"

struct conf *places_conf(void)
{
	struct conf *conf = xcalloc(1, sizeof(*conf));

	conf->cluster = xstrdup("test");
	conf->gpu_types = xcalloc(PLACES_TYPES, sizeof(*conf->gpu_types));
	conf->n_gpu_types = PLACES_TYPES;
	conf->gpu_types[H100] = (struct conf_gpu_type){ .name = xstrdup("h100"), .mem_mb = 81920 };
	conf->gpu_types[L40S] = (struct conf_gpu_type){ .name = xstrdup("l40s"), .mem_mb = 49152 };
	conf->gpu_types[OLD] = (struct conf_gpu_type){ .name = xstrdup("old") };
	conf->partitions = xcalloc(1, sizeof(*conf->partitions));
	conf->partitions[0].name = xstrdup("batch");
	conf->n_partitions = 1;
	return conf;
}

void places_conf_free(struct conf *conf)
{
	size_t i, k;

	for (i = 0; i < conf->n_nodes; i++) {
		for (k = 0; k < conf->nodes[i].features.n; k++)
			free(conf->nodes[i].features.v[k]);
		free(conf->nodes[i].features.v);
		free(conf->nodes[i].name);
		free(conf->nodes[i].gpus);
	}
	for (i = 0; i < conf->n_licences; i++)
		free(conf->licences[i].name);
	for (i = 0; i < conf->n_gpu_types; i++)
		free(conf->gpu_types[i].name);
	free(conf->partitions[0].name);
	free(conf->partitions[0].nodes);
	free(conf->partitions);
	free(conf->nodes);
	free(conf->licences);
	free(conf->gpu_types);
	free(conf->cluster);
	free(conf);
}

void places_node(struct conf *conf, struct places_node node)
{
	struct conf_partition *batch = &conf->partitions[0];
	uint32_t i = (uint32_t)conf->n_nodes++;
	struct conf_node *n;
	uint16_t type;

	conf->nodes = xrealloc(conf->nodes, conf->n_nodes, sizeof(*conf->nodes));
	n = &conf->nodes[i];
	*n = (struct conf_node){ .name = xasprintf("n%u", i),
		.cpus = node.cpus,
		.mem_mb = node.mem_mb,
		.gpus = xcalloc(PLACES_TYPES, sizeof(*n->gpus)),
		.leaf = node.leaf };
	for (type = 0; type < PLACES_TYPES; type++) {
		if (node.gpus[type])
			n->gpus[n->n_gpus++] = (struct conf_gpu_count){ type, node.gpus[type], 0 };
	}
	batch->nodes = xrealloc(batch->nodes, conf->n_nodes, sizeof(*batch->nodes));
	batch->nodes[batch->n_nodes++] = i;
}

void places_feature(struct conf *conf, uint32_t node, const char *feature)
{
	struct conf_texts *f = &conf->nodes[node].features;

	f->v = xrealloc(f->v, f->n + 1, sizeof(*f->v));
	f->v[f->n++] = xstrdup(feature);
}

void places_licence(struct conf *conf, const char *name, uint32_t count)
{
	conf->licences = xrealloc(conf->licences, conf->n_licences + 1, sizeof(*conf->licences));
	conf->licences[conf->n_licences++] =
	        (struct conf_licence){ .name = xstrdup(name), .count = count };
}
