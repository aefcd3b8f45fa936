/* node_report.c - see node_report.h
 *
 * The hello waits for the first probe of the GPUs, and a moment for the first health check
 * (watch/health_check.c). Later reports replace what it said of the node.
 */
#include "config.h"

#include "noded/launcher/node_report.h"

#include <stdlib.h>

#include "common/base/xalloc.h"
#include "common/gpusched.pb-c.h"
#include "noded/confine/containment_active.h"
#include "noded/gpu/gpus.h"
#include "noded/runs/agent_channel.h"
#include "noded/runs/launcher_dirs.h"
#include "noded/runs/launcher_state.h"
#include "noded/runs/runs.h"
#include "noded/watch/gpu_faults.h"
#include "noded/watch/gpu_inventory.h"
#include "noded/watch/health_check.h"

#define HELLO_OVER_MAX 4096 /* each at most about 700 bytes: MSG_BODY_MAX_JOB holds them */

struct node_report {
	bool hello_sent;
};

/* gpus_messages_free() frees what it makes. */
static void fill_inventory(const struct launcher *l, Gpusched__Inventory *m)
{
	const struct gpus *gpus = gpu_inventory_now(l->gpu_inventory);

	gpusched__inventory__init(m);
	m->driver = (char *)(uintptr_t)gpus->driver;
	m->asked = gpus->state == GPUS_FOUND;
	if (gpus->state == GPUS_TROUBLE)
		m->trouble = (char *)(uintptr_t)gpus->trouble;
	m->gpus = gpus_messages(gpus, &m->n_gpus);
	m->health = (char *)(uintptr_t)health_why(l);
	m->containment = l->containment->active;
	m->containment_why = l->containment->active_why;
}

struct hello_list {
	Gpusched__RunReport **v;
	size_t n, over; /* entries; those of runs that are over */
};

/* List living runs, and as many runs that are over as surely fit into one message. */
static void list_run(struct run *r, void *arg)
{
	struct hello_list *list = arg;

	if (!r->report || (r->state == RUN_OVER && list->over++ >= HELLO_OVER_MAX))
		return;
	run_refresh(r);
	list->v[list->n++] = r->report;
}

/* Send the rest one by one. */
static void report_rest(struct run *r, void *arg)
{
	struct hello_list *list = arg;

	if (r->state == RUN_OVER && list->over++ >= HELLO_OVER_MAX)
		run_send_report(r);
}

static void send_hello(struct launcher *l)
{
	Gpusched__LauncherHello h = GPUSCHED__LAUNCHER_HELLO__INIT;
	Gpusched__Inventory inventory;
	struct hello_list list = { .v = xcalloc(runs_count(l) + 1, sizeof(*list.v)) };
	char version[] = PACKAGE_VERSION;

	runs_each(l, list_run, &list);
	h.incarnation = l->dirs->incarnation;
	h.boot_id = l->dirs->boot_id;
	h.containment = l->containment->active;
	h.max_epoch = l->dirs->max_epoch;
	h.max_job = l->dirs->max_job;
	h.n_runs = list.n;
	h.runs = list.v;
	h.version = version;
	fill_inventory(l, &inventory);
	h.inventory = &inventory;
	agent_send(l, GPUSCHED__MSG_TYPE__MSG_LAUNCHER_HELLO, &h.base);
	gpus_messages_free(inventory.gpus, inventory.n_gpus);
	free(list.v);
	list.over = 0;
	runs_each(l, report_rest, &list);
	gpu_faults_send(l);
}

void node_report_send(struct launcher *l)
{
	Gpusched__Inventory m;

	if (!gpu_inventory_known(l->gpu_inventory))
		return;
	if (l->node_report->hello_sent) {
		fill_inventory(l, &m);
		agent_send(l, GPUSCHED__MSG_TYPE__MSG_LAUNCHER_GPUS, &m.base);
		gpus_messages_free(m.gpus, m.n_gpus);
	} else if (!health_awaited(l->health)) {
		l->node_report->hello_sent = true;
		send_hello(l);
	}
}

struct node_report *node_report_new(void)
{
	return xcalloc(1, sizeof(struct node_report));
}

void node_report_free(struct node_report *n)
{
	free(n);
}
