/* units.c - see units.h */
#include "common/base/units.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define MIB (UINT64_C(1) << 20)

struct unit {
	const char *name;
	uint64_t factor;
};

static const struct unit size_units[] = {
	{ "K", UINT64_C(1) << 10 },
	{ "M", UINT64_C(1) << 20 },
	{ "G", UINT64_C(1) << 30 },
	{ "T", UINT64_C(1) << 40 },
};
#define N_SIZE_UNITS (sizeof(size_units) / sizeof(size_units[0]))

static const struct unit duration_units[] = {
	{ "ms", 1 },
	{ "s", 1000 },
	{ "m", 60 * 1000 },
	{ "h", 3600 * 1000 },
	{ "d", 86400000 },
	{ "w", 7 * UINT64_C(86400000) },
};
#define N_DURATION_UNITS (sizeof(duration_units) / sizeof(duration_units[0]))

/* Read digits at *p into *n and step over them. */
static int number_read(const char **p, uint64_t *n, struct error *err)
{
	uint64_t v = 0;
	const char *s = *p;

	if (!isdigit((unsigned char)*s))
		return error_set(err, ERR_USAGE,
		        *s == '-' ? "must not be negative" : "must start with a number");
	for (; isdigit((unsigned char)*s); s++) {
		if (__builtin_mul_overflow(v, 10, &v) ||
		        __builtin_add_overflow(v, (uint64_t)(*s - '0'), &v))
			return error_set(err, ERR_USAGE, "too large a number");
	}
	*p = s;
	*n = v;
	return 0;
}

static const struct unit *size_unit(const char *s)
{
	for (size_t i = 0; i < N_SIZE_UNITS; i++) {
		if (toupper((unsigned char)*s) != size_units[i].name[0])
			continue;
		if (!s[1] || !strcasecmp(s + 1, "B") || !strcasecmp(s + 1, "iB"))
			return &size_units[i];
	}
	return NULL;
}

int size_parse(const char *text, enum size_bare bare, uint64_t *bytes, struct error *err)
{
	const struct unit *unit;
	const char *p = text;
	uint64_t n;

	if (number_read(&p, &n, err) < 0)
		return -1;
	if (!*p && n == 0) {
		*bytes = 0;
		return 0;
	}
	if (!*p && !bare) {
		return error_set(err, ERR_USAGE,
		        "needs a unit, as in \"%" PRIu64 "M\" or \"%" PRIu64 "G\"", n, n);
	}
	if (*p == '.')
		return error_set(
		        err, ERR_USAGE, "must be a whole number; \"1536M\" is one and a half G");
	unit = size_unit(*p ? p : "M");
	if (!unit)
		return error_set(
		        err, ERR_USAGE, "the units of sizes are K, M, G and T, as in \"80G\"");
	if (__builtin_mul_overflow(n, unit->factor, &n))
		return error_set(err, ERR_USAGE, "too large a size");
	*bytes = n;
	return 0;
}

int size_parse_mb(const char *text, enum size_bare bare, uint64_t *mb, struct error *err)
{
	uint64_t bytes;

	if (size_parse(text, bare, &bytes, err) < 0)
		return -1;
	*mb = bytes / MIB + (bytes % MIB != 0);
	return 0;
}

/* The fields of a clock from the right: what each counts in seconds, and how far it may go when
 * there is a field to its left. */
static const struct {
	uint32_t seconds, below;
	const char *too_far;
} clock_fields[] = {
	{ 1, 60, "the seconds of a clock go up to 59" },
	{ 60, 60, "the minutes of a clock go up to 59" },
	{ 3600, 24, "the hours after days go up to 23" },
	{ 86400, 0, NULL },
};

