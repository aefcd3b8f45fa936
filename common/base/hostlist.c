/* hostlist.c - see hostlist.h
 *
 * Expanding goes in two rounds over the text. The first parses an item (what stands between two
 * commas outside of brackets) into parts, each a piece of plain text or a set of ranges, and so
 * knows how many names it makes; nothing is made before the total is known to be within the
 * limit. The second turns the parts like an odometer, the last part fastest.
 */
#include "common/base/hostlist.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/strbuf.h"
#include "common/base/text.h"
#include "common/base/xalloc.h"

#define DIGITS_MAX 18 /* so that a number always fits 64 bits */
#define PARTS_MAX  HOSTLIST_NAME_MAX

struct range {
	uint64_t lo, hi;
	int width; /* of numbers with leading zeroes; 0: none */
};

/* Plain text (`ranges` is NULL) or the ranges of one [...]. */
struct part {
	const char *text;
	size_t len;
	struct range *ranges;
	size_t n_ranges;
	uint64_t count; /* of names it stands for; 1 for text */
};

struct item {
	const char *text;
	size_t len;
	struct part parts[PARTS_MAX];
	size_t n_parts;
	uint64_t count; /* product of the parts' */
};

static const char too_long[] = "a node name has 1 to 64 characters";

static bool name_char(char c)
{
	return isalnum((unsigned char)c) || (c && strchr("-_.", c));
}

/* Fail with "'PIECE': WHAT". */
static int refuse(struct error *err, const char *piece, size_t len, const char *what)
{
	char shown[64];

	text_escape(shown, sizeof(shown), piece, len);
	return error_set(err, ERR_USAGE, "'%s': %s", shown, what);
}

int hostlist_name_check(const char *name, struct error *err)
{
	size_t n = strlen(name);

	if (n < 1 || n > HOSTLIST_NAME_MAX)
		return refuse(err, name, n, too_long);
	if (!isalnum((unsigned char)name[0]))
		return refuse(err, name, n, "a node name starts with a letter or digit");
	for (size_t i = 0; i < n; i++) {
		if (!name_char(name[i]))
			return refuse(err, name, n,
			        "a node name has letters, digits, '-', '_' and '.' only");
	}
	return 0;
}

/* --- parsing ------------------------------------------------------------------------------ */

/* Digits at `p` up to `end`: their number, *len digits. */
static int number_read(const char *p, const char *end, uint64_t *n, int *len, struct error *err)
{
	int l = 0;

	*n = 0;
	while (p + l < end && isdigit((unsigned char)p[l])) {
		if (l == DIGITS_MAX)
			return refuse(err, p, (size_t)(end - p), "too long a number");
		*n = *n * 10 + (uint64_t)(p[l++] - '0');
	}
	*len = l;
	return 0;
}

/* A number written with leading zeroes. */
static bool padded(const char *digits, int len)
{
	return len > 1 && digits[0] == '0';
}

/* One number or range, [p, end). */
static int range_parse(const char *p, const char *end, struct range *r, struct error *err)
{
	static const char form[] = "brackets hold numbers and ranges, as in [1-4,7]";
	size_t len = (size_t)(end - p);
	const char *dash, *hi;
	int lo_len, hi_len;

	if (!len)
		return error_set(err, ERR_USAGE, "a number is missing; %s", form);
	if (memchr(p, '/', len) || memchr(p, ':', len))
		return refuse(err, p, len, "a range has no step; list the numbers");
	dash = memchr(p, '-', len);
	hi = dash ? dash + 1 : p;
	if (number_read(p, end, &r->lo, &lo_len, err) < 0 ||
	        number_read(hi, end, &r->hi, &hi_len, err) < 0)
		return -1;
	if (!lo_len || !hi_len || p + lo_len != (dash ? dash : end) || hi + hi_len != end)
		return refuse(err, p, len, form);
	if (lo_len != hi_len && (padded(p, lo_len) || padded(hi, hi_len)))
		return refuse(err, p, len, "both ends of a range must have as many digits");
	if (r->lo > r->hi)
		return refuse(err, p, len, "a range goes from low to high");
	r->width = padded(p, lo_len) ? lo_len : 0;
	return 0;
}

