/* conf_diff.c - what a reload would change, named as people name it
 *
 * Entries of lists are matched by their names; their order does not matter, but for accounts with
 * members. Nodes with the same change share a line: "nodes.h[01-16].cpus 64 -> 128".
 */
#include "common/conf/conf_check.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/hostlist.h"
#include "common/base/xalloc.h"

/* One change of one entry. */
struct change {
	const struct conf_section *section;
	const struct conf_key *key; /* NULL: the entry itself, added or removed */
	char *path;                 /* of the key in its entry, "quota.limit"; NULL: no key */
	char *what;                 /* " 64 -> 128", " added", " removed" */
	const char *name;           /* of the entry, borrowed; NULL: not of a list */
	size_t order;
};

struct changes {
	struct change *v;
	size_t n, cap;
};

/* Takes over `path` and `what`. */
static void change_add(struct changes *c, const struct conf_section *section,
        const struct conf_key *key, char *path, const char *name, char *what)
{
	c->v = xgrow(c->v, c->n, &c->cap, sizeof(*c->v));
	c->v[c->n] = (struct change){ section, key, path, what, name, c->n };
	c->n++;
}

static char *value_of(const struct conf_key *key, const void *base, const struct conf *conf)
{
	struct strbuf out = { 0 };

	conf_value_print(key, base, conf, &out);
	return strbuf_take(&out);
}

/* Two entries of one name, or two groups, that are compared. */
struct pair {
	struct changes *changes;
	const struct conf_section *section;
	const char *name;
	const struct conf *conf_from, *conf_to;
};

static void compare_keys(const struct pair *p, const struct conf_keys *keys, const char *prefix,
        const void *from, const void *to);

/* By its keys; a group that says by its mere presence something is told of where these do not. */
static void compare_group(const struct pair *p, const struct conf_key *key, const char *path,
        const void *from, const void *to)
{
	char *prefix = xasprintf("%s.", path);
	size_t before = p->changes->n;
	bool was = !conf_value_none(key, from), is = !conf_value_none(key, to);

	compare_keys(p, key->group, prefix, conf_group_base(key, from), conf_group_base(key, to));
	if (p->changes->n == before && was != is)
		change_add(p->changes, p->section, key, xstrdup(path), p->name,
		        xstrdup(is ? " added" : " removed"));
	free(prefix);
}

static void compare_keys(const struct pair *p, const struct conf_keys *keys, const char *prefix,
        const void *from, const void *to)
{
	for (size_t k = 0; k < keys->n; k++) {
		const struct conf_key *key = &keys->v[k];
		char *path = xasprintf("%s%s", prefix, key->name), *a, *b;

		if (key->type == CONF_GROUP) {
			compare_group(p, key, path, from, to);
		} else if (!conf_value_same(key, from, p->conf_from, to, p->conf_to)) {
			a = value_of(key, from, p->conf_from);
			b = value_of(key, to, p->conf_to);
			change_add(p->changes, p->section, key, path, p->name,
			        xasprintf(" %s -> %s", a, b));
			free(a);
			free(b);
			continue; /* the path is the change's now */
		}
		free(path);
	}
}

/* --- lists ----------------------------------------------------------------------------------- */

struct named {
	const char *name;
	const void *base;
};

static int compare_named(const void *a, const void *b)
{
	return hostlist_name_compare(
	        ((const struct named *)a)->name, ((const struct named *)b)->name);
}

static struct named *sorted(
        const struct conf_section *section, const struct conf_raw *raw, size_t *n)
{
	struct named *v;

	*n = conf_section_count(section, raw);
	v = xcalloc(*n, sizeof(*v));
	for (size_t i = 0; i < *n; i++) {
		v[i].base = conf_section_base(section, raw, i);
		v[i].name = conf_section_name(section, raw, i);
	}
	if (*n)
		qsort(v, *n, sizeof(*v), compare_named);
	return v;
}

static void compare_list(struct changes *changes, const struct conf_section *section,
        const struct conf_raw *from, const struct conf_raw *to)
{
	size_t n_a, n_b, i = 0, j = 0;
	struct named *a = sorted(section, from, &n_a), *b = sorted(section, to, &n_b);

	while (i < n_a || j < n_b) {
		int d = i == n_a ? 1 : j == n_b ? -1 : compare_named(&a[i], &b[j]);

		if (d < 0)
			change_add(changes, section, NULL, NULL, a[i].name, xstrdup(" removed"));
		else if (d > 0)
			change_add(changes, section, NULL, NULL, b[j].name, xstrdup(" added"));
		else
			compare_keys(&(struct pair){ changes, section, a[i].name, &from->conf,
			                     &to->conf },
			        &section->keys, "", a[i].base, b[j].base);
		i += d <= 0;
		j += d >= 0;
	}
	free(a);
	free(b);
}

/* The accounts that list members, in the file's order; of `other` there are all of them too. */
static char *order_of(const struct conf_raw *raw, const struct conf_raw *other)
{
	const struct conf *conf = &raw->conf;
	uint32_t *at_rank = xcalloc(conf->n_accounts, sizeof(*at_rank));
	struct strbuf text = { 0 };
	struct conf_names names;

	conf_names_of(&names, "accounts", other);
	for (size_t i = 0; i < conf->n_accounts; i++)
		at_rank[conf->accounts[i].rank] = (uint32_t)i;
	for (size_t i = 0; i < conf->n_accounts; i++) {
		const struct conf_account *a = &conf->accounts[at_rank[i]];
		const struct conf_named *found = conf_names_find(&names, a->name);

		if (found && a->members.n && other->conf.accounts[found->index].members.n)
			strbuf_addf(&text, "%s%s", text.len ? "," : "", a->name);
	}
	free(names.v);
	free(at_rank);
	return strbuf_take(&text);
}

