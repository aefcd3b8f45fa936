/* test_gpus.c - what GPUs are called, and how entries are made sound */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "noded/gpu/gpus.h"

static const struct {
	const char *product, *type;
} names[] = {
	{ "NVIDIA H100 80GB HBM3", "h100" },
	{ "NVIDIA H100 PCIe", "h100" },
	{ "NVIDIA H200", "h200" },
	{ "NVIDIA H20", "h20" },
	{ "NVIDIA GH200 480GB", "gh200" },
	{ "NVIDIA B200", "b200" },
	{ "NVIDIA A100-SXM4-40GB", "a100" },
	{ "A100-SXM4-40GB", "a100" },
	{ "NVIDIA A10G", "a10g" },
	{ "NVIDIA A10", "a10" },
	{ "NVIDIA L40S", "l40s" },
	{ "NVIDIA L40", "l40" },
	{ "NVIDIA L4", "l4" },
	{ "Tesla V100-SXM2-32GB", "v100" },
	{ "NVIDIA Tesla T4", "t4" },
	{ "Tesla T4", "t4" },
	{ "NVIDIA RTX 6000 Ada Generation", "rtx6000ada" },
	{ "NVIDIA GeForce RTX 4090", "rtx-4090" },
	{ "Quadro  (R) P4000", "quadro-r-p4000" },
	{ "NVIDIA 2030", "gpu-2030" },
	{ "Any", "gpu-any" },
	{ "\xc3\xbc", "" },
	{ "", "" },
};

static void test_names(void **state)
{
	char type[GPUS_TYPE];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		gpu_type_of(names[i].product, type);
		assert_string_equal(type, names[i].type);
		if (*type)
			assert_int_equal(gpus_by_type_check(type, NULL), 0);
	}
}

static const struct {
	const char *product;
	uint32_t slices, compute;
	uint64_t mem_mb;
	const char *type;
} profiles[] = {
	{ "NVIDIA H100 80GB HBM3 MIG 1g.10gb", 1, 1, 9856, "1g.10gb" },
	{ "NVIDIA H100 80GB HBM3 MIG 1g.10gb+me", 1, 1, 9856, "1g.10gb+me" },
	{ "NVIDIA RTX PRO 6000 Blackwell Server Edition MIG 1g.24gb+me", 1, 1, 24192,
	        "1g.24gb+me" },
	{ "NVIDIA RTX PRO 6000 Blackwell Server Edition MIG 1g.24gb-me", 1, 1, 24192,
	        "1g.24gb-me" },
	{ "NVIDIA RTX PRO 6000 Blackwell Server Edition MIG 1g.24gb+me.all", 1, 1, 24192,
	        "1g.24gb+me.all" },
	{ "NVIDIA RTX PRO 6000 Blackwell Server Edition MIG 2g.48gb+gfx", 2, 2, 48512,
	        "2g.48gb+gfx" },
	{ "NVIDIA A100-SXM4-40GB MIG 1c.3g.20gb", 3, 1, 19968, "1c.3g.20gb" },
	{ "A100-SXM4-40GB", 1, 1, 4864, "1g.5gb" },
	{ "A100-SXM4-40GB", 3, 1, 19968, "1c.3g.20gb" },
	{ "A100-SXM4-40GB", 7, 7, 40192, "7g.40gb" },
	{ "A100-SXM4-40GB", 0, 0, 4864, "" },
};

static void test_profiles(void **state)
{
	char type[GPUS_TYPE];

	(void)state;
	for (size_t i = 0; i < sizeof(profiles) / sizeof(*profiles); i++) {
		gpu_type_of_mig(profiles[i].product, profiles[i].slices, profiles[i].compute,
		        profiles[i].mem_mb, type);
		assert_string_equal(type, profiles[i].type);
		if (*type)
			assert_int_equal(gpus_by_type_check(type, NULL), 0);
	}
}

/* --- making them sound ----------------------------------------------------------------------- */

static struct gpus *make(uint32_t n)
{
	struct gpus *g = calloc(1, sizeof(*g));

	assert_non_null(g);
	g->state = GPUS_FOUND;
	g->n = n;
	for (uint32_t i = 0; i < n; i++) {
		g->v[i].nvml = g->v[i].minor = i;
		snprintf(g->v[i].uuid, GPUS_TEXT, "GPU-%u", i);
		snprintf(g->v[i].pci, GPUS_TEXT, "0000:%02x:00.0", 64 - i);
		snprintf(g->v[i].type, GPUS_TYPE, "h100");
	}
	return g;
}

/* By PCI address, instances behind their GPU and counted with it. */
static void test_order(void **state)
{
	struct gpus *g = make(4);

	(void)state;
	g->v[2].kind = GPU_MIG_PARENT;
	g->v[3] = g->v[2];
	g->v[3].kind = GPU_MIG;
	snprintf(g->v[3].uuid, GPUS_TEXT, "MIG-1");
	gpus_settle(g);
	assert_string_equal(g->v[0].uuid, "GPU-2");
	assert_string_equal(g->v[1].uuid, "MIG-1");
	assert_string_equal(g->v[2].uuid, "GPU-1");
	assert_string_equal(g->v[3].uuid, "GPU-0");
	assert_int_equal(g->v[0].host, 0);
	assert_int_equal(g->v[1].host, 0);
	assert_int_equal(g->v[2].host, 1);
	assert_int_equal(g->v[3].host, 2);
	assert_false(gpu_is_slot(&g->v[0]));
	assert_true(gpu_is_slot(&g->v[1]));
	assert_ptr_equal(gpus_find(g, "MIG-1"), &g->v[1]);
	assert_null(gpus_find(g, "GPU-2"));
	assert_string_equal(g->v[1].trouble, "");
	free(g);
}