/* The ranges between two brackets, [p, end). */
static int ranges_parse(const char *p, const char *end, struct part *part, struct error *err)
{
	size_t cap = 0;

	for (;;) {
		const char *comma = memchr(p, ',', (size_t)(end - p));
		struct range r;

		if (range_parse(p, comma ? comma : end, &r, err) < 0)
			return -1;
		part->ranges = xgrow(part->ranges, part->n_ranges, &cap, sizeof(r));
		part->ranges[part->n_ranges++] = r;
		if (__builtin_add_overflow(part->count, r.hi - r.lo + 1, &part->count))
			part->count = UINT64_MAX;
		if (!comma)
			return 0;
		p = comma + 1;
	}
}

static void item_clear(struct item *item)
{
	for (size_t i = 0; i < item->n_parts; i++)
		free(item->parts[i].ranges);
	item->n_parts = 0;
}

/* The next part at *p. */
static int part_parse(const char **p, struct part *part, struct error *err)
{
	const char *s = *p, *end;

	memset(part, 0, sizeof(*part));
	if (*s == ']')
		return refuse(err, s, strlen(s), "a ']' without its '['");
	if (*s != '[') {
		while (name_char(s[part->len]))
			part->len++;
		if (!part->len)
			return refuse(err, s, strlen(s),
			        "a node name has letters, digits, '-', '_' and '.' only");
		part->text = s;
		part->count = 1;
		*p = s + part->len;
		return 0;
	}
	end = s + 1 + strcspn(s + 1, "[]");
	if (end == s + 1 && *end == ']')
		return refuse(err, s, 2, "brackets hold numbers and ranges, as in [1-4,7]");
	if (*end == '[')
		return refuse(err, s, (size_t)(end - s) + 1, "brackets within brackets");
	if (!*end)
		return refuse(err, s, strlen(s), "a '[' without its ']'");
	*p = end + 1;
	return ranges_parse(s + 1, end, part, err);
}

/* The item at *p; *p ends on its comma or the text's end. */
static int item_parse(const char **p, struct item *item, struct error *err)
{
	int rc = 0;

	item->text = *p;
	item->n_parts = 0;
	item->count = 1;
	if (!**p || **p == ',')
		return error_set(err, ERR_USAGE, "a name is missing");
	while (rc == 0 && **p && **p != ',') {
		struct part *part = &item->parts[item->n_parts];

		if (item->n_parts == PARTS_MAX) {
			rc = refuse(err, item->text, strlen(item->text), too_long);
			break;
		}
		item->n_parts++;
		rc = part_parse(p, part, err);
		if (__builtin_mul_overflow(item->count, part->count, &item->count))
			item->count = UINT64_MAX;
	}
	item->len = (size_t)(*p - item->text);
	if (rc < 0)
		item_clear(item);
	return rc;
}

/* --- expanding ---------------------------------------------------------------------------- */

/* Names end to end, each with its NUL. */
struct names {
	struct strbuf text;
	size_t n;
};

/* Where a part stands: which of its ranges, which number. */
struct wheel {
	size_t range;
	uint64_t number;
};

static void wheel_reset(struct wheel *w, const struct part *part)
{
	w->range = 0;
	w->number = part->ranges ? part->ranges[0].lo : 0;
}

/* Go to the next name; false after the last one. */
static bool wheel_turn(struct wheel *w, const struct part *part)
{
	if (part->ranges && w->number < part->ranges[w->range].hi) {
		w->number++;
		return true;
	}
	if (part->ranges && w->range + 1 < part->n_ranges) {
		w->number = part->ranges[++w->range].lo;
		return true;
	}
	wheel_reset(w, part);
	return false;
}

/* The name at the present positions of the parts; -1 if it is too long for a name. */
static int item_name(
        const struct item *item, const struct wheel *wheels, char name[HOSTLIST_NAME_MAX + 1])
{
	size_t len = 0;

	for (size_t i = 0; i < item->n_parts; i++) {
		const struct part *part = &item->parts[i];
		char number[DIGITS_MAX + 2];
		const char *s = part->text;
		size_t n = part->len;

		if (part->ranges) {
			s = number;
			n = (size_t)snprintf(number, sizeof(number), "%0*" PRIu64,
			        part->ranges[wheels[i].range].width, wheels[i].number);
		}
		if (len + n > HOSTLIST_NAME_MAX)
			return -1;
		memcpy(name + len, s, n);
		len += n;
	}
	name[len] = '\0';
	return (int)len;
}

