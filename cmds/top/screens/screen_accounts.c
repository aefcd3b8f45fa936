/* screen_accounts.c - see screen_accounts.h */
#include "cmds/top/screens/screen_accounts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmds/top/model/accounts.h"
#include "cmds/views/views.h"
#include "common/base/xalloc.h"

#define PAUSE_US 1000000

/* HELD is the first one's: all GPUs of its jobs, not only those of types with guarantees. */
static const struct list_kind kinds = { { &account_kind, &share_kind } };

static const char columns[] =
        "ACCOUNT,USER,HELD,RUN,WAIT,LENT,BORROWED,SHARES,LEVEL-FS,GPU-H,RANK,FACTOR";

static bool is_shown(const struct state *s, const Gpusched__Share *share)
{
	const struct row_filter *f = &s->filter;

	return (!*f->account || !strcmp(share->account, f->account)) &&
	       (!*f->user || !strcmp(share->user, f->user)) &&
	       (!*f->text || strcasestr(share->account, f->text) ||
	               strcasestr(share->user, f->text));
}

/* The lines borrow from the model's shares, which each listing replaces. */
static void make_lines(struct state *s)
{
	const struct model *m = &s->model;

	if (s->accounts && s->accounts_of == m->changes)
		return;
	if (s->accounts && s->accounts_shares == m->share_changes &&
	        s->now_us < s->accounts_us + PAUSE_US && s->now_us >= s->accounts_us)
		return;
	free(s->accounts);
	s->accounts = accounts_make(m);
	s->n_accounts = m->shares.n;
	s->accounts_of = m->changes;
	s->accounts_shares = m->share_changes;
	s->accounts_us = s->now_us;
}

struct drawing {
	const struct state *s;
	const size_t *shown;
};

static bool row(size_t i, const void *objects[LIST_OBJECTS], void *arg)
{
	const struct drawing *d = arg;
	const struct account_line *line = &d->s->accounts[d->shown[i]];

	objects[0] = line;
	objects[1] = line->share;
	return true;
}

/* The lines that fit the filter, by their places; the caller frees. */
static size_t *find_shown(const struct state *s, size_t *n)
{
	size_t *shown = xcalloc(s->n_accounts + 1, sizeof(*shown));

	*n = 0;
	for (size_t i = 0; i < s->n_accounts; i++)
		if (is_shown(s, s->accounts[i].share))
			shown[(*n)++] = i;
	return shown;
}

void screen_accounts_draw(struct state *s, struct grid *g, struct area a)
{
	struct list_state *list = &s->lists[SCREEN_ACCOUNTS];
	struct drawing d = { s, NULL };
	struct list_source source = { 0, row, NULL, &d };
	size_t *shown;

	list_view_use(&list->view, &kinds, columns);
	make_lines(s);
	d.shown = shown = find_shown(s, &source.n);
	list->n = source.n;
	list->page = a.rows > 1 ? a.rows - 1 : 1;
	list_draw(&list->view, g, a, &source, &list->cursor);
	if (!source.n && a.rows > 1)
		grid_text(g, a.row + 1, a.col, a.cols, LOOK_DIM,
		        s->n_accounts ? "no account fits the filter" : "no account is known");
	free(shown);
}

/* The queue of that account, or of that user in it. */
void screen_accounts_enter(struct state *s)
{
	size_t n, at = s->lists[SCREEN_ACCOUNTS].cursor.index, *shown;

	make_lines(s);
	shown = find_shown(s, &n);
	if (at < n) {
		const Gpusched__Share *share = s->accounts[shown[at]].share;

		snprintf(s->filter.account, sizeof(s->filter.account), "%s", share->account);
		snprintf(s->filter.user, sizeof(s->filter.user), "%s", share->user);
		s->jobs[SCREEN_QUEUE].stale = s->jobs[SCREEN_RUNNING].stale = true;
		s->at = SCREEN_QUEUE;
	}
	free(shown);
}
