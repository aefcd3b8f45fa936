/* gpu_inventory.c - see gpu_inventory.h
 *
 * The GPUs are probed by a process of its own (gpu/probe_watchdog.h), at the start and every
 * gpu_recheck_ms; if anything has changed it is reported, and the network half registers again.
 * Orders name GPUs by UUID if the controller knows them from us; a run is not started on a GPU that
 * the last probe did not find.
 */
#include "config.h"

#include "noded/watch/gpu_inventory.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "common/gpusched.pb-c.h"
#include "common/net/event_end.h"
#include "noded/confine/containment_active.h"
#include "noded/confine/effective_limits.h"
#include "noded/contain/devfilter.h"
#include "noded/contain/device_grants.h"
#include "noded/gpu/gpus.h"
#include "noded/gpu/probe_watchdog.h"
#include "noded/job/jobenv.h"
#include "noded/runs/launcher_state.h"

struct gpu_inventory {
	struct launcher *l;
	struct gpu_probe *probe;
	struct gpus *now, *next; /* the last result; memory for the probe in progress */
	struct event *ended;     /* the probe's child has ended, or its time is up */
	struct event *again;
	bool known; /* the first probe is done */
};

static void watch_probe(struct gpu_inventory *g);

bool gpu_inventory_known(const struct gpu_inventory *g)
{
	return g && g->known;
}

bool gpu_inventory_found(const struct gpu_inventory *g)
{
	return g && g->now->state == GPUS_FOUND;
}

static void log_gpus(const struct gpus *g)
{
	uint32_t slots = 0;

	if (g->state == GPUS_TROUBLE)
		log_error("the GPUs cannot be asked: %s", g->trouble);
	else if (g->state == GPUS_NONE)
		log_debug("no GPUs are found: %s", g->trouble);
	for (uint32_t i = 0; i < g->n; i++) {
		slots += gpu_is_slot(&g->v[i]);
		if (*g->v[i].trouble)
			log_error("GPU %u (%s): %s", g->v[i].host,
			        *g->v[i].uuid ? g->v[i].uuid : "of no known UUID", g->v[i].trouble);
	}
	if (g->state == GPUS_FOUND && *g->trouble)
		log_error("GPUs: %s", g->trouble);
	if (g->state == GPUS_FOUND)
		log_info("%u GPUs can be used, driver %s", slots, g->driver);
}

/* --- probing --------------------------------------------------------------------------------- */

static void probe_later(struct gpu_inventory *g)
{
	uint64_t ms = g->l->limits->gpu_recheck_ms;
	struct timeval tv = { .tv_sec = (time_t)(ms / 1000), .tv_usec = (long)(ms % 1000) * 1000 };

	if (ms)
		evtimer_add(g->again, &tv);
}

void gpu_inventory_period(struct launcher *l)
{
	if (l->gpu_inventory && l->gpu_inventory->known &&
	        !l->gpu_inventory->ended) /* else it follows the probe */
		probe_later(l->gpu_inventory);
}

static void take_result(struct gpu_inventory *g)
{
	bool changed = !g->known || !gpus_equal(g->now, g->next);
	struct gpus *old = g->now;

	g->now = g->next;
	g->next = old;
	g->known = true;
	if (changed) {
		log_gpus(g->now);
		if (g->now->state == GPUS_FOUND)
			containment_filter_devices(g->l);
		g->l->hooks->node_changed(g->l);
	}
	g->l->hooks->gpus_probed(g->l, g->next, g->now);
	probe_later(g);
}

static void probe_ended(evutil_socket_t fd, short what, void *arg)
{
	struct gpu_inventory *g = arg;

	(void)fd;
	(void)what;
	event_free(g->ended);
	g->ended = NULL;
	if (gpu_probe_take(g->probe, g->next))
		take_result(g);
	else
		watch_probe(g);
}

static void watch_probe(struct gpu_inventory *g)
{
	unsigned ms = gpu_probe_timeout_ms(g->probe);
	struct timeval tv = { .tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000 };

	g->ended = event_new(g->l->base, gpu_probe_fd(g->probe), EV_READ, probe_ended, g);
	if (!g->ended || event_add(g->ended, &tv) < 0)
		abort();
}

static void start_probe(struct gpu_inventory *g)
{
	struct error err;

	if (gpu_probe_start(g->probe, &err) == 0) {
		watch_probe(g);
		return;
	}
	log_error("%s", err.text);
	if (g->known) {
		probe_later(g);
		return;
	}
	g->known = true;
	g->now->state = GPUS_TROUBLE;
	snprintf(g->now->trouble, sizeof(g->now->trouble), "%.*s", (int)sizeof(g->now->trouble) - 1,
	        err.text);
	g->l->hooks->node_changed(g->l);
	probe_later(g);
}

const struct gpus *gpu_inventory_now(const struct gpu_inventory *g)
{
	return g->now;
}

