/* service.c - see service.h */
#include "cmds/api/service.h"

#include <stdlib.h>

#include "cmds/api/reassemble.h"
#include "common/net/msg.h"

struct asked {
	service_fn *each;
	void *arg;
};

static int on_service(const ProtobufCMessage *m, void *arg, struct error *err)
{
	const struct asked *asked = arg;

	return asked->each((const Gpusched__Service *)m, asked->arg, err);
}

int service_list(struct client *c, const struct service_query *query, service_fn *each, void *arg,
        struct error *err)
{
	Gpusched__ListServices request = GPUSCHED__LIST_SERVICES__INIT;
	struct asked asked = { each, arg };
	struct reassembly services = { GPUSCHED__MSG_TYPE__MSG_SERVICE_CHUNK, on_service, &asked,
		NULL };

	request.names = (char **)query->names;
	request.n_names = query->n;
	request.mine = query->mine;
	request.replicas = query->replicas;
	return reassembly_ask(
	        c, GPUSCHED__MSG_TYPE__MSG_LIST_SERVICES, &request.base, &services, err);
}

/* Keeps the first item of the answer. */
static int keep_first(const ProtobufCMessage *m, void *arg, struct error *err)
{
	ProtobufCMessage **kept = arg;

	(void)err;
	if (!*kept)
		*kept = msg_copy(m);
	return 0;
}

Gpusched__Service *service_find(struct client *c, const char *name, struct error *err)
{
	Gpusched__ListServices request = GPUSCHED__LIST_SERVICES__INIT;
	ProtobufCMessage *kept = NULL;
	struct reassembly services = { GPUSCHED__MSG_TYPE__MSG_SERVICE_CHUNK, keep_first, &kept,
		NULL };
	char *names[] = { (char *)name };

	request.names = names;
	request.n_names = 1;
	request.replicas = true;
	if (reassembly_ask(
	            c, GPUSCHED__MSG_TYPE__MSG_LIST_SERVICES, &request.base, &services, err) < 0) {
		if (kept)
			protobuf_c_message_free_unpacked(kept, NULL);
		return NULL;
	}
	if (!kept)
		error_set(err, ERR_NO_SERVICE, "there is no service %.80s", name);
	return (Gpusched__Service *)kept;
}

Gpusched__Job *service_job(struct client *c, uint64_t id, struct error *err)
{
	Gpusched__ListJobs request = GPUSCHED__LIST_JOBS__INIT;
	Gpusched__JobFilter filter = GPUSCHED__JOB_FILTER__INIT;
	ProtobufCMessage *kept = NULL;
	struct reassembly jobs = { GPUSCHED__MSG_TYPE__MSG_JOB_CHUNK, keep_first, &kept, NULL };

	filter.ids = &id;
	filter.n_ids = 1;
	request.filter = &filter;
	request.whole = true;
	if (reassembly_ask(c, GPUSCHED__MSG_TYPE__MSG_LIST_JOBS, &request.base, &jobs, err) < 0) {
		if (kept)
			protobuf_c_message_free_unpacked(kept, NULL);
		return NULL;
	}
	if (!kept)
		error_set(err, ERR_NO_JOB, "job %llu is not known", (unsigned long long)id);
	return (Gpusched__Job *)kept;
}

int service_control(struct client *c, const Gpusched__ServiceControl *control, struct error *err)
{
	const struct client_call call = { .type = GPUSCHED__MSG_TYPE__MSG_SERVICE_CONTROL,
		.request = &control->base };

	return client_call(c, &call, err);
}
