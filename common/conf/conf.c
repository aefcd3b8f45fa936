/* conf.c - reading: from a text to a struct conf or a list of mistakes
 *
 *     text -> conf_source (includes, lines, numbers) -> libconfig (a tree) -> the tables' sections
 *     and keys into a conf_raw -> conf_check (what joins keys) -> conf
 *
 * A fault of the first two ends the reading and is told alone; all others are collected.
 */
#include "common/conf/conf_schema.h"

#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"
#include "common/base/xalloc.h"

#define PROBLEMS_MAX 1000 /* told of one file */
#define SHOWN_MAX    64   /* of a value, in a problem */

/* A problem, and where it stands in the text of all files. */
struct conf_found {
	size_t order;
	unsigned at; /* line of the text; 0: the file as a whole */
	struct conf_problem problem;
};

/* --- problems -------------------------------------------------------------------------------- */

static void problem_add(
        struct conf_reader *r, unsigned at, const char *file, unsigned line, const char *text)
{
	struct conf_found *found;

	if (r->n_problems > PROBLEMS_MAX)
		return;
	if (r->n_problems == PROBLEMS_MAX) { /* the last there is room for */
		at = UINT_MAX;
		line = 0;
		text = "more mistakes than are told";
	}
	r->problems = xgrow(r->problems, r->n_problems, &r->cap_problems, sizeof(*r->problems));
	found = &r->problems[r->n_problems];
	found->order = r->n_problems++;
	found->at = at;
	found->problem = (struct conf_problem){ xstrdup(file), line, xstrdup(text) };
}

void conf_reader_problem(
        struct conf_reader *reader, const config_setting_t *at, const char *fmt, ...)
{
	unsigned line = at ? config_setting_source_line(at) : 0;
	struct conf_line where = conf_source_line(&reader->src, line);
	char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = xstrdup("out of memory");
	va_end(ap);
	problem_add(reader, line, reader->src.files[where.file], where.line, text);
	free(text);
}

void conf_reader_refuse(struct conf_reader *reader, const config_setting_t *at, const char *path,
        const char *value, const char *what)
{
	const char *quote = config_setting_type(at) == CONFIG_TYPE_STRING ? "\"" : "";
	char shown[SHOWN_MAX];
	size_t n;

	text_escape(shown, sizeof(shown), value, strlen(value));
	n = strlen(shown);
	if (what[0] == '\'' && !strncmp(what + 1, shown, n) && !strncmp(what + 1 + n, "': ", 3))
		what += n + 4;
	conf_reader_problem(reader, at, "%s: %s%s%s: %s", path, quote, shown, quote, what);
}

