/* timeline.h - a level over time, as means over at most TIMELINE_POINTS equal spans
 *
 * The length of a simulation is not known beforehand: when the timeline is full, neighbouring
 * points are merged and the span doubles. The memory stays the same.
 */
#ifndef GSIM_TIMELINE_H
#define GSIM_TIMELINE_H

#include <stddef.h>

#include "common/job/run.h"

#define TIMELINE_POINTS 64 /* even */

struct timeline {
	double sum[TIMELINE_POINTS]; /* level x microseconds */
	usec_t span, end;            /* of a point; up to when it is filled in */
};

void timeline_init(struct timeline *t);

/* The level was `level` from t->end to `until` (not before t->end). */
void timeline_pass(struct timeline *t, usec_t until, double level);

size_t timeline_points(const struct timeline *t);
double timeline_mean(const struct timeline *t, size_t point);

#endif
