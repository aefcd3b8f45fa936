/* pmix_child.h - the PMIx server of a step on one node: a process of its own, gpmix
 *
 * libpmix has threads and a mind of its own, so neither of it is in gstepd: gpmix is a child of it
 * (gpmix.c), there as long as the step is, and built only where libpmix is. It speaks the messages
 * of steplink.h over a pair of sockets: STEP_START and STEP_PMIX to it, STEP_PMIX_ASK from it.
 */
#ifndef CMDS_STEPS_PMIX_CHILD_H
#define CMDS_STEPS_PMIX_CHILD_H

#include "cmds/steps/loop.h"
#include "common/base/error.h"
#include "common/net/steplink.h"

struct pmix_child;

/* NULL: it has ended, and there comes no more; the owner may then free it. */
typedef void pmix_child_fn(void *arg, const struct steplink_message *m);

/* NULL with `err`: it cannot be started; one that cannot be executed ends at once. */
struct pmix_child *pmix_child_new(
        struct loop *loop, char *const *env, pmix_child_fn *say, void *arg, struct error *err);
void pmix_child_free(struct pmix_child *c); /* it ends. NULL is fine */

void pmix_child_put(struct pmix_child *c, const struct steplink_message *m);

#endif