uint64_t gpu_inventory_to_reset(const struct gpu_inventory *g)
{
	const struct gpus *now = g->now;
	uint64_t set = 0;

	for (uint32_t i = 0; i < now->n; i++) {
		if (now->v[i].health.recovery != GPU_RECOVERY_NONE &&
		        now->v[i].nvml < GPUS_HOST_MAX)
			set |= (uint64_t)1 << now->v[i].nvml;
	}
	return set;
}

uint64_t gpu_inventory_not_asked(const struct gpu_inventory *g)
{
	const struct gpus *now = g->now;
	uint64_t set = gpu_inventory_to_reset(g);

	for (uint32_t i = 0; i < now->n; i++) {
		if (now->v[i].health.hung && now->v[i].nvml < GPUS_HOST_MAX)
			set |= (uint64_t)1 << now->v[i].nvml;
	}
	return set;
}

void gpu_inventory_probe(struct launcher *l)
{
	if (l->gpu_inventory->ended)
		return;
	evtimer_del(l->gpu_inventory->again);
	start_probe(l->gpu_inventory);
}

static void probe_due(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	start_probe(arg);
}

struct gpu_inventory *gpu_inventory_start(struct launcher *l)
{
	struct gpu_inventory *g = xcalloc(1, sizeof(*g));
	uint64_t ms = l->options->gpu_timeout_ms;

	g->l = l;
	g->now = xcalloc(1, sizeof(*g->now));
	g->next = xcalloc(1, sizeof(*g->next));
	g->probe = gpu_probe_new("", ms ? (unsigned)ms : PROBE_TIMEOUT_MS);
	g->again = evtimer_new(l->base, probe_due, g);
	if (!g->again)
		abort();
	l->gpu_inventory = g;
	start_probe(g);
	return g;
}

void gpu_inventory_free(struct gpu_inventory *g)
{
	if (!g)
		return;
	event_end(g->ended);
	event_free(g->again);
	gpu_probe_free(g->probe);
	free(g->now);
	free(g->next);
	free(g);
}

/* --- orders ---------------------------------------------------------------------------------- */

int gpu_inventory_find(const struct gpu_inventory *g, const Gpusched__StartRun *order,
        struct jobenv_gpu **out, struct error *err)
{
	size_t n = order->n_gpu_uuids;
	struct jobenv_gpu *v;

	*out = NULL;
	if (!n)
		return 0;
	if (n != order->n_gpus)
		return error_set(
		        err, ERR_LAUNCH, "%zu GPUs with %zu UUIDs in one order", order->n_gpus, n);
	v = xcalloc(n, sizeof(*v));
	for (size_t i = 0; i < n; i++) {
		const struct gpu *gpu = gpus_find(g->now, order->gpu_uuids[i]);

		if (!gpu) {
			free(v);
			return error_set(err, ERR_LAUNCH, "GPU %s is not there, or in trouble",
			        order->gpu_uuids[i]);
		}
		v[i] = (struct jobenv_gpu){ gpu->host, gpu->kind == GPU_MIG, gpu->uuid };
	}
	*out = v;
	return 0;
}

char *gpu_inventory_near(const struct gpu_inventory *g, const Gpusched__StartRun *order)
{
	char *all = xstrdup(""), *more;

	for (size_t i = 0; i < order->n_gpu_uuids; i++) {
		const struct gpu *gpu = gpus_find(g->now, order->gpu_uuids[i]);

		if (!gpu || !*gpu->cpus)
			continue;
		more = xasprintf("%s%s%s", all, *all ? "," : "", gpu->cpus);
		free(all);
		all = more;
	}
	return all;
}

uint64_t gpu_inventory_mem_mb(const struct gpu_inventory *g, const char *uuid)
{
	const struct gpu *gpu = g ? gpus_find(g->now, uuid) : NULL;

	return gpu ? gpu->mem_mb : 0;
}

int gpu_inventory_grants(const struct gpu_inventory *g, const Gpusched__StartRun *order,
        struct device out[DEVFILTER_MAX], size_t *n, struct error *err)
{
	uint32_t *minors = xcalloc(order->n_gpu_uuids + 1, sizeof(*minors));
	uint32_t *caps = xcalloc(order->n_gpu_uuids + 1, sizeof(g->now->v->caps));
	struct device_grants_nvidia found = { .minors = minors, .caps = caps };
	int rc;

	for (size_t i = 0; i < order->n_gpu_uuids; i++) {
		const struct gpu *gpu = gpus_find(g->now, order->gpu_uuids[i]);

		if (!gpu) /* gpu_inventory_find() has found it */
			continue;
		minors[found.n_minors++] = gpu->minor;
		for (uint32_t k = 0; k < gpu->n_caps; k++)
			caps[found.n_caps++] = gpu->caps[k];
		if (gpu->kind == GPU_MIG && gpu->n_caps < 2)
			found.closed = gpu->uuid;
	}
	rc = device_grants_of_nvidia(g->l->containment->grants, &found, out, n, err);
	free(minors);
	free(caps);
	return rc;
}
