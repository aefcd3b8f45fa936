/* scaler.h - how many replicas a service should have
 *
 * Pure: no clock, no I/O. Its input is the known load and the time; its result is a number, with a
 * sentence that says why. The service (service_reconcile.c) asks when a load was reported, at most
 * once a second, and when `next` has come; `gsim` asks with requests of a history.
 *
 *	L_w   requests in flight and waiting, summed over READY replicas, with those that
 *	      gactivate holds: the mean over the window w, over the times at which it was known. A
 *	      READY replica of unknown load is taken to be as loaded as the known ones, at most with
 *	      `target`
 *	A_w   requests that arrive a second: those answered, and by how much L grows
 *	T     how long a request is in service: requests in service / those begun and answered a
 *	      second, over `window` (Little's law)
 *	D_w   = A_w * T: how many would be in service if none had to wait. L_w where the requests
 *	      answered are not known
 *	back  = W * 2 * T / load time: in service for half a load time this answers W, what will
 *	        wait in a load time if the present replicas go on; 0 where they will have answered it
 *	need  = max((max(D_window, D_burst - sqrt(D_burst)) + back) / target,
 *	            ready * kv / kv_target), kv too as a mean over `window`
 *	want  = clamp(ceil(need), min, max)
 *	close : while need is within 10 percent of the present number nothing changes
 *	up    : at once. A replica that loads for more than twice the learned load time (`late`) no
 *	        longer counts as coming: one more is wanted in its place
 *	noise : with `request_wait`, more is not wanted while the predicted wait is below it and the
 *	        spare rate of the present replicas answers what waits before a new one is READY
 *	down  : not below `kept`, the most that was needed without `back`, which fades: to 1/7 of it
 *	        after each `scale_down`; not below `bursts`; and not below half of the most that was
 *	        wanted within the last `window`; a load that is not known never lowers it
 *	bursts: the load above which D came as a surprise, sooner than replicas could be started for
 *	        it, in no more than 1/15 of the last hours (surprise_load.h), / target; at most 1.5 times
 *	        the highest of these loads / the most that a replica was seen to take
 *	zero  : with min 0, after `to_zero` without a request; a held request wakes the service
 *
 * Why not L alone: while replicas load, requests pile up, and a number that counts them like those
 * in service asks for several times what the arriving ones need, just when the first new ones are
 * READY. Why D_burst less its root: so much chance alone adds (requests come as a Poisson process),
 * so that 500 in flight react to 5 percent more within seconds and 5 do not to twice as many. What
 * a burst needed is given back soon, unless bursts come so often that having it ready is worth it.
 * testsuite/bench/RESULTS.md (services-scaling) has the figures.
 *
 * If requests wait although the replicas have fewer than `target` in service, that number is all
 * that they can take: it is the target then.
 *
 * A load counts for the time since the previous one, at most two seconds: of a longer silence
 * nothing is known. Windows are rings of 60 buckets, so that an hour takes as little memory (about
 * 6 KB a service) as a minute does; means are exact to a sixtieth of their window.
 *
 * A load that is NaN, infinite or negative counts as not known.
 */
#ifndef CTLD_CORE_SCALE_SCALER_H
#define CTLD_CORE_SCALE_SCALER_H

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
	uint32_t late;           /* of the loading: for more than twice scaler_load_time() */
	uint32_t known;          /* of the ready ones, those whose load is known */
	double running, waiting; /* requests of these */
	double kv;               /* the mean of their caches' use, 0 to 1 */
	double held;             /* requests that gactivate holds */
	double answered; /* requests a second, since the last step; 0: none, or not known */
};

#define SCALE_TEXT 240

struct scale_decision {
	uint32_t want;
	bool changed;          /* since the last decision */
	char text[SCALE_TEXT]; /* "5: 290 in flight over 1:00 / 64 a replica" */
	usec_t next; /* mono: ask again then, whatever is reported; INT64_MAX: not needed */
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
