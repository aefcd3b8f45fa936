/* test_hostlist.c - common/base/hostlist.h, by tables and against a slow, obvious model */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "common/base/hostlist.h"
#include "common/base/strbuf.h"
#include "common/base/xalloc.h"
#include "testsuite/unit/lib/amount.h"

#define LEN(a) (sizeof(a) / sizeof((a)[0]))

/* The names of a list with spaces between them. */
static int join(const char *name, void *arg)
{
	struct strbuf *sb = arg;

	strbuf_addf(sb, "%s%s", sb->len ? " " : "", name);
	return 0;
}

static void expands(void **state)
{
	static const struct {
		const char *text, *names, *compressed; /* NULL: as `text` */
	} rows[] = {
		{ "n1", "n1", NULL },
		{ "7", "7", NULL },
		{ "n[1]", "n1", "n1" },
		{ "n[1-3]", "n1 n2 n3", NULL },
		{ "n[01-03,20],m3", "n01 n02 n03 n20 m3", "m3,n[01-03,20]" },
		{ "n[8-11]", "n8 n9 n10 n11", NULL },
		{ "n[08-11]", "n08 n09 n10 n11", NULL },
		{ "n[098-101]", "n098 n099 n100 n101", NULL },
		{ "n[0-2]", "n0 n1 n2", NULL },
		{ "n[00-02]", "n00 n01 n02", NULL },
		{ "n[3,1-2]", "n3 n1 n2", "n[1-3]" },
		{ "n[1,3,5]", "n1 n3 n5", NULL },
		{ "n9,n09,n10", "n9 n09 n10", "n[9,09-10]" },
		{ "n[1-2]-ib", "n1-ib n2-ib", NULL },
		{ "r[1-2]n[1-2]", "r1n1 r1n2 r2n1 r2n2", "r1n[1-2],r2n[1-2]" },
		{ "[1-2][3-4]", "13 14 23 24", "[13-14,23-24]" },
		{ "[1-3]", "1 2 3", NULL },
		{ "gpu-1a,gpu-2a,gpu-2b", "gpu-1a gpu-2a gpu-2b", "gpu-[1-2]a,gpu-2b" },
		{ "n1.c2.org,n2.c2.org", "n1.c2.org n2.c2.org", "n[1-2].c2.org" },
		{ "a,b,c.d2", "a b c.d2", NULL },
		{ "b,a", "b a", "a,b" },
		{ "n[999999999999999998-999999999999999999]",
		        "n999999999999999998 n999999999999999999", NULL },
		{ "n1234567890123456789,n1234567890123456790",
		        "n1234567890123456789 n1234567890123456790", NULL },
		{ "A_b-C.d", "A_b-C.d", NULL },
	};

	(void)state;
	for (size_t i = 0; i < LEN(rows); i++) {
		struct error err = { .text = "" };
		struct strbuf sb = { 0 };
		char **names, *text;
		size_t n;

		assert_int_equal(hostlist_each(rows[i].text, 8, join, &sb, &err), 0);
		assert_string_equal(sb.s, rows[i].names);
		assert_int_equal(hostlist_expand(rows[i].text, 8, &names, &n, &err), 0);
		text = hostlist_compress((const char *const *)names, n);
		assert_string_equal(text, rows[i].compressed ? rows[i].compressed : rows[i].text);
		free(text);
		free(names);
		strbuf_free(&sb);
	}
}

