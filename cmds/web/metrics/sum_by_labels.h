/* sum_by_labels.h - a number for each combination of up to three names; pure */
#ifndef CMDS_WEB_METRICS_SUM_BY_LABELS_H
#define CMDS_WEB_METRICS_SUM_BY_LABELS_H

#include <stddef.h>
#include <stdint.h>

struct label_sums_entry {
	const char *a, *b, *c; /* borrowed; "" */
	double n;
};

/* Begins zeroed. */
struct label_sums {
	struct label_sums_entry *v; /* in the order in which they were met, until they are sorted */
	size_t n, size;
	uint32_t *slots; /* 1 + index; a power of two of them */
	size_t n_slots;
};

void label_sums_add(struct label_sums *t, const char *a, const char *b, const char *c, double n);
double label_sums_get(const struct label_sums *t, const char *a, const char *b, const char *c);
void label_sums_sort(struct label_sums *t);
void label_sums_free(struct label_sums *t);

#endif
