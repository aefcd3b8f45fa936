/* page_fair_share.c - fair-share in the last week, as far as this gweb has seen it */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmds/web/pages/cells.h"
#include "cmds/web/pages/page.h"
#include "cmds/web/share_history.h"
#include "common/base/xalloc.h"
#include "common/plot/plot.h"

#define LINES_MAX 6 /* in one picture */

/* One picture: accounts, or users. */
struct picture {
	const char *title, *id;
	const Gpusched__Share *shares[LINES_MAX];
	char names[LINES_MAX][100];
	struct share_samples samples[LINES_MAX];
	size_t n, more; /* more: that did not get in */
	double since, until;
};

/* --- which lines ------------------------------------------------------------------------------ */

/* Smaller stands before: of users the viewer's own, then the first by rank; of accounts those that
 * have used most. */
static double order_of(const struct page *p, const Gpusched__Share *s)
{
	bool own = !strcmp(s->user, p->r->viewer->name);

	return !*s->user ? -s->effective : own ? -1 : (double)s->rank;
}

/* The picture's lines are the first by their order; later ones of the same order stand behind. */
static void add_line(const struct page *p, struct picture *pic, const Gpusched__Share *s)
{
	size_t at = pic->n < LINES_MAX ? pic->n++ : LINES_MAX;

	pic->more += at == LINES_MAX;
	while (at && order_of(p, pic->shares[at - 1]) > order_of(p, s)) {
		if (at < LINES_MAX)
			pic->shares[at] = pic->shares[at - 1];
		at--;
	}
	if (at < LINES_MAX)
		pic->shares[at] = s;
}

/* The account itself and those right below it ("": at the top), and the users in it and below. */
static void choose(const struct page *p, const char *account, const char *user,
        struct picture *accounts, struct picture *users)
{
	uint32_t top = 0; /* depth of what is right below it */
	bool inside = !*account;

	for (size_t i = 0; i < p->snap->n_shares; i++) {
		const Gpusched__Share *s = p->snap->shares[i];

		if (*account && !*s->user && (!inside || s->depth < top)) {
			inside = !strcmp(s->account, account);
			top = s->depth + 1;
			if (inside && !*user && page_sees_usage(p, s->account, ""))
				add_line(p, accounts, s);
			continue;
		}
		if (!inside || !page_sees_usage(p, s->account, s->user))
			continue;
		if (*s->user && (!*user || !strcmp(s->user, user)))
			add_line(p, users, s);
		else if (!*s->user && !*user && s->depth == top)
			add_line(p, accounts, s);
	}
}

/* What its samples are of. */
static double value_of(const Gpusched__Share *s)
{
	return *s->user ? s->fair_share : s->effective;
}

/* --- a picture -------------------------------------------------------------------------------- */

static void draw(struct strbuf *out, const void *arg)
{
	const struct picture *pic = arg;
	struct plot_series series[LINES_MAX];
	struct plot_frame f = { .title = pic->title,
		.id = pic->id,
		.bare = true,
		.x = { .unit = PLOT_UTC, .fixed = true, .min = pic->since, .max = pic->until },
		.y = { .fixed = true, .max = 1 } };

	for (size_t i = 0; i < pic->n; i++)
		series[i] = (struct plot_series){ pic->names[i], PLOT_LINE, pic->samples[i].at,
			pic->samples[i].v, NULL, pic->samples[i].n };
	plot_xy(out, &f, series, pic->n);
}

/* The same in numbers, for readers of no picture. */
static void put_numbers(struct html *h, const struct picture *pic)
{
	HTML(h,
	        "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"%s, in numbers\">"
	        "<table><thead><tr><th scope=\"col\">Account, user</th>"
	        "<th scope=\"col\" class=\"n\">Now</th><th scope=\"col\" class=\"n\">Least</th>"
	        "<th scope=\"col\" class=\"n\">Most</th></tr></thead><tbody>",
	        pic->title);
	for (size_t i = 0; i < pic->n; i++) {
		const Gpusched__Share *s = pic->shares[i];
		double now = value_of(s), least = now, most = now;

		for (size_t k = 0; k < pic->samples[i].n; k++) {
			least = fmin(least, pic->samples[i].v[k]); /* not a NAN */
			most = fmax(most, pic->samples[i].v[k]);
		}
		HTML(h, "<tr><th scope=\"row\">%s</th><td class=\"n\">%.3f</td>", pic->names[i], now);
		if (pic->samples[i].n)
			HTML(h, "<td class=\"n\">%.3f</td><td class=\"n\">%.3f</td></tr>", least, most);
		else
			HTML(h, "<td class=\"n\">-</td><td class=\"n\">-</td></tr>");
	}
	HTML(h, "</tbody></table></div>");
}

/* What was sampled, and what it is now. */
static void fill(const struct page *p, struct picture *pic)
{
	pic->until = (double)p->now / 1e6;
	for (size_t i = 0; i < pic->n; i++) {
		const Gpusched__Share *s = pic->shares[i];
		struct share_samples *v = &pic->samples[i];

		pic->since = (double)share_history_get(
		        p->options->shares, s->account, s->user, v);
		if (v->n && v->n < SHARE_SLOTS && v->at[v->n - 1] < pic->until) {
			v->at[v->n] = pic->until;
			v->v[v->n++] = value_of(s);
		}
		snprintf(pic->names[i], sizeof(pic->names[i]), "%s%s%s", s->account,
		        *s->user ? " " : "", s->user);
	}
	if (pic->until < pic->since + SHARE_STEP_S)
		pic->until = pic->since + SHARE_STEP_S;
}

static void put_picture(struct page *p, struct picture *pic)
{
	if (!pic->n)
		return;
	fill(p, pic);
	HTML(p->h, "<figure class=\"scroll\" tabindex=\"0\">");
	html_svg(p->h, draw, pic);
	HTML(p->h, "</figure>");
	put_numbers(p->h, pic);
	if (pic->more)
		HTML(p->h, "<p class=\"dim\">%zu more are not in the picture.</p>", pic->more);
}

/* --- the page --------------------------------------------------------------------------------- */

void page_fair_share(struct page *p)
{
	const char *account = page_query(p, "account"), *user = page_query(p, "user");
	struct picture *accounts = xcalloc(1, sizeof(*accounts)), *users;
	struct share_samples *none = &accounts->samples[0];
	int64_t since = share_history_get(p->options->shares, "", "", none);

	users = xcalloc(1, sizeof(*users));
	accounts->title = "Part of the use of its siblings, by account";
	accounts->id = "used";
	users->title = "Fair-share factor, by user";
	users->id = "factor";
	page_title(p, "Fair-share over time");
	choose(p, account, user, accounts, users);
	if (*account)
		HTML(p->h, "<p>In %s. <a href=\"/fair-share\">All accounts</a></p>", account);
	if (!since || !(accounts->n + users->n)) {
		HTML(p->h, "<p class=\"dim\">Nothing is known.</p>");
	} else {
		HTML(p->h, "<p>Since ");
		put_time(p->h, since * INT64_C(1000000), p->now);
		HTML(p->h, ", as gweb has seen it every %d minutes while it ran: a week at most.</p>",
		        SHARE_STEP_S / 60);
		put_picture(p, accounts);
		put_picture(p, users);
	}
	free(accounts);
	free(users);
}