static void refuses(void **state)
{
/* Five times 10^18 */
#define MANY                                                              \
	"0-999999999999999999,0-999999999999999999,0-999999999999999999," \
	"0-999999999999999999,0-999999999999999999,"
#define FORM  "brackets hold numbers and ranges, as in [1-4,7]"
#define CHARS "a node name has letters, digits, '-', '_' and '.' only"
#define LONG  "a node name has 1 to 64 characters"
	static const struct {
		const char *text, *error;
	} rows[] = {
		{ "", "a name is missing" },
		{ ",", "a name is missing" },
		{ "n1,", "a name is missing" },
		{ ",n1", "a name is missing" },
		{ "n1,,n2", "a name is missing" },
		{ "n 1", "' 1': " CHARS },
		{ "n1, n2", "' n2': " CHARS },
		{ "n\n", "'\\x0A': " CHARS },
		{ "n*", "'*': " CHARS },
		{ "n\xc3\xbc", "'\xc3\xbc': " CHARS },
		{ "-n", "'-n': a node name starts with a letter or digit" },
		{ ".n", "'.n': a node name starts with a letter or digit" },
		{ "n[1-2", "'[1-2': a '[' without its ']'" },
		{ "n[", "'[': a '[' without its ']'" },
		{ "n]", "']': a ']' without its '['" },
		{ "n[1]]", "']': a ']' without its '['" },
		{ "n[1-[2-3]]", "'[1-[': brackets within brackets" },
		{ "n[]", "'[]': " FORM },
		{ "n[1,]", "a number is missing; " FORM },
		{ "n[,1]", "a number is missing; " FORM },
		{ "n[1,,2]", "a number is missing; " FORM },
		{ "n[a]", "'a': " FORM },
		{ "n[1-b]", "'1-b': " FORM },
		{ "n[1-]", "'1-': " FORM },
		{ "n[-1]", "'-1': " FORM },
		{ "n[1-2-3]", "'1-2-3': " FORM },
		{ "n[1 -2]", "'1 -2': " FORM },
		{ "n[+1]", "'+1': " FORM },
		{ "n[3-1]", "'3-1': a range goes from low to high" },
		{ "n[1-10/2]", "'1-10/2': a range has no step; list the numbers" },
		{ "n[1-10:2]", "'1-10:2': a range has no step; list the numbers" },
		{ "n[01-100]", "'01-100': both ends of a range must have as many digits" },
		{ "n[1-010]", "'1-010': both ends of a range must have as many digits" },
		{ "n[0-010]", "'0-010': both ends of a range must have as many digits" },
		{ "n[001-10]", "'001-10': both ends of a range must have as many digits" },
		{ "n[1-3,1-3]", "'n1': is in the list twice" },
		{ "n1,m,n1", "'n1': is in the list twice" },
		{ "n1,n[0-1]", "'n1': is in the list twice" },
		{ "n[1,11][1,11]", "'n111': is in the list twice" },
		{ "n[0-4294967295]", "'n[0-4294967295]': more than 64 names" },
		{ "n[0-999999999999999999]", "'n[0-999999999999999999]': more than 64 names" },
		{ "n[1-64],m", "'m': more than 64 names" },
		{ "n[1-9][1-9]", "'n[1-9][1-9]': more than 64 names" },
		{ "[0-999999999999999999][0-999999999999999999]",
		        "'[0-999999999999999999][0-999999999999999999]': more than 64 names" },
		{ "n[0-4294967296][0-4294967295]",
		        "'n[0-4294967296][0-4294967295]': more than 64 names" },
		{ "n[" MANY MANY MANY MANY "0-9]",
		        "'n[0-999999999999999999,0-999999999999999999,0-99999999999999...': more "
		        "than 64 names" },
		{ "n[1000000000000000000]", "'1000000000000000000': too long a number" },
		{ "n[1-99999999999999999999999]", "'99999999999999999999999': too long a number" },
		{ "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
		        "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...':"
		        " " LONG },
		{ "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa[9-10]",
		        "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...':"
		        " " LONG },
		{ "[1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1]"
		  "[1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1]"
		  "[1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1]",
		        "'[1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1]...':"
		        " " LONG },
	};

	(void)state;
	for (size_t i = 0; i < LEN(rows); i++) {
		struct error err = { .code = ERR_NONE };
		char **names = NULL;
		size_t n = 77;

		assert_int_equal(hostlist_expand(rows[i].text, 64, &names, &n, &err), -1);
		assert_string_equal(err.text, rows[i].error);
		assert_int_equal(err.code, ERR_USAGE);
		assert_null(names);
		assert_int_equal(n, 77);
		assert_int_equal(hostlist_each(rows[i].text, 64, join, NULL, &err), -1);
	}
}

static int stop_at_two(const char *name, void *arg)
{
	(void)name;
	return ++*(int *)arg == 2 ? 5 : 0;
}

static void each_can_stop(void **state)
{
	int seen = 0;

	(void)state;
	assert_int_equal(hostlist_each("n[1-9]", 9, stop_at_two, &seen, NULL), 5);
	assert_int_equal(seen, 2);
}