static int item_expand(const struct item *item, struct names *names, struct error *err)
{
	struct wheel wheels[PARTS_MAX];
	char name[HOSTLIST_NAME_MAX + 1];
	size_t i;
	int len;

	for (i = 0; i < item->n_parts; i++)
		wheel_reset(&wheels[i], &item->parts[i]);
	do {
		len = item_name(item, wheels, name);
		if (len < 0)
			return refuse(err, item->text, item->len, too_long);
		if (hostlist_name_check(name, err) < 0)
			return -1;
		strbuf_add(&names->text, name, (size_t)len + 1);
		names->n++;
		i = item->n_parts;
		while (i > 0 && !wheel_turn(&wheels[i - 1], &item->parts[i - 1]))
			i--;
	} while (i > 0);
	return 0;
}

static int compare_strings(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int refuse_twice(char *const *list, size_t n, struct error *err)
{
	char **sorted = xmemdup(list, n * sizeof(*list));
	int rc = 0;

	qsort(sorted, n, sizeof(*sorted), compare_strings);
	for (size_t i = 1; i < n && rc == 0; i++) {
		if (!strcmp(sorted[i - 1], sorted[i]))
			rc = refuse(err, sorted[i], strlen(sorted[i]), "is in the list twice");
	}
	free(sorted);
	return rc;
}

/* One block: the pointers, then the names they point to. */
static char **names_finish(const struct names *names)
{
	size_t head = names->n * sizeof(char *);
	char **list = xcalloc(1, head + names->text.len);
	char *at = (char *)list + head;

	memcpy(at, names->text.s, names->text.len);
	for (size_t i = 0; i < names->n; i++) {
		list[i] = at;
		at += strlen(at) + 1;
	}
	return list;
}

static int refuse_many(const struct item *item, size_t max, struct error *err)
{
	char what[48];

	snprintf(what, sizeof(what), "more than %zu names", max);
	return refuse(err, item->text, item->len, what);
}

/* Go over the items of `text`: count the names, or add them to `names`. */
static int items_walk(const char *text, size_t max, struct names *names, struct error *err)
{
	uint64_t total = 0;

	for (const char *p = text;; p++) {
		struct item item;
		int rc = 0;

		if (item_parse(&p, &item, err) < 0)
			return -1;
		if (__builtin_add_overflow(total, item.count, &total) || total > max)
			rc = refuse_many(&item, max, err);
		else if (names)
			rc = item_expand(&item, names, err);
		item_clear(&item);
		if (rc < 0)
			return -1;
		if (!*p)
			return 0;
	}
}

int hostlist_expand(const char *text, size_t max, char ***names, size_t *n, struct error *err)
{
	struct names all = { { 0 }, 0 };
	char **list = NULL;
	int rc = -1;

	if (items_walk(text, max, NULL, err) < 0 || items_walk(text, max, &all, err) < 0)
		goto out;
	list = names_finish(&all);
	if (refuse_twice(list, all.n, err) < 0)
		goto out;
	*names = list;
	*n = all.n;
	list = NULL;
	rc = 0;
out:
	free(list);
	strbuf_free(&all.text);
	return rc;
}

int hostlist_expand_paths(const char *text, size_t max, char ***paths, size_t *n, struct error *err)
{
	const char *slash = strrchr(text, '/');
	struct names all = { { 0 }, 0 };
	char **names;
	size_t n_names;

	if (*text != '/' || !slash[1])
		return error_set(err, ERR_USAGE,
		        "'%s': expected paths of device files, as in /dev/nvidia[0-7]", text);
	if (strcspn(text, ",[]") < (size_t)(slash - text))
		return error_set(err, ERR_USAGE,
		        "'%s': expected files of one folder, as in /dev/dri/renderD[128,136]",
		        text);
	if (hostlist_expand(slash + 1, max, &names, &n_names, err) < 0)
		return -1;
	for (size_t i = 0; i < n_names; i++) {
		strbuf_add(&all.text, text, (size_t)(slash + 1 - text));
		strbuf_add(&all.text, names[i], strlen(names[i]) + 1);
	}
	all.n = n_names;
	free(names);
	*paths = names_finish(&all);
	*n = n_names;
	strbuf_free(&all.text);
	return 0;
}

int hostlist_each(const char *text, size_t max, int (*each)(const char *name, void *arg), void *arg,
        struct error *err)
{
	char **names;
	size_t n;
	int rc = 0;

	if (hostlist_expand(text, max, &names, &n, err) < 0)
		return -1;
	for (size_t i = 0; i < n && rc == 0; i++)
		rc = each(names[i], arg);
	free(names);
	return rc;
}

/* --- compressing -------------------------------------------------------------------------- */

/* A name taken apart at its last number before the first '.', the one that counts nodes: prefix,
 * digits, suffix. No such number, or one too long: all prefix. */
struct split {
	const char *name;
	size_t prefix, digits; /* lengths */
	uint64_t number;
};

static void split_name(struct split *s, const char *name)
{
	size_t end = strcspn(name, "."), start;
	int len;

	s->name = name;
	while (end > 0 && !isdigit((unsigned char)name[end - 1]))
		end--;
	start = end;
	while (start > 0 && isdigit((unsigned char)name[start - 1]))
		start--;
	if (start == end || end - start > DIGITS_MAX)
		start = end = strlen(name);
	s->prefix = start;
	s->digits = end - start;
	number_read(name + start, name + end, &s->number, &len, NULL);
}

static int compare_pieces(const char *a, size_t na, const char *b, size_t nb)
{
	int d = memcmp(a, b, na < nb ? na : nb);

	return d ? d : (na > nb) - (na < nb);
}

/* Prefix, suffix, then the number, shorter numbers first: so those that can share a range stand
 * together (8, 9, 10; and 08, 09, 10). */
static int compare_splits(const struct split *a, const struct split *b)
{
	int d = compare_pieces(a->name, a->prefix, b->name, b->prefix);

	if (!d)
		d = strcmp(a->name + a->prefix + a->digits, b->name + b->prefix + b->digits);
	if (!d)
		d = (a->digits > b->digits) - (a->digits < b->digits);
	if (!d)
		d = (a->number > b->number) - (a->number < b->number);
	return d;
}

static int compare_splits_q(const void *a, const void *b)
{
	return compare_splits(a, b);
}

int hostlist_name_compare(const char *a, const char *b)
{
	struct split sa, sb;

	split_name(&sa, a);
	split_name(&sb, b);
	return compare_splits(&sa, &sb);
}

static bool same_family(const struct split *a, const struct split *b)
{
	return a->digits && b->digits && a->prefix == b->prefix &&
	       !memcmp(a->name, b->name, a->prefix) &&
	       !strcmp(a->name + a->prefix + a->digits, b->name + b->prefix + b->digits);
}

/* Does `next` follow `last` in a range that starts with `first`? The range's width is that of
 * `first` if it has leading zeroes. */
static bool continues(const struct split *first, const struct split *last, const struct split *next)
{

	if (!same_family(last, next) || next->number != last->number + 1)
		return false;
	return padded(first->name + first->prefix, (int)first->digits)
	               ? next->digits == first->digits
	               : next->name[next->prefix] != '0';
}

static size_t drop_repeats(struct split *v, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		if (!kept || compare_splits(&v[kept - 1], &v[i]))
			v[kept++] = v[i];
	}
	return kept;
}

