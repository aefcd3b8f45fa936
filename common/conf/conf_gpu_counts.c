/* conf_gpu_counts.c - the types of values that count GPUs: of a node, in a quota or limit, over
 * time */
#include "common/conf/conf_schema.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"
#include "common/base/units.h"
#include "common/base/xalloc.h"
#include "common/gpu/gpus_by_type.h"

#define GPU_HOURS_MAX 1000000000
#define NO_GPUS       "none" /* whatever the node has */

/* The index of a type in conf.gpu_types, or -1. */
static int type_find(const struct conf *conf, const char *type, struct error *err)
{
	const char **names = xcalloc(conf->n_gpu_types + 1, sizeof(*names)), *nearest;
	size_t n = 0;

	for (size_t i = 0; i < conf->n_gpu_types; i++) {
		const char *name = conf->gpu_types[i].name;

		if (name && !strcmp(name, type)) {
			free(names);
			return (int)i;
		}
		if (name)
			names[n++] = name;
	}
	nearest = text_nearest(type, names);
	free(names);
	if (nearest)
		return error_set(
		        err, ERR_CONFIG, "no GPU type '%s'; did you mean '%s'?", type, nearest);
	return error_set(err, ERR_CONFIG, "no GPU type '%s' in gpu_types", type);
}

/* --- of a node ------------------------------------------------------------------------------- */

struct gpus {
	const struct conf *conf;
	struct error *err;
	struct conf_gpu_count v[CONF_MAX_GPUS_PER_NODE];
	size_t n;
	uint32_t total, max;
};

static struct conf_gpu_count **gpus_at(const struct conf_key *key, const void *base)
{
	return (struct conf_gpu_count **)((char *)base + key->at);
}

static size_t *n_gpus_at(const struct conf_key *key, const void *base)
{
	return (size_t *)((char *)base + key->n_at);
}

/* NULL: as they are found; none of them is something else. */
static void gpus_set(
        const struct conf_key *key, void *base, const struct conf_gpu_count *v, size_t n)
{
	struct conf_gpu_count *copy = v ? xcalloc(n ? n : 1, sizeof(*v)) : NULL;

	if (n)
		memcpy(copy, v, n * sizeof(*v));
	*gpus_at(key, base) = copy;
	*n_gpus_at(key, base) = n;
}

static int gpus_add(const char *type, uint32_t count, void *arg)
{
	struct gpus *gpus = arg;
	int found;

	if (!strcmp(type, GPUS_BY_TYPE_ANY))
		return error_set(gpus->err, ERR_CONFIG,
		        "a node's GPUs have types: must be TYPE:COUNT, as in \"h100:8\"");
	found = type_find(gpus->conf, type, gpus->err);
	if (found < 0)
		return -1;
	/* Neither can overflow: counts are at most GPUS_BY_TYPE_COUNT_MAX, types at most 64. */
	gpus->total += count;
	if (gpus->total > gpus->max)
		return error_set(
		        gpus->err, ERR_CONFIG, "a node has at most %u GPUs", (unsigned)gpus->max);
	gpus->v[gpus->n].type = (uint16_t)found;
	gpus->v[gpus->n++].count = (uint16_t)count;
	return 0;
}

static int gpus_read(const struct conf_key *key, const char *text, const struct conf *conf,
        void *base, struct error *err)
{
	struct gpus gpus = { .conf = conf, .err = err, .max = (uint32_t)key->max };

	if (*text && strcmp(text, NO_GPUS) && gpus_by_type_each(text, gpus_add, &gpus, err) < 0)
		return -1;
	gpus_set(key, base, *text ? gpus.v : NULL, gpus.n);
	return 0;
}

static void gpus_print(
        const struct conf_key *key, const void *base, const struct conf *conf, struct strbuf *out)
{
	const struct conf_gpu_count *v = *gpus_at(key, base);

	if (v && !*n_gpus_at(key, base))
		strbuf_adds(out, NO_GPUS);
	for (size_t i = 0; i < *n_gpus_at(key, base); i++)
		strbuf_addf(
		        out, "%s%s:%u", i ? "," : "", conf->gpu_types[v[i].type].name, v[i].count);
}

static void gpus_copy(const struct conf_key *key, const void *from, void *to)
{
	gpus_set(key, to, *gpus_at(key, from), *n_gpus_at(key, from));
}

static void gpus_clear(const struct conf_key *key, void *base)
{
	free(*gpus_at(key, base));
	*gpus_at(key, base) = NULL;
	*n_gpus_at(key, base) = 0;
}

const struct conf_value_type conf_gpus_type = { "gpus", true, gpus_read, gpus_print, gpus_copy,
	gpus_clear, NULL, NULL, NULL };

/* --- in a quota or a limit ------------------------------------------------------------------- */

struct amounts {
	const struct conf *conf;
	struct error *err;
	struct conf_gpu_amounts read;
};

static struct conf_gpu_amounts *amounts_at(const struct conf_key *key, const void *base)
{
	return (struct conf_gpu_amounts *)((char *)base + key->at);
}

