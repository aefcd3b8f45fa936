/* list_acct.c - MSG_LIST_ACCT and MSG_REPORT: what jobs used, one by one or in groups */
#include "ctld/ctld.h"
#include "ctld/rpc/acct/acct_walk.h"

int rpc_list_acct(struct ctld *c, const struct rpc *rpc, struct error *err)
{
	const Gpusched__ListAcct *m = (const Gpusched__ListAcct *)rpc->msg;
	struct acct_query *query;

	query = acct_query_new(m, c->conf, acct_visibility(c, rpc->peer), err);
	if (!query)
		return -1;
	acct_walk(c, rpc, query, &acct_listing, acct_listing_data(m));
	return 0;
}

int rpc_report(struct ctld *c, const struct rpc *rpc, struct error *err)
{
	const Gpusched__Report *m = (const Gpusched__Report *)rpc->msg;
	struct acct_query *query;
	void *data = NULL;

	query = acct_query_new(m->jobs, c->conf, acct_visibility(c, rpc->peer), err);
	if (query)
		data = acct_report_data(m, query, c->conf, err);
	if (!data) {
		acct_query_free(query);
		return -1;
	}
	acct_walk(c, rpc, query, &acct_report, data);
	return 0;
}
