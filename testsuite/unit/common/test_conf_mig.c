/* test_conf_mig.c - each MIG layout there is, against where NVIDIA's guide lets the driver place
 * instances
 *
 * The guide ("GPU Instance Placements") gives for each profile the memory slices at which an
 * instance may begin. What conf_mig.c sums up must allow just what has a place then.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "common/base/strbuf.h"
#include "common/conf/conf.h"
#include "testsuite/unit/lib/amount.h"

#define PROFILES_MAX 7
#define LAYOUT_MAX   8 /* instances; one more than a GPU can have */

struct profile {
	const char *name;
	unsigned width, starts; /* in slices of memory: how many; bits of those that may be first */
	unsigned compute;
	unsigned engines, extensions; /* for video; where NVIDIA counts them */
};

struct gpu {
	const char *mem;
	unsigned memory, compute; /* slices */
	struct profile profiles[PROFILES_MAX];
};

static const struct gpu gpus[] = {
	/* A100 and H100 of 80 GB; others of that kind have other sizes */
	{ "80G", 8, 7,
	        { { "1g.10gb", 1, 0x7f, 1, 0, 0 }, { "1g.20gb", 2, 0x55, 1, 0, 0 },
	                { "2g.20gb", 2, 0x15, 2, 0, 0 }, { "3g.40gb", 4, 0x11, 3, 0, 0 },
	                { "4g.40gb", 4, 0x01, 4, 0, 0 }, { "7g.80gb", 8, 0x01, 7, 0, 0 } } },
	{ "141G", 8, 7,
	        { { "1g.18gb", 1, 0x7f, 1, 0, 0 }, { "1g.35gb", 2, 0x55, 1, 0, 0 },
	                { "2g.35gb", 2, 0x15, 2, 0, 0 }, { "3g.71gb", 4, 0x11, 3, 0, 0 },
	                { "4g.71gb", 4, 0x01, 4, 0, 0 }, { "7g.141gb", 8, 0x01, 7, 0, 0 } } },
	/* A30 */
	{ "24G", 4, 4,
	        { { "1g.6gb", 1, 0x0f, 1, 0, 0 }, { "2g.12gb", 2, 0x05, 2, 0, 0 },
	                { "4g.24gb", 4, 0x01, 4, 0, 0 } } },
	/* RTX PRO 6000: four engines of each kind, and one for optical flow */
	{ "96G", 4, 4,
	        { { "1g.24gb", 1, 0x0f, 1, 1, 0 }, { "1g.24gb+me", 1, 0x0f, 1, 1, 1 },
	                { "1g.24gb+me.all", 1, 0x0f, 1, 4, 1 }, { "1g.24gb-me", 1, 0x0f, 1, 0, 0 },
	                { "1g.24gb+gfx", 1, 0x0f, 1, 1, 0 }, { "2g.48gb-me", 2, 0x05, 2, 0, 0 },
	                { "4g.96gb+gfx", 4, 0x01, 4, 4, 1 } } },
};

static bool has_place(const struct gpu *g, const unsigned *layout, size_t n, unsigned used)
{
	const struct profile *p = n ? &g->profiles[layout[0]] : NULL;

	if (!p)
		return true;
	for (unsigned at = 0; at + p->width <= g->memory; at++) {
		unsigned mask = ((1u << p->width) - 1) << at;

		if (p->starts >> at & 1 && !(mask & used) &&
		        has_place(g, layout + 1, n - 1, used | mask))
			return true;
	}
	return false;
}

static bool possible(const struct gpu *g, const unsigned *layout, size_t n)
{
	unsigned compute = 0, engines = 0, extensions = 0;

	for (size_t i = 0; i < n; i++) {
		compute += g->profiles[layout[i]].compute;
		engines += g->profiles[layout[i]].engines;
		extensions += g->profiles[layout[i]].extensions;
	}
	return compute <= g->compute && engines <= 4 && extensions <= 1 &&
	       has_place(g, layout, n, 0);
}

/* As text, "1g.10gb:3,3g.40gb:1": of the same profile stand together. */
static void say(const struct gpu *g, const unsigned *layout, size_t n, char *text, size_t size)
{
	size_t used = 0, end;

	for (size_t i = 0; i < n; i = end) {
		for (end = i + 1; end < n && layout[end] == layout[i];)
			end++;
		used += (size_t)snprintf(text + used, size - used, "%s%s:%zu", i ? "," : "",
		        g->profiles[layout[i]].name, end - i);
	}
}

static bool taken(const struct gpu *g, const char *layout)
{
	struct strbuf text = { 0 };
	struct conf_problems problems;
	struct conf *conf;
	bool yes;

	strbuf_addf(&text,
	        "cluster = \"c\"; controller = { host = \"h\"; };\n"
	        "gpu_types = ( { name = \"whole\"; mem = \"%s\"; }",
	        g->mem);
	for (size_t i = 0; i < PROFILES_MAX && g->profiles[i].name; i++)
		strbuf_addf(&text, ", { name = \"%s\"; mig_of = \"whole\"; }", g->profiles[i].name);
	strbuf_addf(&text,
	        " );\nnodes = ( { name = \"n\"; mig = ( { gpus = \"0\"; layout = \"%s\"; } ); } "
	        ");\n"
	        "partitions = ( { name = \"p\"; nodes = \"ALL\"; default = true; } );\n",
	        layout);
	conf = conf_parse(text.s, "c", &problems);
	yes = conf;
	if (!yes && !strstr(problems.v[0].text, "slices of") &&
	        !strstr(problems.v[0].text, "media"))
		fail_msg("%s: %s", layout, problems.v[0].text);
	strbuf_free(&text);
	conf_problems_clear(&problems);
	conf_free(conf);
	return yes;
}

/* All that begin with these `n`, and go on with none before the last; how many there are. */
static size_t try_all(const struct gpu *g, unsigned *layout, size_t n)
{
	static size_t before;
	size_t tried = n != 0;
	char text[200];

	if (n && before++ % sparse() == 0) {
		say(g, layout, n, text, sizeof(text));
		if (taken(g, text) != possible(g, layout, n))
			fail_msg("%s of %s: must %sbe taken", text, g->mem,
			        possible(g, layout, n) ? "" : "not ");
	}
	for (unsigned p = n ? layout[n - 1] : 0;
	        n < LAYOUT_MAX && p < PROFILES_MAX && g->profiles[p].name; p++) {
		layout[n] = p;
		tried += try_all(g, layout, n + 1);
	}
	return tried;
}

static void layouts(void **state)
{
	unsigned layout[LAYOUT_MAX];
	size_t tried = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(gpus) / sizeof(*gpus); i++)
		tried += try_all(&gpus[i], layout, 0);
	assert_true(tried > 6000);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(layouts) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
