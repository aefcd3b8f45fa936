/* test_closest_gpus.c - common/gpu/gpu_topology.h and ctld/core/place/closest_gpus.h: which GPUs are taken
 * for one job
 *
 * Machines as they are sold, with what is free on them and what is to be taken; and random ones, on
 * which the choice is compared with every other. Whole cores: test_closest_gpus_core.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ctld/core/place/closest_gpus.h"
#include "ctld/core/place/ledger.h"
#include "ctld/core/place/nodes_by_free_gpus.h"
#include "ctld/core/records/node.h"
#include "testsuite/unit/lib/devices_world.h"

struct ledger;

/* --- machines -------------------------------------------------------------------------------- */

/* Two sockets, on each two switches with two GPUs. */
static near_t plx(uint32_t a, uint32_t b)
{
	return near_of(0, a / 2 == b / 2 ? NEAR_PIX : a / 4 == b / 4 ? NEAR_NODE : NEAR_SYS);
}

/* The same with all behind NVSwitches. */
static near_t nvswitch(uint32_t a, uint32_t b)
{
	return near_of(18, near_level(plx(a, b)));
}

/* Two pairs with a bridge over each, all at one host bridge. */
static near_t bridged(uint32_t a, uint32_t b)
{
	return near_of(a / 2 == b / 2 ? 4 : 0, NEAR_PHB);
}

/* The cube of NVLinks of a DGX-1, two GPUs on each switch. */
static near_t cube(uint32_t a, uint32_t b)
{
	static const char *const links[] = { "01122000", "10210200", "12020010", "21200001",
		"20000112", "02001021", "00101202", "00012120" };

	return near_of((uint32_t)(links[a][b] - '0'), near_level(plx(a, b)));
}

static near_t alone(uint32_t a, uint32_t b)
{
	(void)a, (void)b;
	return near_of(0, NEAR_PHB);
}

typedef near_t between(uint32_t a, uint32_t b);

static struct closeness *make(between *near, uint32_t n)
{
	struct closeness *c = closeness_new(n);

	for (uint32_t a = 0; a < n; a++) {
		for (uint32_t b = a + 1; b < n; b++)
			closeness_set(c, a, b, near(a, b));
	}
	return c;
}

/* "0,3": the set of them. */
static uint64_t set_of(const char *text)
{
	uint64_t set = 0;

	for (; *text; text += *text == ',') {
		char *end;

		set |= 1ull << strtoul(text, &end, 10);
		text = end;
	}
	return set;
}

static const struct {
	between *near;
	const char *free;
	uint32_t n;
	const char *taken;
} cases[] = {
	{ plx, "0,1,2,3,4,5,6,7", 2, "0,1" },
	{ plx, "1,2,3,4,5,6,7", 2, "2,3" },
	{ plx, "1,3,4,6", 2, "1,3" }, /* of one socket */
	{ plx, "1,3,4,6,7", 2, "6,7" },
	{ plx, "1,4", 2, "1,4" },
	{ plx, "0,1,2,3,4,5,6,7", 4, "0,1,2,3" },
	{ plx, "1,2,3,4,5,6,7", 4, "4,5,6,7" },
	{ plx, "1,2,3,4,5,6", 4, "2,3,4,5" }, /* over both sockets anyway: the two whole switches */
	{ plx, "1,2,3,4,5,6", 3, "1,2,3" },
	{ plx, "0,2,3,4,5,6,7", 3, "0,2,3" }, /* and not of the four that are whole */
	{ plx, "0,1,2,3,4,5,6,7", 1, "0" },
	{ plx, "1,2,3,4,5,6,7", 1, "1" }, /* its neighbour is gone */
	{ plx, "0,1,2,3,4,5,7", 1, "7" },
	{ plx, "0,1,4,5,6,7", 2, "0,1" }, /* of three pairs that which has no pair beside it */
	{ plx, "0,1,2,3,4,5", 2, "4,5" },
	{ nvswitch, "0,1,2,3,4,5,6,7", 2, "0,1" },
	{ nvswitch, "0,2,4,5", 2, "4,5" },
	{ nvswitch, "0,1,3,5,6,7", 4, "0,1,6,7" },
	{ bridged, "0,1,2,3", 2, "0,1" },
	{ bridged, "0,2,3", 2, "2,3" },
	{ bridged, "0,2,3", 1, "0" },
	{ cube, "0,1,2,3,4,5,6,7", 2, "2,3" }, /* two links and one switch */
	{ cube, "0,1,3,4,5", 2, "0,3" },       /* two links, and not the switch of 0 and 1 */
	{ cube, "0,1,4,6,7", 2, "6,7" },
	{ cube, "0,1,2,3,4,5,6,7", 4, "0,1,2,3" },
	{ cube, "0,1,2,3,4,5,6,7", 8, "0,1,2,3,4,5,6,7" },
	{ alone, "1,2,3", 2, "1,2" },
};