/* "M:S", "H:M:S", "D-H", "D-H:M", "D-H:M:S" in seconds. */
static int clock_parse(const char *text, uint64_t *s, struct error *err)
{
	uint64_t fields[4], sum = 0, part;
	bool days = strchr(text, '-') != NULL;
	size_t n = 0, right;
	const char *p = text;

	for (;;) {
		if (n == 4 || number_read(&p, &fields[n], NULL) < 0)
			break;
		n++;
		if (*p != (n == 1 && days ? '-' : ':'))
			break;
		p++;
	}
	if (*p || n < 2 || p[-1] == ':' || p[-1] == '-' || (!days && n > 3))
		return error_set(err, ERR_USAGE,
		        "a time is \"20m\", \"2h\", \"30d\", or a clock as in \"20:00\", "
		        "\"4:00:00\" or \"2-00:00:00\"");
	/* With days the fields are counted from the left (D-H), otherwise from the right (M:S). */
	right = days ? 3 : n - 1;
	for (size_t i = 0; i < n; i++, right--) {
		if (i > 0 && fields[i] >= clock_fields[right].below)
			return error_set(err, ERR_USAGE, "%s", clock_fields[right].too_far);
		if (__builtin_mul_overflow(fields[i], clock_fields[right].seconds, &part) ||
		        __builtin_add_overflow(sum, part, &sum))
			return error_set(err, ERR_USAGE, "too long a time");
	}
	*s = sum;
	return 0;
}

static int duration_needs_unit(uint64_t n, struct error *err)
{
	return error_set(err, ERR_USAGE, "needs a unit, as in \"%" PRIu64 "s\" or \"%" PRIu64 "m\"",
	        n, n % 60 ? n : n / 60);
}

/* `n` of what follows it at `p`, in milliseconds. */
static int duration_scale(uint64_t n, const char *p, uint64_t *ms, struct error *err)
{
	for (size_t i = 0; i < N_DURATION_UNITS; i++) {
		if (strcasecmp(p, duration_units[i].name))
			continue;
		if (__builtin_mul_overflow(n, duration_units[i].factor, ms) ||
		        *ms == DURATION_FOREVER)
			return error_set(err, ERR_USAGE, "too long a time");
		return 0;
	}
	return error_set(err, ERR_USAGE,
	        "the units of time are ms, s, m, h, d and w, as in \"90s\" or \"20m\"");
}

int duration_parse_ms(const char *text, enum duration_bare bare, uint64_t *ms, struct error *err)
{
	const char *p = text;
	uint64_t n, out = 0;

	if (!strcasecmp(text, "infinite") || !strcasecmp(text, "unlimited")) {
		*ms = DURATION_FOREVER;
		return 0;
	}
	if (number_read(&p, &n, err) < 0)
		return -1;
	if (!*p && !bare && n > 0)
		return duration_needs_unit(n, err);
	if (*p == ':' || *p == '-') {
		if (clock_parse(text, &n, err) < 0)
			return -1;
		p = "s";
	} else if (!*p) {
		p = bare == DURATION_BARE_MINUTES ? "m" : "s";
	}
	if (duration_scale(n, p, &out, err) < 0)
		return -1;
	*ms = out;
	return 0;
}

int duration_parse(const char *text, enum duration_bare bare, uint64_t *s, struct error *err)
{
	uint64_t ms;

	if (duration_parse_ms(text, bare, &ms, err) < 0)
		return -1;
	if (ms != DURATION_FOREVER && ms % 1000)
		return error_set(err, ERR_USAGE, "must be whole seconds");
	*s = ms == DURATION_FOREVER ? DURATION_FOREVER : ms / 1000;
	return 0;
}

int count_parse(const char *text, uint64_t min, uint64_t max, uint64_t *count, struct error *err)
{
	const char *p = text;
	uint64_t n;

	if (number_read(&p, &n, err) < 0)
		return -1;
	if (*p)
		return error_set(err, ERR_USAGE, "must be a whole number");
	if (n < min || n > max) {
		return error_set(err, ERR_USAGE, "must be %" PRIu64 " to %" PRIu64, min, max);
	}
	*count = n;
	return 0;
}

int percent_parse(const char *text, uint32_t *percent, struct error *err)
{
	const char *p = text;
	uint64_t n;

	if (number_read(&p, &n, err) < 0)
		return -1;
	if (strcmp(p, "%"))
		return error_set(err, ERR_USAGE, "must be whole per cent, as in \"25%%\"");
	if (n > 100)
		return error_set(err, ERR_USAGE, "must be \"0%%\" to \"100%%\"");
	*percent = (uint32_t)n;
	return 0;
}

