/* containment_active.c - see containment_active.h
 *
 * Demanded is what the limits say, active is what was tried here and works; `lacks` is the
 * difference. All three are found anew whenever the limits change, and the filter of devices when
 * the GPUs' files become known. If the agent's own options demand what is not there the launcher
 * does not start; if the controller's settings do, it starts no run.
 */
#include "noded/confine/containment_active.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/fnv.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "common/conf/nodewords.h"
#include "noded/confine/effective_limits.h"
#include "noded/contain/comma_lists.h"
#include "noded/contain/device_grants.h"
#include "noded/contain/private_mounts.h"
#include "noded/contain/process_tracking.h"
#include "noded/runs/launcher_dirs.h"
#include "noded/runs/launcher_state.h"

/* A tag for the cgroup root, from the directory: two clusters on one host may use the same node
 * name, but not the same directory. */
static char *contain_tag(const struct launcher *l)
{
	char *real = realpath(l->options->rundir, NULL);
	const char *path = real ? real : l->options->rundir;
	uint64_t h = fnv(path, strlen(path));

	free(real);
	return xasprintf("%s.%08x", l->options->node, (unsigned)(h ^ h >> 32));
}

/* Why demanded containment is not active: each reason once, joined by "; ". */
static void find_why_not(struct launcher *l)
{
	struct containment *c = l->containment;
	const char *root = contain_root_why(c->root), *why[3] = { NULL };
	size_t n = 0;

	if (comma_list_has(c->lacks, CONTAIN_DEVICES))
		why[0] = *root ? root : "the kernel takes no filter of devices from us";
	if (comma_list_lacks(c->lacks, CONTAIN_DEVICES ", " PRIVATE_WORDS))
		why[1] = *root ? root : "cgroups have no such controller for us";
	for (int k = 0; k < PRIVATE_KINDS; k++)
		if (comma_list_has(c->lacks, private_name((enum private_kind)k)))
			why[2] = private_why((enum private_kind)k, l->dirs->private_path);
	if (why[0] == why[1])
		why[1] = NULL;
	c->active_why[0] = '\0';
	for (int i = 0; i < 3 && n < sizeof(c->active_why); i++)
		if (why[i])
			n += (size_t)snprintf(c->active_why + n, sizeof(c->active_why) - n, "%s%s",
			        n ? "; " : "", why[i]);
}

static void find_active(struct launcher *l)
{
	struct containment *c = l->containment;
	const char *lacks;
	size_t n;

	contain_root_active(c->root, c->filter, c->active, sizeof(c->active));
	for (int k = 0; k < PRIVATE_KINDS; k++) {
		n = strlen(c->active);
		if (c->private_kinds & 1u << k)
			snprintf(c->active + n, sizeof(c->active) - n, ",%s",
			        private_name((enum private_kind)k));
	}
	lacks = comma_list_lacks(l->limits->containment, c->active);
	snprintf(c->lacks, sizeof(c->lacks), "%s", lacks ? lacks : "");
	find_why_not(l);
}

void containment_filter_devices(struct launcher *l)
{
	struct containment *c = l->containment;

	c->gpus_found = true;
	c->filter = contain_root_filters_devices(c->root);
	find_active(l);
}

static void try_private(struct launcher *l)
{
	struct containment *c = l->containment;
	char *probe = xasprintf("%s/probe", l->dirs->private_path);
	uint32_t wanted = l->limits->private_kinds;

	c->private_kinds = private_works(wanted, probe, l->limits->private_tmp_mb);
	for (int k = 0; k < PRIVATE_KINDS; k++)
		if (wanted & ~c->private_kinds & 1u << k)
			log_warning("runs share '%s': %s", private_name((enum private_kind)k),
			        private_why((enum private_kind)k, l->dirs->private_path));
	free(probe);
}

static void name_devices(struct launcher *l)
{
	struct containment *c = l->containment;
	struct device_grants_wish wish = l->limits->devices;
	struct error err;

	device_grants_free(c->grants);
	c->grants = device_grants_new(&wish, &err);
	if (c->grants)
		return;
	log_error("the GPUs' device files as the controller names them: %s", err.text);
	wish.gpus = l->options->devices.gpus; /* these could be read at the start */
	wish.gpus_told = false;
	c->grants = device_grants_new(&wish, &err);
	if (!c->grants)
		abort();
}

/* Devices are filtered if the GPUs' files are known, found by us or named, and if the site demands
 * it. */
void containment_follow(struct launcher *l)
{
	struct containment *c = l->containment;

	contain_root_demand(c->root, l->limits->containment);
	name_devices(l);
	try_private(l);
	c->filter = contain_root_filters_devices(c->root) &&
	            (device_grants_know_gpus(c->grants) || c->gpus_found ||
	                    comma_list_has(l->limits->containment, CONTAIN_DEVICES));
	find_active(l);
}

/* Containment that the agent's own options demand must be available, or the agent does not start.
 * If only the controller demands it, runs are refused (settings_allow()) and the agent stays: it
 * has to say why, watch the runs that exist, and receive a configuration that demands less. */
static int choose_containment(struct launcher *l, struct error *err)
{
	const struct containment *c = l->containment;
	struct device_grants *own = device_grants_new(&l->options->devices, err);
	const char *lacks;

	device_grants_free(own);
	if (!own)
		return -1;
	containment_follow(l);
	lacks = comma_list_lacks(l->options->containment, c->active);
	if (lacks)
		return error_set(err, ERR_CONFIG,
		        "--containment: %s not available here (%s); available: %s", lacks,
		        c->active_why, c->active);
	return 0;
}

int containment_start(struct launcher *l, struct error *err)
{
	struct containment *c = l->containment = xcalloc(1, sizeof(*c));
	char *tag = contain_tag(l);

	c->root = contain_root_new(l->options->cgroup, tag, l->limits->containment, err);
	free(tag);
	if (!c->root || contain_root_enter(c->root, err) < 0)
		return -1;
	return choose_containment(l, err);
}

void containment_free(struct containment *c)
{
	if (!c)
		return;
	contain_root_free(c->root);
	device_grants_free(c->grants);
	free(c);
}
