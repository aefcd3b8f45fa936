/* services.c - MSG_LIST_SERVICES: a stream of chunks; MSG_SERVICE_CONTROL */
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"
#include "common/base/xalloc.h"
#include "ctld/core/accounts/roles.h"
#include "ctld/core/core.h"
#include "ctld/core/records/service.h"
#include "ctld/ctld.h"
#include "ctld/loop/calls.h"
#include "ctld/loop/inputs.h"
#include "ctld/loop/slice.h"
#include "ctld/rpc/call/call_answer.h"
#include "ctld/rpc/rpc.h"
#include "ctld/wire/convert.h"

#define SLICE_SERVICES 16
#define NAMES_MAX      1000

/* By name: one that goes meanwhile is passed over. */
struct listing {
	char **names; /* owned; NULL: all */
	size_t n, at;
	char last[SERVICE_NAME_MAX + 1]; /* of all: the last that was told */
	bool begun, mine, replicas;
	uint32_t uid;
};

static void listing_free(void *data)
{
	struct listing *l = data;

	for (size_t i = 0; l->names && i < l->n; i++)
		free(l->names[i]);
	free(l->names);
	free(l);
}

static bool sees(struct ctld *c, const struct caller *caller, const struct service *s)
{
	const struct service_info *i = service_info(s);

	return !c->conf->roles.private_jobs ||
	       verb_permits(VERB_JOB_SEE,
	               standing_to_named(c->conf, caller, i->uid, i->account));
}

/* NULL: no more. */
static const struct service *next(const struct ctld *c, struct listing *l)
{
	const struct service *s;

	while (l->names && l->at < l->n)
		if ((s = core_service(c->core, l->names[l->at++])))
			return s;
	if (l->names)
		return NULL;
	s = core_service_after(c->core, l->begun ? l->last : NULL);
	l->begun = true;
	if (s)
		snprintf(l->last, sizeof(l->last), "%s", service_info(s)->name);
	return s;
}

static void slice(struct ctld *c, struct call *call, struct clocks now)
{
	Gpusched__ServiceChunk m = GPUSCHED__SERVICE_CHUNK__INIT;
	struct slice budget = slice_begin(SLICE_US);
	struct caller caller = call_caller(c, call);
	struct listing *l = call->data;
	const struct service *s = NULL;
	struct call_part to;
	bool more = true;

	(void)now;
	call_part_begin(c, call, &to, GPUSCHED__MSG_TYPE__MSG_SERVICE_CHUNK, &m.base, true);
	for (unsigned n = 0; n < SLICE_SERVICES && !slice_over_now(&budget); n++) {
		s = next(c, l);
		more = s;
		if (!s)
			break;
		if (l->mine ? service_info(s)->uid == l->uid : sees(c, &caller, s))
			part_add(&to.part, &wire_service(c->core, s, l->replicas, c->out)->base);
	}
	part_end(&to.part);
	call_continue(c, call, more, NULL);
}

static const struct call_ops listing_ops = { .slice = slice, .free = listing_free };

static int take_names(
        struct ctld *c, const struct caller *caller, const Gpusched__ListServices *m, struct listing *l, struct error *err)
{
	const struct service *s;
	char shown[80];

	if (m->n_names > NAMES_MAX)
		return error_set(err, ERR_USAGE, "%zu names of services; at most %d", m->n_names,
		        NAMES_MAX);
	l->names = m->n_names ? xcalloc(m->n_names, sizeof(char *)) : NULL;
	for (size_t i = 0; i < m->n_names; i++) {
		text_escape(shown, sizeof(shown), m->names[i], strlen(m->names[i]));
		s = core_service(c->core, m->names[i]);
		if (!s || !sees(c, caller, s))
			return error_set(err, ERR_NO_SERVICE, "there is no service %s", shown);
		l->names[l->n++] = xstrdup(m->names[i]);
	}
	return 0;
}

int rpc_list_services(struct ctld *c, const struct rpc *rpc, struct error *err)
{
	const Gpusched__ListServices *m = (const Gpusched__ListServices *)rpc->msg;
	struct caller caller = peer_caller(c, rpc->peer);
	struct listing *l = xcalloc(1, sizeof(*l));

	l->mine = m->mine;
	l->replicas = m->replicas;
	l->uid = caller.uid;
	if (take_names(c, &caller, m, l, err) < 0) {
		listing_free(l);
		return -1;
	}
	return rpc_call(c, rpc, &listing_ops, l);
}

static const struct call_ops control_ops = { .effect = NULL }; /* the core's answer ends it */

int rpc_service_control(struct ctld *c, const struct rpc *rpc, struct error *err)
{
	struct core_event ev = { 0 };
	struct call *call;

	if (wire_service_control((const Gpusched__ServiceControl *)rpc->msg, &ev, err))
		return -1;
	call = call_new(c, rpc->peer, rpc->id, &control_ops, NULL);
	if (!call)
		return 0;
	ev.caller = call_caller(c, call);
	inputs_apply(c, &ev, rpc->now);
	return 0;
}
