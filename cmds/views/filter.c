/* filter.c - see filter.h */
#include "cmds/views/filter.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cmds/views/views.h"
#include "common/base/text.h"
#include "common/base/units.h"
#include "common/base/xalloc.h"

static int add_states(struct filter *f, const char *value, struct error *err)
{
	struct cmd_list *list = &f->lists[FILTER_STATES];
	size_t before = list->n;
	bool all = false; /* none is named then, and ended ones are meant, too */

	if (cmd_list_add(list, value, err) < 0)
		return -1;
	for (size_t i = before; i < list->n; i++) {
		const struct job_state *state = job_state(list->v[i]);

		if (!state && !strcasecmp(list->v[i], "all")) {
			all = true;
		} else if (!state) {
			error_set(err, ERR_USAGE, "no such state");
			return error_hint(err,
			        "PENDING CONFIGURING RUNNING SUSPENDED COMPLETING COMPLETED FAILED "
			        "CANCELLED TIMEOUT NODE_FAIL PREEMPTED OUT_OF_MEMORY DEADLINE");
		}
		free(list->v[i]);
		list->v[i] = xstrdup(state ? state->name : "");
		f->ended = f->ended || !state || state->ended;
	}
	if (all)
		cmd_list_clear(list);
	return 0;
}

static int add_value(struct filter *f, enum filter_what what, const char *value, struct error *err)
{
	switch (what) {
	case FILTER_IDS:
		return cmd_ids_add(&f->ids, value, err);
	case FILTER_STATES:
		return add_states(f, value, err);
	case FILTER_NODES:
		return cmd_hosts_add(&f->lists[FILTER_NODES], value, err);
	default:
		return cmd_list_add(&f->lists[what], value, err);
	}
}

static int me_alone(struct error *err)
{
	char name[256];

	error_set(err, ERR_USAGE, "--me and --user exclude each other");
	return error_hint(err, "for both use --user=%s,...", cmd_user(name, sizeof(name)));
}

int filter_add(struct filter *f, enum filter_what what, const char *option, const char *value,
        struct error *err)
{
	if (what == FILTER_USERS && f->me)
		return me_alone(err);
	return add_value(f, what, value, err) < 0 ? cmd_blame(option, value, err) : 0;
}

CMD_SETTER(filter_set)
{
	char name[80];

	snprintf(name, sizeof(name), "--%s", option->name);
	return filter_add(field, (enum filter_what)option->what, name, value, err);
}

CMD_SETTER(filter_set_me)
{
	return filter_add_me(field, err);
}

int filter_add_me(struct filter *f, struct error *err)
{
	char name[256];

	if (f->lists[FILTER_USERS].n && !f->me)
		return me_alone(err);
	if (f->me)
		return 0;
	f->me = true;
	return cmd_list_add(&f->lists[FILTER_USERS], cmd_user(name, sizeof(name)), err);
}

bool filter_is_empty(const struct filter *f)
{
	size_t n = f->ids.n;

	for (size_t i = 0; i < FILTER_LISTS; i++)
		n += f->lists[i].n;
	return n == 0;
}

int filter_check_users(const struct filter *f, bool any, struct error *err)
{
	const struct cmd_list *users = &f->lists[FILTER_USERS];
	char shown[80];
	uint64_t uid;

	for (size_t i = 0; i < users->n && !any; i++) {
		if (getpwnam(users->v[i]) || count_parse(users->v[i], 0, UINT32_MAX, &uid, NULL) == 0)
			continue;
		text_escape(shown, sizeof(shown), users->v[i], strlen(users->v[i]));
		return error_set(err, ERR_USAGE, "--user=%s: unknown user on this host, and "
		        "without jobs", shown);
	}
	return 0;
}

bool filter_is_partial(const struct error *err, bool any)
{
	return err->code == ERR_NO_JOB || (any && error_exit_status(err->code) == EXIT_NO_OBJECT);
}

void filter_message(const struct filter *f, Gpusched__JobFilter *out)
{
	gpusched__job_filter__init(out);
	out->ids = f->ids.whole;
	out->n_ids = f->ids.n_whole;
	out->tasks = f->ids.some;
	out->n_tasks = f->ids.n_some;
	out->users = f->lists[FILTER_USERS].v;
	out->n_users = f->lists[FILTER_USERS].n;
	out->accounts = f->lists[FILTER_ACCOUNTS].v;
	out->n_accounts = f->lists[FILTER_ACCOUNTS].n;
	out->partitions = f->lists[FILTER_PARTITIONS].v;
	out->n_partitions = f->lists[FILTER_PARTITIONS].n;
	out->qos = f->lists[FILTER_QOS].v;
	out->n_qos = f->lists[FILTER_QOS].n;
	out->states = f->lists[FILTER_STATES].v;
	out->n_states = f->lists[FILTER_STATES].n;
	out->names = f->lists[FILTER_NAMES].v;
	out->n_names = f->lists[FILTER_NAMES].n;
	out->nodes = f->lists[FILTER_NODES].v;
	out->n_nodes = f->lists[FILTER_NODES].n;
	out->include_ended = f->ended;
}

void filter_clear(struct filter *f)
{
	for (size_t i = 0; i < FILTER_LISTS; i++)
		cmd_list_clear(&f->lists[i]);
	cmd_ids_clear(&f->ids);
}
