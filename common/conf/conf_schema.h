/* conf_schema.h - the tables behind conf.h, only for conf*.c
 *
 * A configuration is sections; a section is one group or a list of groups with names; a group's
 * keys are rows, and a row can be a group again, whose keys several rows may share (`limits`).
 * Everything that is done for each key (reading, default, limits, printing, comparing, the
 * manual's list) uses the rows in conf_keys.c. What cannot be a row, because it concerns several
 * keys, is in the files of conf_check.h.
 *
 * To add a key: a field in conf.h, a row in conf_keys.c, its paragraph in man/gpusched.conf.5 (a
 * test compares), bad values in testsuite/unit/common/test_conf_bad.c. To add a section: the same,
 * and a row in conf_sections; a list also needs its array and count in struct conf. To add a type:
 * a row in conf_value.c, and one in conf.c that says how it looks in the file.
 */
#ifndef COMMON_CONF_SCHEMA_H
#define COMMON_CONF_SCHEMA_H

#include <libconfig.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/base/strbuf.h"
#include "common/conf/conf.h"
#include "common/conf/conf_source.h"

enum conf_type {
	CONF_TEXT,      /* char *, owned, plain text of `min` to `max` bytes */
	CONF_WORD,      /* an enum: index of one of `words` */
	CONF_COUNT,     /* unsigned of 32 or 64 bits */
	CONF_INTEGER,   /* int32_t, -max to max */
	CONF_REAL,      /* double; `min` and `max` are in 1/unit */
	CONF_BOOL,      /* bool */
	CONF_TIME,      /* unsigned, in units of `unit` ms; quoted in the file, with a unit */
	CONF_PERCENT,   /* unsigned; quoted in the file, with the sign */
	CONF_SIZE,      /* unsigned, in units of `unit` bytes; the same */
	CONF_TEXTS,     /* struct conf_texts: a list of texts, each as in CONF_TEXT */
	CONF_GPUS,      /* struct conf_gpu_count *, owned; their number at `n_at` */
	CONF_AMOUNTS,   /* struct conf_gpu_amounts */
	CONF_GPU_HOURS, /* uint64_t; the window, in seconds, is a uint32_t at `n_at` */
	CONF_GROUP,     /* a group with the keys `group`, their fields relative to `at` */
	CONF_GROUPS,    /* a list of them: an array of structs of `each` bytes, owned; their number
	                   at `n_at` */
	CONF_TYPES,
};

/* The keys of one group, in the order they are read and printed. */
struct conf_keys {
	const char *name; /* of a CONF_GROUP's: the manual's section has it */
	const struct conf_key *v;
	size_t n;
};

struct conf_key {
	const char *name;
	enum conf_type type;
	const char *def;  /* as in the file, without quotes; NULL: must be given, or is optional */
	const char *zero; /* the word for 0, which a number then cannot mean; NULL: none */
	bool optional;    /* not given is "none": all bits are set, or a list is empty */
	uint64_t unit;
	uint64_t min, max; /* in the field's unit */
	bool reload;      /* can be changed while running */
	size_t at, width; /* of the field */
	size_t n_at, each;
	const char *const *words; /* NULL at the end */
	const struct conf_keys *group;
	size_t given_at; /* of a group: a bool that says if it was given; 0: none does */
	int (*check)(const char *value, struct error *err); /* of a text; NULL: any */
	const char *help;
};

#define CONF_TEXTS_MAX  4096 /* in one list */
#define CONF_GROUPS_MAX 64   /* the same, of groups */

struct conf_section {
	const char *name; /* "": the keys outside of all groups */
	struct conf_keys keys;
	bool list;     /* a list of groups; their first key is what they are called */
	bool required; /* and a list must have an entry */
	bool hosts;    /* the names are hostlists */
	bool defaults; /* only gives values to others: not printed, not compared */
	size_t at; /* in struct conf_raw: of the struct; of a list: of the pointer to its array */
	size_t n_at, size, max; /* of a list: where its length is, size of an entry, most of them */
	size_t defaults_at;     /* of a struct that has the values of keys not given; 0: none */
};

extern const struct conf_section conf_sections[];
extern const size_t conf_n_sections;

/* The structs that the sections fill. `entries` are the nodes as written; conf_check.c makes
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

/* The checks that concern several keys: see conf_check.h. */
void conf_check(struct conf_reader *reader);

