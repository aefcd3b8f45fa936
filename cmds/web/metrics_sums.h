/* metrics_sums.h - what several metrics count alike, in one walk over the jobs of a snapshot */
#ifndef CMDS_WEB_METRICS_SUMS_H
#define CMDS_WEB_METRICS_SUMS_H

#include <stddef.h>
#include <stdint.h>

struct snapshot;

/* A number for each combination of up to three names, in the order in which they were met. */
struct tally_entry {
	const char *a, *b, *c; /* borrowed; "" */
	double n;
};
struct name_tally {
	struct tally_entry *v;
	size_t n, size;
	uint32_t *slots; /* 1 + index; a power of two of them */
	size_t n_slots;
};
void name_tally_add(struct name_tally *t, const char *a, const char *b, const char *c, double n);
double name_tally_get(const struct name_tally *t, const char *a, const char *b, const char *c);
void name_tally_sort(struct name_tally *t);
void name_tally_free(struct name_tally *t);

struct metrics_sums {
	struct name_tally jobs;    /* partition, state */
	struct name_tally waiting; /* reason */
};

struct metrics_sums *metrics_sums_new(const struct snapshot *snap); /* NULL: all of it is empty */
void metrics_sums_free(struct metrics_sums *s);

#endif
