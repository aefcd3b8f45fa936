/* gpus.c - see gpus.h */
#include "cmds/gpus.h"

#include <stdio.h>
#include <string.h>

#include "common/units.h"

static bool type_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '.' || c == '-' || c == '_';
}

static int refuse(const char *why, struct error *err)
{
	return error_set(err, ERR_USAGE, "%s", why);
}

/* One alternative: the `len` bytes at `s`. */
static int parse_one(const char *s, size_t len, char *type, uint32_t *count, struct error *err)
{
	const char *colon = memrchr(s, ':', len);
	const char *number = colon ? colon + 1 : s;
	size_t type_len = colon ? (size_t)(colon - s) : 0;
	char digits[16];
	uint64_t n;
	size_t i, digits_len = len - (size_t)(number - s);

	for (i = 0; i < type_len; i++)
		if (!type_char(s[i]))
			return refuse("a type has letters, digits, '.', '-' and '_'", err);
	if (colon && (!type_len || type_len > GPUS_TYPE_MAX))
		return refuse("the type before ':' is empty or too long", err);
	if (digits_len >= sizeof(digits) || !digits_len)
		return refuse("would be COUNT, TYPE:COUNT, or several with '|' between", err);
	memcpy(digits, number, digits_len);
	digits[digits_len] = '\0';
	if (count_parse(digits, 0, GPUS_COUNT_MAX, &n, NULL) < 0) {
		refuse("would be COUNT, TYPE:COUNT, or several with '|' between", err);
		return colon ? -1 : error_hint(err, "one of that type: '%.*s:1'", (int)len, s);
	}
	if (type_len == 3 && !memcmp(s, "any", 3))
		type_len = 0;
	memcpy(type, s, type_len);
	type[type_len] = '\0';
	*count = (uint32_t)n;
	return 0;
}

int gpus_parse(const char *text, struct gpus *out, struct error *err)
{
	struct gpus found = { .n = 0 };
	const char *s = text;

	if (strchr(text, ',')) {
		refuse("a job gets GPUs of one type", err);
		return error_hint(err, "alternatives have '|' between: 'h100:2|l40s:4'");
	}
	for (;;) {
		size_t len = strcspn(s, "|");

		if (found.n == GPUS_ALTERNATIVES_MAX)
			return refuse("more than 8 alternatives", err);
		if (parse_one(s, len, found.v[found.n].type, &found.v[found.n].count, err) < 0)
			return -1;
		found.n++;
		if (!s[len])
			break;
		s += len + 1;
	}
	if (!strcmp(text, "0"))
		found.n = 0;
	for (size_t i = 0; i < found.n; i++)
		if (!found.v[i].count)
			return refuse("must be at least one GPU of a type", err);
	*out = found;
	return 0;
}

char *gpus_format(char *buf, size_t size, Gpusched__GpuCount *const *v, size_t n)
{
	size_t used = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < n && used < size; i++) {
		int w = snprintf(buf + used, size - used, "%s%s:%u", i ? "|" : "",
		        v[i]->type[0] ? v[i]->type : "any", v[i]->count);

		used += w > 0 ? (size_t)w : 0;
	}
	return buf;
}