/* The index after the last that is in a range with v[i]. */
static size_t range_end(const struct split *v, size_t i, size_t n)
{
	size_t end = i + 1;

	while (end < n && continues(&v[i], &v[end - 1], &v[end]))
		end++;
	return end;
}

static void range_print(struct strbuf *out, const struct split *first, const struct split *last)
{
	strbuf_add(out, first->name + first->prefix, first->digits);
	if (first == last)
		return;
	strbuf_adds(out, "-");
	strbuf_add(out, last->name + last->prefix, last->digits);
}

/* Names that share one [...], or one name. */
static void family_print(struct strbuf *out, const struct split *v, size_t n)
{
	strbuf_add(out, v->name, v->prefix);
	if (n > 1)
		strbuf_adds(out, "[");
	for (size_t i = 0, end; i < n && v->digits; i = end) {
		end = range_end(v, i, n);
		if (i)
			strbuf_adds(out, ",");
		range_print(out, &v[i], &v[end - 1]);
	}
	if (n > 1)
		strbuf_adds(out, "]");
	strbuf_adds(out, v->name + v->prefix + v->digits);
}

char *hostlist_compress(const char *const *names, size_t n)
{
	struct split *v = xcalloc(n, sizeof(*v));
	struct strbuf out = { 0 };

	for (size_t i = 0; i < n; i++)
		split_name(&v[i], names[i]);
	qsort(v, n, sizeof(*v), compare_splits_q);
	n = drop_repeats(v, n);
	for (size_t i = 0, stop; i < n; i = stop) {
		for (stop = i + 1; stop < n && same_family(&v[i], &v[stop]);)
			stop++;
		if (i)
			strbuf_adds(&out, ",");
		family_print(&out, &v[i], stop - i);
	}
	free(v);
	return strbuf_take(&out);
}