static char *format_rounded(char buf[UNITS_TEXT], uint64_t bytes, bool down)
{
	/* The smallest unit in which the rounded figure stays below 1024, from MiB on unless it
	 * is less; figures of bytes are not for tables. */
	for (size_t i = 0; i < N_SIZE_UNITS; i++) {
		uint64_t f = size_units[i].factor, whole = bytes / f, rest = bytes % f;
		uint64_t tenths = rest / (f / 1024) * 10; /* of 1024ths: no overflow */

		tenths = whole * 10 + (tenths + (down ? 0 : 512)) / 1024;
		whole += !down && rest >= f / 2;
		if (whole >= 1024 && i + 1 < N_SIZE_UNITS)
			continue;
		if (bytes == 0)
			snprintf(buf, UNITS_TEXT, "0");
		else if (tenths < 100 && tenths % 10)
			snprintf(buf, UNITS_TEXT, "%" PRIu64 ".%" PRIu64 "%s", tenths / 10,
			        tenths % 10, size_units[i].name);
		else
			snprintf(buf, UNITS_TEXT, "%" PRIu64 "%s", whole, size_units[i].name);
		break;
	}
	return buf;
}

static uint64_t bytes_of(uint64_t mb)
{
	return mb > UINT64_MAX / MIB ? UINT64_MAX : mb * MIB;
}

char *size_format(char buf[UNITS_TEXT], uint64_t bytes)
{
	return format_rounded(buf, bytes, false);
}

char *size_format_mb(char buf[UNITS_TEXT], uint64_t mb)
{
	return format_rounded(buf, bytes_of(mb), false);
}

char *size_format_left(char buf[UNITS_TEXT], uint64_t mb)
{
	return format_rounded(buf, bytes_of(mb), true);
}

void size_format_two(
        char asked[UNITS_TEXT], char most[UNITS_TEXT], uint64_t asked_mb, uint64_t most_mb)
{
	size_format_mb(asked, asked_mb);
	size_format_left(most, most_mb);
	if (strcmp(asked, most) || asked_mb == most_mb)
		return;
	snprintf(asked, UNITS_TEXT, "%" PRIu64 "M", asked_mb);
	snprintf(most, UNITS_TEXT, "%" PRIu64 "M", most_mb);
}

char *share_format(char buf[UNITS_TEXT], uint64_t mb, uint32_t milli)
{
	char mem[UNITS_TEXT] = "", part[UNITS_TEXT] = "";

	if (mb)
		size_format_mb(mem, mb);
	if (milli % 10)
		snprintf(part, sizeof(part), "%" PRIu32 ".%" PRIu32 "%%", milli / 10, milli % 10);
	else if (milli)
		snprintf(part, sizeof(part), "%" PRIu32 "%%", milli / 10);
	snprintf(buf, UNITS_TEXT, "%.20s%s%.16s", mem, *mem && *part ? "," : "", part);
	return buf;
}

char *size_format_exact(char buf[UNITS_TEXT], uint64_t bytes)
{
	for (size_t i = N_SIZE_UNITS; bytes && i-- > 0;) {
		if (bytes % size_units[i].factor)
			continue;
		snprintf(buf, UNITS_TEXT, "%" PRIu64 "%s", bytes / size_units[i].factor,
		        size_units[i].name);
		return buf;
	}
	snprintf(buf, UNITS_TEXT, "%" PRIu64, bytes);
	return buf;
}

char *duration_format(char buf[UNITS_TEXT], uint64_t s)
{
	uint64_t d = s / 86400;
	unsigned h = (unsigned)(s / 3600 % 24), m = (unsigned)(s / 60 % 60), r = (unsigned)(s % 60);

	if (s == DURATION_FOREVER)
		snprintf(buf, UNITS_TEXT, "UNLIMITED");
	else if (d)
		snprintf(buf, UNITS_TEXT, "%" PRIu64 "-%02u:%02u:%02u", d, h, m, r);
	else if (h)
		snprintf(buf, UNITS_TEXT, "%u:%02u:%02u", h, m, r);
	else
		snprintf(buf, UNITS_TEXT, "%u:%02u", m, r);
	return buf;
}

char *duration_format_exact(char buf[UNITS_TEXT], uint64_t ms)
{
	uint64_t s = ms / 1000;

	if (ms == DURATION_FOREVER)
		snprintf(buf, UNITS_TEXT, "unlimited");
	else if (ms % 1000)
		snprintf(buf, UNITS_TEXT, "%" PRIu64 "ms", ms);
	else if (s >= 3600)
		duration_format(buf, s);
	else if (s % 60 || s < 120)
		snprintf(buf, UNITS_TEXT, "%" PRIu64 "s", s);
	else
		snprintf(buf, UNITS_TEXT, "%" PRIu64 "m", s / 60);
	return buf;
}
