/* core_places.c - bench_core: the search for a place in a ledger */
#include <stdio.h>
#include <stdlib.h>

#include "common/base/xalloc.h"
#include "ctld/core/place/ledger.h"
#include "ctld/core/request/requests.h"
#include "testsuite/bench/core_bench.h"

#define LEAF_NODES 32  /* on a leaf switch */
#define ASIDE      500 /* nodes with something planned */

/* As make_conf(), with leaf switches and every second node "ib". */
static struct conf *make_fabric(size_t nodes)
{
	struct conf *c = make_conf(nodes);
	size_t i;

	for (i = 0; i < nodes; i++) {
		c->nodes[i].leaf = (uint32_t)(i / LEAF_NODES);
		if (i % 2)
			continue;
		c->nodes[i].features.v = xcalloc(1, sizeof(char *));
		c->nodes[i].features.v[0] = xstrdup("ib");
		c->nodes[i].features.n = 1;
	}
	return c;
}

/* Each node accepts work and has some of its GPUs in use; every fifth none. */
static void use_some(struct ledger *l, size_t nodes)
{
	uint32_t i;

	for (i = 0; i < nodes; i++) {
		uint32_t gpus = next_random() % 5 ? (uint32_t)(next_random() % 9) : 0;
		struct place place = { .node = i,
			.cpus = gpus * 8,
			.mem_mb = gpus * 65536,
			.gpus = (1ull << gpus) - 1,
			.type = 0 };

		ledger_accept(l, i, true);
		ledger_take(l, &place);
	}
}

static bool every_second(void *arg, struct place *place, uint64_t cards)
{
	(void)arg, (void)cards;
	return place->node % 2;
}

struct search {
	const char *name, *gpus, *place;
	uint32_t cpus;
	bool spread, aside, found;
	bool close; /* of nodes of which is known how close their GPUs are */
};

static const struct search searches[] = {
	{ "find_1_gpu", "h100:1", "", 8, false, false, true, false },
	{ "find_1_gpu_spread", "h100:1", "", 8, true, false, true, false },
	{ "find_1_gpu_with_feature", "h100:1", "constraint=ib", 8, false, false, true, false },
	{ "find_1_gpu_on_named_node", "h100:1", "nodelist=n4200", 8, false, false, true, false },
	{ "find_whole_node", "h100:8", "exclusive", 8, false, false, true, false },
	{ "find_no_gpus", "", "", 120, false, false, true, false },
	{ "find_none", "h100:8", "constraint=!ib&ib", 8, false, false, false, false },
	{ "find_1_gpu_500_aside", "h100:1", "", 8, false, true, true, false },
	{ "find_gang_of_2", "h100:8", "nodes=2 per_node", 64, false, false, true, false },
	{ "find_gang_of_16", "h100:8", "nodes=16 per_node", 64, false, false, true, false },
	{ "find_gang_of_512", "h100:8", "nodes=512 per_node", 64, false, false, true, false },
	{ "find_gang_of_64_gpus", "h100:64", "nodes=1-64", 8, false, false, true, false },
	{ "find_gang_with_feature", "h100:8", "nodes=16 per_node constraint=ib", 64, false, false, true, false },
	{ "find_gang_refused", "h100:8", "nodes=9000 per_node", 64, false, false, false, false },
	{ "find_gang_500_aside", "h100:8", "nodes=16 per_node", 64, false, true, true, false },
	{ "find_1_gpu_close", "h100:1", "", 8, false, false, true, true },
	{ "find_4_gpus_close", "h100:4", "", 8, false, false, true, true },
	{ "find_4_gpus_close_500_aside", "h100:4", "", 8, false, true, true, true },
	{ "find_gang_close", "h100:4", "nodes=16 per_node", 32, false, false, true, true },
};

static void bench_search(struct ledger *l, struct requests *rs, const struct search *s)
{
	struct find find = { .spread = s->spread, .test = s->aside ? every_second : NULL };
	struct places places = { 0 };
	size_t n, rounds = 0;
	long long start, took;
	struct error err;
	struct ask ask = {
		.gpus = requests_parse(rs, s->gpus, s->place, &err), .cpus = s->cpus, .mem_mb = 1024
	};

	find.type = *s->gpus ? 0 : TYPE_NONE;
	for (n = 0; s->aside && n < ASIDE; n++)
		ledger_set_reserved(l, (uint32_t)n * 7, true);
	start = cpu_ns();
	do {
		if (ledger_find(l, 0, &ask, &find, &places) != s->found) {
			fprintf(stderr, "bench_core: error: %s: not as it should be\n", s->name);
			exit(1);
		}
		rounds++;
		took = cpu_ns() - start;
	} while (took < 50000000);
	figure(s->name, (double)took / 1e3 / (double)rounds, "us");
	for (n = 0; s->aside && n < ASIDE; n++)
		ledger_set_reserved(l, (uint32_t)n * 7, false);
	places_free(&places);
	requests_drop(rs, ask.gpus);
}

/* Two sockets, on each two switches with two GPUs. */
static void write_near(struct conf *conf)
{
	static const char *const near[] = { "PIX:0,1", "PIX:2,3", "PIX:4,5", "PIX:6,7", "NODE:0-3",
		"NODE:4-7" };
	size_t i, k;

	for (i = 0; i < conf->n_nodes; i++) {
		struct conf_texts *texts = &conf->nodes[i].gpu_near;

		texts->n = sizeof(near) / sizeof(*near);
		texts->v = xcalloc(texts->n, sizeof(char *));
		for (k = 0; k < texts->n; k++)
			texts->v[k] = xstrdup(near[k]);
	}
}

void bench_places(size_t nodes, bool close)
{
	struct conf *conf = make_fabric(nodes);
	struct strings *strings = strings_new(1);
	struct requests *rs = requests_new(strings, conf, 1);
	struct ledger *l;
	size_t i;

	if (close)
		write_near(conf);
	l = ledger_new(conf);
	use_some(l, nodes);
	for (i = 0; i < sizeof(searches) / sizeof(searches[0]); i++) {
		if (searches[i].close == close)
			bench_search(l, rs, &searches[i]);
	}
	ledger_free(l);
	requests_free(rs);
	strings_free(strings);
	conf_free(conf);
}
