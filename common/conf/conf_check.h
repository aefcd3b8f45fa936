/* conf_check.h - checks that concern several keys, for the files of conf_check.c
 *
 *     conf_check.c     duplicate names, nodes expanded, partitions joined to nodes, the defaults
 *     conf_accounts.c  the tree of accounts; lists of accounts, with all below them
 *     conf_quota.c     guarantees against parents, limits and hardware; minimum against maximum
 *     conf_qos.c       which QOS preempts which
 *     conf_switches.c  switches
 *     conf_mig.c       MIG layouts against one another and against what a GPU can be cut into
 *     conf_gpu_topology.c  how close a node's GPUs are to each other
 *     conf_names.c     looking names up, and reporting unknown ones
 *
 * All of them run after every key was read, even if some were wrong: a field that could not be
 * read is empty here, and causes no second error.
 */
#ifndef COMMON_CONF_CHECK_H
#define COMMON_CONF_CHECK_H

#include "common/conf/conf_schema.h"

#define CONF_PATH_TEXT 96  /* of a list, an index and a key */
#define CONF_NAMES_MAX 200 /* bytes of names in one problem */

/* Names of one kind, sorted. Borrowed. */
struct conf_named {
	const char *name;
	size_t index; /* in the array that they are from */
};
struct conf_names {
	const char *section; /* where they come from, for people */
	struct conf_named *v;
	size_t n;
	bool whole; /* every one of them could be read: what is not here is not there */
};

struct conf_checker {
	struct conf_reader *reader;
	struct conf_names nodes, accounts, qos, switches;
};

/* --- conf_names.c ---------------------------------------------------------------------------- */

/* Those of a list section's entries; free(names->v). */
void conf_names_of(struct conf_names *names, const char *section, const struct conf_raw *raw);
void conf_names_sort(struct conf_names *names);

/* The entry with that name (the first of several), or NULL. */
const struct conf_named *conf_names_find(const struct conf_names *names, const char *name);

/* The same for a name that is, or is one of, entry i's `key` in a list section. If no entry has the
 * name, a problem is added: "PATH: "NAME": not in SECTION; did you mean 'NEAREST'?" */
const struct conf_named *conf_names_resolve(const struct conf_names *names,
        struct conf_reader *reader, const char *section, size_t i, const char *key,
        const char *name);

/* The setting `key` ("quota.lend") of entry i of a list section, or the nearest that is around it,
 * for the place of a problem. Section "" is what stands outside of all others. */
const config_setting_t *conf_setting_at(
        const struct conf_reader *reader, const char *section, size_t i, const char *key);
unsigned conf_setting_line(const struct conf_reader *reader, const config_setting_t *setting);

/* "a -> b -> a" for the circle from `first` along `next`; the caller frees it. */
char *conf_circle(size_t first, const char *const *names, const size_t *next);

/* --- the checks ------------------------------------------------------------------------------ */

/* The nodes of the hostlist *text (or ALL), ascending, of entry i's key; *text then has them in one
 * form. Nodes that do not exist become a problem. */
void conf_nodes_resolve(struct conf_checker *checker, const char *section, size_t i,
        const char *key, char **text, uint32_t **nodes, size_t *n);

/* Accounts by name, with all below them, ascending, of entry i's key `accounts`. */
void conf_accounts_resolve(struct conf_checker *checker, const char *section, size_t i,
        const struct conf_texts *texts, uint32_t **accounts, size_t *n);

/* In a list section, entries of which have their parent's index (CONF_NONE: none) at `parent_at`:
 * tell of each circle, at its `key`, that `what`, and cut it there. */
void conf_circles_cut(struct conf_reader *reader, const char *section, const char *key,
        size_t parent_at, const char *what);

/* Entry `later` of a list section has a node that entry `first` has before it. */
struct conf_overlap {
	size_t later, first;
	const char *name; /* of the node */
};

/* Told once for each pair of entries; `v` is sorted for it. */
void conf_overlaps_tell(struct conf_reader *reader, const char *section, const char *key,
        struct conf_overlap *v, size_t n);

void conf_check_accounts(struct conf_checker *checker); /* before all that names accounts */
void conf_check_quotas(struct conf_checker *checker);   /* after accounts and nodes */
void conf_check_limits(struct conf_checker *checker);
void conf_check_qos(struct conf_checker *checker);
void conf_check_topology(struct conf_checker *checker);
void conf_check_mig(struct conf_checker *checker); /* after nodes; before quotas */
void conf_check_near(struct conf_checker *checker); /* after mig */

#endif