/* --- sections and keys ----------------------------------------------------------------------- */

const struct conf_section *conf_section_find(const char *name);
const struct conf_key *conf_key_find(const struct conf_keys *keys, const char *name);

/* A section's group, or of a list entry i. */
void *conf_section_base(const struct conf_section *section, const struct conf_raw *raw, size_t i);
size_t conf_section_count(const struct conf_section *section, const struct conf_raw *raw);

/* What entry i of a list is called; NULL: it could not be read. */
const char *conf_section_name(
        const struct conf_section *section, const struct conf_raw *raw, size_t i);

/* Where the keys of a CONF_GROUP are, in the struct at `base`. */
void *conf_group_base(const struct conf_key *key, const void *base);

/* One of the groups of a CONF_GROUPS, in the struct at `base`. */
void *conf_groups_at(const struct conf_key *key, const void *base, size_t i);
/* `n` empty ones in their place, of which there were none. */
void conf_groups_make(const struct conf_key *key, void *base, size_t n);

/* --- values ---------------------------------------------------------------------------------- */

/* How one type of value is handled; rows in conf_value.c, conf_gpu_counts.c and
 * conf_nested_keys.c. */
struct conf_value_type {
	const char *name;
	bool quoted; /* does the file have it in quotes? */
	int (*read)(const struct conf_key *key, const char *text, const struct conf *conf,
	        void *base, struct error *err);
	void (*print)(const struct conf_key *key, const void *base, const struct conf *conf,
	        struct strbuf *out);
	void (*copy)(const struct conf_key *key, const void *from, void *to);
	void (*clear)(const struct conf_key *key, void *base);
	void (*limit)(const struct conf_key *key, uint64_t n, struct strbuf *out); /* or NULL */
	bool (*none)(const struct conf_key *key, const void *base); /* of an optional key */
	void (*set_none)(const struct conf_key *key, void *base);
};
extern const struct conf_value_type conf_gpus_type, conf_amounts_type, conf_gpu_hours_type;
/* conf_nested_keys.c: with what is not as it is with other types */
extern const struct conf_value_type conf_group_type, conf_groups_type;
void conf_group_default(const struct conf_key *key, const struct conf *conf, void *base);
bool conf_group_same(const struct conf_key *key, const void *a, const struct conf *conf_a,
        const void *b, const struct conf *conf_b);
void conf_groups_write(
        const struct conf_key *key, const void *base, const struct conf *conf, struct strbuf *out);

/* The value of `text` (as in the file, without quotes) into the field of the struct at `base`;
 * `conf` has the GPU types. Of a CONF_TEXTS it is one more text. ERR_CONFIG: what would be right.
 */
int conf_value_read(const struct conf_key *key, const char *text, const struct conf *conf,
        void *base, struct error *err);

/* The value of a key that is not given, and has no default like those of node_defaults. */
void conf_value_default(const struct conf_key *key, const struct conf *conf, void *base);

/* Is the key optional and not given? For a group: is no key of it given? For groups: are there
 * none? */
bool conf_value_none(const struct conf_key *key, const void *base);

/* For people: without quotes, "none", `""` for an empty text. Not of a group. */
void conf_value_print(
        const struct conf_key *key, const void *base, const struct conf *conf, struct strbuf *out);

/* As in the file, with its quotes. Not of a group, and not of what is none. */
void conf_value_write(
        const struct conf_key *key, const void *base, const struct conf *conf, struct strbuf *out);

bool conf_value_quoted(const struct conf_key *key);

/* The field of what is a number of 32 or 64 bits; none is the largest. */
uint64_t conf_value_number(const struct conf_key *key, const void *base);

/* Do both say the same, names counting and not indices? Groups: in all keys, and both or none
 * given. */
bool conf_value_same(const struct conf_key *key, const void *a, const struct conf *conf_a,
        const void *b, const struct conf *conf_b);

/* The field as it is in `from`, in `to`, which had none. */
void conf_value_copy(const struct conf_key *key, const void *from, void *to);

void conf_value_clear(const struct conf_key *key, void *base);

const char *conf_type_name(const struct conf_key *key); /* of a group the name of its keys */

/* The limits of a key, for people: "1 to 65535", "1s to 1-00:00:00, or never". "" for none. */
void conf_value_limits(const struct conf_key *key, struct strbuf *out);

#endif
