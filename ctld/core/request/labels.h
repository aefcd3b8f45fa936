/* labels.h - the labels of jobs, each set stored once
 *
 * In a row a set is "key=value" lines; in memory it is a counted set, and equal sets are equal
 * pointers.
 */
#ifndef CTLD_CORE_LABELS_H
#define CTLD_CORE_LABELS_H

#include "ctld/core/rows/event.h"
#include "ctld/core/util/strings.h"

#define MAX_LABELS      64
#define LABEL_OF_SERVICE "service" /* of jobs of services alone: the service's name */
#define MAX_LABEL_BYTES 4096 /* of one set as lines */

struct labels {
	uint32_t refs, n;
	const char *text;      /* kept; the lines, "" none */
	const struct label *v; /* owned, n of them */
	char *bytes;           /* owned, what v points into */
};

struct label_sets;

struct label_sets *label_sets_new(struct strings *strings, uint64_t seed);
void label_sets_free(struct label_sets *ls); /* NULL is fine */

/* ERR_JOB_SPEC: an empty key, a key with a '=', a line break in a key or value, or too many
 * bytes. */
const struct labels *labels_intern(
        struct label_sets *ls, const struct label *v, size_t n, struct error *err);
const struct labels *labels_parse(struct label_sets *ls, const char *text, struct error *err);
const struct labels *labels_again(const struct labels *l);
void labels_drop(struct label_sets *ls, const struct labels *l); /* NULL is fine */

#endif
