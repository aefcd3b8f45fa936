/* conf_value.c - the types of values: reading, printing, copying; see conf_schema.h */
#include "common/conf_schema.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/amount.h"
#include "common/text.h"
#include "common/units.h"
#include "common/xalloc.h"

/* The limits of longer texts (paths, lists) are no one's concern. */
#define CONF_TEXT_TELL 255

/* --- fields ---------------------------------------------------------------------------------- */

static uint64_t number_get(const struct conf_key *key, const void *base)
{
	const char *field = (const char *)base + key->at;
	uint32_t narrow;
	uint64_t wide;

	if (key->width == sizeof(wide)) {
		memcpy(&wide, field, sizeof(wide));
		return wide;
	}
	memcpy(&narrow, field, sizeof(narrow));
	return narrow;
}

/* `max` of each row fits its field; test_conf.c looks. */
static void number_set(const struct conf_key *key, void *base, uint64_t wide)
{
	char *field = (char *)base + key->at;
	uint32_t narrow = (uint32_t)wide;

	if (key->width == sizeof(wide))
		memcpy(field, &wide, sizeof(wide));
	else
		memcpy(field, &narrow, sizeof(narrow));
}

static bool *bool_at(const struct conf_key *key, const void *base)
{
	return (bool *)((char *)base + key->at);
}

static char **text_at(const struct conf_key *key, const void *base)
{
	return (char **)((char *)base + key->at);
}

static struct conf_gpu_count **gpus_at(const struct conf_key *key, const void *base)
{
	return (struct conf_gpu_count **)((char *)base + key->at);
}

static size_t *n_gpus_at(const struct conf_key *key, const void *base)
{
	return (size_t *)((char *)base + key->n_at);
}

/* --- text ------------------------------------------------------------------------------------ */

static int text_read(const struct conf_key *key, const char *text, const struct conf *conf,
        void *base, struct error *err)
{
	size_t n = strlen(text);

	(void)conf;
	if (n < key->min)
		return error_set(err, ERR_CONFIG, "must not be empty");
	if (n > key->max)
		return error_set(err, ERR_CONFIG, "%zu characters; at most %" PRIu64, n, key->max);
	if (text_plain_prefix(text, n) != n)
		return error_set(err, ERR_CONFIG, "must be UTF-8 text without control characters");
	if (key->check && key->check(text, err) < 0)
		return -1;
	*text_at(key, base) = xstrdup(text);
	return 0;
}

static void text_print(
        const struct conf_key *key, const void *base, const struct conf *conf, struct strbuf *out)
{
	(void)conf;
	strbuf_adds(out, *text_at(key, base));
}

static void text_copy(const struct conf_key *key, const void *from, void *to)
{
	*text_at(key, to) = xstrdup(*text_at(key, from));
}

static void text_clear(const struct conf_key *key, void *base)
{
	free(*text_at(key, base));
	*text_at(key, base) = NULL;
}

/* --- numbers: counts, times, sizes ----------------------------------------------------------- */

static int number_check(const struct conf_key *key, uint64_t n, void *base, struct error *err)
{
	struct strbuf limits = { 0 };

	if (n >= key->min && n <= key->max) {
		number_set(key, base, n);
		return 0;
	}
	conf_value_limits(key, &limits);
	error_set(err, ERR_CONFIG, "must be %s", limits.s);
	strbuf_free(&limits);
	return -1;
}

/* As libconfig writes integers: a sign, 0x, L or LL behind. */
static int count_read(const struct conf_key *key, const char *text, const struct conf *conf,
        void *base, struct error *err)
{
	bool negative = *text == '-', hex;
	unsigned long long n;
	char *end;

	(void)conf;
	text += negative || *text == '+';
	hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	n = strtoull(text, &end, hex ? 16 : 10); /* the largest, if it is larger */
	if (end == text || strspn(end, "L") != strlen(end))
		return error_set(err, ERR_CONFIG, "must be a whole number");
	if (negative && n)
		n = UINT64_MAX;
	return number_check(key, n, base, err);
}

static void count_print(
        const struct conf_key *key, const void *base, const struct conf *conf, struct strbuf *out)
{
	(void)conf;
	strbuf_addf(out, "%" PRIu64, number_get(key, base));
}