static int amounts_add(const char *type, uint32_t count, void *arg)
{
	struct amounts *a = arg;
	int found = CONF_ANY_TYPE;

	if (strcmp(type, GPUS_BY_TYPE_ANY))
		found = type_find(a->conf, type, a->err);
	if (found < 0)
		return -1;
	a->read.v = xrealloc(a->read.v, a->read.n + 1, sizeof(*a->read.v));
	a->read.v[a->read.n++] = (struct conf_gpu_amount){ (uint16_t)found, count };
	return 0;
}

static int amounts_read(const struct conf_key *key, const char *text, const struct conf *conf,
        void *base, struct error *err)
{
	struct amounts a = { .conf = conf, .err = err };

	if (*text && gpus_by_type_each_or_none(text, amounts_add, &a, err) < 0) {
		free(a.read.v);
		return -1;
	}
	*amounts_at(key, base) = a.read;
	return 0;
}

static void amounts_print(
        const struct conf_key *key, const void *base, const struct conf *conf, struct strbuf *out)
{
	const struct conf_gpu_amounts *a = amounts_at(key, base);

	for (size_t i = 0; i < a->n; i++) {
		uint16_t type = a->v[i].type;

		strbuf_addf(out, "%s%s:%" PRIu32, i ? "," : "",
		        type == CONF_ANY_TYPE ? GPUS_BY_TYPE_ANY : conf->gpu_types[type].name,
		        a->v[i].count);
	}
}

static void amounts_copy(const struct conf_key *key, const void *from, void *to)
{
	const struct conf_gpu_amounts *a = amounts_at(key, from);

	*amounts_at(key, to) =
	        (struct conf_gpu_amounts){ a->n ? xmemdup(a->v, a->n * sizeof(*a->v)) : NULL,
		        a->n };
}

static bool amounts_none(const struct conf_key *key, const void *base)
{
	return amounts_at(key, base)->n == 0;
}

static void amounts_set_none(const struct conf_key *key, void *base)
{
	*amounts_at(key, base) = (struct conf_gpu_amounts){ 0 };
}

static void amounts_clear(const struct conf_key *key, void *base)
{
	free(amounts_at(key, base)->v);
	amounts_set_none(key, base);
}

const struct conf_value_type conf_amounts_type = { "amounts", true, amounts_read, amounts_print,
	amounts_copy, amounts_clear, NULL, amounts_none, amounts_set_none };

/* --- over time: "500 / 30d" ------------------------------------------------------------------ */

static uint64_t *hours_at(const struct conf_key *key, const void *base)
{
	return (uint64_t *)((char *)base + key->at);
}

static uint32_t *window_at(const struct conf_key *key, const void *base)
{
	return (uint32_t *)((char *)base + key->n_at);
}

/* The window, of key->min to key->max seconds. */
static int window_read(
        const struct conf_key *key, const char *text, uint64_t *window_s, struct error *err)
{
	char a[UNITS_TEXT], b[UNITS_TEXT];

	if (duration_parse(text, DURATION_BARE_REFUSED, window_s, err) < 0)
		return -1;
	if (*window_s >= key->min && *window_s <= key->max)
		return 0;
	return error_set(err, ERR_CONFIG, "the time must be %s to %s",
	        duration_format_exact(a, key->min * 1000),
	        duration_format_exact(b, key->max * 1000));
}

static int hours_read(const struct conf_key *key, const char *text, const struct conf *conf,
        void *base, struct error *err)
{
	const char *slash = strchr(text, '/');
	uint64_t hours, window_s;
	char *copy;
	int rc;

	(void)conf;
	if (!slash)
		return error_set(err, ERR_CONFIG, "must be GPU-hours / time, as in \"500 / 30d\"");
	copy = xstrdup(text);
	copy[slash - text] = '\0';
	rc = count_parse(text_trim(copy), 0, GPU_HOURS_MAX, &hours, err);
	if (rc == 0)
		rc = window_read(key, text_trim(copy + (slash - text) + 1), &window_s, err);
	free(copy);
	if (rc < 0)
		return -1;
	*hours_at(key, base) = hours;
	*window_at(key, base) = (uint32_t)window_s;
	return 0;
}

static void hours_print(
        const struct conf_key *key, const void *base, const struct conf *conf, struct strbuf *out)
{
	char buf[UNITS_TEXT];

	(void)conf;
	strbuf_addf(out, "%" PRIu64 " / %s", *hours_at(key, base),
	        duration_format_exact(buf, *window_at(key, base) * UINT64_C(1000)));
}

static void hours_copy(const struct conf_key *key, const void *from, void *to)
{
	*hours_at(key, to) = *hours_at(key, from);
	*window_at(key, to) = *window_at(key, from);
}

static bool hours_none(const struct conf_key *key, const void *base)
{
	return *hours_at(key, base) == UINT64_MAX;
}

static void hours_set_none(const struct conf_key *key, void *base)
{
	*hours_at(key, base) = UINT64_MAX;
	*window_at(key, base) = 0;
}

static void hours_clear(const struct conf_key *key, void *base)
{
	(void)key;
	(void)base;
}

const struct conf_value_type conf_gpu_hours_type = { "gpu_hours", true, hours_read, hours_print,
	hours_copy, hours_clear, NULL, hours_none, hours_set_none };
