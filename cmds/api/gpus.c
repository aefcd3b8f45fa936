/* gpus.c - see gpus.h */
#include "cmds/api/gpus.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "common/base/units.h"
#include "common/gpu/gpus_by_type.h"

#define TEXT_MAX 256 /* bytes of one alternative: far more than a type and a count need */

_Static_assert(GPUS_TYPE_MAX == GPUS_BY_TYPE_NAME_MAX, "the length of a type's name");

/* The types of one alternative: there must be one. */
struct alternative {
	struct gpus *gpus;
	size_t types;
};

static int add_alternative(const char *type, uint32_t count, void *arg)
{
	struct alternative *a = arg;
	struct gpus *g = a->gpus;

	if (!a->types++) {
		snprintf(g->v[g->n].type, sizeof(g->v[g->n].type), "%s",
		        strcmp(type, GPUS_BY_TYPE_ANY) ? type : "");
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
		return error_set(err, ERR_USAGE, "expected COUNT or TYPE:COUNT");
	memcpy(text, s, len);
	text[len] = '\0';
	if (gpus_by_type_each(text, add_alternative, &a, err) < 0)
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
	error_set(err, ERR_USAGE,
	        "expected gpu:COUNT, gpu:TYPE:COUNT or mps:PERCENT; there is no other resource");
	return error_hint(err,
	        "for a part of a GPU there are --gpu-mem and --gpu-share; features are "
	        "--constraint");
}

/* The size of a shard depends on the node, and is not known here. */
static int no_shards(struct error *err)
{
	error_set(err, ERR_USAGE, "a GPU is not cut into shards here");
	return error_hint(err, "for a part of a GPU: --gpu-mem=20G or --gpu-share=25%%");
}

/* Slurm's MPS counts a hundred to a GPU, where a site does not say otherwise, and gives one GPU. */
static int take_mps(const char *s, char *out, size_t size, uint32_t *milli, struct error *err)
{
	const char *count = strrchr(s, ':');
	uint64_t percent;
	int n;

	if (!count || count_parse(count + 1, 1, 100, &percent, err) < 0)
		return error_set(err, ERR_USAGE,
		        "expected mps:PERCENT or mps:TYPE:PERCENT, 1 to 100 of one GPU");
	*milli = (uint32_t)percent * 10;
	n = s == count ? snprintf(out, size, "1")
	               : snprintf(out, size, "%.*s:1", (int)(count - s - 1), s + 1);
	return n < 0 || (size_t)n >= size ? only_gpus(err) : 0;
}

static bool is_kind(const char *s, const char *kind)
{
	size_t len = strlen(kind);

	return !strncmp(s, kind, len) && (!s[len] || s[len] == ':');
}

int gpus_from_gres(const char *text, char *out, size_t size, uint32_t *milli, struct error *err)
{
	const char *s = strncmp(text, "gres:", 5) ? text : text + 5;
	struct gpus gpus;
	int n;

	*milli = 0;
	if (is_kind(s, "shard"))
		return no_shards(err);
	if (is_kind(s, "mps"))
		return take_mps(s + 3, out, size, milli, err) < 0 ? -1
		                                                  : gpus_parse(out, &gpus, err);
	if (!strcmp(s, "none"))
		return snprintf(out, size, "0") > 0 ? 0 : -1;
	if (!is_kind(s, "gpu"))
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
