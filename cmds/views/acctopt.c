/* acctopt.c - see acctopt.h */
#include "cmds/views/acctopt.h"

#include <string.h>

#include "cmds/cli/when.h"
#include "common/base/text.h"

static int named(int rc, const char *option, const char *value, struct error *err)
{
	char shown[160];

	if (rc >= 0)
		return 1;
	text_escape(shown, sizeof(shown), value, strlen(value));
	return error_wrap(err, "%s=%s", option, shown);
}

static int take_filter(struct acctopt *o, enum filter_what what, const char *option,
        const char *value, struct error *err)
{
	return filter_add(&o->filter, what, option, value, err) < 0 ? -1 : 1;
}

int acctopt_take(struct acctopt *o, int key, const char *value, struct error *err)
{
	switch (key) {
	case 'S':
		return named(when_parse(value, when_now(), &o->since, err), "--since", value, err);
	case 'E':
		return named(when_parse(value, when_now(), &o->until, err), "--until", value, err);
	case ACCTOPT_KEY_ME:
		return filter_add_me(&o->filter, err) < 0 ? -1 : 1;
	case 'u':
		return take_filter(o, FILTER_USERS, "--user", value, err);
	case 'A':
		return named(cmd_list_add(&o->accounts, value, err), "--accounts", value, err);
	case 'p':
		return take_filter(o, FILTER_PARTITIONS, "--partition", value, err);
	case 'q':
		return named(cmd_list_add(&o->qos, value, err), "--qos", value, err);
	case 's':
		return take_filter(o, FILTER_STATES, "--states", value, err);
	case 'n':
		return take_filter(o, FILTER_NAMES, "--name", value, err);
	case 'L':
		return named(cmd_list_add(&o->labels, value, err), "--label", value, err);
	case 'N':
		return take_filter(o, FILTER_NODES, "--nodes", value, err);
	case 'j':
		return take_filter(o, FILTER_IDS, "--jobs", value, err);
	case ACCTOPT_KEY_FILE:
		o->file = value;
		return 1;
	default:
		return 0;
	}
}

struct client *acctopt_client(const struct acctopt *o, struct error *err)
{
	return o->file ? client_new_file(o->file, err) : client_new(NULL, err);
}

void acctopt_message(
        const struct acctopt *o, int64_t since, Gpusched__JobFilter *filter, Gpusched__ListAcct *m)
{
	if (o->until && o->until <= since)
		since = when_today(o->until - 1); /* the day that it says */
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