/* Their order in the file says which account is a user's default. */
static void compare_orders(
        struct changes *changes, const struct conf_raw *from, const struct conf_raw *to)
{
	char *a = order_of(from, to), *b = order_of(to, from), *what;

	if (strcmp(a, b)) {
		what = strlen(a) > CONF_NAMES_MAX ? xstrdup(" in another order")
		                                  : xasprintf(" in the order %s -> %s", a, b);
		change_add(changes, conf_section_find("accounts"), NULL, NULL, NULL, what);
	}
	free(a);
	free(b);
}

/* --- lines ----------------------------------------------------------------------------------- */

/* The same key in the same group, not only the same row? */
static int compare_paths(const struct change *a, const struct change *b)
{
	return strcmp(a->path ? a->path : "", b->path ? b->path : "");
}

/* Are both one change of nodes, in more places? */
static bool alike(const struct change *a, const struct change *b)
{
	return a->section == b->section && a->section->hosts && a->key == b->key &&
	       !compare_paths(a, b) && !strcmp(a->what, b->what);
}

/* The same change of nodes next to each other; otherwise as they were found. */
static int compare_changes(const void *a, const void *b)
{
	const struct change *x = a, *y = b;
	int d;

	if (x->section != y->section)
		return x->section < y->section ? -1 : 1;
	if (x->section->hosts && x->key != y->key)
		return x->key < y->key ? -1 : 1;
	d = x->section->hosts ? compare_paths(x, y) : 0;
	if (!d && x->section->hosts)
		d = strcmp(x->what, y->what);
	return d ? d : (x->order > y->order) - (x->order < y->order);
}

/* The line for v[0..n), which are alike. */
static char *line_make(const struct change *v, size_t n)
{
	struct strbuf line = { 0 };
	const char **names;
	char *list;

	strbuf_adds(&line, v->section->name);
	if (v->name && v->section->hosts) {
		names = xcalloc(n, sizeof(*names));
		for (size_t i = 0; i < n; i++)
			names[i] = v[i].name;
		list = hostlist_compress(names, n);
		strbuf_addf(&line, ".%s", list);
		free(list);
		free(names);
	} else if (v->name) {
		strbuf_addf(&line, ".%s", v->name);
	}
	if (v->path)
		strbuf_addf(&line, "%s%s", line.len ? "." : "", v->path);
	strbuf_adds(&line, v->what);
	return strbuf_take(&line);
}

/* Name all that cannot be reloaded; -1 if there is any. */
static int fixed_check(const struct changes *changes, struct error *err)
{
	struct strbuf fixed = { 0 };
	int rc = 0;

	for (size_t i = 0; i < changes->n; i++) {
		const struct change *c = &changes->v[i];
		char *line;

		if (!c->key || c->key->reload)
			continue;
		line = line_make(c, 1);
		strbuf_addf(&fixed, "%s%s", fixed.len ? ", " : "", line);
		free(line);
	}
	if (fixed.len) {
		rc = error_set(err, ERR_CONFIG, "cannot be changed while gctld runs: %s", fixed.s);
		error_hint(
		        err, "set the old value, or restart gctld (running jobs are not affected)");
	}
	strbuf_free(&fixed);
	return rc;
}

static int lines_make(const struct changes *changes, char ***lines)
{
	char **v = xcalloc(changes->n, sizeof(*v));
	int n = 0;

	for (size_t i = 0, end; i < changes->n; i = end) {
		for (end = i + 1; end < changes->n && alike(&changes->v[i], &changes->v[end]);)
			end++;
		v[n++] = line_make(&changes->v[i], end - i);
	}
	*lines = v;
	return n;
}

int conf_diff(const struct conf *from, const struct conf *to, char ***lines, struct error *err)
{
	/* Nodes are compared as they were expanded. */
	struct conf_raw a = { .conf = *from, .entries = from->nodes, .n_entries = from->n_nodes };
	struct conf_raw b = { .conf = *to, .entries = to->nodes, .n_entries = to->n_nodes };
	struct changes changes = { 0 };
	int rc;

	for (size_t i = 0; i < conf_n_sections; i++) {
		const struct conf_section *s = &conf_sections[i];

		if (s->list)
			compare_list(&changes, s, &a, &b);
		else if (!s->defaults)
			compare_keys(&(struct pair){ &changes, s, NULL, from, to }, &s->keys, "",
			        conf_section_base(s, &a, 0), conf_section_base(s, &b, 0));
	}
	compare_orders(&changes, &a, &b);
	if (changes.n)
		qsort(changes.v, changes.n, sizeof(*changes.v), compare_changes);
	rc = fixed_check(&changes, err);
	if (rc == 0)
		rc = lines_make(&changes, lines);
	for (size_t i = 0; i < changes.n; i++) {
		free(changes.v[i].path);
		free(changes.v[i].what);
	}
	free(changes.v);
	return rc;
}