static int compare_found(const void *a, const void *b)
{
	const struct conf_found *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

void conf_reader_problems(struct conf_reader *reader, struct conf_problems *out)
{
	out->n = reader->n_problems;
	out->v = xcalloc(out->n, sizeof(*out->v));
	if (out->n)
		qsort(reader->problems, out->n, sizeof(*reader->problems), compare_found);
	for (size_t i = 0; i < out->n; i++)
		out->v[i] = reader->problems[i].problem;
	reader->n_problems = 0;
}

void conf_problems_clear(struct conf_problems *problems)
{
	for (size_t i = 0; i < problems->n; i++) {
		free(problems->v[i].file);
		free(problems->v[i].text);
	}
	free(problems->v);
	*problems = (struct conf_problems){ 0 };
}

void conf_problems_print(const struct conf_problems *problems, FILE *out)
{
	for (size_t i = 0; i < problems->n; i++) {
		const struct conf_problem *p = &problems->v[i];

		if (p->line)
			fprintf(out, "%s:%u: %s\n", p->file, p->line, p->text);
		else
			fprintf(out, "%s: %s\n", p->file, p->text);
	}
}

/* libconfig 1.5 leaks the text it was reading when it meets a syntax error: some bytes for each
 * reload of a broken file, which is no reason for LeakSanitizer to fail. */
#ifdef __has_feature /* clang */
#define BUILT_WITH_ASAN __has_feature(address_sanitizer)
#elif defined(__SANITIZE_ADDRESS__)
#define BUILT_WITH_ASAN 1
#else
#define BUILT_WITH_ASAN 0
#endif
#if BUILT_WITH_ASAN
const char *__lsan_default_suppressions(void);
const char *__lsan_default_options(void);

const char *__lsan_default_suppressions(void)
{
	return "leak:strbuf_append\nleak:libconfig_yylex\n";
}

const char *__lsan_default_options(void)
{
	return "print_suppressions=0";
}
#endif

/* --- opening --------------------------------------------------------------------------------- */

/* Give each number of the tree its literal: both are in the order of the text. */
static size_t number_pair(struct conf_reader *r, config_setting_t *setting, size_t next)
{
	switch (config_setting_type(setting)) {
	case CONFIG_TYPE_INT:
	case CONFIG_TYPE_INT64:
	case CONFIG_TYPE_FLOAT:
		if (next < r->src.n_numbers)
			config_setting_set_hook(setting, &r->src.numbers[next]);
		return next + 1;
	case CONFIG_TYPE_GROUP:
	case CONFIG_TYPE_LIST:
	case CONFIG_TYPE_ARRAY:
		for (int i = 0; i < config_setting_length(setting); i++)
			next = number_pair(r, config_setting_get_elem(setting, (unsigned)i), next);
	}
	return next;
}

/* Describes what libconfig could not read, in better words than "syntax error". */
static void syntax_problem(struct conf_reader *r)
{
	unsigned line = (unsigned)config_error_line(&r->tree);
	const char *libconfig = config_error_text(&r->tree), *text = r->src.text.s, *why = "";
	char *copy, *trimmed, message[400], shown[60];
	struct conf_line where;

	for (unsigned l = 1; l < line && strchr(text, '\n'); l++)
		text = strchr(text, '\n') + 1;
	copy = xstrndup(text, strcspn(text, "\n"));
	trimmed = text_trim(copy);
	text_escape(shown, sizeof(shown), trimmed, strlen(trimmed));
	if (libconfig && !strncmp(libconfig, "duplicate", 9))
		why = " (a key that its group has already)";
	else if (libconfig && !strncmp(libconfig, "mismatched", 10))
		why = " (the elements of [ ] must be of one type)";
	if (r->src.hint_line && r->src.hint_line <= line) {
		line = r->src.hint_line;
		snprintf(message, sizeof(message), "syntax error: %s", r->src.hint);
	} else if (!*trimmed) {
		snprintf(message, sizeof(message), "syntax error; is a bracket not closed?");
	} else {
		snprintf(message, sizeof(message), "syntax error at or before: %s%s", shown, why);
	}
	where = conf_source_line(&r->src, line);
	problem_add(r, line, r->src.files[where.file], where.line, message);
	free(copy);
}

int conf_reader_open(struct conf_reader *reader, const char *path, const char *text)
{
	struct conf_fault fault;
	int rc;

	*reader = (struct conf_reader){ 0 };
	config_init(&reader->tree);
	rc = text ? conf_source_parse(&reader->src, text, path, &fault)
	          : conf_source_load(&reader->src, path, &fault);
	if (rc < 0) {
		problem_add(reader, 0, fault.file, fault.line, fault.what.text);
		return -1;
	}
	strbuf_adds(&reader->src.text, ""); /* never NULL */
	if (!config_read_string(&reader->tree, reader->src.text.s)) {
		syntax_problem(reader);
		return -1;
	}
	if (number_pair(reader, config_root_setting(&reader->tree), 0) == reader->src.n_numbers)
		return 0;
	/* Rather none than a wrong one; fuzz_conf.c looks for a text that gets here. */
	conf_reader_problem(reader, NULL, CONF_NUMBERS_DIFFER);
	return -1;
}

static void keys_clear(const struct conf_keys *keys, void *base)
{
	for (size_t i = 0; i < keys->n; i++)
		conf_value_clear(&keys->v[i], base);
}

/* Frees the derived fields; the fields of the keys are cleared by their rows. */
static void derived_clear(struct conf *conf)
{
	const struct conf_keys *node = &conf_section_find("nodes")->keys;

	for (size_t i = 0; i < conf->n_nodes; i++)
		keys_clear(node, &conf->nodes[i]);
	for (size_t i = 0; i < conf->n_partitions; i++) {
		free(conf->partitions[i].nodes);
		free(conf->partitions[i].accounts);
	}
	for (size_t i = 0; i < conf->n_qos; i++) {
		free(conf->qos[i].preempts);
		free(conf->qos[i].accounts);
	}
	for (size_t i = 0; i < conf->n_switches; i++)
		free(conf->switches[i].nodes);
}

static void raw_clear(struct conf_raw *raw)
{
	for (size_t i = 0; i < conf_n_sections; i++) {
		const struct conf_section *s = &conf_sections[i];
		size_t n = conf_section_count(s, raw);

		for (size_t j = 0; j < n; j++)
			keys_clear(&s->keys, conf_section_base(s, raw, j));
	}
	derived_clear(&raw->conf);
	for (size_t i = 0; i < conf_n_sections; i++) {
		if (conf_sections[i].list)
			free(conf_section_base(&conf_sections[i], raw, 0));
	}
	free(raw->conf.nodes); /* the section has the entries */
	*raw = (struct conf_raw){ 0 };
}

void conf_reader_clear(struct conf_reader *reader)
{
	for (size_t i = 0; i < reader->n_problems; i++) {
		free(reader->problems[i].problem.file);
		free(reader->problems[i].problem.text);
	}
	free(reader->problems);
	raw_clear(&reader->raw);
	config_destroy(&reader->tree);
	conf_source_clear(&reader->src);
}

/* --- values ---------------------------------------------------------------------------------- */

#define BIT(type) (1u << (type))
#define INTEGERS  (BIT(CONFIG_TYPE_INT) | BIT(CONFIG_TYPE_INT64))
#define STRING    BIT(CONFIG_TYPE_STRING)

/* What libconfig's types a key's value may have, and what to say of others. A time or size may be
 * an integer so that its own reader can say which unit is missing, and a word anything, so that its
 * reader can list the words. */
static const struct {
	unsigned accepts;
	const char *otherwise;
} shapes[CONF_TYPES] = {
	[CONF_TEXT] = { STRING, "must be text in quotes" },
	[CONF_WORD] = { STRING | INTEGERS | BIT(CONFIG_TYPE_FLOAT) | BIT(CONFIG_TYPE_BOOL),
	        "must be a word in quotes" },
	[CONF_COUNT] = { INTEGERS, "must be a whole number, without quotes" },
	[CONF_INTEGER] = { INTEGERS, "must be a whole number, without quotes" },
	[CONF_REAL] = { INTEGERS | BIT(CONFIG_TYPE_FLOAT), "must be a number, without quotes" },
	[CONF_BOOL] = { BIT(CONFIG_TYPE_BOOL), "must be true or false, without quotes" },
	[CONF_TIME] = { STRING | INTEGERS, "must be a time in quotes, as in \"20m\"" },
	[CONF_PERCENT] = { STRING | INTEGERS, "must be a part in quotes, as in \"5%\"" },
	[CONF_SIZE] = { STRING | INTEGERS, "must be a size in quotes, as in \"80G\"" },
	[CONF_TEXTS] = { BIT(CONFIG_TYPE_ARRAY) | BIT(CONFIG_TYPE_LIST),
	        "must be a list of texts, as in [ \"a\", \"b\" ]" },
	[CONF_GPUS] = { STRING, "must be amounts in quotes, as in \"h100:8\"" },
	[CONF_AMOUNTS] = { STRING, "must be amounts in quotes, as in \"h100:8\"" },
	[CONF_GPU_HOURS] = { STRING, "must be GPU-hours in quotes, as in \"500 / 30d\"" },
	[CONF_GROUP] = { BIT(CONFIG_TYPE_GROUP), "must be a group: { ... }" },
	[CONF_GROUPS] = { BIT(CONFIG_TYPE_LIST), "must be a list of groups: ( { ... }, ... )" },
};

static bool has_shape(enum conf_type type, const config_setting_t *setting)
{
	return shapes[type].accepts & BIT(config_setting_type(setting));
}

/* The text of a single value; numbers as they are written. */
static char *value_text(const struct conf_reader *r, const config_setting_t *setting)
{
	const struct conf_number *number = config_setting_get_hook(setting);

	switch (config_setting_type(setting)) {
	case CONFIG_TYPE_STRING:
		return xstrdup(config_setting_get_string(setting));
	case CONFIG_TYPE_BOOL:
		return xstrdup(config_setting_get_bool(setting) ? "true" : "false");
	}
	return number ? xstrndup(r->src.text.s + number->at, number->len) : xstrdup("?");
}

/* A value of the right shape. */
static int single_read(struct conf_reader *reader, const struct conf_key *key,
        const config_setting_t *setting, const char *path, void *base)
{
	char *text = value_text(reader, setting);
	struct error err;
	int rc;

	rc = conf_value_read(key, text, &reader->raw.conf, base, &err);
	if (rc < 0)
		conf_reader_refuse(reader, setting, path, text, err.text);
	free(text);
	return rc;
}

/* A list of texts; one that is wrong does not keep the others from being read. */
static int texts_read(struct conf_reader *reader, const struct conf_key *key,
        const config_setting_t *list, const char *path, void *base)
{
	int n = config_setting_length(list), rc = 0;

	if (n > CONF_TEXTS_MAX) {
		conf_reader_problem(
		        reader, list, "%s: %d entries; at most %d", path, n, CONF_TEXTS_MAX);
		return -1;
	}
	for (int i = 0; i < n; i++) {
		const config_setting_t *one = config_setting_get_elem(list, (unsigned)i);
		char *inner = xasprintf("%s[%d]", path, i);

		if (!has_shape(CONF_TEXT, one)) {
			conf_reader_problem(
			        reader, one, "%s: %s", inner, shapes[CONF_TEXT].otherwise);
			rc = -1;
		} else if (single_read(reader, key, one, inner, base) < 0) {
			rc = -1;
		}
		free(inner);
	}
	return rc;
}

int conf_reader_value(struct conf_reader *reader, const struct conf_key *key,
        const config_setting_t *setting, const char *path, void *base)
{
	char *text;

	if (has_shape(key->type, setting))
		return key->type == CONF_TEXTS ? texts_read(reader, key, setting, path, base)
		                               : single_read(reader, key, setting, path, base);
	if (config_setting_is_aggregate(setting)) {
		conf_reader_problem(reader, setting, "%s: %s", path, shapes[key->type].otherwise);
		return -1;
	}
	text = value_text(reader, setting);
	conf_reader_refuse(reader, setting, path, text, shapes[key->type].otherwise);
	free(text);
	return -1;
}

/* --- sections -------------------------------------------------------------------------------- */

static void unknown_key(struct conf_reader *r, const struct conf_keys *keys, bool top,
        const config_setting_t *setting, const char *path)
{
	const char **names = xcalloc(keys->n + conf_n_sections + 1, sizeof(*names));
	const char *name = config_setting_name(setting), *nearest;
	char shown[SHOWN_MAX];
	size_t n = 0;

	for (size_t i = 0; i < keys->n; i++)
		names[n++] = keys->v[i].name;
	for (size_t i = 1; i < conf_n_sections && top; i++)
		names[n++] = conf_sections[i].name;
	nearest = text_nearest(name, names);
	free(names);
	text_escape(shown, sizeof(shown), name, strlen(name));
	if (nearest)
		conf_reader_problem(
		        r, setting, "%s%s: unknown key; did you mean '%s'?", path, shown, nearest);
	else
		conf_reader_problem(
		        r, setting, "%s%s: unknown key; see gpusched.conf(5)", path, shown);
}

static void check_unknown(struct conf_reader *r, const struct conf_keys *keys, bool top,
        const config_setting_t *group, const char *path)
{
	for (int i = 0; group && i < config_setting_length(group); i++) {
		const config_setting_t *setting = config_setting_get_elem(group, (unsigned)i);
		const char *name = config_setting_name(setting);

		if (!conf_key_find(keys, name) && !(top && conf_section_find(name)))
			unknown_key(r, keys, top, setting, path);
	}
}

static void nothing_given(struct conf_reader *r, const struct conf_keys *keys, void *base)
{
	for (size_t i = 0; i < keys->n; i++) {
		if (keys->v[i].optional || keys->v[i].group)
			conf_value_default(&keys->v[i], &r->raw.conf, base);
	}
}

static void read_given(struct conf_reader *r, const struct conf_key *key,
        const config_setting_t *given, const char *path, void *base);

/* The keys of `group` (NULL: none is given) into the struct at `base`; `path` ends in a '.' or is
 * empty. `defaults` is of the same kind as `base`, or NULL. */
static void read_keys(struct conf_reader *r, const struct conf_keys *keys,
        const config_setting_t *group, const config_setting_t *where, const char *path,
        const void *defaults, void *base)
{
	nothing_given(r, keys, base); /* also if it cannot be read */
	for (size_t i = 0; i < keys->n; i++) {
		const struct conf_key *key = &keys->v[i];
		const config_setting_t *given =
		        group ? config_setting_get_member(group, key->name) : NULL;
		char *full;

		if (given) {
			full = xasprintf("%s%s", path, key->name);
			read_given(r, key, given, full, base);
			free(full);
		} else if (!key->def && !key->optional && !key->group) {
			conf_reader_problem(r, where, "%s%s: must be given", path, key->name);
		} else if (defaults) {
			conf_value_copy(key, defaults, base);
		} else if (key->def) {
			conf_value_default(key, &r->raw.conf, base);
		}
	}
}

/* A list of groups; one that is wrong is there and says less. */
static void read_groups(struct conf_reader *r, const struct conf_key *key,
        const config_setting_t *list, const char *path, void *base)
{
	size_t n = (size_t)config_setting_length(list);

	if (n > CONF_GROUPS_MAX) {
		conf_reader_problem(
		        r, list, "%s: %zu entries; at most %d", path, n, CONF_GROUPS_MAX);
		return;
	}
	conf_groups_make(key, base, n);
	for (size_t i = 0; i < n; i++) {
		const config_setting_t *entry = config_setting_get_elem(list, (unsigned)i);
		char *inner = xasprintf("%s[%zu]", path, i), *prefix = xasprintf("%s.", inner);

		if (has_shape(CONF_GROUP, entry)) {
			read_keys(r, key->group, entry, entry, prefix, NULL,
			        conf_groups_at(key, base, i));
			check_unknown(r, key->group, false, entry, prefix);
		} else {
			conf_reader_problem(
			        r, entry, "%s: %s", inner, shapes[CONF_GROUP].otherwise);
		}
		free(prefix);
		free(inner);
	}
}

static void read_given(struct conf_reader *r, const struct conf_key *key,
        const config_setting_t *given, const char *path, void *base)
{
	const bool yes = true;
	char *prefix;

	if (!key->group || !has_shape(key->type, given)) {
		conf_reader_value(r, key, given, path, base);
		return;
	}
	if (key->type == CONF_GROUPS) {
		read_groups(r, key, given, path, base);
		return;
	}
	prefix = xasprintf("%s.", path);
	read_keys(r, key->group, given, given, prefix, NULL, conf_group_base(key, base));
	check_unknown(r, key->group, false, given, prefix);
	free(prefix);
	if (key->given_at)
		memcpy((char *)base + key->given_at, &yes, sizeof(yes));
}

static void read_list(
        struct conf_reader *r, const struct conf_section *section, const config_setting_t *list)
{
	const char *defaults = section->defaults_at ? (char *)&r->raw + section->defaults_at : NULL;
	size_t n = (size_t)config_setting_length(list);
	void *array;

	if (n > section->max) {
		conf_reader_problem(
		        r, list, "%s: %zu entries; at most %zu", section->name, n, section->max);
		return;
	}
	if (!n && section->required)
		conf_reader_problem(r, list, "%s: must have an entry", section->name);
	array = xcalloc(n, section->size);
	memcpy((char *)&r->raw + section->at, &array, sizeof(array));
	memcpy((char *)&r->raw + section->n_at, &n, sizeof(n));
	for (size_t i = 0; i < n; i++) {
		const config_setting_t *entry = config_setting_get_elem(list, (unsigned)i);
		char *path = xasprintf("%s[%zu]", section->name, i);

		if (!config_setting_is_group(entry)) {
			conf_reader_problem(r, entry, "%s: must be a group: { %s = \"...\"; }",
			        path, section->keys.v[0].name);
			nothing_given(r, &section->keys, conf_section_base(section, &r->raw, i));
		} else {
			char *prefix = xasprintf("%s.", path);

			read_keys(r, &section->keys, entry, entry, prefix, defaults,
			        conf_section_base(section, &r->raw, i));
			check_unknown(r, &section->keys, false, entry, prefix);
			free(prefix);
		}
		free(path);
	}
}

static void read_section(struct conf_reader *r, const struct conf_section *section)
{
	const config_setting_t *root = config_root_setting(&r->tree), *given;
	char *prefix;

	if (!*section->name) {
		read_keys(r, &section->keys, root, NULL, "", NULL,
		        conf_section_base(section, &r->raw, 0));
		check_unknown(r, &section->keys, true, root, "");
		return;
	}
	given = config_setting_get_member(root, section->name);
	if (!given && section->list && section->required)
		conf_reader_problem(r, NULL, "%s: must be given", section->name);
	if (!given && section->list)
		return;
	if (given && section->list && !config_setting_is_list(given)) {
		conf_reader_problem(
		        r, given, "%s: must be a list of groups: ( { ... }, ... )", section->name);
		return;
	}
	if (given && !section->list && !config_setting_is_group(given)) {
		conf_reader_problem(r, given, "%s: must be a group: { ... }", section->name);
		return;
	}
	if (section->list) {
		read_list(r, section, given);
		return;
	}
	prefix = xasprintf("%s.", section->name);
	read_keys(r, &section->keys, given, given, prefix, NULL,
	        conf_section_base(section, &r->raw, 0));
	check_unknown(r, &section->keys, false, given, prefix);
	free(prefix);
}

static struct conf *read_all(const char *path, const char *text, struct conf_problems *problems)
{
	struct conf_reader reader;
	struct conf *conf = NULL;

	if (conf_reader_open(&reader, path, text) == 0) {
		for (size_t i = 0; i < conf_n_sections; i++)
			read_section(&reader, &conf_sections[i]);
		conf_check(&reader);
	}
	if (!reader.n_problems) {
		/* The conf is complete: free all that only served to read it. */
		conf = xmemdup(&reader.raw.conf, sizeof(*conf));
		reader.raw.conf = (struct conf){ 0 };
	}
	conf_reader_problems(&reader, problems);
	conf_reader_clear(&reader);
	return conf;
}

struct conf *conf_load(const char *path, struct conf_problems *problems)
{
	return read_all(path, NULL, problems);
}

struct conf *conf_parse(const char *text, const char *name, struct conf_problems *problems)
{
	return read_all(name, text, problems);
}

void conf_free(struct conf *conf)
{
	struct conf_raw raw = { 0 };

	if (!conf)
		return;
	raw.conf = *conf;
	raw_clear(&raw);
	free(conf);
}
