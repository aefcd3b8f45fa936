/* scaler.h - how many replicas a service should have
 *
 * Pure: no clock, no I/O. What is known of the load goes in with the time, the number comes out with
 * a sentence that says why. The service (service.c) asks when a load was reported, at most once a
 * second, and when `next` has come; `gsim` asks with requests of a history.
 *
 *	L_w   requests in flight and waiting, summed over READY replicas, with those that gactivate
 *	      holds: the mean over the window w, over the times at which it was known
 *	want  = clamp(max(ceil(L_window / target), ceil(ready * kv / kv_target)), min, max)
 *	burst : L_burst / target >= 2 * ready: want from L_burst, and nothing is given up for `window`
 *	up    : want > ready + loading. A loading replica counts as coming until twice its learned load
 *	        time has passed
 *	noise : with `request_wait`, a predicted wait below it is held if what waits is answered by the
 *	        spare rate before a new replica would be READY
 *	down  : to the highest want of the last `scale_down`, and by half at most; a load that is not
 *	        known never lowers it
 *	zero  : with min 0, after `to_zero` without a request; a held request wakes the service
 *
 * Within 10 percent of the present number nothing changes.
 */
#ifndef CTLD_CORE_SERVICES_SCALER_H
#define CTLD_CORE_SERVICES_SCALER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/job/run.h"

struct scale_policy {
	uint32_t min, max;
	double target;    /* requests in flight a replica; 0: the number is always min */
	double kv_target; /* use of the KV cache, 0 to 1; 0: it does not count */
	usec_t window, burst_window, scale_down, to_zero;
	usec_t request_wait; /* 0: noise is not held back */
};

/* What is known now. */
struct scale_input {
	usec_t now;              /* mono */
	uint32_t ready, loading; /* replicas; loading: wanted, and not READY yet */
	uint32_t known;          /* of the ready ones, those whose load is known */
	double running, waiting; /* requests of these */
	double kv;               /* the mean of their caches' use, 0 to 1 */
	double held;             /* requests that gactivate holds */
	double answered;         /* requests answered a second by the service, of late; 0: not known */
};

#define SCALE_TEXT 240

struct scale_decision {
	uint32_t want;
	bool changed;          /* since the last decision */
	char text[SCALE_TEXT]; /* "5: 272 in flight over 60 s / 64 a replica" */
	usec_t next;           /* mono: ask again then, whatever is reported; INT64_MAX: not needed */
};

struct scaler;

/* After a start of the controller nothing is given up for one `scale_down`. `want`: as it was. */
struct scaler *scaler_new(const struct scale_policy *policy, uint32_t want, usec_t now);
void scaler_free(struct scaler *s); /* NULL is fine */
void scaler_set_policy(struct scaler *s, const struct scale_policy *policy);
/* A replica was READY so long after its start. */
void scaler_learn(struct scaler *s, usec_t load_time);
usec_t scaler_load_time(const struct scaler *s); /* p90 of the last ones; 0: none yet */
/* Decide. Also with no change of the input. Cost: O(1) amortised. */
struct scale_decision scaler_step(struct scaler *s, const struct scale_input *in);
/* A user asks for the service to be awake: want at least 1 as if a request was seen now. */
void scaler_wake(struct scaler *s, usec_t now);

#endif
