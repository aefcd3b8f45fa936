/* controller_queries.c - see controller_queries.h */
#include "cmds/slurm_commands/controller_queries.h"

#include <stdlib.h>

#include "cmds/api/reassemble.h"
#include "common/base/xalloc.h"
#include "common/net/msg.h"

#define TYPE(name) GPUSCHED__MSG_TYPE__MSG_##name

int ask_jobs(struct client *c, const struct filter *f, bool with_runs, ask_on_item *on_job,
        void *arg, struct error *err)
{
	Gpusched__ListJobs request = GPUSCHED__LIST_JOBS__INIT;
	Gpusched__JobFilter filter;
	struct reassembly jobs = { TYPE(JOB_CHUNK), on_job, arg, NULL };

	filter_message(f, &filter);
	request.filter = &filter;
	request.with_runs = with_runs;
	request.whole = f->ids.n > 0;
	return reassembly_ask(c, TYPE(LIST_JOBS), &request.base, &jobs, err);
}

int ask_nodes(struct client *c, const struct cmd_list *names, bool devices, ask_on_item *on_node,
        void *arg, struct error *err)
{
	Gpusched__ListNodes request = GPUSCHED__LIST_NODES__INIT;
	struct reassembly nodes = { TYPE(NODE_CHUNK), on_node, arg, NULL };

	if (names) {
		request.names = names->v;
		request.n_names = names->n;
	}
	request.devices = devices;
	request.whole = true;
	return reassembly_ask(c, TYPE(LIST_NODES), &request.base, &nodes, err);
}

static int ask_partitions(struct client *c, ask_on_item *on_partition, void *arg, struct error *err)
{
	Gpusched__ListPartitions request = GPUSCHED__LIST_PARTITIONS__INIT;
	struct reassembly parts = { TYPE(PARTITION_CHUNK), on_partition, arg, NULL };

	request.whole = true;
	return reassembly_ask(c, TYPE(LIST_PARTITIONS), &request.base, &parts, err);
}

/* --- changes --------------------------------------------------------------------------------- */

struct control {
	ask_on_error *on_error;
	void *arg;
	uint32_t done;
	int first; /* code of the first error that was told */
};

static int on_control(const ProtobufCMessage *m, void *arg, struct error *err)
{
	const Gpusched__JobControlResult *r = (const Gpusched__JobControlResult *)m;
	struct control *control = arg;
	(void)err;

	control->done += r->done;
	for (size_t i = 0; i < r->n_errors; i++) {
		control->first = control->first ? control->first : (int)r->errors[i]->code;
		control->on_error(r->errors[i], control->arg);
	}
	return 0;
}

int ask_control(struct client *c, Gpusched__JobControl *request, const struct filter *f,
        ask_on_error *on_error, void *arg, uint32_t *done, struct error *err)
{
	struct control control = { .on_error = on_error, .arg = arg };
	Gpusched__JobFilter filter;
	struct client_call call = {
		CLIENT_CALL(JOB_CONTROL, &request->base, JOB_CONTROL_RESULT, on_control, &control)
	};
	int rc;

	filter_message(f, &filter);
	request->filter = &filter;
	rc = client_call(c, &call, err);
	request->filter = NULL;
	*done = control.done;
	/* The answer ends with the first of the errors, which was told. */
	return rc < 0 && !(control.first && err->code == control.first) ? -1 : 0;
}

/* --- the cluster ----------------------------------------------------------------------------- */

static int keep_node(const ProtobufCMessage *m, void *arg, struct error *err)
{
	struct ask_all *a = arg;
	(void)err;

	a->nodes = xrealloc(a->nodes, a->n_nodes + 1, sizeof(*a->nodes));
	a->nodes[a->n_nodes++] = (Gpusched__Node *)msg_copy(m);
	return 0;
}

static int keep_partition(const ProtobufCMessage *m, void *arg, struct error *err)
{
	struct ask_all *a = arg;
	(void)err;

	a->partitions = xrealloc(a->partitions, a->n_partitions + 1, sizeof(*a->partitions));
	a->partitions[a->n_partitions++] = (Gpusched__Partition *)msg_copy(m);
	return 0;
}

int ask_cluster(struct client *c, bool devices, struct ask_all *out, struct error *err)
{
	if (ask_partitions(c, keep_partition, out, err) < 0)
		return -1;
	return ask_nodes(c, NULL, devices, keep_node, out, err);
}

void ask_clear(struct ask_all *a)
{
	for (size_t i = 0; i < a->n_nodes; i++)
		gpusched__node__free_unpacked(a->nodes[i], NULL);
	for (size_t i = 0; i < a->n_partitions; i++)
		gpusched__partition__free_unpacked(a->partitions[i], NULL);
	free(a->nodes);
	free(a->partitions);
	*a = (struct ask_all){ .n_nodes = 0 };
}
