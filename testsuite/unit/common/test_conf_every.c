/* test_conf_every.c - every key of gpusched.conf with what nobody should write there
 *
 * From the tables of keys, so a new key is tested as soon as it is there. Each value stands in a
 * file that is right otherwise. It is taken, or there is a mistake at its line that names the key;
 * what has the wrong type is always one. What the mistakes say of each key is in test_conf_bad.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/text.h"
#include "common/conf/conf_schema.h"

/* What a value looks like in the file. */
enum look { TEXT, WHOLE, REAL, BOOLEAN, ARRAY, LIST, GROUP, LOOKS };

static const struct value {
	enum look look;
	const char *text;
} values[] = {
	{ TEXT, "\"\"" }, { TEXT, "\" \"" }, { TEXT, "\"-1\"" }, { TEXT, "\"0\"" },
	{ TEXT, "\"10\"" }, { TEXT, "\"99999999999999999999\"" },
	{ TEXT, "\"99999999999999999999d\"" }, { TEXT, "\"9223372036854775808s\"" },
	{ TEXT, "\"-5s\"" }, { TEXT, "\"10s\"" }, { TEXT, "\"5x\"" }, { TEXT, "\"10G\"" },
	{ TEXT, "\"99999999999T\"" }, { TEXT, "\"-5%\"" }, { TEXT, "\"101%\"" },
	{ TEXT, "\"1e9\"" }, { TEXT, "\"NaN\"" }, { TEXT, "\"inf\"" }, { TEXT, "\"1.5.5\"" },
	{ TEXT, "\"true\"" }, { TEXT, "\"%n%s\"" }, { TEXT, "\"a\\nb\"" },
	{ TEXT, "\"\\x1b[2J\"" }, { TEXT, "\"\\xff\\xfe\"" }, { TEXT, "\"\xff\xfe\"" },
	{ TEXT, "\"\xf0\x9f\x99\x82\"" }, { TEXT, "\"../..\"" }, { TEXT, "\"/\"" },
	{ TEXT, "\"nobody_has_this_name\"" }, { TEXT, "\"a,,b\"" }, { TEXT, "\",\"" },
	{ TEXT, "\"[\"" }, { TEXT, "\"n[1-\"" }, { TEXT, "\"n[5-1]\"" }, { TEXT, "\"5-1\"" },
	{ TEXT, "\"nosuch:3\"" }, { TEXT, "\"h100:-1\"" }, { TEXT, "\"h100:99999999999\"" },
	{ TEXT, "\"h100:1,h100:2\"" }, { TEXT, "\"5 / 0d\"" }, { WHOLE, "-1" }, { WHOLE, "0" },
	{ WHOLE, "2147483647" }, { WHOLE, "2147483648" }, { WHOLE, "4294967296" },
	{ WHOLE, "99999999999999999999" }, { WHOLE, "5000000000L" }, { WHOLE, "0x7fffffff" },
	{ REAL, "-0.5" }, { REAL, "1.5" }, { REAL, "1e400" }, { REAL, "1e-400" },
	{ REAL, "1e30" }, { BOOLEAN, "true" }, { ARRAY, "[ ]" }, { ARRAY, "[ 1 ]" },
	{ ARRAY, "[ \"\" ]" }, { ARRAY, "[ \"nobody_has_this_name\" ]" },
	{ ARRAY, "[ \"x\", \"x\" ]" }, { ARRAY, "[ \"a\\nb\" ]" }, { ARRAY, "[ \"\xff\" ]" },
	{ LIST, "( )" }, { LIST, "( 1 )" }, { LIST, "( { } )" }, { LIST, "( { x = 1; } )" },
	{ LIST, "( ( ) )" }, { LIST, "( \"x\" )" }, { LIST, "( { }, { } )" }, { GROUP, "{ }" },
	{ GROUP, "{ x = 1; }" }, { GROUP, "{ name = \"x\"; }" },
};
#define N_VALUES (sizeof(values) / sizeof(values[0]))

#define B(look) (1u << (look))

/* How the values of a type look; what is a number may also have a word for none, in quotes. */
static const unsigned looks[CONF_TYPES] = {
	[CONF_TEXT] = B(TEXT),
	[CONF_WORD] = B(TEXT),
	[CONF_COUNT] = B(WHOLE),
	[CONF_INTEGER] = B(WHOLE),
	[CONF_REAL] = B(WHOLE) | B(REAL),
	[CONF_BOOL] = B(BOOLEAN),
	[CONF_TIME] = B(TEXT),
	[CONF_PERCENT] = B(TEXT),
	[CONF_SIZE] = B(TEXT),
	[CONF_TEXTS] = B(ARRAY) | B(LIST),
	[CONF_GPUS] = B(TEXT),
	[CONF_AMOUNTS] = B(TEXT),
	[CONF_GPU_HOURS] = B(TEXT),
	[CONF_GROUP] = B(GROUP),
	[CONF_GROUPS] = B(LIST),
};

