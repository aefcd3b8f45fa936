/* labels.c - see labels.h
 *
 * A set is found by its text, which is interned first: so equal sets are one struct, with a count
 * of references, and comparing two jobs' labels is comparing two pointers. The text is cut into
 * keys and values once, when the set is made.
 */
#include "ctld/core/request/labels.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "ctld/core/util/hash.h"
#include "ctld/core/util/table.h"

struct label_sets {
	struct strings *strings;
	struct table *table;
};

static uint64_t labels_hash(const void *item, uint64_t seed)
{
	const struct labels *l = item;

	return hash_u64((uintptr_t)l->text, seed);
}

static bool labels_equal(const void *item, const void *key)
{
	const struct labels *l = item;

	return l->text == (const char *)key;
}

struct label_sets *label_sets_new(struct strings *strings, uint64_t seed)
{
	struct label_sets *ls = xcalloc(1, sizeof(*ls));

	ls->strings = strings;
	ls->table = table_new(labels_hash, seed);
	return ls;
}

static void set_free(struct label_sets *ls, struct labels *l)
{
	strings_drop(ls->strings, l->text);
	free((void *)(uintptr_t)l->v);
	free(l->bytes);
	free(l);
}

void label_sets_free(struct label_sets *ls)
{
	size_t cursor = 0;
	struct labels *l;

	if (!ls)
		return;
	while ((l = table_each(ls->table, &cursor)))
		set_free(ls, l);
	table_free(ls->table);
	free(ls);
}

/* Cut the lines of l->text into keys and values. The text is well formed. */
static void cut(struct labels *l)
{
	struct label *v;
	char *at;
	uint32_t i = 0;

	for (const char *c = l->text; (c = strchr(c, '\n')); c++)
		l->n++;
	v = xcalloc(l->n, sizeof(*v));
	at = l->bytes = xstrdup(l->text);
	while (i < l->n) {
		char *line = strsep(&at, "\n");

		v[i].key = strsep(&line, "=");
		v[i++].value = line;
	}
	l->v = v;
}

static const struct labels *keep(struct label_sets *ls, const char *text)
{
	const char *kept = strings_intern(ls->strings, text);
	struct labels *l = table_find(
	        ls->table, hash_u64((uintptr_t)kept, table_seed(ls->table)), labels_equal, kept);

	if (l) {
		strings_drop(ls->strings, kept);
		l->refs++;
		return l;
	}
	l = xcalloc(1, sizeof(*l));
	l->refs = 1;
	l->text = kept;
	cut(l);
	table_add(ls->table, l);
	return l;
}

/* The order is that of the submit: the same labels in another order are another set. */
const struct labels *labels_intern(
        struct label_sets *ls, const struct label *v, size_t n, struct error *err)
{
	char text[MAX_LABEL_BYTES] = "";
	size_t used = 0, i;

	if (n > MAX_LABELS)
		goto much;
	for (i = 0; i < n; i++) {
		int len;

		if (!*v[i].key || strpbrk(v[i].key, "=\n") || strchr(v[i].value, '\n')) {
			error_set(err, ERR_JOB_SPEC,
			        "--label: expected KEY=VALUE on one line, with a KEY that is not "
			        "empty");
			return NULL;
		}
		len = snprintf(text + used, sizeof(text) - used, "%s=%s\n", v[i].key, v[i].value);
		if (len < 0 || (size_t)len >= sizeof(text) - used)
			goto much;
		used += (size_t)len;
	}
	return keep(ls, text);
much:
	error_set(err, ERR_JOB_SPEC, "--label: at most %d labels of %d bytes together", MAX_LABELS,
	        MAX_LABEL_BYTES - 1);
	return NULL;
}

/* From a row, which has the text as it is kept. */
const struct labels *labels_parse(struct label_sets *ls, const char *text, struct error *err)
{
	const char *line = text, *end;

	for (; *line; line = end + 1) {
		const char *eq = strchr(line, '=');

		end = strchr(line, '\n');
		if (!end || !eq || eq > end || eq == line) {
			error_set(err, ERR_INTERNAL, "labels: expected KEY=VALUE lines");
			return NULL;
		}
	}
	return keep(ls, text);
}

const struct labels *labels_again(const struct labels *l)
{
	((struct labels *)(uintptr_t)l)->refs++;
	return l;
}

void labels_drop(struct label_sets *ls, const struct labels *l)
{
	struct labels *mine = (struct labels *)(uintptr_t)l;

	if (!l)
		return;
	assert(mine->refs);
	if (--mine->refs)
		return;
	table_remove(ls->table, mine);
	set_free(ls, mine);
}