static void machines(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct closeness *c = make(cases[i].near, 8);
		uint64_t taken = closest(c, set_of(cases[i].free), cases[i].n);

		if (taken != set_of(cases[i].taken))
			fail_msg("%zu: %u of %s: %#llx", i, cases[i].n, cases[i].free,
			        (unsigned long long)taken);
		assert_int_equal(closeness_matters(c), cases[i].near != alone);
		free(c);
	}
}

/* --- against every other set ----------------------------------------------------------------- */

static uint32_t seed = 1;

static uint32_t chance(uint32_t below)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % below;
}

/* As closest_gpus.h says it, the most important first; to be the largest. */
struct worth {
	long v[4];
};

static struct worth worth_of(const struct closeness *c, uint64_t from, uint64_t taken)
{
	struct worth w = { { 1000, 0, 0, 0 } };

	for (uint32_t a = 0; a < c->n; a++) {
		for (uint32_t b = 0; b < a; b++) {
			long near = closeness_of(c, a, b);
			bool in_a = taken >> a & 1, in_b = taken >> b & 1;

			if (in_a && in_b) {
				w.v[0] = near < w.v[0] ? near : w.v[0];
				w.v[1] += near;
			} else if ((in_a || in_b) && from >> a & 1 && from >> b & 1) {
				w.v[2] -= near;
			}
		}
	}
	/* 0,1,4 are lower than 0,2,3: read from the lowest on. */
	for (uint32_t a = 0; a < c->n; a++)
		w.v[3] = 2 * w.v[3] + (taken >> a & 1);
	return w;
}

static int compare(const struct worth *x, const struct worth *y, int upto)
{
	for (int i = 0; i < upto; i++) {
		if (x->v[i] != y->v[i])
			return x->v[i] < y->v[i] ? -1 : 1;
	}
	return 0;
}

/* Nothing of `from` is worth more, as far as the first `upto` things count. */
static void is_best(const struct closeness *c, uint64_t from, uint32_t n, int upto)
{
	uint64_t taken = closest(c, from, n);
	struct worth mine = worth_of(c, from, taken), other;

	assert_int_equal(__builtin_popcountll(taken), n);
	assert_int_equal(taken & ~from, 0);
	for (uint64_t set = from;; set = (set - 1) & from) {
		if ((uint32_t)__builtin_popcountll(set) == n) {
			other = worth_of(c, from, set);
			if (compare(&mine, &other, upto) < 0)
				fail_msg("seed %u: %u of %#llx: %#llx, and %#llx is better", seed, n,
				        (unsigned long long)from, (unsigned long long)taken,
				        (unsigned long long)set);
		}
		if (!set)
			break;
	}
}

/* A tree, and on some of them NVLinks wherever. */
static struct closeness *random_machine(uint32_t n, bool tree)
{
	struct closeness *c = closeness_new(n);
	uint32_t links = tree ? 1 : 1 + chance(5), at[64];

	for (uint32_t a = 0; a < n; a++)
		at[a] = chance(
		        16); /* by its bits from the uppermost: socket, bridge, tree, switch */
	for (uint32_t a = 0; a < n; a++) {
		for (uint32_t b = 0; b < a; b++) {
			uint32_t differ = at[a] ^ at[b];
			enum near_level level = !differ       ? NEAR_PIX
			                        : differ == 1 ? NEAR_PXB
			                        : differ < 4  ? NEAR_PHB
			                        : differ < 8  ? NEAR_NODE
			                                      : NEAR_SYS;

			closeness_set(c, a, b, near_of(chance(links), level));
		}
	}
	return c;
}

static void brute_force(void **state)
{
	(void)state;
	for (int round = 0; round < 1500; round++) {
		uint32_t size = 1 + chance(8);
		struct closeness *c = random_machine(size, round % 2);
		uint64_t from = 0;

		while (!from)
			from = chance(1u << size);
		is_best(c, from, 1 + chance((uint32_t)__builtin_popcountll(from)), 4);
		free(c);
	}
}

