/* containment_active.h - what confines a run on this node: cgroups, device filter, private
 * directories
 *
 * What works here is found out when the launcher starts and whenever the limits change; the node
 * reports it, and refuses runs while less is active than is demanded (settings_allow()).
 */
#ifndef NODED_CONTAINMENT_ACTIVE_H
#define NODED_CONTAINMENT_ACTIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/error.h"

struct contain_root;
struct device_grants;
struct launcher;

/* Only containment_active.c writes to it. */
struct containment {
	struct contain_root *root;
	struct device_grants *grants;
	bool gpus_found;        /* the node knows its GPUs itself */
	bool filter;            /* runs open their own devices only */
	uint32_t private_kinds; /* bits of enum private_kind: what runs have for themselves */
	char active[160];       /* all of this in words, as reported to the controller */
	char lacks[100];        /* what is demanded and not active; "": nothing */
	char active_why[200];   /* why not; "" */
};

/* Set l->containment. -1: the agent must not start, with ERR_CONFIG if its own options demand what
 * is not available here, ERR_USAGE if they name no device files, or an error of the cgroups. */
int containment_start(struct launcher *l, struct error *err);
void containment_free(struct containment *c); /* NULL is fine */

/* The limits have changed: whatever of them is possible here becomes active. */
void containment_follow(struct launcher *l);

/* GPUs were found: from now on runs can open their own devices only, if the filter works. */
void containment_filter_devices(struct launcher *l);

#endif
