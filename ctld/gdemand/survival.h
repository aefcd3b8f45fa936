/* survival.h - how long users wait before they give up (Kaplan and Meier, 1958)
 *
 * A job that was cancelled while it waited tells after how long its user gave up. One that started
 * tells only that its user would have waited at least so long: it is censored. The estimate uses
 * both, so that a cluster with short waits is not taken for one with patient users.
 */
#ifndef GDEMAND_SURVIVAL_H
#define GDEMAND_SURVIVAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct survival_item {
	double time;
	bool gave_up; /* else censored */
	uint32_t block;
};

struct survival {
	struct survival_item *v; /* owned */
	size_t n, size;
};

void survival_add(struct survival *s, double time, bool gave_up, uint32_t block);
void survival_seal(struct survival *s); /* once, behind the last */
void survival_clear(struct survival *s);

/* The time by which the part `q` has given up; NAN: so many never did while it was looked at. Block
 * b counts times[b] times; NULL: each counts once. */
double survival_quantile(const struct survival *s, double q, const uint32_t *times);

#endif