/* More than are tried one by one: on a tree no set has closer farthest ones. */
static void many(void **state)
{
	(void)state;
	for (int round = 0; round < 20; round++) {
		struct closeness *c = random_machine(14, true);

		is_best(c, (1u << 14) - 1, 4 + chance(7), 1);
		free(c);
	}
}

/* --- words ----------------------------------------------------------------------------------- */

static void words(void **state)
{
	struct near_place place = { .grouped = true, .groups = { 0, 2, 2, 63 } }, back;
	char text[NEAR_PLACE_TEXT], word[NEAR_WORD];

	(void)state;
	place.links[1] = 4;
	place.links[63] = 18;
	near_place_write(&place, text);
	assert_string_equal(text, "0.2.2.63 1*4 63*18");
	near_place_read(&back, text);
	assert_memory_equal(&back, &place, sizeof(place));
	place.grouped = false;
	memset(place.groups, 0, sizeof(place.groups));
	near_place_write(&place, text);
	near_place_read(&back, text);
	assert_memory_equal(&back, &place, sizeof(place));
	memset(place.links, 30, sizeof(place.links)); /* the longest there is */
	place.grouped = true;
	memset(place.groups, 63, sizeof(place.groups));
	near_place_write(&place, text);
	near_place_read(&back, text);
	assert_memory_equal(&back, &place, sizeof(place));
	for (const char *const *damaged = (const char *const[]){ "", "x", "1.2.3", "64*1", "1*",
	             "1*2x3*4", "-1*3", "....", NULL };
	        *damaged; damaged++)
		near_place_read(&back, *damaged);
	assert_string_equal(near_word(near_of(2, NEAR_SYS), word), "NV2");
	assert_string_equal(near_word(near_of(200, NEAR_PIX), word), "NV30");
	assert_string_equal(near_word(near_of(0, NEAR_PXB), word), "PXB");
	assert_string_equal(near_word(0, word), "-");
	assert_true(near_of(1, NEAR_UNKNOWN) > near_of(0, NEAR_PIX));
}

/* --- what is demanded ------------------------------------------------------------------------ */

/* So many that any so many of `from` have `n` of which each two are as close; 0: not even all. */
static uint32_t sure_by_force(const struct closeness *c, uint64_t from, uint32_t n, long least)
{
	uint32_t most = 0;
	bool all = false;

	for (uint64_t set = from;; set = (set - 1) & from) {
		bool has = false;

		for (uint64_t some = set; !has; some = (some - 1) & set) {
			has = (uint32_t)__builtin_popcountll(some) == n &&
			      worth_of(c, from, some).v[0] >= least;
			if (!some)
				break;
		}
		all |= set == from && has;
		if (!has && (uint32_t)__builtin_popcountll(set) > most)
			most = (uint32_t)__builtin_popcountll(set);
		if (!set)
			break;
	}
	return all ? most + 1 : 0;
}

static void surely(void **state)
{
	unsigned more = 0;

	(void)state;
	for (int round = 0; round < 3000; round++) {
		bool tree = round % 3 != 0;
		uint32_t size = 2 + chance(6), n, sure, is;
		struct closeness *c = random_machine(size, tree);
		near_t least = near_link_least((enum near_link)(1 + chance(tree ? 2 : 3)));
		uint64_t from = 0;

		while (__builtin_popcountll(from) < 2)
			from = chance(1u << size);
		n = 2 + chance((uint32_t)__builtin_popcountll(from) - 1);
		sure = closest_sure(c, from, n, least);
		is = sure_by_force(c, from, n, least);
		assert_int_equal(closest_has(c, from, n, least), is > 0);
		if (tree ? sure != is : !sure != !is || sure < is)
			fail_msg("round %d: %u of %#llx at %u: %u, and it is %u", round, n,
			        (unsigned long long)from, (unsigned)least, sure, is);
		more += sure > n;
		free(c);
	}
	assert_true(more > 300);
}

/* --- between nodes --------------------------------------------------------------------------- */

static const char *const machines_written[] = { "", "gpu_near = [ \"NV18:0-7\", \"PHB:0-7\" ];",
	"gpu_near = [ \"PHB:0-7\" ];",
	"gpu_near = [ \"PIX:0,1\", \"PIX:2,3\", \"PIX:4,5\", \"PIX:6,7\", \"NODE:0-3\", \"NODE:4-7\" ];",
	"gpu_near = [ \"NV4:0,1\", \"NV4:2,3\", \"NV4:4,5\", \"NV4:6,7\", \"PHB:0-7\" ];",
	"gpu_near = [ \"NV2:0-2\", \"NV1:2,5\", \"NV2:5,7\" ];" };

