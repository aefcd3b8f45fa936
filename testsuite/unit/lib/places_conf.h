/* places_conf.h - clusters by hand, for tests of requests and of the ledger */
#ifndef TESTSUITE_UNIT_PLACES_CONF_H
#define TESTSUITE_UNIT_PLACES_CONF_H

#include "common/conf/conf.h"

enum { H100, L40S, OLD, PLACES_TYPES };

/* GPU types h100 (80G), l40s (48G) and old (memory not given); partition "batch" of all nodes. */
struct conf *places_conf(void);
void places_conf_free(struct conf *conf);

struct places_node {
	uint32_t cpus;
	uint64_t mem_mb;
	uint16_t gpus[PLACES_TYPES]; /* of each type */
	uint32_t leaf;               /* CONF_NONE: none */
};

/* Add node n0, n1, ...; give one a feature; add a licence. */
void places_node(struct conf *conf, struct places_node node);
void places_feature(struct conf *conf, uint32_t node, const char *feature);
void places_licence(struct conf *conf, const char *name, uint32_t count);

#endif
