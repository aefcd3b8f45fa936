/* conf_nested_keys.c - keys whose value is a group, or a list of groups; see conf_schema.h */
#include "common/conf/conf_schema.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"

static void group_copy(const struct conf_key *key, const void *from, void *to)
{
	for (size_t i = 0; i < key->group->n; i++)
		conf_value_copy(
		        &key->group->v[i], conf_group_base(key, from), conf_group_base(key, to));
	if (key->given_at)
		memcpy((char *)to + key->given_at, (const char *)from + key->given_at,
		        sizeof(bool));
}

static void group_clear(const struct conf_key *key, void *base)
{
	for (size_t i = 0; i < key->group->n; i++)
		conf_value_clear(&key->group->v[i], conf_group_base(key, base));
}

static bool group_none(const struct conf_key *key, const void *base)
{
	bool given = false;

	if (key->given_at) {
		memcpy(&given, (const char *)base + key->given_at, sizeof(given));
		return !given;
	}
	for (size_t i = 0; i < key->group->n; i++) {
		if (!conf_value_none(&key->group->v[i], conf_group_base(key, base)))
			return false;
	}
	return true;
}

void conf_group_default(const struct conf_key *key, const struct conf *conf, void *base)
{
	for (size_t i = 0; i < key->group->n; i++)
		conf_value_default(&key->group->v[i], conf, conf_group_base(key, base));
}

bool conf_group_same(const struct conf_key *key, const void *a, const struct conf *conf_a,
        const void *b, const struct conf *conf_b)
{
	bool same = conf_value_none(key, a) == conf_value_none(key, b);

	for (size_t i = 0; same && i < key->group->n; i++)
		same = conf_value_same(&key->group->v[i], conf_group_base(key, a), conf_a,
		        conf_group_base(key, b), conf_b);
	return same;
}

/* --- lists of groups ------------------------------------------------------------------------- */

static void **groups_field(const struct conf_key *key, const void *base)
{
	return (void **)((char *)base + key->at);
}

static size_t conf_groups_n(const struct conf_key *key, const void *base)
{
	return *(const size_t *)((const char *)base + key->n_at);
}

void *conf_groups_at(const struct conf_key *key, const void *base, size_t i)
{
	return (char *)*groups_field(key, base) + i * key->each;
}

void conf_groups_make(const struct conf_key *key, void *base, size_t n)
{
	*groups_field(key, base) = n ? xcalloc(n, key->each) : NULL;
	*(size_t *)((char *)base + key->n_at) = n;
}

static void groups_set_none(const struct conf_key *key, void *base)
{
	conf_groups_make(key, base, 0);
}

static bool groups_none(const struct conf_key *key, const void *base)
{
	return !conf_groups_n(key, base);
}

/* "0-5 1g.10gb:7, 6-7 3g.40gb:2" */
static void groups_print(
        const struct conf_key *key, const void *base, const struct conf *conf, struct strbuf *out)
{
	for (size_t i = 0; i < conf_groups_n(key, base); i++) {
		for (size_t k = 0; k < key->group->n; k++) {
			strbuf_adds(out, k ? " " : i ? ", " : "");
			conf_value_print(
			        &key->group->v[k], conf_groups_at(key, base, i), conf, out);
		}
	}
}

void conf_groups_write(
        const struct conf_key *key, const void *base, const struct conf *conf, struct strbuf *out)
{
	strbuf_adds(out, "( ");
	for (size_t i = 0; i < conf_groups_n(key, base); i++) {
		strbuf_adds(out, i ? ", { " : "{ ");
		for (size_t k = 0; k < key->group->n; k++) {
			strbuf_addf(out, "%s = ", key->group->v[k].name);
			conf_value_write(
			        &key->group->v[k], conf_groups_at(key, base, i), conf, out);
			strbuf_adds(out, "; ");
		}
		strbuf_adds(out, "}");
	}
	strbuf_adds(out, " )");
}

static void groups_copy(const struct conf_key *key, const void *from, void *to)
{
	conf_groups_make(key, to, conf_groups_n(key, from));
	for (size_t i = 0; i < conf_groups_n(key, from); i++) {
		for (size_t k = 0; k < key->group->n; k++)
			conf_value_copy(&key->group->v[k], conf_groups_at(key, from, i),
			        conf_groups_at(key, to, i));
	}
}

static void groups_clear(const struct conf_key *key, void *base)
{
	for (size_t i = 0; i < conf_groups_n(key, base); i++) {
		for (size_t k = 0; k < key->group->n; k++)
			conf_value_clear(&key->group->v[k], conf_groups_at(key, base, i));
	}
	free(*groups_field(key, base));
	groups_set_none(key, base);
}

const struct conf_value_type conf_group_type = { "group", false, NULL, NULL, group_copy,
	group_clear, NULL, group_none, NULL };

const struct conf_value_type conf_groups_type = { "groups", false, NULL, groups_print, groups_copy,
	groups_clear, NULL, groups_none, groups_set_none };
