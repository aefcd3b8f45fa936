/* service_options.h - gsubmit's options of a service (--service=NAME) and their messages
 *
 * What is signed of a service, and what its owner may change of it without a signature, are two
 * messages: ServiceSpec and ServiceRequest (gpusched.proto). What is not said has a default, or in
 * an update the value that the present generation has.
 *
 * The job of a service is an array, whose tasks are the slots in which replicas run. A signature is
 * for that many slots, so there are some to spare (SERVICE_SLOTS_SPARE): MAX can be raised a little
 * without a new one.
 */
#ifndef CMDS_OPTIONS_SERVICE_OPTIONS_H
#define CMDS_OPTIONS_SERVICE_OPTIONS_H

#include <stdint.h>

#include "cmds/api/spec.h"
#include "common/base/error.h"
#include "common/gpusched.pb-c.h"

#define SERVICE_NOT_SAID     UINT32_MAX
#define SERVICE_REPLICAS_MAX 1000
#define SERVICE_SURGE_MAX    1000
#define SERVICE_SLOTS_SPARE  16

/* The value of each option. Texts are owned; NULL: not said, "": none. Of numbers SERVICE_NOT_SAID
 * is not said. */
struct service_options {
	char *name, *ready, *live, *metrics, *metrics_path, *burst_qos;
	uint32_t min, max, kept;
	uint32_t probe_every_ms, probe_timeout_ms, probe_fails;
	uint32_t load_time_s, drain_s, ports, starts_per_day, valid_days; /* signed too */
	double target;                                                    /* < 0: not said */
	uint32_t kv_target_milli, window_s, burst_window_s, scale_down_s, to_zero_s;
	uint32_t request_wait_ms, surge, settle_s;
};

void service_options_init(struct service_options *s);
void service_options_clear(struct service_options *s);

struct submit_options;

/* What they make of a job. Borrows from the options, and from `present`. */
struct service_job {
	Gpusched__ServiceSpec spec;
	Gpusched__ServiceRequest request;
	struct spec_service both; /* the two of them */
	char array[32];           /* its slots */
};

/* `present`: the service that is updated, or NULL. ERR_USAGE for what makes no sense together: all
 * of it goes to the list of mistakes of the options where there is one, and the return value is 0
 * then. To be called when all sources of options are in, and --service was given. */
int service_job_make(const struct submit_options *o, const Gpusched__Service *present,
        struct service_job *job, struct error *err);

/* Without --service: ERR_USAGE, in the same way, for each option that needs it. */
int service_check_none(const struct submit_options *o, struct error *err);

#endif