static int time_read(const struct conf_key *key, const char *text, const struct conf *conf,
        void *base, struct error *err)
{
	uint64_t ms;

	(void)conf;
	if (key->zero && !strcmp(text, key->zero)) {
		number_set(key, base, 0);
		return 0;
	}
	if (duration_parse_ms(text, DURATION_BARE_REFUSED, &ms, err) < 0)
		return -1;
	if (ms == DURATION_FOREVER && key->zero && !strcmp(key->zero, "unlimited")) {
		number_set(key, base, 0);
		return 0;
	}
	if (ms != DURATION_FOREVER && ms % key->unit)
		return error_set(err, ERR_CONFIG, "must be whole seconds");
	return number_check(key, ms == DURATION_FOREVER ? ms : ms / key->unit, base, err);
}

static void time_add(const struct conf_key *key, uint64_t n, struct strbuf *out)
{
	char buf[UNITS_TEXT];

	strbuf_adds(out, duration_format_exact(buf, n * key->unit));
}

static void time_print(
        const struct conf_key *key, const void *base, const struct conf *conf, struct strbuf *out)
{
	uint64_t n = number_get(key, base);

	(void)conf;
	if (!n && key->zero)
		strbuf_adds(out, key->zero);
	else
		time_add(key, n, out);
}

static int size_read(const struct conf_key *key, const char *text, const struct conf *conf,
        void *base, struct error *err)
{
	uint64_t bytes;

	(void)conf;
	if (size_parse(text, SIZE_BARE_REFUSED, &bytes, err) < 0)
		return -1;
	if (bytes % key->unit)
		return error_set(err, ERR_CONFIG, "must be a whole number of M");
	return number_check(key, bytes / key->unit, base, err);
}

static void size_add(const struct conf_key *key, uint64_t n, struct strbuf *out)
{
	char buf[UNITS_TEXT];

	strbuf_adds(out, size_format_exact(buf, n * key->unit));
}

static void size_print(
        const struct conf_key *key, const void *base, const struct conf *conf, struct strbuf *out)
{
	(void)conf;
	size_add(key, number_get(key, base), out);
}

static void number_copy(const struct conf_key *key, const void *from, void *to)
{
	number_set(key, to, number_get(key, from));
}

static void nothing_clear(const struct conf_key *key, void *base)
{
	(void)key;
	(void)base;
}

/* --- true and false -------------------------------------------------------------------------- */

static int bool_read(const struct conf_key *key, const char *text, const struct conf *conf,
        void *base, struct error *err)
{
	(void)conf;
	(void)err;
	*bool_at(key, base) = !strcmp(text, "true");
	return 0;
}

static void bool_print(
        const struct conf_key *key, const void *base, const struct conf *conf, struct strbuf *out)
{
	(void)conf;
	strbuf_adds(out, *bool_at(key, base) ? "true" : "false");
}

static void bool_copy(const struct conf_key *key, const void *from, void *to)
{
	*bool_at(key, to) = *bool_at(key, from);
}

/* --- GPUs ------------------------------------------------------------------------------------ */

struct gpus {
	const struct conf *conf;
	struct error *err;
	struct conf_gpu_count v[CONF_MAX_GPUS_PER_NODE];
	size_t n;
	uint32_t total, max;
};

static int gpus_unknown(const struct conf *conf, const char *type, struct error *err)
{
	const char **names = xcalloc(conf->n_gpu_types + 1, sizeof(*names)), *nearest;
	size_t n = 0;

	for (size_t i = 0; i < conf->n_gpu_types; i++) {
		if (conf->gpu_types[i].name)
			names[n++] = conf->gpu_types[i].name;
	}
	nearest = text_nearest(type, names);
	free(names);
	if (nearest)
		return error_set(
		        err, ERR_CONFIG, "no GPU type '%s'; did you mean '%s'?", type, nearest);
	return error_set(err, ERR_CONFIG, "no GPU type '%s' in gpu_types", type);
}

static int gpus_add(const char *type, uint32_t count, void *arg)
{
	struct gpus *gpus = arg;

	if (!strcmp(type, AMOUNT_ANY))
		return error_set(gpus->err, ERR_CONFIG,
		        "a node's GPUs have types: must be TYPE:COUNT, as in \"h100:8\"");
	for (size_t i = 0; i < gpus->conf->n_gpu_types; i++) {
		const char *name = gpus->conf->gpu_types[i].name;

		if (!name || strcmp(name, type))
			continue;
		/* Neither can overflow: counts are at most AMOUNT_COUNT_MAX, types at most 64. */
		gpus->total += count;
		if (gpus->total > gpus->max)
			return error_set(gpus->err, ERR_CONFIG, "a node has at most %u GPUs",
			        (unsigned)gpus->max);
		gpus->v[gpus->n].type = (uint16_t)i;
		gpus->v[gpus->n++].count = (uint16_t)count;
		return 0;
	}
	return gpus_unknown(gpus->conf, type, gpus->err);
}