static void name_check(void **state)
{
	static const char *const good[] = { "n", "1", "n-1", "n_1", "n1.example.org", "N" };
	static const char *const bad[] = { "", "-n", "_n", ".", "n n", "n[1]", "n,m", "n/m", "n\n",
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" };

	(void)state;
	for (size_t i = 0; i < LEN(good); i++)
		assert_int_equal(hostlist_name_check(good[i], NULL), 0);
	for (size_t i = 0; i < LEN(bad); i++)
		assert_int_equal(hostlist_name_check(bad[i], NULL), -1);
}

static void compares_naturally(void **state)
{
	static const char *const ordered[] = { "a", "b1", "n1", "n2", "n9", "n08", "n10", "n100",
		"n1-ib", "x" };

	(void)state;
	for (size_t i = 0; i < LEN(ordered); i++) {
		for (size_t j = 0; j < LEN(ordered); j++) {
			int d = hostlist_name_compare(ordered[i], ordered[j]);

			assert_int_equal((d > 0) - (d < 0), (i > j) - (i < j));
		}
	}
}

static void the_largest_list(void **state)
{
	char **names, *text;
	size_t n;

	(void)state;
	assert_int_equal(hostlist_expand("n[00000-65535]", HOSTLIST_MAX, &names, &n, NULL), 0);
	assert_int_equal(n, 65536);
	assert_string_equal(names[65535], "n65535");
	text = hostlist_compress((const char *const *)names, n);
	assert_string_equal(text, "n[00000-65535]");
	free(text);
	free(names);
	assert_int_equal(hostlist_expand("n[0-65536]", HOSTLIST_MAX, &names, &n, NULL), -1);
}

static void test_paths(void **state)
{
	static const struct {
		const char *text, *wrong; /* NULL: two paths come of it */
	} rows[] = {
		{ "/dev/dri/renderD[128,136]", NULL },
		{ "/dev/dri/renderD128,renderD136", NULL },
		{ "renderD[128,136]", "expected paths of device files" },
		{ "/dev/dri/", "expected paths of device files" },
		{ "/dev/dri/renderD128,/dev/dri/renderD136", "expected files of one folder" },
		{ "/dev/[a,b]/renderD128", "expected files of one folder" },
		{ "/dev/dri/renderD[128-131]", "more than 3 names" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct error err = { 0 };
		char **paths;
		size_t n;
		int rc = hostlist_expand_paths(rows[i].text, 3, &paths, &n, &err);

		if (rows[i].wrong) {
			if (rc == 0 || err.code != ERR_USAGE || !strstr(err.text, rows[i].wrong))
				fail_msg("row %zu: %d %s", i, rc, err.text);
			continue;
		}
		assert_int_equal(rc, 0);
		assert_int_equal(n, 2);
		assert_string_equal(paths[0], "/dev/dri/renderD128");
		assert_string_equal(paths[1], "/dev/dri/renderD136");
		free(paths);
	}
}

/* --- the model: a list is made together with its names, each step by counting ----------------- */

static uint64_t rnd(uint64_t *seed, uint64_t below)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed % below;
}

struct model {
	char **names;
	size_t n;
};

static void model_add(struct model *m, const char *a, const char *b)
{
	m->names = xrealloc(m->names, m->n + 1, sizeof(char *));
	m->names[m->n++] = xasprintf("%s%s", a, b);
}

static void model_clear(struct model *m)
{
	for (size_t i = 0; i < m->n; i++)
		free(m->names[i]);
	free(m->names);
	*m = (struct model){ 0 };
}

/* Every name of `m` with every name of `tails` behind it. */
static void model_product(struct model *m, struct model *tails)
{
	struct model out = { 0 };

	for (size_t i = 0; i < m->n; i++) {
		for (size_t j = 0; j < tails->n; j++)
			model_add(&out, m->names[i], tails->names[j]);
	}
	model_clear(m);
	model_clear(tails);
	*m = out;
}

/* A random [...]: its text, and its numbers in `tails`. */
static void random_ranges(uint64_t *seed, struct strbuf *text, struct model *tails)
{
	size_t ranges = 1 + rnd(seed, 3);

	strbuf_adds(text, "[");
	for (size_t i = 0; i < ranges; i++) {
		int width = rnd(seed, 2) ? (int)rnd(seed, 4) : 0;
		uint64_t lo = rnd(seed, 12) + (rnd(seed, 4) ? 0 : 95), hi = lo + rnd(seed, 4);
		char number[32], first[32], last[32];

		snprintf(first, sizeof(first), "%0*d", width, (int)lo);
		snprintf(last, sizeof(last), "%0*d", width, (int)hi);
		/* Where the ends differ in width although padded, a list cannot say it. */
		if (first[0] == '0' && first[1] && strlen(first) != strlen(last))
			hi = lo, snprintf(last, sizeof(last), "%s", first);
		strbuf_addf(text, "%s%s", i ? "," : "", first);
		if (hi > lo || rnd(seed, 2))
			strbuf_addf(text, "-%s", last);
		for (uint64_t v = lo; v <= hi; v++) {
			snprintf(number, sizeof(number), "%0*d", (int)strlen(first), (int)v);
			if (!(first[0] == '0' && first[1]))
				snprintf(number, sizeof(number), "%d", (int)v);
			model_add(tails, "", number);
		}
	}
	strbuf_adds(text, "]");
}

static void random_list(uint64_t *seed, struct strbuf *text, struct model *m)
{
	static const char *const words[] = { "n", "m", "gpu-", "r1", "x.y", "n0", "9" };
	size_t items = 1 + rnd(seed, 4);

	for (size_t i = 0; i < items; i++) {
		const char *word = words[rnd(seed, LEN(words))];
		struct model item = { 0 };

		model_add(&item, word, "");
		strbuf_addf(text, "%s%s", i ? "," : "", word);
		for (size_t parts = rnd(seed, 4); parts > 0; parts--) {
			struct model tails = { 0 };

			if (rnd(seed, 3) == 0) {
				word = words[rnd(seed, LEN(words))];
				model_add(&tails, word, "");
				strbuf_adds(text, word);
			} else {
				random_ranges(seed, text, &tails);
			}
			model_product(&item, &tails);
		}
		for (size_t j = 0; j < item.n; j++)
			model_add(m, item.names[j], "");
		model_clear(&item);
	}
}

static int model_has_twice(const struct model *m)
{
	for (size_t i = 0; i < m->n; i++) {
		for (size_t j = i + 1; j < m->n; j++) {
			if (!strcmp(m->names[i], m->names[j]))
				return 1;
		}
	}
	return 0;
}

/* Compressing gives the same names, each once, in natural order, and no longer a text. */
static void check_compress(const struct model *m)
{
	char *text = hostlist_compress((const char *const *)m->names, m->n), **names, *again;
	size_t n, distinct = 0;

	assert_int_equal(hostlist_expand(text, 100000, &names, &n, NULL), 0);
	for (size_t i = 0; i < m->n; i++) {
		size_t found = 0, before = 0;

		for (size_t j = 0; j < n; j++)
			found += !strcmp(names[j], m->names[i]);
		assert_int_equal(found, 1);
		for (size_t j = 0; j < i; j++)
			before += !strcmp(m->names[j], m->names[i]);
		distinct += before == 0;
	}
	assert_int_equal(n, distinct);
	for (size_t j = 1; j < n; j++)
		assert_true(hostlist_name_compare(names[j - 1], names[j]) < 0);
	again = hostlist_compress((const char *const *)names, n);
	assert_string_equal(again, text);
	free(again);
	free(names);
	free(text);
}

static void agrees_with_the_model(void **state)
{
	uint64_t seed = 20261121;
	size_t accepted = 0, refused = 0, rounds = amount("HOSTLIST_CASES", 20000);

	(void)state;
	for (size_t round = 0; round < rounds; round++) {
		struct strbuf text = { 0 };
		struct model m = { 0 };
		struct error err = { .text = "" };
		char **names;
		size_t n;

		random_list(&seed, &text, &m);
		if (m.n > 300) {
			assert_int_equal(hostlist_expand(text.s, 300, &names, &n, &err), -1);
			refused++;
		} else if (model_has_twice(&m)) {
			assert_int_equal(hostlist_expand(text.s, m.n, &names, &n, &err), -1);
			assert_non_null(strstr(err.text, "is in the list twice"));
			refused++;
		} else {
			if (hostlist_expand(text.s, m.n, &names, &n, &err) < 0)
				fail_msg("%s: %s", text.s, err.text);
			assert_int_equal(n, m.n);
			for (size_t i = 0; i < n; i++)
				assert_string_equal(names[i], m.names[i]);
			free(names);
			if (m.n > 1)
				assert_int_equal(
				        hostlist_expand(text.s, m.n - 1, &names, &n, NULL), -1);
			accepted++;
		}
		if (m.n <= 100)
			check_compress(&m);
		model_clear(&m);
		strbuf_free(&text);
	}
	assert_true(accepted > rounds / 4 && refused > rounds / 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(expands),
		cmocka_unit_test(refuses),
		cmocka_unit_test(each_can_stop),
		cmocka_unit_test(name_check),
		cmocka_unit_test(compares_naturally),
		cmocka_unit_test(the_largest_list),
		cmocka_unit_test(agrees_with_the_model),
		cmocka_unit_test(test_paths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
