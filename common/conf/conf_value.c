/* conf_value.c - the types of values: reading, printing, copying; see conf_schema.h
 *
 * Those that count GPUs are in conf_gpu_counts.c, groups of keys in conf_nested_keys.c.
 */
#include "common/conf/conf_schema.h"

#include <inttypes.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"
#include "common/base/units.h"
#include "common/base/xalloc.h"

/* The limits of longer texts (paths, lists) are no one's concern. */
#define CONF_TEXT_TELL 255

/* --- fields ---------------------------------------------------------------------------------- */

uint64_t conf_value_number(const struct conf_key *key, const void *base)
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

static struct conf_texts *texts_at(const struct conf_key *key, const void *base)
{
	return (struct conf_texts *)((char *)base + key->at);
}

/* --- text ------------------------------------------------------------------------------------ */

static int text_check_row(const struct conf_key *key, const char *text, struct error *err)
{
	size_t n = strlen(text);

	if (n < key->min)
		return error_set(err, ERR_CONFIG, "must not be empty");
	if (n > key->max)
		return error_set(err, ERR_CONFIG, "%zu characters; at most %" PRIu64, n, key->max);
	if (text_plain_prefix(text, n) != n)
		return error_set(err, ERR_CONFIG, "must be UTF-8 text without control characters");
	return key->check ? key->check(text, err) : 0;
}