/* One address is not known: NVML's order stands. */
static void test_no_address(void **state)
{
	struct gpus *g = make(3);

	(void)state;
	g->v[1].pci[0] = '\0';
	gpus_settle(g);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(g->v[i].host, i);
	assert_string_equal(g->v[0].uuid, "GPU-0");
	free(g);
}

/* What a node cannot have is named, not lost: by MIG instance and by GPU. */
static void test_too_many(void **state)
{
	struct gpus *g = make(14);
	uint32_t slots = 0;

	(void)state;
	g->n = 14 * 8;
	for (uint32_t i = 0; i < g->n; i++) {
		struct gpu *gpu = &g->v[i];
		uint32_t host = i / 8;

		*gpu = (struct gpu){ .kind = i % 8 ? GPU_MIG : GPU_MIG_PARENT,
			.nvml = host,
			.minor = host,
			.instance = i % 8,
			.type = "1g.10gb" };
		snprintf(gpu->uuid, GPUS_TEXT, "GPU-%u-%u", host, i % 8);
		snprintf(gpu->pci, GPUS_TEXT, "0000:%02x:00.0", host);
	}
	gpus_settle(g);
	for (uint32_t i = 0; i < g->n; i++)
		slots += gpu_is_slot(&g->v[i]);
	assert_int_equal(slots, 64); /* nine GPUs' seven and one more */
	assert_non_null(gpus_find(g, "GPU-9-1"));
	assert_null(gpus_find(g, "GPU-9-2"));
	assert_string_equal(
	        g->v[9 * 8 + 2].trouble, "left out: a node has at most 64 GPUs and MIG instances");
	assert_string_equal(g->v[9 * 8].trouble, "");
	free(g);
}

static void test_doubles(void **state)
{
	struct gpus *g = make(6);

	(void)state;
	strcpy(g->v[1].uuid, g->v[0].uuid);
	strcpy(g->v[3].pci, g->v[2].pci);
	g->v[5].minor = g->v[4].minor;
	gpus_settle(g);
	for (uint32_t i = 0; i < 6; i++)
		assert_non_null(strstr(g->v[i].trouble,
		        g->v[i].nvml < 2   ? "it has the same UUID as NVML's GPU"
		        : g->v[i].nvml < 4 ? "it has the same PCI address as NVML's GPU"
		                           : "it has the same device minor as NVML's GPU"));
	assert_null(gpus_find(g, "GPU-0"));
	free(g);
}

/* Of two GPUs that may be one nothing is given, whole or cut. */
static void test_doubles_cut(void **state)
{
	struct gpus *g = make(4);

	(void)state;
	g->v[0].kind = g->v[2].kind = GPU_MIG_PARENT;
	g->v[1].kind = g->v[3].kind = GPU_MIG;
	g->v[1].nvml = 0;
	g->v[2].nvml = g->v[3].nvml = 1;
	g->v[2].minor = g->v[0].minor;
	strcpy(g->v[1].pci, g->v[0].pci);
	strcpy(g->v[3].pci, g->v[2].pci);
	gpus_settle(g);
	assert_null(gpus_find(g, "GPU-1"));
	assert_null(gpus_find(g, "GPU-3"));
	for (uint32_t i = 0; i < 4; i++)
		assert_non_null(
		        strstr(g->v[i].trouble, "it has the same device minor as NVML's GPU"));
	free(g);
}

static void test_peers(void **state)
{
	struct gpus *g = make(4);

	(void)state;
	strcpy(g->v[0].links[0], g->v[1].pci); /* 0 is host 3, 1 is host 2 */
	g->v[0].n_links = 1;
	strcpy(g->v[2].links[0], GPUS_LINK_SWITCH);
	strcpy(g->v[3].links[0], GPUS_LINK_SWITCH);
	g->v[2].n_links = g->v[3].n_links = 1;
	gpus_settle(g);
	assert_int_equal(g->v[0].peers, 1 << 1);
	assert_int_equal(g->v[1].peers, 1 << 0);
	assert_int_equal(g->v[2].peers, 0);
	assert_int_equal(g->v[3].peers, 1 << 2);
	free(g);
}

/* Whatever a crashed process has left there. */
static void test_garbage(void **state)
{
	struct gpus *g = malloc(sizeof(*g));
	size_t n;
	Gpusched__GpuDevice **v;

	(void)state;
	assert_non_null(g);
	for (int seed = 1; seed < 50; seed++) {
		srandom((unsigned)seed);
		for (size_t i = 0; i < sizeof(*g); i++)
			((unsigned char *)g)[i] = (unsigned char)(seed == 1 ? 0xff : random());
		gpus_settle(g);
		assert_true(g->n <= GPUS_MAX);
		for (uint32_t i = 0; i < g->n; i++) {
			assert_true(strlen(g->v[i].uuid) < GPUS_TEXT);
			assert_true((unsigned)g->v[i].kind <= GPU_MIG);
		}
		v = gpus_messages(g, &n);
		gpus_messages_free(v, n);
	}
	free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_profiles),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_no_address),
		cmocka_unit_test(test_too_many),
		cmocka_unit_test(test_doubles),
		cmocka_unit_test(test_doubles_cut),
		cmocka_unit_test(test_peers),
		cmocka_unit_test(test_garbage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
