/* mig_layout.c - see mig_layout.h
 *
 * settle() is the invariant: a number of `mig` that has a GPU keeps it, and a GPU that stands for a
 * number stands for no other. layouts_find() calls it first for the numbers that an instance of a
 * bound index identifies, and then for the rest by the host's numbers.
 */
#include "ctld/core/nodes/mig_layout.h"

#include <stdio.h>
#include <string.h>

#include "ctld/core/records/node.h"

/* --- which GPU ------------------------------------------------------------------------------- */

const struct conf_mig *layout_demanded(const struct conf_node *conf, uint32_t number)
{
	for (size_t i = 0; i < conf->n_mig; i++) {
		if (conf->mig[i].set >> number & 1)
			return &conf->mig[i];
	}
	return NULL;
}

bool layouts_have(const struct layouts *l, uint32_t host)
{
	return host < LAYOUT_HOSTS && l->hosts[host / 64] >> host % 64 & 1;
}

/* An index for `mig` must be on its own GPU, any other on none that has a demanded layout. */
bool layouts_allow(const struct layouts *l, uint32_t mig, uint32_t host)
{
	return mig ? l->host[mig - 1] == host : !layouts_have(l, host);
}

static void settle(struct layouts *l, uint32_t number, uint32_t host)
{
	if (l->host[number] != LAYOUT_NOWHERE || layouts_have(l, host) || host >= LAYOUT_HOSTS)
		return;
	l->host[number] = host;
	l->hosts[host / 64] |= 1ULL << host % 64;
}

void layouts_find(struct layouts *l, const struct conf_node *conf, const struct layout_slot *slots,
        size_t n_slots, const struct node_gpu *gpus, size_t n_gpus)
{
	uint32_t number;

	memset(l->hosts, 0, sizeof(l->hosts));
	for (number = 0; number < CONF_MAX_GPUS_PER_NODE; number++)
		l->host[number] = LAYOUT_NOWHERE;
	for (size_t i = 0; i < n_slots && conf->n_mig; i++) {
		number = slots[i].mig - 1;
		if (!slots[i].mig || !*slots[i].uuid || !layout_demanded(conf, number))
			continue;
		for (size_t k = 0; k < n_gpus; k++) {
			if (!strcmp(gpus[k].uuid, slots[i].uuid))
				settle(l, number, gpus[k].host);
		}
	}
	for (number = 0; number < CONF_MAX_GPUS_PER_NODE; number++) {
		if (layout_demanded(conf, number))
			settle(l, number, number);
	}
}

/* --- how it is cut --------------------------------------------------------------------------- */

/* An instance in trouble is there all the same; a GPU in trouble is none. */
static bool counts(const struct node_gpu *gpu, uint32_t host)
{
	return gpu->host == host && (gpu->mig || !*gpu->trouble);
}

/* Of one type; NULL: of all. */
static size_t found_of(const struct node_gpu *gpus, size_t n_gpus, uint32_t host, const char *type)
{
	size_t i, n = 0;

	for (i = 0; i < n_gpus; i++)
		n += counts(&gpus[i], host) && (!type || !strcmp(gpus[i].type, type));
	return n;
}

static bool is_first(const struct node_gpu *gpus, size_t i)
{
	for (size_t k = 0; k < i; k++) {
		if (counts(&gpus[k], gpus[i].host) && !strcmp(gpus[k].type, gpus[i].type))
			return false;
	}
	return true;
}

static size_t say(char *text, size_t size, size_t used, const char *type, size_t n)
{
	return used >= size ? used
	                    : used + (size_t)snprintf(text + used, size - used, "%s%s:%zu",
	                                     used ? "," : "", type, n);
}

/* Equal means the same number of each type and nothing else. */
bool layout_differs(const struct layouts *l, const struct conf *conf, const struct conf_mig *mig,
        uint32_t number, const struct node_gpu *gpus, size_t n_gpus, char *text, size_t size)
{
	uint32_t host = l->host[number];
	char wanted[200] = "", found[200] = "";
	size_t i, all = 0, used = 0, good = 0;

	for (i = 0; i < mig->n_layout; i++) {
		const char *type = conf->gpu_types[mig->layout[i].type].name;

		used = say(wanted, sizeof(wanted), used, type, mig->layout[i].count);
		good += found_of(gpus, n_gpus, host, type) == mig->layout[i].count;
		all += mig->layout[i].count;
	}
	if (good == mig->n_layout && found_of(gpus, n_gpus, host, NULL) == all)
		return false;
	for (i = used = 0; i < n_gpus; i++) {
		if (counts(&gpus[i], host) && is_first(gpus, i))
			used = say(found, sizeof(found), used,
			        *gpus[i].type ? gpus[i].type : "unknown",
			        found_of(gpus, n_gpus, host, gpus[i].type));
	}
	snprintf(text, size, "%s wanted, %s found", wanted, *found ? found : "nothing");
	return true;
}
