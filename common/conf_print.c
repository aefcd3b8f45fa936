/* conf_print.c - a configuration as a file that says the same */
#include "common/conf_schema.h"

#include <stdlib.h>
#include <string.h>

#include "common/hostlist.h"
#include "common/xalloc.h"

/* Text between quotes. */
static void print_escaped(const char *s, FILE *out)
{
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			fputc('\\', out);
		fputc(*s, out);
	}
}

static void print_keys(const struct conf_section *section, const void *base,
        const struct conf *conf, const char *indent, FILE *out)
{
	for (size_t k = 0; k < section->n_keys; k++) {
		const struct conf_key *key = &section->keys[k];
		const char *quote = conf_value_quoted(key) ? "\"" : "";
		struct strbuf value = { 0 };

		conf_value_print(key, base, conf, &value);
		fprintf(out, "%s%s = %s", indent, key->name, quote);
		if (value.len)
			print_escaped(value.s, out);
		fprintf(out, "%s;\n", quote);
		strbuf_free(&value);
	}
}

static void print_section(const struct conf_section *section, const struct conf_raw *raw, FILE *out)
{
	size_t n = conf_section_count(section, raw);

	if (!*section->name) {
		print_keys(section, conf_section_base(section, raw, 0), &raw->conf, "", out);
		return;
	}
	fprintf(out, "%s = %s\n", section->name, section->list ? "(" : "{");
	for (size_t i = 0; i < n; i++) {
		if (section->list)
			fputs("\t{\n", out);
		print_keys(section, conf_section_base(section, raw, i), &raw->conf,
		        section->list ? "\t\t" : "\t", out);
		if (section->list)
			fprintf(out, "\t}%s\n", i + 1 < n ? "," : "");
	}
	fprintf(out, "%s;\n", section->list ? ")" : "}");
}

static bool same_node(const struct conf_node *a, const struct conf_node *b)
{
	return a->cpus == b->cpus && a->mem_mb == b->mem_mb && a->n_gpus == b->n_gpus &&
	       (!a->n_gpus || !memcmp(a->gpus, b->gpus, a->n_gpus * sizeof(*a->gpus)));
}

/* Nodes that are alike and stand in natural order become one entry, so that a list of them gives
 * them back in their order. The names of the entries are owned, the rest is borrowed. */
static void entries_make(struct conf_raw *raw)
{
	const struct conf *conf = &raw->conf;
	const char **names = xcalloc(conf->n_nodes, sizeof(*names));

	raw->entries = xcalloc(conf->n_nodes, sizeof(*raw->entries));
	for (size_t i = 0, end; i < conf->n_nodes; i = end) {
		struct conf_node *entry = &raw->entries[raw->n_entries++];

		names[0] = conf->nodes[i].name;
		for (end = i + 1; end < conf->n_nodes; end++) {
			names[end - i] = conf->nodes[end].name;
			if (!same_node(&conf->nodes[i], &conf->nodes[end]) ||
			        hostlist_name_compare(names[end - i - 1], names[end - i]) > 0)
				break;
		}
		*entry = conf->nodes[i];
		entry->name = hostlist_compress(names, end - i);
	}
	free(names);
}

void conf_print(const struct conf *conf, FILE *out)
{
	struct conf_raw raw = { .conf = *conf };

	entries_make(&raw);
	for (size_t i = 0; i < conf_n_sections; i++) {
		if (!conf_sections[i].defaults)
			print_section(&conf_sections[i], &raw, out);
	}
	for (size_t i = 0; i < raw.n_entries; i++)
		free(raw.entries[i].name);
	free(raw.entries);
}