static int gpus_read(const struct conf_key *key, const char *text, const struct conf *conf,
        void *base, struct error *err)
{
	struct gpus gpus = { .conf = conf, .err = err, .max = (uint32_t)key->max };

	if (*text && amount_each(text, gpus_add, &gpus, err) < 0)
		return -1;
	*n_gpus_at(key, base) = gpus.n;
	*gpus_at(key, base) = gpus.n ? xmemdup(gpus.v, gpus.n * sizeof(gpus.v[0])) : NULL;
	return 0;
}

static void gpus_print(
        const struct conf_key *key, const void *base, const struct conf *conf, struct strbuf *out)
{
	const struct conf_gpu_count *v = *gpus_at(key, base);

	for (size_t i = 0; i < *n_gpus_at(key, base); i++)
		strbuf_addf(
		        out, "%s%s:%u", i ? "," : "", conf->gpu_types[v[i].type].name, v[i].count);
}

static void gpus_copy(const struct conf_key *key, const void *from, void *to)
{
	size_t n = *n_gpus_at(key, from);

	*n_gpus_at(key, to) = n;
	*gpus_at(key, to) =
	        n ? xmemdup(*gpus_at(key, from), n * sizeof(struct conf_gpu_count)) : NULL;
}

static void gpus_clear(const struct conf_key *key, void *base)
{
	free(*gpus_at(key, base));
	*gpus_at(key, base) = NULL;
	*n_gpus_at(key, base) = 0;
}

/* --- the types ------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	bool quoted;
	int (*read)(const struct conf_key *key, const char *text, const struct conf *conf,
	        void *base, struct error *err);
	void (*print)(const struct conf_key *key, const void *base, const struct conf *conf,
	        struct strbuf *out);
	void (*copy)(const struct conf_key *key, const void *from, void *to);
	void (*clear)(const struct conf_key *key, void *base);
	void (*limit)(const struct conf_key *key, uint64_t n, struct strbuf *out);
} types[CONF_TYPES] = {
	[CONF_TEXT] = { "text", true, text_read, text_print, text_copy, text_clear, NULL },
	[CONF_COUNT] = { "count", false, count_read, count_print, number_copy, nothing_clear,
	        NULL },
	[CONF_BOOL] = { "boolean", false, bool_read, bool_print, bool_copy, nothing_clear, NULL },
	[CONF_TIME] = { "time", true, time_read, time_print, number_copy, nothing_clear, time_add },
	[CONF_SIZE] = { "size", true, size_read, size_print, number_copy, nothing_clear, size_add },
	[CONF_GPUS] = { "gpus", true, gpus_read, gpus_print, gpus_copy, gpus_clear, NULL },
};

int conf_value_read(const struct conf_key *key, const char *text, const struct conf *conf,
        void *base, struct error *err)
{
	return types[key->type].read(key, text, conf, base, err);
}

void conf_value_print(
        const struct conf_key *key, const void *base, const struct conf *conf, struct strbuf *out)
{
	types[key->type].print(key, base, conf, out);
}

bool conf_value_quoted(const struct conf_key *key)
{
	return types[key->type].quoted;
}

void conf_value_copy(const struct conf_key *key, const void *from, void *to)
{
	types[key->type].copy(key, from, to);
}

void conf_value_clear(const struct conf_key *key, void *base)
{
	types[key->type].clear(key, base);
}

const char *conf_type_name(enum conf_type type)
{
	return types[type].name;
}

void conf_value_limits(const struct conf_key *key, struct strbuf *out)
{
	if (types[key->type].limit) {
		types[key->type].limit(key, key->min, out);
		strbuf_adds(out, " to ");
		types[key->type].limit(key, key->max, out);
	} else if (key->type == CONF_COUNT) {
		strbuf_addf(out, "%" PRIu64 " to %" PRIu64, key->min, key->max);
	} else if (key->type == CONF_TEXT && key->max <= CONF_TEXT_TELL) {
		strbuf_addf(out, "at most %" PRIu64 " characters", key->max);
	} else if (key->type == CONF_GPUS) {
		strbuf_addf(out, "at most %" PRIu64 " GPUs", key->max);
	}
	if (key->zero)
		strbuf_addf(out, ", or %s", key->zero);
}