/* What a section must have; others are there if they are tried. */
static const struct must {
	const char *section, *key, *value;
	bool always;
} musts[] = {
	{ "", "cluster", "\"c\"", true },
	{ "controller", "host", "\"h\"", true },
	{ "gpu_types", "name", "\"h100\"", true },
	{ "nodes", "name", "\"n1\"", true },
	{ "topology", "switch", "\"s\"", false },
	{ "topology", "nodes", "\"n1\"", false },
	{ "partitions", "name", "\"p\"", true },
	{ "partitions", "nodes", "\"ALL\"", true },
	{ "accounts", "name", "\"a\"", false },
	{ "qos", "name", "\"q\"", false },
	{ "licences", "name", "\"l\"", false },
	{ "licences", "count", "1", false },
};
#define N_MUSTS (sizeof(musts) / sizeof(musts[0]))

/* One key of one section, perhaps within groups. */
struct place {
	const struct conf_section *section;
	const struct conf_key *way[4]; /* the last one is the key itself */
	size_t depth;
};

static void put_value(struct strbuf *out, const struct place *place, const char *name,
        const char *value)
{
	for (size_t i = 0; i + 1 < place->depth; i++)
		strbuf_addf(out, "%s = %s", place->way[i]->name,
		        place->way[i]->type == CONF_GROUPS ? "( { " : "{ ");
	strbuf_addf(out, "\n%s = %s;\n", name, value);
	for (size_t i = place->depth - 1; i--;)
		strbuf_adds(out, place->way[i]->type == CONF_GROUPS ? "} );" : "};");
}

/* A file that is right but for that key, whose line goes to *line. */
static char *file_with(
        const struct place *place, const char *name, const char *value, unsigned *line)
{
	struct strbuf out = { 0 };

	for (size_t s = 0; s < conf_n_sections; s++) {
		const struct conf_section *section = &conf_sections[s];
		bool here = section == place->section;
		bool must = false;

		for (size_t m = 0; m < N_MUSTS; m++)
			must |= musts[m].always && !strcmp(musts[m].section, section->name);
		if (!here && !must)
			continue;
		if (*section->name)
			strbuf_addf(&out, "%s = %s\n", section->name, section->list ? "( {" : "{");
		for (size_t m = 0; m < N_MUSTS; m++)
			if (!strcmp(musts[m].section, section->name) &&
			        (!here || strcmp(musts[m].key, place->way[0]->name) != 0 ||
			                strcmp(name, place->way[place->depth - 1]->name) != 0))
				strbuf_addf(&out, "%s = %s;\n", musts[m].key, musts[m].value);
		if (here) {
			*line = 2; /* a line break comes first */
			for (const char *p = out.s; p && *p; p++)
				*line += *p == '\n';
			put_value(&out, place, name, value);
		}
		if (*section->name)
			strbuf_adds(&out, section->list ? "} );\n" : "};\n");
	}
	return strbuf_take(&out);
}

static bool may_look_so(const struct conf_key *key, enum look look)
{
	return looks[key->type] & B(look) || (look == TEXT && key->zero) ||
	       (key->type == CONF_WORD && look != ARRAY && look != LIST && look != GROUP) ||
	       ((key->type == CONF_TIME || key->type == CONF_SIZE || key->type == CONF_PERCENT) &&
	               look == WHOLE);
}

/* Is there a mistake which names the key at its line, or at the head of its group; or is the line
 * no syntax? */
static bool is_told(const struct conf_problems *problems, unsigned line, const char *name)
{
	for (size_t i = 0; i < problems->n; i++) {
		const struct conf_problem *p = &problems->v[i];

		if (p->line && p->line <= line && strstr(p->text, name))
			return true;
		if ((p->line == line || p->line == line + 1) && strstr(p->text, "syntax error"))
			return true;
	}
	return false;
}

/* Another key of its group is missing, and nothing is wrong with this one. */
static bool is_alone(const struct conf_problems *problems)
{
	for (size_t i = 0; i < problems->n; i++)
		if (!strstr(problems->v[i].text, ": must be given"))
			return false;
	return true;
}

static unsigned tried, taken;

