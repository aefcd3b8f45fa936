/* list_events.c - MSG_LIST_EVENTS: the audit trail, for the users that may see it */
#include "ctld/core/core.h"
#include "ctld/ctld.h"
#include "ctld/loop/peers.h"
#include "ctld/rpc/acct/acct_walk.h"

/* May the caller ask that? *visibility: what the job must be in, if the core does not know it. */
static int check_rights(struct ctld *c, const struct rpc *rpc, const Gpusched__ListEvents *m,
        struct visibility **visibility, struct error *err)
{
	struct caller caller = peer_caller(c, rpc->peer);
	unsigned long long id = m->job;
	struct job_view job;

	*visibility = NULL;
	if (verb_permits(VERB_EVENTS, standing(&caller)) ||
	        (m->by_uid && m->uid == (int64_t)caller.uid))
		return 0;
	if (!id) {
		verb_refuse(VERB_EVENTS, err);
		return error_hint(err,
		        "you may ask for your own (--me), and for those of a job of yours "
		        "(--job)");
	}
	if (!core_job_view(c->core, id, rpc->now, &job)) {
		*visibility = visibility_new(c->conf, &caller, true);
		return 0;
	}
	if (verb_permits(VERB_JOB_EVENTS, rpc_standing(c, rpc, &job)))
		return 0;
	if (!rpc_sees(c, rpc, &job))
		return error_set(err, ERR_NO_JOB, "no job %llu", id);
	verb_refuse(VERB_JOB_EVENTS, err);
	return error_wrap(err, "job %llu is not yours", id);
}

/* Of a restored backup numbers are lower than what people may have seen. */
static int check_cursor(const struct ctld *c, const Gpusched__ListEvents *m, struct error *err)
{
	if (m->after_seq <= core_last_event(c->core))
		return 0;
	return error_set(err, ERR_USAGE, "no event has the number %llu yet: the last one is %llu",
	        (unsigned long long)m->after_seq, (unsigned long long)core_last_event(c->core));
}

int rpc_list_events(struct ctld *c, const struct rpc *rpc, struct error *err)
{
	Gpusched__ListEvents of_array = *(const Gpusched__ListEvents *)rpc->msg;
	const Gpusched__ListEvents *m = &of_array;
	struct past_events events;
	struct visibility *visibility;
	uint32_t task;
	void *data;

	/* Events are an array's, also those of its tasks. */
	core_raw_task(c->core, of_array.job, &of_array.job, &task);
	if (check_rights(c, rpc, m, &visibility, err) < 0 || check_cursor(c, m, err) < 0) {
		visibility_free(visibility);
		return -1;
	}
	data = acct_events_data(m, c->conf, &events, err);
	if (!data) {
		visibility_free(visibility);
		return -1;
	}
	acct_walk_events(c, rpc, &events, m->follow, visibility, &acct_events, data);
	return 0;
}
