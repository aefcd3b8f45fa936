/* conf_schema.h - the tables behind conf.h, for conf*.c alone
 *
 * A configuration is sections; a section is one group or a list of groups with names; a group's
 * keys are rows. Everything that is done for each key (reading, default, limits, printing,
 * comparing, the manual's list) walks the rows in conf_keys.c. What cannot be a row, because it
 * joins several keys, is in conf_check.c.
 *
 * To add a key: a field in conf.h, a row in conf_keys.c, its paragraph in man/gpusched.conf.5 (a
 * test compares), bad values in testsuite/unit/test_conf.c. To add a section: the same, and a row
 * in conf_sections; a list also needs its array and count in struct conf.
 */
#ifndef COMMON_CONF_SCHEMA_H
#define COMMON_CONF_SCHEMA_H

#include <libconfig.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/conf.h"
#include "common/conf_source.h"
#include "common/error.h"
#include "common/strbuf.h"

enum conf_type {
	CONF_TEXT,  /* char *, owned, plain text of `min` to `max` bytes */
	CONF_COUNT, /* unsigned of 32 or 64 bits */
	CONF_BOOL,  /* bool */
	CONF_TIME,  /* unsigned, in units of `unit` ms; quoted in the file, with a unit */
	CONF_SIZE,  /* unsigned, in units of `unit` bytes; the same */
	CONF_GPUS,  /* struct conf_gpu_count *, owned; their number at `n_at` */
	CONF_TYPES,
};

struct conf_key {
	const char *name;
	enum conf_type type;
	const char *def;  /* as in the file, without quotes; NULL: the key must be given */
	const char *zero; /* the word for 0, which a number then cannot mean; NULL: none */
	uint64_t unit;
	uint64_t min, max; /* in the field's unit */
	bool reload;       /* can be changed while running */
	size_t at, width;  /* of the field */
	size_t n_at;
	int (*check)(const char *value, struct error *err); /* of a CONF_TEXT; NULL: any */
	const char *help;
};

struct conf_section {
	const char *name; /* "": the keys outside of all groups */
	const struct conf_key *keys;
	size_t n_keys;
	bool list;     /* a list of groups; their first key is `name` */
	bool required; /* and a list must have an entry */
	bool hosts;    /* the names are hostlists */
	bool defaults; /* only gives values to others: not printed, not compared */
	size_t at; /* in struct conf_raw: of the struct; of a list: of the pointer to its array */
	size_t n_at, size, max; /* of a list: where its length is, size of an entry, most of them */
	size_t defaults_at;     /* of a struct that has the values of keys not given; 0: none */
};

extern const struct conf_section conf_sections[];
extern const size_t conf_n_sections;

/* What the sections fill in. `entries` are the nodes as they are written; conf_check.c makes
 * conf.nodes of them. */
struct conf_raw {
	struct conf conf;
	struct conf_node node_defaults;
	struct conf_node *entries;
	size_t n_entries;
};

/* One reading of one text. */
struct conf_reader {
	struct conf_source src;
	config_t tree;
	struct conf_raw raw;
	struct conf_found *problems; /* in the order they were found */
	size_t n_problems, cap_problems;
};

/* The scanner and libconfig saw other numbers: a fault of ours, never of the file. */
#define CONF_NUMBERS_DIFFER "its numbers cannot be read with certainty"

/* A mistake at the setting `at` (NULL: the file as a whole). */
void conf_reader_problem(struct conf_reader *reader, const config_setting_t *at, const char *fmt,
        ...) __attribute__((format(printf, 3, 4)));

/* "PATH: VALUE: WHAT"; a WHAT that starts with the whole value itself does not repeat it. */
void conf_reader_refuse(struct conf_reader *reader, const config_setting_t *at, const char *path,
        const char *value, const char *what);

/* Open and parse: path, or text with `name`. On failure (-1) the problem is recorded. Clear the
 * reader in either case. */
int conf_reader_open(struct conf_reader *reader, const char *path, const char *text);
void conf_reader_clear(struct conf_reader *reader);

/* Move the mistakes to `out`, in file order. */
void conf_reader_problems(struct conf_reader *reader, struct conf_problems *out);

/* Read the setting (a value of `key`) into its field of the struct at `base`; what is wrong becomes
 * a problem named by `path`, and the field is left alone. */
int conf_reader_value(struct conf_reader *reader, const struct conf_key *key,
        const config_setting_t *setting, const char *path, void *base);

/* All that joins several keys: names twice, nodes expanded, partitions joined to nodes. */
void conf_check(struct conf_reader *reader);

/* --- sections and keys ----------------------------------------------------------------------- */

const struct conf_section *conf_section_find(const char *name);
const struct conf_key *conf_key_find(const struct conf_section *section, const char *name);

/* A section's group, or of a list entry i. */
void *conf_section_base(const struct conf_section *section, const struct conf_raw *raw, size_t i);
size_t conf_section_count(const struct conf_section *section, const struct conf_raw *raw);

/* --- values ---------------------------------------------------------------------------------- */

/* The value of `text` (as in the file, without quotes) into the field of the struct at `base`;
 * `conf` has the GPU types. ERR_CONFIG: what would be right. */
int conf_value_read(const struct conf_key *key, const char *text, const struct conf *conf,
        void *base, struct error *err);

/* As in the file, without quotes. */
void conf_value_print(
        const struct conf_key *key, const void *base, const struct conf *conf, struct strbuf *out);

bool conf_value_quoted(const struct conf_key *key); /* does the file have it in quotes? */

/* The field as it is in `from`, in `to`, which had none. */
void conf_value_copy(const struct conf_key *key, const void *from, void *to);

void conf_value_clear(const struct conf_key *key, void *base);

const char *conf_type_name(enum conf_type type);

/* The limits of a key, for people: "1 to 65535", "1s to 1-00:00:00, or never". "" for none. */
void conf_value_limits(const struct conf_key *key, struct strbuf *out);

#endif
