/* service_policy.h - what the owner of a service asks of the number of its replicas */
#ifndef CTLD_CORE_SERVICE_POLICY_H
#define CTLD_CORE_SERVICE_POLICY_H

#include <stdint.h>

/* What its owner asks of the number of replicas: the message ServiceRequest, with the defaults
 * filled in. X(name) */
#define SERVICE_POLICY(X)  \
	X(min)             \
	X(max)             \
	X(kept)            \
	X(target_milli)    \
	X(kv_target_milli) \
	X(window_s)        \
	X(burst_window_s)  \
	X(scale_down_s)    \
	X(to_zero_s)       \
	X(request_wait_ms) \
	X(surge)           \
	X(settle_s)

struct service_policy {
#define X(name) uint32_t name;
	SERVICE_POLICY(X)
#undef X
};

#endif
