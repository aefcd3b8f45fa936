/* requests.c - see requests.h */
#include "ctld/core/requests.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/xalloc.h"
#include "ctld/core/hash.h"
#include "ctld/core/table.h"

#define MAX_COUNT     9999
#define MAX_TYPE_NAME 64
#define MAX_TEXT      (MAX_GPU_ALTERNATIVES * (MAX_TYPE_NAME + 8))

struct requests {
	struct strings *strings;
	const struct conf *conf;
	struct table *table;
};

static uint64_t request_hash(const void *item, uint64_t seed)
{
	const struct request *r = item;

	return hash_u64((uintptr_t)r->text, seed);
}

static bool request_equal(const void *item, const void *key)
{
	const struct request *r = item;

	return r->text == (const char *)key;
}

struct requests *requests_new(struct strings *strings, const struct conf *conf, uint64_t seed)
{
	struct requests *rs = xcalloc(1, sizeof(*rs));

	rs->strings = strings;
	rs->conf = conf;
	rs->table = table_new(request_hash, seed);
	return rs;
}

static void request_free(struct requests *rs, struct request *r)
{
	uint32_t i;

	for (i = 0; i < r->n; i++)
		strings_drop(rs->strings, r->v[i].type);
	strings_drop(rs->strings, r->text);
	free(r);
}

void requests_free(struct requests *rs)
{
	size_t cursor = 0;
	struct request *r;

	if (!rs)
		return;
	while ((r = table_each(rs->table, &cursor)))
		request_free(rs, r);
	table_free(rs->table);
	free(rs);
}

static uint16_t type_number(const struct conf *conf, const char *name)
{
	size_t i;

	if (!*name)
		return TYPE_ANY;
	for (i = 0; i < conf->n_gpu_types; i++) {
		if (!strcmp(conf->gpu_types[i].name, name))
			return (uint16_t)i;
	}
	return TYPE_GONE;
}

static int check(const struct gpu_request *v, size_t n, struct error *err)
{
	size_t i;

	if (n > MAX_GPU_ALTERNATIVES)
		return error_set(err, ERR_JOB_SPEC,
		        "--gpus: %zu alternatives; at most %d are possible", n,
		        MAX_GPU_ALTERNATIVES);
	for (i = 0; i < n; i++) {
		const char *type = v[i].type ? v[i].type : "";

		if (strlen(type) > MAX_TYPE_NAME || strpbrk(type, ":|,\n"))
			return error_set(
			        err, ERR_NO_GPU_TYPE, "--gpus: no GPU type has such a name");
		if (v[i].count < 1 || v[i].count > MAX_COUNT)
			return error_set(err, ERR_JOB_SPEC, "--gpus=%s:%u: a count is 1 to %d",
			        *type ? type : "any", v[i].count, MAX_COUNT);
	}
	return 0;
}

const struct request *requests_keep(
        struct requests *rs, const struct gpu_request *v, size_t n, struct error *err)
{
	char text[MAX_TEXT] = "";
	struct request *r;
	const char *kept;
	size_t i, used = 0;

	if (check(v, n, err) < 0)
		return NULL;
	for (i = 0; i < n; i++) {
		const char *type = v[i].type && *v[i].type ? v[i].type : "any";

		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s:%u", i ? "|" : "",
		        type, v[i].count);
	}
	kept = strings_keep(rs->strings, text);
	r = table_find(
	        rs->table, hash_u64((uintptr_t)kept, table_seed(rs->table)), request_equal, kept);
	if (r) {
		strings_drop(rs->strings, kept);
		r->refs++;
		return r;
	}
	r = xcalloc(1, sizeof(*r));
	r->refs = 1;
	r->text = kept;
	r->n = (uint32_t)n;
	for (i = 0; i < n; i++) {
		const char *type = v[i].type && strcmp(v[i].type, "any") ? v[i].type : "";

		r->v[i].type = strings_keep(rs->strings, type);
		r->v[i].count = v[i].count;
		r->v[i].number = type_number(rs->conf, type);
	}
	table_add(rs->table, r);
	return r;
}

const struct request *requests_parse(struct requests *rs, const char *text, struct error *err)
{
	struct gpu_request v[MAX_GPU_ALTERNATIVES];
	char copy[MAX_TEXT], *at = copy, *part;
	size_t n = 0;

	if (strlen(text) >= sizeof(copy))
		goto bad;
	memcpy(copy, text, strlen(text) + 1);
	while (*copy && (part = strsep(&at, "|"))) {
		char *colon = strrchr(part, ':'), *end;
		unsigned long count;

		if (n == MAX_GPU_ALTERNATIVES || !colon || colon == part)
			goto bad;
		*colon = '\0';
		count = strtoul(colon + 1, &end, 10);
		if (*end || count < 1 || count > MAX_COUNT)
			goto bad;
		v[n].type = strcmp(part, "any") ? part : "";
		v[n++].count = (uint32_t)count;
	}
	return requests_keep(rs, v, n, err);
bad:
	error_set(err, ERR_INTERNAL, "gpus '%.80s': want \"TYPE:COUNT|...\"", text);
	return NULL;
}

const struct request *requests_again(const struct request *r)
{
	((struct request *)(uintptr_t)r)->refs++;
	return r;
}

void requests_drop(struct requests *rs, const struct request *r)
{
	struct request *mine = (struct request *)(uintptr_t)r;

	if (!r)
		return;
	assert(mine->refs);
	if (--mine->refs)
		return;
	table_remove(rs->table, mine);
	request_free(rs, mine);
}

void requests_resolve(struct requests *rs, const struct conf *conf)
{
	size_t cursor = 0;
	struct request *r;
	uint32_t i;

	rs->conf = conf;
	while ((r = table_each(rs->table, &cursor))) {
		for (i = 0; i < r->n; i++)
			r->v[i].number = type_number(conf, r->v[i].type);
	}
}
