/* acct_options.c - see acct_options.h */
#include "cmds/views/acct_options.h"

#include "cmds/cli/parse_time.h"

void acctopt_message(
        const struct acctopt *o, int64_t since, Gpusched__JobFilter *filter, Gpusched__ListAcct *m)
{
	if (o->until && o->until <= since)
		since = parse_time_today(o->until - 1); /* the day that it says */
	gpusched__list_acct__init(m);
	filter_message(&o->filter, filter);
	m->filter = filter;
	m->accounts = o->accounts.v;
	m->n_accounts = o->accounts.n;
	m->qos = o->qos.v;
	m->n_qos = o->qos.n;
	m->labels = o->labels.v;
	m->n_labels = o->labels.n;
	m->since_time = o->since || o->filter.ids.n || o->file ? o->since : since;
	m->until_time = o->until;
}

void acctopt_clear(struct acctopt *o)
{
	filter_clear(&o->filter);
	cmd_list_clear(&o->accounts);
	cmd_list_clear(&o->qos);
	cmd_list_clear(&o->labels);
}
