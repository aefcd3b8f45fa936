/* conf_print.c - a configuration as a file that says the same */
#include "common/conf/conf_schema.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/hostlist.h"
#include "common/base/xalloc.h"

static void print_keys(const struct conf_keys *keys, const void *base, const struct conf *conf,
        const char *indent, FILE *out)
{
	for (size_t k = 0; k < keys->n; k++) {
		const struct conf_key *key = &keys->v[k];
		struct strbuf text = { 0 };

		if (conf_value_none(key, base))
			continue;
		if (key->type == CONF_GROUP) {
			strbuf_addf(&text, "%s\t", indent);
			fprintf(out, "%s%s = {\n", indent, key->name);
			print_keys(key->group, conf_group_base(key, base), conf, text.s, out);
			fprintf(out, "%s};\n", indent);
		} else {
			conf_value_write(key, base, conf, &text);
			fprintf(out, "%s%s = %s;\n", indent, key->name, text.s);
		}
		strbuf_free(&text);
	}
}

static void print_section(const struct conf_section *section, const struct conf_raw *raw, FILE *out)
{
	size_t n = conf_section_count(section, raw);

	if (!*section->name) {
		print_keys(&section->keys, conf_section_base(section, raw, 0), &raw->conf, "", out);
		return;
	}
	fprintf(out, "%s = %s\n", section->name, section->list ? "(" : "{");
	for (size_t i = 0; i < n; i++) {
		if (section->list)
			fputs("\t{\n", out);
		print_keys(&section->keys, conf_section_base(section, raw, i), &raw->conf,
		        section->list ? "\t\t" : "\t", out);
		if (section->list)
			fprintf(out, "\t}%s\n", i + 1 < n ? "," : "");
	}
	fprintf(out, "%s;\n", section->list ? ")" : "}");
}

/* Do two nodes differ in nothing but their names, which are their first key? */
static bool same_node(const struct conf *conf, const struct conf_node *a, const struct conf_node *b)
{
	const struct conf_keys *keys = &conf_section_find("nodes")->keys;

	for (size_t k = 1; k < keys->n; k++) {
		if (!conf_value_same(&keys->v[k], a, conf, b, conf))
			return false;
	}
	return true;
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
			if (!same_node(conf, &conf->nodes[i], &conf->nodes[end]) ||
			        hostlist_name_compare(names[end - i - 1], names[end - i]) > 0)
				break;
		}
		*entry = conf->nodes[i];
		entry->name = hostlist_compress(names, end - i);
	}
	free(names);
}

/* Accounts as the file has them: their order there says which is a user's default. */
static void accounts_make(struct conf_raw *raw)
{
	struct conf *conf = &raw->conf;
	struct conf_account *v = xcalloc(conf->n_accounts, sizeof(*v));

	for (size_t i = 0; i < conf->n_accounts; i++)
		v[conf->accounts[i].rank] = conf->accounts[i];
	conf->accounts = v;
}

void conf_print(const struct conf *conf, FILE *out)
{
	struct conf_raw raw = { .conf = *conf };

	entries_make(&raw);
	accounts_make(&raw);
	for (size_t i = 0; i < conf_n_sections; i++) {
		if (!conf_sections[i].defaults)
			print_section(&conf_sections[i], &raw, out);
	}
	for (size_t i = 0; i < raw.n_entries; i++)
		free(raw.entries[i].name);
	free(raw.entries);
	free(raw.conf.accounts);
}