static bool allows(void *arg, struct place *place, uint64_t gpu_set)
{
	(void)arg, (void)place, (void)gpu_set;
	return true;
}

/* As ledger.h says it: the more, the more important first; the largest is to be found. */
static void rank(const struct ledger *l, uint32_t node, uint32_t n, bool spread, long rank[8])
{
	const struct closeness *c = ledger_near(l, node);
	uint64_t from = ledger_gpus_free(l, node, 0);
	long more = spread ? 1 : -1;
	struct worth best = { { 0 } };
	bool any = false;

	for (uint64_t set = c ? from : 0; set; set = (set - 1) & from) {
		struct worth w = worth_of(c, from, set);

		if ((uint32_t)__builtin_popcountll(set) != n || (any && compare(&best, &w, 3) >= 0))
			continue;
		best = w;
		any = true;
	}
	rank[0] = more * __builtin_popcountll(from);
	rank[1] = n > 1 ? best.v[0] : 0;
	rank[2] = best.v[1];
	rank[3] = best.v[2];
	rank[4] = more * (long)ledger_cpus_free(l, node);
	rank[5] = more * (long)node;
}

static uint32_t best_of(const struct ledger *l, uint32_t nodes, uint32_t n, bool spread, near_t least)
{
	long best[8] = { 0 }, this[8] = { 0 };
	uint32_t where = NODE_LEFT;

	for (uint32_t i = 0; i < nodes; i++) {
		int order = 0;

		if (__builtin_popcountll(ledger_gpus_free(l, i, 0)) < (int)n)
			continue;
		rank(l, i, n, spread, this);
		if (n > 1 && this[1] < least)
			continue;
		for (int k = 0; k < 6 && !order; k++)
			order = this[k] < best[k] ? -1 : this[k] > best[k];
		if (where != NODE_LEFT && order <= 0)
			continue;
		where = i;
		memcpy(best, this, sizeof(best));
	}
	return where;
}

static void between_nodes(void **state)
{
	unsigned found = 0;

	(void)state;
	for (int round = 0; round < 150; round++) {
		struct strbuf text = { 0 };
		uint32_t nodes = 2 + chance(CAPACITY_WORTHS - 2), kinds = 1 + chance(6);
		struct conf_problems problems;
		struct strings *strings = strings_new(1);
		struct requests *rs;
		struct places places = { 0 };
		struct ledger *l;
		struct conf *conf;

		strbuf_adds(&text, "cluster = \"t\"; controller = { host = \"h\"; };\n"
		                   "gpu_types = ( { name = \"h100\"; } );\nnodes = (");
		for (uint32_t i = 0; i < nodes; i++)
			strbuf_addf(&text, "%s{ name = \"n%u\"; cpus = %u; gpus = \"h100:8\"; %s }",
			        i ? ", " : "", i, 64 + chance(2), machines_written[chance(kinds)]);
		strbuf_adds(&text, ");\npartitions = ( { name = \"p\"; nodes = \"ALL\"; } );\n");
		conf = conf_parse(text.s, "c", &problems);
		conf_problems_clear(&problems);
		assert_non_null(conf);
		rs = requests_new(strings, conf, 1);
		l = ledger_new(conf);
		for (uint32_t i = 0; i < nodes; i++) {
			ledger_accept(l, i, true);
			ledger_set_reserved(l, i, !chance(4));
		}
		for (int step = 0; step < 60; step++) {
			uint32_t n = 1 + chance(4), where;
			struct find find = { .type = 0, .spread = chance(2), .test = allows };
			struct ask ask = { .cpus = chance(2) };
			enum near_link link;
			char gpus[16], text_of[32];

			snprintf(gpus, sizeof(gpus), "h100:%u", n);
			link = (enum near_link)(chance(2) ? chance(NEAR_LINK_COUNT) : 0);
			snprintf(text_of, sizeof(text_of), "%s%s", link ? "link=" : "", near_link_word(link));
			ask.gpus = requests_parse(rs, gpus, text_of, NULL);
			where = best_of(l, nodes, n, find.spread, near_link_least(link));
			assert_int_equal(ledger_find(l, 0, &ask, &find, &places), where != NODE_LEFT);
			if (where != NODE_LEFT) {
				if (places.v[0].node != where)
					fail_msg("round %d: node %u, and %u is better", round,
					        places.v[0].node, where);
				found++;
				if (n > 1)
					assert_true(!link || closeness_worst(ledger_near(l, where), places.v[0].gpus) >= near_link_least(link));
				if (chance(2)) /* else the best stays, and is another one later */
					places.v[0].gpus = 1ull << __builtin_ctzll(places.v[0].gpus);
				ledger_take(l, &places.v[0]);
			}
			requests_drop(rs, ask.gpus);
		}
		places_free(&places);
		ledger_free(l);
		requests_free(rs);
		strings_free(strings);
		conf_free(conf);
		strbuf_free(&text);
	}
	assert_true(found > 2000);
}

