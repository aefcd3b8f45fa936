/* gpus.c - see gpus.h */
#include "cmds/gpus.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/amount.h"
#include "common/units.h"

#define TEXT_MAX 256 /* bytes of one alternative: far more than a type and a count need */

_Static_assert(GPUS_TYPE_MAX == AMOUNT_TYPE_MAX, "the length of a type's name");

/* The types of one alternative: there must be one. */
struct alternative {
	struct gpus *gpus;
	size_t types;
};

static int take(const char *type, uint32_t count, void *arg)
{
	struct alternative *a = arg;
	struct gpus *g = a->gpus;

	if (!a->types++) {
		snprintf(g->v[g->n].type, sizeof(g->v[g->n].type), "%s",
		        strcmp(type, AMOUNT_ANY) ? type : "");
		g->v[g->n].count = count;
	}
	return 0;
}

static int parse_one(struct gpus *gpus, const char *s, size_t len, struct error *err)
{
	struct alternative a = { .gpus = gpus };
	char text[TEXT_MAX];

	if (gpus->n == GPUS_ALTERNATIVES_MAX)
		return error_set(
		        err, ERR_USAGE, "more than %d alternatives", GPUS_ALTERNATIVES_MAX);
	if (len >= sizeof(text))
		return error_set(err, ERR_USAGE, "would be COUNT or TYPE:COUNT");
	memcpy(text, s, len);
	text[len] = '\0';
	if (amount_each(text, take, &a, err) < 0)
		return -1;
	if (a.types > 1) {
		error_set(err, ERR_USAGE, "a job gets GPUs of one type");
		return error_hint(err, "alternatives have '|' between: 'h100:2|l40s:4'");
	}
	gpus->n++;
	return 0;
}

int gpus_parse(const char *text, struct gpus *out, struct error *err)
{
	struct gpus found = { .n = 0 };
	bool none = !strcmp(text, "0");

	for (const char *s = text; !none; s++) {
		size_t len = strcspn(s, "|");

		if (parse_one(&found, s, len, err) < 0)
			return -1;
		s += len;
		if (!*s)
			break;
	}
	*out = found;
	return 0;
}

static int only_gpus(struct error *err)
{
	error_set(
	        err, ERR_USAGE, "would be gpu:COUNT or gpu:TYPE:COUNT; there is no other resource");
	return error_hint(err,
	        "for a part of a GPU there are --gpu-mem and --gpu-share; features are "
	        "--constraint");
}

int gpus_from_gres(const char *text, char *out, size_t size, struct error *err)
{
	const char *s = strncmp(text, "gres:", 5) ? text : text + 5;
	struct gpus gpus;
	int n;

	if (!strcmp(s, "none"))
		return snprintf(out, size, "0") > 0 ? 0 : -1;
	if (strncmp(s, "gpu", 3) || (s[3] && s[3] != ':'))
		return only_gpus(err);
	s += s[3] ? 4 : 3;
	if (!*s)
		n = snprintf(out, size, "1");
	else if (!strchr(s, ':') && !isdigit((unsigned char)*s))
		n = snprintf(out, size, "%s:1", s);
	else
		n = snprintf(out, size, "%s", s);
	if (n < 0 || (size_t)n >= size)
		return only_gpus(err);
	return gpus_parse(out, &gpus, err);
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
