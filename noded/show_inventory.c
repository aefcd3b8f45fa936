/* show_inventory.c - see show_inventory.h */
#include "noded/show_inventory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "common/base/strbuf.h"
#include "common/base/units.h"
#include "common/gpu/topology_table.h"
#include "common/net/msgjson.h"

static void cuda_version(const struct gpus *g, char *text, size_t size)
{
	text[0] = '\0';
	if (g->cuda)
		snprintf(text, size, "%u.%u", g->cuda / 1000, g->cuda % 1000 / 10);
}

static bool is_whole(const struct gpus *g, const struct device_grants *files)
{
	struct device d;

	for (size_t i = 0; device_grants_file(files, i); i++) {
		if (device_at(device_grants_file(files, i), &d, NULL) < 0)
			return false;
	}
	for (uint32_t i = 0; i < g->n; i++) {
		if (*g->v[i].trouble)
			return false;
	}
	return g->state != GPUS_TROUBLE;
}

/* --- JSON ------------------------------------------------------------------------------------ */

static json_t *files_json(const struct device_grants *files)
{
	json_t *all = json_array();
	const char *path;

	for (size_t i = 0; (path = device_grants_file(files, i)); i++) {
		struct device d = { .type = '\0' };
		struct error why = { .text = "" };
		int r = device_at(path, &d, &why);

		json_array_append_new(
		        all, json_pack("{s:I, s:s, s:I, s:I, s:s}", "index", (json_int_t)i, "path",
		                     path, "major", (json_int_t)d.major, "minor",
		                     (json_int_t)d.minor, "trouble", r < 0 ? why.text : ""));
	}
	return all;
}

/* "X,NV4,PIX": how close it is to each GPU, by their numbers. */
static char *near_text(const struct gpus *g, const struct gpu *gpu)
{
	struct strbuf text = { 0 };
	char word[NEAR_WORD];

	for (uint32_t k = 0; k < g->n; k++) {
		if (g->v[k].kind == GPU_MIG)
			continue;
		strbuf_addf(&text, "%s%s", text.len ? "," : "",
		        g->v[k].host == gpu->host ? "X"
		                                  : near_word(gpus_near(gpu, &g->v[k]), word));
	}
	return strbuf_take(&text);
}

static int print_json(const struct node_facts *facts, const struct gpus *g,
        const struct device_grants *files, FILE *out, struct error *err)
{
	Gpusched__Inventory m = GPUSCHED__INVENTORY__INIT;
	json_t *all = json_object(), *body;
	char cuda[24];
	int rc;

	cuda_version(g, cuda, sizeof(cuda));
	m.node = (char *)facts->node;
	m.cpus = facts->cpus;
	m.mem_mb = facts->mem_mb;
	m.driver = (char *)g->driver;
	m.cuda = cuda;
	m.asked = g->state == GPUS_FOUND;
	if (g->state == GPUS_TROUBLE)
		m.trouble = (char *)g->trouble;
	m.gpus = gpus_messages(g, &m.n_gpus);
	for (size_t i = 0; i < m.n_gpus; i++)
		m.gpus[i]->near = near_text(g, &g->v[i]);
	body = msgjson(&m.base, 0);
	json_object_set_new(all, "version", json_integer(1));
	rc = body ? json_object_update(all, body) : -1;
	if (rc == 0 && device_grants_know_gpus(files))
		rc = json_object_set_new(all, "files", files_json(files));
	if (rc == 0)
		rc = json_dumpf(all, out, JSON_INDENT(2));
	fputc('\n', out);
	json_decref(body);
	json_decref(all);
	for (size_t i = 0; i < m.n_gpus; i++)
		free(m.gpus[i]->near);
	gpus_messages_free(m.gpus, m.n_gpus);
	return rc < 0 ? error_set(err, ERR_SYSTEM, "cannot print the inventory") : 0;
}

/* --- for people ------------------------------------------------------------------------------ */

/* "h100:6,1g.10gb:7": the slots, by type in the order of the first. */
static void print_slots(const struct gpus *g, FILE *out)
{
	bool first = true;

	for (uint32_t i = 0; i < g->n; i++) {
		uint32_t n = 0, before = 0;

		if (!gpu_is_slot(&g->v[i]))
			continue;
		for (uint32_t k = 0; k < g->n; k++) {
			bool same =
			        gpu_is_slot(&g->v[k]) && strcmp(g->v[k].type, g->v[i].type) == 0;

			before += same && k < i;
			n += same;
		}
		if (before)
			continue;
		fprintf(out, "%s%s:%u", first ? "" : ",", g->v[i].type, n);
		first = false;
	}
	fputs(first ? "none\n" : "\n", out);
}

/* "0,2,3" */
static void peers_text(uint64_t peers, char *text, size_t size)
{
	size_t n = 0;

	text[0] = '\0';
	for (unsigned i = 0; i < 64 && n < size; i++) {
		if (peers >> i & 1)
			n += (size_t)snprintf(text + n, size - n, n ? ",%u" : "%u", i);
	}
}

static const char *or_dash(const char *text)
{
	return *text ? text : "-";
}

/* The device files that a program opens to use it, and the CPUs near it. */
static void print_place(const struct gpu *gpu, FILE *out)
{
	fprintf(out, "          /dev/nvidia%u", gpu->minor);
	if (gpu->kind == GPU_MIG)
		fprintf(out, "  instance %u/%u", gpu->instance, gpu->compute);
	for (uint32_t i = 0; i < gpu->n_caps; i++)
		fprintf(out, " nvidia-cap%u", gpu->caps[i]);
	fprintf(out, "%s%s\n", *gpu->cpus ? "  CPUs " : "", gpu->cpus);
}