/* --- as it is written ------------------------------------------------------------------------ */

static const struct {
	const char *texts[4];
	uint32_t a, b;
	const char *word;
} written[] = {
	{ { "NV4:0-3", "NODE:0-7" }, 0, 3, "NV4" },
	{ { "NV4:0-3", "NODE:0-7" }, 3, 4, "NODE" },
	{ { "NV4:0-3" }, 3, 4, "-" }, /* nothing is said of PCIe */
	{ { "PIX:0,1", "PIX:2,3" }, 1, 2, "SYS" },
	{ { "PIX:0,1", "PIX:2,3", "PHB:0-3" }, 1, 2, "PHB" },
	{ { "PIX:0,1", "NODE:1,2" }, 0, 2,
	        "NODE" }, /* who is under one switch is of one NUMA node */
	{ { "PIX:0,1", "NODE:1,2" }, 0, 1, "PIX" },
	{ { "PIX:0,1" }, 0, 2, "-" }, /* of 2 nothing is said */
	{ { "PIX:0,1", "SYS:0-2" }, 0, 2, "SYS" },
};

static void as_written(void **state)
{
	struct near_place places[NEAR_HOSTS];
	char word[NEAR_WORD];

	(void)state;
	for (size_t i = 0; i < sizeof(written) / sizeof(*written); i++) {
		size_t n = 0;

		while (n < 4 && written[i].texts[n])
			n++;
		near_places_read(places, written[i].texts, n);
		near_word(near_between(&places[written[i].a], &places[written[i].b], written[i].b), word);
		assert_string_equal(word, written[i].word);
		near_word(near_between(&places[written[i].b], &places[written[i].a], written[i].a), word);
		assert_string_equal(word, written[i].word);
	}
}

/* Any host printed as a key is the same when that is read. */
static void printed(void **state)
{
	(void)state;
	for (int run = 0; run < 2000; run++) {
		struct near_place places[NEAR_HOSTS] = { 0 }, back[NEAR_HOSTS];
		uint32_t n = 1 + chance(run % 50 ? 9 : 64), odds = chance(4), links = 1 + chance(3);
		struct strbuf text = { 0 };
		char *texts[3000], *save = NULL;
		uint64_t gpus = 0;
		size_t k = 0;

		for (uint32_t i = 0; i < n; i++) {
			gpus |= chance(5) ? 1ull << i : 0;
			places[i].grouped = odds != 3;
			for (int at = 0; at < NEAR_GROUPS; at++)
				places[i].groups[at] = (uint8_t)(i & ~((8u >> at) - 1));
			for (uint32_t other = 0; other < i; other++)
				places[i].links[other] = places[other].links[i] =
				        (uint8_t)(chance(3) < odds ? chance(links + 1) : 0);
		}
		near_places_print(places, gpus, &text);
		for (char *word = strtok_r(text.s, "\"", &save); word; word = strtok_r(NULL, "\"", &save)) {
			struct near_said said;

			if (*word == ',')
				continue;
			assert_int_equal(near_said_read(word, &said, NULL), 0);
			texts[k++] = word;
		}
		near_places_read(back, (const char *const *)texts, k);
		for (uint32_t a = 0; a < n; a++) {
			for (uint32_t b = 0; b < n && __builtin_popcountll(gpus) > 1; b++) {
				if (a != b && gpus >> a & 1 && gpus >> b & 1)
					assert_int_equal(near_between(&places[a], &places[b], b),
					        near_between(&back[a], &back[b], b));
			}
		}
		strbuf_free(&text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(machines),
		cmocka_unit_test(brute_force),
		cmocka_unit_test(many),
		cmocka_unit_test(surely),
		cmocka_unit_test(between_nodes),
		cmocka_unit_test(words),
		cmocka_unit_test(as_written),
		cmocka_unit_test(printed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
