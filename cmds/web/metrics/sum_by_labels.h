/* sum_by_labels.h - a number for each combination of up to three names; pure */
#ifndef CMDS_WEB_METRICS_SUM_BY_LABELS_H
#define CMDS_WEB_METRICS_SUM_BY_LABELS_H

#include <stddef.h>
#include <stdint.h>

struct name_tally_entry {
	const char *a, *b, *c; /* borrowed; "" */
	double n;
};

/* Begins zeroed. */
struct name_tally {
	struct name_tally_entry *v; /* in the order in which they were met, until they are sorted */
	size_t n, size;
	uint32_t *slots; /* 1 + index; a power of two of them */
	size_t n_slots;
};

void name_tally_add(struct name_tally *t, const char *a, const char *b, const char *c, double n);
double name_tally_get(const struct name_tally *t, const char *a, const char *b, const char *c);
void name_tally_sort(struct name_tally *t);
void name_tally_free(struct name_tally *t);

#endif