static int text_read(const struct conf_key *key, const char *text, const struct conf *conf,
        void *base, struct error *err)
{
	(void)conf;
	if (text_check_row(key, text, err) < 0)
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

/* What could not be read is NULL, and was told. */
static void text_copy(const struct conf_key *key, const void *from, void *to)
{
	const char *text = *text_at(key, from);

	*text_at(key, to) = text ? xstrdup(text) : NULL;
}

static void text_clear(const struct conf_key *key, void *base)
{
	free(*text_at(key, base));
	*text_at(key, base) = NULL;
}

/* --- lists of texts -------------------------------------------------------------------------- */

static int texts_read(const struct conf_key *key, const char *text, const struct conf *conf,
        void *base, struct error *err)
{
	struct conf_texts *texts = texts_at(key, base);

	(void)conf;
	if (text_check_row(key, text, err) < 0)
		return -1;
	for (size_t i = 0; i < texts->n; i++) {
		if (!strcmp(texts->v[i], text))
			return error_set(err, ERR_CONFIG, "is in the list twice");
	}
	texts->v = xrealloc(texts->v, texts->n + 1, sizeof(*texts->v));
	texts->v[texts->n++] = xstrdup(text);
	return 0;
}

static void texts_print(
        const struct conf_key *key, const void *base, const struct conf *conf, struct strbuf *out)
{
	const struct conf_texts *texts = texts_at(key, base);

	(void)conf;
	for (size_t i = 0; i < texts->n; i++)
		strbuf_addf(out, "%s%s", i ? "," : "", texts->v[i]);
}

static void texts_copy(const struct conf_key *key, const void *from, void *to)
{
	const struct conf_texts *texts = texts_at(key, from);
	char **v = texts->n ? xcalloc(texts->n, sizeof(*v)) : NULL;

	for (size_t i = 0; i < texts->n; i++)
		v[i] = xstrdup(texts->v[i]);
	*texts_at(key, to) = (struct conf_texts){ v, texts->n };
}

static bool texts_none(const struct conf_key *key, const void *base)
{
	return texts_at(key, base)->n == 0;
}

static void texts_set_none(const struct conf_key *key, void *base)
{
	*texts_at(key, base) = (struct conf_texts){ 0 };
}

static void texts_clear(const struct conf_key *key, void *base)
{
	struct conf_texts *texts = texts_at(key, base);

	for (size_t i = 0; i < texts->n; i++)
		free(texts->v[i]);
	free(texts->v);
	texts_set_none(key, base);
}

/* --- numbers: counts, times, sizes, words ---------------------------------------------------- */

static bool number_none(const struct conf_key *key, const void *base)
{
	return conf_value_number(key, base) == (key->width == 8 ? UINT64_MAX : UINT32_MAX);
}

static void number_set_none(const struct conf_key *key, void *base)
{
	number_set(key, base, UINT64_MAX);
}

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

/* As libconfig writes integers: a sign, 0x, L or LL behind. The largest, if it is larger. */
static int integer_parse(const char *text, bool *negative, uint64_t *n, struct error *err)
{
	bool hex;
	char *end;

	*negative = *text == '-';
	text += *negative || *text == '+';
	hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	*n = strtoull(text, &end, hex ? 16 : 10);
	if (end == text || strspn(end, "L") != strlen(end))
		return error_set(err, ERR_CONFIG, "must be a whole number");
	return 0;
}

static int count_read(const struct conf_key *key, const char *text, const struct conf *conf,
        void *base, struct error *err)
{
	bool negative;
	uint64_t n;

	(void)conf;
	if (integer_parse(text, &negative, &n, err) < 0)
		return -1;
	return number_check(key, negative && n ? UINT64_MAX : n, base, err);
}

static void count_print(
        const struct conf_key *key, const void *base, const struct conf *conf, struct strbuf *out)
{
	(void)conf;
	strbuf_addf(out, "%" PRIu64, conf_value_number(key, base));
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
	uint64_t n = conf_value_number(key, base);

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
	size_add(key, conf_value_number(key, base), out);
}

static int percent_read(const struct conf_key *key, const char *text, const struct conf *conf,
        void *base, struct error *err)
{
	uint32_t percent;

	(void)conf;
	if (percent_parse(text, &percent, err) < 0)
		return -1;
	return number_check(key, percent, base, err);
}

static void percent_add(const struct conf_key *key, uint64_t n, struct strbuf *out)
{
	(void)key;
	strbuf_addf(out, "%" PRIu64 "%%", n);
}

static void percent_print(
        const struct conf_key *key, const void *base, const struct conf *conf, struct strbuf *out)
{
	(void)conf;
	percent_add(key, conf_value_number(key, base), out);
}

static int integer_read(const struct conf_key *key, const char *text, const struct conf *conf,
        void *base, struct error *err)
{
	struct strbuf limits = { 0 };
	bool negative;
	uint64_t n;

	(void)conf;
	if (integer_parse(text, &negative, &n, err) < 0)
		return -1;
	if (n <= key->max) { /* which fits an int32_t */
		number_set(key, base, negative ? 0 - n : n);
		return 0;
	}
	conf_value_limits(key, &limits);
	error_set(err, ERR_CONFIG, "must be %s", limits.s);
	strbuf_free(&limits);
	return -1;
}

static void integer_print(
        const struct conf_key *key, const void *base, const struct conf *conf, struct strbuf *out)
{
	(void)conf;
	strbuf_addf(out, "%" PRId32, (int32_t)(uint32_t)conf_value_number(key, base));
}

static int word_read(const struct conf_key *key, const char *text, const struct conf *conf,
        void *base, struct error *err)
{
	struct strbuf limits = { 0 };

	(void)conf;
	for (size_t i = 0; key->words[i]; i++) {
		if (!strcmp(key->words[i], text)) {
			number_set(key, base, i);
			return 0;
		}
	}
	conf_value_limits(key, &limits);
	error_set(err, ERR_CONFIG, "must be %s", limits.s);
	strbuf_free(&limits);
	return -1;
}

static void word_print(
        const struct conf_key *key, const void *base, const struct conf *conf, struct strbuf *out)
{
	(void)conf;
	strbuf_adds(out, key->words[conf_value_number(key, base)]);
}

static void number_copy(const struct conf_key *key, const void *from, void *to)
{
	number_set(key, to, conf_value_number(key, from));
}

static void nothing_clear(const struct conf_key *key, void *base)
{
	(void)key;
	(void)base;
}

/* --- numbers with a point -------------------------------------------------------------------- */

/* The file has points whatever the user's language has. Returns the locale to go back to. */
static locale_t points_begin(locale_t *points)
{
	*points = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
	return *points ? uselocale(*points) : (locale_t)0;
}

static void points_end(locale_t points, locale_t before)
{
	if (points) {
		uselocale(before);
		freelocale(points);
	}
}

static bool same_real(double a, double b)
{
	return a >= b && a <= b;
}

/* In as few digits as read back as the same. */
static void real_add(double value, struct strbuf *out)
{
	locale_t points, before = points_begin(&points);
	char digits[32] = "";

	snprintf(digits, sizeof(digits), "%.0f", value < 1e15 ? value : 0);
	for (int n = 1; n <= 17 && !same_real(strtod(digits, NULL), value); n++)
		snprintf(digits, sizeof(digits), "%.*g", n, value);
	points_end(points, before);
	strbuf_adds(out, digits);
}

static int real_read(const struct conf_key *key, const char *text, const struct conf *conf,
        void *base, struct error *err)
{
	locale_t points, before = points_begin(&points);
	struct strbuf limits = { 0 };
	char *end;
	double n = strtod(text, &end);

	(void)conf;
	points_end(points, before);
	if (end == text || strspn(end, "L") != strlen(end))
		return error_set(err, ERR_CONFIG, "must be a number");
	n += 0.0; /* no negative zero */
	if (n >= (double)key->min / (double)key->unit &&
	        n <= (double)key->max / (double)key->unit) {
		memcpy((char *)base + key->at, &n, sizeof(n));
		return 0;
	}
	conf_value_limits(key, &limits);
	error_set(err, ERR_CONFIG, "must be %s", limits.s);
	strbuf_free(&limits);
	return -1;
}

static void real_print(
        const struct conf_key *key, const void *base, const struct conf *conf, struct strbuf *out)
{
	double n;

	(void)conf;
	memcpy(&n, (const char *)base + key->at, sizeof(n));
	real_add(n, out);
}

static void real_copy(const struct conf_key *key, const void *from, void *to)
{
	memcpy((char *)to + key->at, (const char *)from + key->at, sizeof(double));
}

static void real_limit(const struct conf_key *key, uint64_t n, struct strbuf *out)
{
	real_add((double)n / (double)key->unit, out);
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

/* --- the types ------------------------------------------------------------------------------- */

static void count_limit(const struct conf_key *key, uint64_t n, struct strbuf *out)
{
	(void)key;
	strbuf_addf(out, "%" PRIu64, n);
}

#define NUMBER(read, print, limit) \
	read, print, number_copy, nothing_clear, limit, number_none, number_set_none

static const struct conf_value_type text_type = { "text", true, text_read, text_print, text_copy,
	text_clear, NULL, NULL, NULL };
static const struct conf_value_type word_type = { "word", true,
	NUMBER(word_read, word_print, NULL) };
static const struct conf_value_type count_type = { "count", false,
	NUMBER(count_read, count_print, count_limit) };
static const struct conf_value_type integer_type = { "integer", false,
	NUMBER(integer_read, integer_print, NULL) };
static const struct conf_value_type time_type = { "time", true,
	NUMBER(time_read, time_print, time_add) };
static const struct conf_value_type size_type = { "size", true,
	NUMBER(size_read, size_print, size_add) };
static const struct conf_value_type percent_type = { "percent", true,
	NUMBER(percent_read, percent_print, percent_add) };
static const struct conf_value_type real_type = { "number", false, real_read, real_print, real_copy,
	nothing_clear, real_limit, NULL, NULL };
static const struct conf_value_type bool_type = { "boolean", false, bool_read, bool_print,
	bool_copy, nothing_clear, NULL, NULL, NULL };
static const struct conf_value_type texts_type = { "texts", false, texts_read, texts_print,
	texts_copy, texts_clear, NULL, texts_none, texts_set_none };

static const struct conf_value_type *const types[CONF_TYPES] = {
	[CONF_TEXT] = &text_type,
	[CONF_WORD] = &word_type,
	[CONF_COUNT] = &count_type,
	[CONF_INTEGER] = &integer_type,
	[CONF_REAL] = &real_type,
	[CONF_BOOL] = &bool_type,
	[CONF_TIME] = &time_type,
	[CONF_PERCENT] = &percent_type,
	[CONF_SIZE] = &size_type,
	[CONF_TEXTS] = &texts_type,
	[CONF_GPUS] = &conf_gpus_type,
	[CONF_AMOUNTS] = &conf_amounts_type,
	[CONF_GPU_HOURS] = &conf_gpu_hours_type,
	[CONF_GROUP] = &conf_group_type,
	[CONF_GROUPS] = &conf_groups_type,
};

int conf_value_read(const struct conf_key *key, const char *text, const struct conf *conf,
        void *base, struct error *err)
{
	return types[key->type]->read(key, text, conf, base, err);
}

void conf_value_default(const struct conf_key *key, const struct conf *conf, void *base)
{
	if (key->type == CONF_GROUP)
		conf_group_default(key, conf, base);
	else if (key->optional)
		types[key->type]->set_none(key, base);
	else if (conf_value_read(key, key->def, conf, base, NULL) < 0)
		abort(); /* a row is wrong; test_conf.c reads every default */
}

bool conf_value_none(const struct conf_key *key, const void *base)
{
	return (key->optional || key->group) && types[key->type]->none(key, base);
}

void conf_value_print(
        const struct conf_key *key, const void *base, const struct conf *conf, struct strbuf *out)
{
	size_t before = out->len;

	if (conf_value_none(key, base))
		strbuf_adds(out, "none");
	else
		types[key->type]->print(key, base, conf, out);
	if (out->len == before)
		strbuf_adds(out, "\"\"");
}

/* Text between quotes. */
static void quote(const char *s, struct strbuf *out)
{
	strbuf_adds(out, "\"");
	for (; *s; s++)
		strbuf_addf(out, "%s%c", *s == '"' || *s == '\\' ? "\\" : "", *s);
	strbuf_adds(out, "\"");
}

void conf_value_write(
        const struct conf_key *key, const void *base, const struct conf *conf, struct strbuf *out)
{
	struct strbuf text = { 0 };

	if (key->type == CONF_TEXTS) {
		for (size_t i = 0; i < texts_at(key, base)->n; i++) {
			strbuf_adds(out, i ? ", " : "[ ");
			quote(texts_at(key, base)->v[i], out);
		}
		strbuf_adds(out, " ]");
		return;
	}
	if (key->type == CONF_GROUPS) {
		conf_groups_write(key, base, conf, out);
		return;
	}
	strbuf_adds(&text, "");
	types[key->type]->print(key, base, conf, &text);
	if (types[key->type]->quoted)
		quote(text.s, out);
	else
		strbuf_adds(out, text.s);
	strbuf_free(&text);
}

bool conf_value_quoted(const struct conf_key *key)
{
	return types[key->type]->quoted;
}

bool conf_value_same(const struct conf_key *key, const void *a, const struct conf *conf_a,
        const void *b, const struct conf *conf_b)
{
	struct strbuf x = { 0 }, y = { 0 };
	bool same;

	if (key->type == CONF_GROUP)
		return conf_group_same(key, a, conf_a, b, conf_b);
	conf_value_print(key, a, conf_a, &x);
	conf_value_print(key, b, conf_b, &y);
	same = !strcmp(x.s, y.s);
	strbuf_free(&x);
	strbuf_free(&y);
	return same;
}

void conf_value_copy(const struct conf_key *key, const void *from, void *to)
{
	types[key->type]->copy(key, from, to);
}

void conf_value_clear(const struct conf_key *key, void *base)
{
	types[key->type]->clear(key, base);
}

const char *conf_type_name(const struct conf_key *key)
{
	return key->group ? key->group->name : types[key->type]->name;
}

static void words_add(const char *const *words, struct strbuf *out)
{
	for (size_t i = 0; words[i]; i++)
		strbuf_addf(out, "%s\"%s\"", !i ? "" : words[i + 1] ? ", " : " or ", words[i]);
}

void conf_value_limits(const struct conf_key *key, struct strbuf *out)
{
	const struct conf_value_type *type = types[key->type];

	if (type->limit) {
		type->limit(key, key->min, out);
		strbuf_adds(out, " to ");
		type->limit(key, key->max, out);
	} else if (key->type == CONF_WORD) {
		words_add(key->words, out);
	} else if (key->type == CONF_INTEGER) {
		strbuf_addf(out, "-%" PRIu64 " to %" PRIu64, key->max, key->max);
	} else if ((key->type == CONF_TEXT || key->type == CONF_TEXTS) &&
	           key->max <= CONF_TEXT_TELL) {
		strbuf_addf(out, "at most %" PRIu64 " characters", key->max);
	} else if (key->type == CONF_GPUS) {
		strbuf_addf(out, "at most %" PRIu64 " GPUs", key->max);
	}
	if (key->zero)
		strbuf_addf(out, ", or %s", key->zero);
}
