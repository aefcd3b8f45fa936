/* gctl_stats.c - gctl stats: the controller's figures, and what each user holds of it */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmds/cli/table.h"
#include "cmds/cli/view.h"
#include "cmds/ctl/gctl.h"
#include "common/base/units.h"

/* --- figures --------------------------------------------------------------------------------- */

#define STAT(name, width, min, flags, help, member) \
	VIEW_FIELD(name, width, min, flags, help, TEXT, NULL, Gpusched__Stat, member)

SHOW(value)
{
	double v = ((const Gpusched__Stat *)object)->value;

	view_printf(cell, v > -1e15 && v < 1e15 && v == (double)(int64_t)v ? "%.0f" : "%.3f", v);
}

static const struct view_column stat_columns[] = {
	STAT("NAME", 20, 0, TABLE_WHOLE, "name", name),
	COLUMN("VALUE", 10, 0, NUM, "value", value),
	STAT("UNIT", 5, 0, TABLE_WHOLE, "unit", unit),
	STAT("HELP", 0, 10, 0, "what it is", help),
};

static const struct view_kind stat_kind = {
	VIEW_COLUMNS(stat_columns),
	.standard = "NAME,VALUE,UNIT,HELP",
};

/* --- users ----------------------------------------------------------------------------------- */

/* A row: a user, or with `limits` the most that one user may have. */
struct user_row {
	const Gpusched__UserStat *user;
	bool limits;
};

SHOW(user)
{
	const struct user_row *row = object;

	view_text(cell, row->limits ? "(limit)" : row->user->name);
}

static void show_amount(const struct user_row *row, const char *kind, struct view_cell *cell)
{
	char buf[UNITS_TEXT];
	size_t i = 0;
	const Gpusched__UserBudget *b;
	uint64_t n;

	while (i < row->user->n_budgets && strcmp(row->user->budgets[i]->name, kind) != 0)
		i++;
	if (i == row->user->n_budgets)
		return;
	b = row->user->budgets[i];
	n = row->limits ? b->limit : b->used;
	if (row->limits && !b->limit)
		view_text(cell, "-");
	else if (!strcmp(b->unit, "us"))
		view_printf(cell, "%.3fs", (double)n / 1e6);
	else if (*b->unit)
		view_printf(cell, "%s", size_format(buf, n));
	else
		view_printf(cell, "%" PRIu64, n);
}

/* X(column, as the controller calls it, what it is) */
#define AMOUNTS(X)                                                                             \
	X(SESSIONS, "sessions", "connections that are open")                                   \
	X(STREAMS, "streams", "connections to runs: glog, grun")                               \
	X(REQUESTS, "requests", "requests that are being worked on")                           \
	X(WAITS, "waits", "what requests hold that stay open")                                 \
	X(UNREAD, "unread", "answers that were not read yet")                                  \
	X(MEMORY, "memory", "jobs with their dependencies in the controller's memory")         \
	X(SCRIPTS, "scripts", "scripts and environments of jobs on the controller's disk")     \
	X(TIME, "time", "processor time of the controller's loop since its start")

#define X(column, kind, help) CELL(column, , show_amount(object, kind, cell))
AMOUNTS(X)
#undef X

#define X(column, kind, help) COLUMN(#column, 8, 0, NUM, help, column),
static const struct view_column user_columns[] = {
	COLUMN("USER", 12, 0, TABLE_WHOLE, "user", user),
	AMOUNTS(X)
};
#undef X

#define X(column, kind, help) "," #column
static const struct view_kind user_kind = {
	VIEW_COLUMNS(user_columns),
	.standard = "USER" AMOUNTS(X),
};
#undef X

/* --- asking ---------------------------------------------------------------------------------- */

static void add_users(struct view *view, const Gpusched__StatsResult *result, bool first)
{
	for (size_t i = 0; i < result->n_users; i++) {
		struct user_row row = { .user = result->users[i] };

		if (first && i == 0) {
			row.limits = true;
			view_add(view, &row);
			row.limits = false;
		}
		view_add(view, &row);
	}
}

/* Users may come in several parts, figures come in one. */
struct shown {
	struct run *r;
	struct view *view; /* NULL: JSON */
	size_t parts;
};

static int on_stats(const ProtobufCMessage *m, void *arg, struct error *err)
{
	const Gpusched__StatsResult *result = (const Gpusched__StatsResult *)m;
	struct shown *shown = arg;

	(void)err;
	for (size_t i = 0; i < result->n_stats; i++) {
		if (shown->view)
			view_add(shown->view, result->stats[i]);
		else
			jsonout_message(&shown->r->out, &result->stats[i]->base);
	}
	if (shown->view)
		add_users(shown->view, result, shown->parts++ == 0);
	for (size_t i = 0; !shown->view && i < result->n_users; i++)
		jsonout_message(&shown->r->out, &result->users[i]->base);
	return 0;
}

int gctl_stats(struct run *r, struct error *err)
{
	Gpusched__Stats stats = GPUSCHED__STATS__INIT;
	struct table_style style = table_style_for(stdout);
	struct shown shown = { .r = r };
	struct client_call call = CLIENT_ASK(STATS, &stats.base, STATS_RESULT, on_stats, &shown);
	const struct view_kind *kind = r->g->by ? &user_kind : &stat_kind;
	int rc;

	if (r->g->by && strcmp(r->g->by, "user") != 0)
		return error_set(err, ERR_USAGE, "--by=%.60s: expected --by=user", r->g->by);
	stats.by_user = r->g->by != NULL;
	style.width = isatty(STDOUT_FILENO) ? style.width : 0;
	jsonout_begin(&r->out, stdout, client_conf(r->client)->cluster,
	        r->g->by ? "users" : "stats");
	shown.view = r->g->json ? NULL : view_new(kind, NULL, NULL, &style, err);
	rc = client_call(r->client, &call, err);
	if (shown.view && rc == 0)
		view_end(shown.view);
	else
		view_drop(shown.view);
	return gctl_end(r, rc, err);
}
