/* autoscaler.h - what decides how many replicas there are: ours, and the published rivals
 *
 *	ours     ctld/core/scale/scaler.h, told the load of each second
 *	ray      Ray Serve's default policy: each 10 s replicas and handles send the mean of the
 *	         ongoing requests over 30 s; the loop looks each 0.1 s, goes up when that was asked
 *	         for during 30 s and down when during 600 s; from zero at once
 *	knative  Knative's KPA: each 2 s the mean concurrency over 60 s, over 6 s in panic; panic
 *	         from twice what the ready replicas are for until 60 s without; no less than half;
 *	         the last replica stays 30 s longer
 *	keda     a KEDA scaler over the HPA: each 15 s the requests of this moment, a tolerance of
 *	         10 %, up by 4 or twice at most, down to the highest of 300 s; to zero 300 s after
 *	         the last request, from zero when KEDA looks, each 30 s
 *	fixed:N  always N
 *	plan:F   as the file F says, rows "time_s number": a plan made with the requests known
 *
 * All are given the same target. The formulas are those of the projects' sources and documents;
 * delays that these do not name (scraping, an API server) are left out for all.
 */
#ifndef GSIM_AUTOSCALER_H
#define GSIM_AUTOSCALER_H

#include <stdint.h>

#include "common/job/run.h"
#include "ctld/core/scale/scaler.h"

/* What an autoscaler can see. Integrals are requests x us since the start. */
struct service_view {
	usec_t now;
	uint32_t ready, loading;
	uint32_t running, waiting;     /* requests now */
	double running_us, waiting_us; /* their integrals */
	uint64_t answered;             /* requests, since the start */
	uint32_t learned;              /* replicas that became READY, and how long each took: */
	usec_t load_time;
};

struct autoscaler;

/* NULL: no such name. */
struct autoscaler *autoscaler_new(const char *name, const struct scale_policy *policy);
void autoscaler_free(struct autoscaler *a); /* NULL is fine */

/* Decide; *next is when it wants to be asked again. */
uint32_t autoscaler_step(struct autoscaler *a, const struct service_view *v, usec_t *next);

/* It is told at once of a request that finds no replica; else at its next time. */
bool autoscaler_wakes(const struct autoscaler *a);

/* Why, of ours; "" else. Until the next step. */
const char *autoscaler_text(const struct autoscaler *a);

/* The names of those without a parameter, in the order of the report; NULL behind the last. */
extern const char *const autoscaler_names[];

#endif
