/* percentiles.h - numbers of which mean and percentiles are wanted, exactly: 8 bytes each */
#ifndef GSIM_PERCENTILES_H
#define GSIM_PERCENTILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct samples {
	int64_t *v; /* owned */
	size_t n, size;
	double sum;
	bool sorted;
};

void samples_add(struct samples *s, int64_t value);
void samples_clear(struct samples *s); /* frees */

/* 0 where there is none. The percentile is the sorted value at index int(n * percent / 100). */
double samples_mean(const struct samples *s);
int64_t samples_percentile(struct samples *s, unsigned percent);

#endif