/* As wide as the longest type needs. */
static int type_width(const struct gpus *g)
{
	size_t width = 12;

	for (uint32_t i = 0; i < g->n; i++)
		width = strlen(g->v[i].type) > width ? strlen(g->v[i].type) : width;
	return (int)width;
}

static void print_device(const struct gpu *gpu, uint32_t slot, int width, FILE *out)
{
	static const char *const ecc[] = { "-", "off", "on" };
	char mem[UNITS_TEXT], peers[200], numa[16] = "-", place[16] = "-", power[16] = "-";

	if (gpu->numa >= 0)
		snprintf(numa, sizeof(numa), "%d", gpu->numa);
	if (gpu->kind != GPU_MIG_PARENT)
		snprintf(place, sizeof(place), "%u", slot);
	peers_text(gpu->peers, peers, sizeof(peers));
	if (gpu->power_w)
		snprintf(power, sizeof(power), "%uW", gpu->power_w);
	fprintf(out, "%-4s %3u  %-*s %6s  %-12s %4s  %-3s %6s  %s\n", place, gpu->host, width,
	        gpu->kind == GPU_MIG_PARENT ? "(MIG)" : or_dash(gpu->type),
	        gpu->mem_mb ? size_format_mb(mem, gpu->mem_mb) : "-", or_dash(gpu->pci), numa,
	        ecc[gpu->ecc <= GPU_ECC_ON ? gpu->ecc : 0], power, or_dash(peers));
	fprintf(out, "          %s%s%s\n", *gpu->uuid ? gpu->uuid : "(no UUID)",
	        *gpu->name ? "  " : "", gpu->name);
	if (*gpu->trouble)
		fprintf(out, "          trouble: %s\n", gpu->trouble);
	else
		print_place(gpu, out);
}

static void print_near(const struct gpus *g, FILE *out)
{
	char *rows[GPUS_MAX] = { NULL };
	uint32_t numbers[GPUS_MAX] = { 0 };
	size_t n = 0;

	for (uint32_t i = 0; i < g->n; i++) {
		if (g->v[i].kind == GPU_MIG)
			continue;
		rows[n] = near_text(g, &g->v[i]);
		numbers[n++] = g->v[i].host;
	}
	topology_table_print((const char *const *)rows, numbers, n, out);
	for (size_t i = 0; i < n; i++)
		free(rows[i]);
}

/* As the key of gpusched.conf, to be copied there: for whole GPUs. */
static void print_key(const struct gpus *g, FILE *out)
{
	struct near_place places[NEAR_HOSTS] = { 0 };
	struct strbuf said = { 0 };
	uint64_t gpus = 0;

	for (uint32_t i = 0; i < g->n; i++) {
		if (g->v[i].kind != GPU_WHOLE || g->v[i].host >= NEAR_HOSTS)
			continue;
		places[g->v[i].host] = g->v[i].place;
		gpus |= 1ull << g->v[i].host;
	}
	near_places_print(places, gpus, &said);
	if (said.len)
		fprintf(out, "\n  gpu_near = [ %s ];\n", said.s);
	strbuf_free(&said);
}

/* GPUs that no library knows, by the device files that the site has named. */
static void print_files(const struct device_grants *files, FILE *out)
{
	const char *path;

	if (device_grants_know_gpus(files))
		fputs("\nSLOT FILE\n", out);
	for (size_t i = 0; (path = device_grants_file(files, i)); i++) {
		struct device d;
		struct error why;

		if (device_at(path, &d, &why) < 0)
			fprintf(out, "%-4zu %s\n     trouble: %s\n", i, path, why.text);
		else
			fprintf(out, "%-4zu %s  (%c %u:%u)\n", i, path, d.type, d.major, d.minor);
	}
}

static void print_table(
        const struct node_facts *facts, const struct gpus *g, const struct device_grants *files, FILE *out)
{
	char mem[UNITS_TEXT], cuda[24];
	const char *none = g->state == GPUS_TROUBLE ? "not known" : "none";
	int width = type_width(g);
	uint32_t slot = 0;

	cuda_version(g, cuda, sizeof(cuda));
	fprintf(out, "node:    %s%s\ncpus:    %u\nmemory:  %s\n", facts->node,
	        facts->pretended ? " (pretended)" : "", facts->cpus,
	        size_format_mb(mem, facts->mem_mb));
	fprintf(out, "driver:  %s%s%s\ngpus:    ", *g->driver ? g->driver : none,
	        *cuda ? ", CUDA " : "", cuda);
	if (g->state == GPUS_TROUBLE)
		fprintf(out, "%s\n", none);
	else
		print_slots(g, out);
	if (*g->trouble)
		fprintf(out, "%s %s\n", g->state == GPUS_TROUBLE ? "trouble:" : "         because",
		        g->trouble);
	if (g->n)
		fprintf(out, "\nSLOT GPU  %-*s    MEM  PCI          NUMA  ECC  POWER  NVLINK\n", width,
		        "TYPE");
	for (uint32_t i = 0; i < g->n; i++) {
		print_device(&g->v[i], slot, width, out);
		slot += g->v[i].kind != GPU_MIG_PARENT;
	}
	print_near(g, out);
	print_key(g, out);
	print_files(files, out);
}

int show_inventory(const struct node_facts *facts, const struct gpus *gpus,
        const struct device_grants *files, bool json, FILE *out, struct error *err)
{
	if (!json)
		print_table(facts, gpus, files, out);
	else if (print_json(facts, gpus, files, out, err) < 0)
		return -1;
	if (fflush(out) != 0 || ferror(out))
		return error_set(
		        err, ERR_SYSTEM, "cannot print the inventory: %s", strerror(errno));
	return is_whole(gpus, files) ? EXIT_DONE : EXIT_REFUSED;
}
