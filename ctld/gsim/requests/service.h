/* service.h - a service of replicas, its requests and an autoscaler, in virtual time
 *
 * A request waits in one line for all replicas until one that is ready has fewer than
 * `replica_requests` in flight, goes to the one with the fewest, and takes `prefill` and its output
 * tokens divided by `token_rate`. A replica takes `load_time` from its start until it is ready. One
 * that is given up while it loads is gone at once, a ready one when its requests are answered; the
 * loading ones go first, then those with the fewest requests. GPUs count from start to end.
 *
 * The service begins with as many ready replicas as the autoscaler begins with, and ends when the
 * last request is answered.
 */
#ifndef GSIM_SERVICE_H
#define GSIM_SERVICE_H

#include <stdint.h>
#include <stdio.h>

#include "ctld/gsim/percentiles.h"
#include "ctld/gsim/requests/autoscaler.h"
#include "ctld/gsim/requests/requests.h"

struct service_options {
	uint32_t replica_requests, replica_gpus;
	usec_t load_time, prefill;
	double token_rate; /* a second, of one request */
	struct scale_policy policy;
	usec_t request_wait; /* a wait above it is counted */
	FILE *series;        /* NULL: none */
	usec_t series_step;
};

struct service_result {
	const char *name;                /* borrowed */
	struct samples wait, completion; /* us */
	uint64_t over;                   /* requests that waited longer than request_wait */
	double gpu_us, replica_us;
	uint32_t most;   /* replicas at once */
	uint64_t starts; /* beyond those at the beginning */
	usec_t end;
};

/* -1: there is no such autoscaler. */
int service_run(struct service_result *r, const char *autoscaler, const struct requests *requests,
        const struct service_options *o);
void service_result_clear(struct service_result *r);

#endif
