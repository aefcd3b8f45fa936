/* conf_names.c - names of a configuration, and where they stand; see conf_check.h */
#include "common/conf/conf_check.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"
#include "common/base/xalloc.h"

static int compare_named(const void *a, const void *b)
{
	const struct conf_named *x = a, *y = b;
	int d = strcmp(x->name, y->name);

	return d ? d : (x->index > y->index) - (x->index < y->index);
}

void conf_names_sort(struct conf_names *names)
{
	if (names->n)
		qsort(names->v, names->n, sizeof(*names->v), compare_named);
}

void conf_names_of(struct conf_names *names, const char *section, const struct conf_raw *raw)
{
	const struct conf_section *s = conf_section_find(section);
	size_t n = conf_section_count(s, raw);

	*names = (struct conf_names){ .section = section, .whole = true };
	names->v = xcalloc(n, sizeof(*names->v));
	for (size_t i = 0; i < n; i++) {
		const char *name = conf_section_name(s, raw, i);

		if (name)
			names->v[names->n++] = (struct conf_named){ name, i };
		else
			names->whole = false;
	}
	conf_names_sort(names);
}

const struct conf_named *conf_names_find(const struct conf_names *names, const char *name)
{
	size_t low = 0, high = names->n;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (strcmp(names->v[middle].name, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low < names->n && !strcmp(names->v[low].name, name) ? &names->v[low] : NULL;
}

const config_setting_t *conf_setting_at(
        const struct conf_reader *reader, const char *section, size_t i, const char *key)
{
	config_setting_t *at = config_root_setting(&reader->tree), *inner;
	char *copy, *rest, *part;

	if (*section) {
		at = config_setting_get_member(at, section);
		inner = at ? config_setting_get_elem(at, (unsigned)i) : NULL;
		at = inner ? inner : at;
	}
	copy = rest = xstrdup(key);
	while (at && (part = strsep(&rest, ".")) != NULL) {
		inner = config_setting_get_member(at, part);
		if (!inner)
			break;
		at = inner;
	}
	free(copy);
	return at;
}

/* `name` within the value at *at: its path, and where it stands. */
static char *name_path(const char *section, size_t i, const char *key, const char *name,
        const config_setting_t **at)
{
	char *path = *section ? xasprintf("%s[%zu].%s", section, i, key) : xstrdup(key), *inner;

	for (int e = 0; e < config_setting_length(*at); e++) {
		const config_setting_t *one = config_setting_get_elem(*at, (unsigned)e);
		const char *text = one ? config_setting_get_string(one) : NULL;

		if (!text || strcmp(text, name))
			continue;
		inner = xasprintf("%s[%d]", path, e);
		free(path);
		*at = one;
		return inner;
	}
	return path;
}

static void unknown_tell(const struct conf_names *names, struct conf_reader *reader,
        const config_setting_t *at, const char *path, const char *name)
{
	const char **all = xcalloc(names->n + 1, sizeof(*all)), *nearest;

	for (size_t i = 0; i < names->n; i++)
		all[i] = names->v[i].name;
	nearest = text_nearest(name, all);
	free(all);
	if (nearest)
		conf_reader_problem(reader, at, "%s: \"%s\": not in %s; did you mean '%s'?", path,
		        name, names->section, nearest);
	else
		conf_reader_problem(
		        reader, at, "%s: \"%s\": not in %s", path, name, names->section);
}

const struct conf_named *conf_names_resolve(const struct conf_names *names,
        struct conf_reader *reader, const char *section, size_t i, const char *key,
        const char *name)
{
	const struct conf_named *found = conf_names_find(names, name);
	const config_setting_t *at;
	char *path;

	if (found || !names->whole) /* it may be the one that could not be read */
		return found;
	at = conf_setting_at(reader, section, i, key);
	path = name_path(section, i, key, name, &at);
	unknown_tell(names, reader, at, path, name);
	free(path);
	return NULL;
}

unsigned conf_setting_line(const struct conf_reader *reader, const config_setting_t *setting)
{
	return conf_source_line(&reader->src, config_setting_source_line(setting)).line;
}

char *conf_circle(size_t first, const char *const *names, const size_t *next)
{
	struct strbuf text = { 0 };
	size_t i = first;

	do {
		strbuf_addf(&text, "%s -> ", names[i]);
		i = next[i];
	} while (i != first && text.len < CONF_NAMES_MAX);
	strbuf_addf(&text, "%s%s", i == first ? "" : "... -> ", names[first]);
	return strbuf_take(&text);
}

static uint32_t *parent_of(
        const struct conf_section *section, const struct conf_raw *raw, size_t parent_at, size_t i)
{
	return (uint32_t *)((char *)conf_section_base(section, raw, i) + parent_at);
}

static void circle_tell(struct conf_reader *r, const struct conf_section *s, const char *key,
        size_t parent_at, size_t first, const char *what)
{
	size_t n = conf_section_count(s, &r->raw);
	const char **names = xcalloc(n, sizeof(*names));
	size_t *next = xcalloc(n, sizeof(*next));
	char *circle;

	for (size_t i = 0; i < n; i++) {
		names[i] = conf_section_name(s, &r->raw, i);
		next[i] = *parent_of(s, &r->raw, parent_at, i);
	}
	circle = conf_circle(first, names, next);
	conf_reader_problem(r, conf_setting_at(r, s->name, first, key), "%s[%zu].%s: %s: %s",
	        s->name, first, key, circle, what);
	free(circle);
	free(names);
	free(next);
}

void conf_circles_cut(struct conf_reader *r, const char *section, const char *key, size_t parent_at,
        const char *what)
{
	const struct conf_section *s = conf_section_find(section);
	size_t n = conf_section_count(s, &r->raw);
	size_t *seen_from = xcalloc(n, sizeof(*seen_from)); /* start + 1 */

	for (size_t i = 0; i < n; i++) {
		size_t at = i;

		while (at != CONF_NONE && !seen_from[at]) {
			seen_from[at] = i + 1;
			at = *parent_of(s, &r->raw, parent_at, at);
		}
		if (at != CONF_NONE && seen_from[at] == i + 1) {
			circle_tell(r, s, key, parent_at, at, what);
			*parent_of(s, &r->raw, parent_at, at) = CONF_NONE;
		}
	}
	free(seen_from);
}
