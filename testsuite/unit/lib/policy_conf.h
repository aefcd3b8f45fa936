/* policy_conf.h - small configurations by hand, for tests of the core's policy */
#ifndef TESTSUITE_UNIT_POLICY_CONF_H
#define TESTSUITE_UNIT_POLICY_CONF_H

#include "common/conf/conf.h"

enum { H100, L40S, POLICY_TYPES };

/* GPU types h100 (80G) and l40s (48G), one partition "batch" and nothing else. */
struct conf *policy_conf(void);
void policy_conf_free(struct conf *conf);

/* Add one at the end; the index. No limits, no quota, one share. `parent` may be CONF_NONE. What is
 * pointed to may move when another is added. */
uint32_t policy_account(struct conf *conf, const char *name, uint32_t parent);
uint32_t policy_qos(struct conf *conf, const char *name, int32_t priority);
uint32_t policy_partition(struct conf *conf, const char *name);
uint32_t policy_licence(struct conf *conf, const char *name, uint32_t count);

/* Set, or set anew, the amount of a type. */
void policy_amount(struct conf_gpu_amounts *amounts, uint16_t type, uint32_t count);

#endif