static void try_one(const struct place *place, const struct value *value)
{
	const struct conf_key *key = place->way[place->depth - 1];
	struct conf_problems problems = { 0 };
	unsigned line = 0;
	char *text = file_with(place, key->name, value->text, &line);
	struct conf *conf = conf_parse(text, "c", &problems);

	tried++;
	taken += conf != NULL;
	if (conf || is_alone(&problems) ? !may_look_so(key, value->look)
	                                : !is_told(&problems, line, key->name)) {
		conf_problems_print(&problems, stderr);
		fail_msg("%s.%s = %s (line %u of):\n%s", place->section->name, key->name,
		        value->text, line, text);
	}
	for (size_t i = 0; i < problems.n; i++) {
		const char *told = problems.v[i].text;

		if (!*told || text_plain_prefix(told, strlen(told)) != strlen(told))
			fail_msg("%s.%s = %s: '%s'", place->section->name, key->name, value->text,
			        told);
	}
	conf_free(conf);
	conf_problems_clear(&problems);
	free(text);
}

/* A name that is nearly one: which was meant is said. */
static void try_misspelt(const struct place *place)
{
	const struct conf_key *key = place->way[place->depth - 1];
	struct conf_problems problems = { 0 };
	char name[80], meant[80];
	unsigned line = 0;
	bool said = false;
	char *text;

	snprintf(name, sizeof(name), "%sx", key->name);
	snprintf(meant, sizeof(meant), "did you mean '%s'?", key->name);
	text = file_with(place, name, "1", &line);
	assert_null(conf_parse(text, "c", &problems));
	for (size_t i = 0; i < problems.n; i++)
		said |= problems.v[i].line == line && strstr(problems.v[i].text, name) &&
		        (strstr(problems.v[i].text, meant) || strlen(key->name) < 4);
	if (!said) {
		conf_problems_print(&problems, stderr);
		fail_msg("%s.%s:\n%s", place->section->name, name, text);
	}
	conf_problems_clear(&problems);
	free(text);
}

/* Twice in a group. */
static void try_twice(const struct place *place)
{
	const struct conf_key *key = place->way[place->depth - 1];
	struct conf_problems problems = { 0 };
	struct strbuf twice = { 0 };
	unsigned line = 0;
	char *text;

	strbuf_addf(&twice, "1;\n%s = 1", key->name);
	text = file_with(place, key->name, twice.s, &line);
	assert_null(conf_parse(text, "c", &problems));
	assert_int_equal(problems.n, 1);
	assert_int_equal(problems.v[0].line, line + 1);
	assert_non_null(strstr(problems.v[0].text, "a key that its group has already"));
	conf_problems_clear(&problems);
	strbuf_free(&twice);
	free(text);
}

static void each_key(struct place *place, const struct conf_keys *keys)
{
	size_t at = place->depth++;

	assert_true(at < sizeof(place->way) / sizeof(place->way[0]));
	for (size_t k = 0; k < keys->n; k++) {
		place->way[at] = &keys->v[k];
		for (size_t v = 0; v < N_VALUES; v++)
			try_one(place, &values[v]);
		try_misspelt(place);
		try_twice(place);
		if (keys->v[k].group)
			each_key(place, keys->v[k].group);
	}
	place->depth = at;
}

static void every_key(void **state)
{
	(void)state;
	for (size_t s = 0; s < conf_n_sections; s++) {
		struct place place = { .section = &conf_sections[s] };

		each_key(&place, &conf_sections[s].keys);
	}
	assert_true(tried > 15000 && taken > 500 && taken < tried / 4);
}

/* A text of 64 KiB, in each of them. */
static void huge(struct place *place, const struct conf_keys *keys, const struct value *value)
{
	size_t at = place->depth++;

	for (size_t k = 0; k < keys->n; k++) {
		place->way[at] = &keys->v[k];
		try_one(place, value);
		if (keys->v[k].group)
			huge(place, keys->v[k].group, value);
	}
	place->depth = at;
}

static void every_key_with_64_kib(void **state)
{
	struct value value = { .look = TEXT };
	char *text = malloc((64 << 10) + 3);

	(void)state;
	memset(text, 'x', (64 << 10) + 2);
	text[0] = text[(64 << 10) + 1] = '"';
	text[(64 << 10) + 2] = '\0';
	value.text = text;
	for (size_t s = 0; s < conf_n_sections; s++) {
		struct place place = { .section = &conf_sections[s] };

		huge(&place, &conf_sections[s].keys, &value);
	}
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_key),
		cmocka_unit_test(every_key_with_64_kib),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
