/* page_accounts.c - the tree of accounts: shares, use, GPUs held now; use by day */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cmds/cli/parse_time.h"
#include "cmds/web/pages/cells.h"
#include "cmds/web/pages/page.h"
#include "cmds/web/pages/usage_report.h"
#include "common/base/xalloc.h"
#include "common/plot/plot.h"

#define DAY_US    (86400 * INT64_C(1000000))
#define DAYS_TOLD 30
#define LINES_MAX 6 /* accounts in the picture */

/* --- what each holds now ---------------------------------------------------------------------- */

/* Of an account, and all below it. */
struct held {
	uint64_t running, waiting; /* GPUs */
};

static size_t index_of(const struct snapshot *s, const char *account, const char *user)
{
	for (size_t i = 0; i < s->n_shares; i++)
		if (!strcmp(s->shares[i]->account, account) && !strcmp(s->shares[i]->user, user))
			return i;
	return SIZE_MAX;
}

static void add_job(
        const struct snapshot *s, struct held *held, size_t i, const struct snapshot_job *j)
{
	uint32_t depth = s->shares[i]->depth + 1;

	/* Its own line, then each one above: the last before it that is less deep. */
	for (;; i--) {
		if (s->shares[i]->depth < depth) {
			depth = s->shares[i]->depth;
			held[i].running += j->status->runs ? j->status->gpus_held : 0;
			held[i].waiting += j->status->waits ? j->gpus : 0;
		}
		if (!i || !depth)
			return;
	}
}

/* Jobs of one user and account stand together often: the last place is looked at first. */
static struct held *count_held(const struct page *p)
{
	const struct snapshot *s = p->snap;
	struct held *held = xcalloc(s->n_shares ? s->n_shares : 1, sizeof(*held));
	size_t at = SIZE_MAX;

	for (size_t i = 0; i < s->n_jobs; i++) {
		const struct snapshot_job *j = s->jobs[i];

		if (j->status->ended)
			continue;
		if (at == SIZE_MAX || strcmp(s->shares[at]->account, j->request->account) != 0 ||
		        strcmp(s->shares[at]->user, j->request->user) != 0)
			at = index_of(s, j->request->account, j->request->user);
		if (at == SIZE_MAX)
			at = index_of(s, j->request->account, "");
		if (at != SIZE_MAX)
			add_job(s, held, at, j);
	}
	return held;
}

/* --- the tree --------------------------------------------------------------------------------- */

static const char *indent(uint32_t depth)
{
	static const char *const classes[] = { "", "d1", "d2", "d3", "d4" };

	return classes[depth < 4 ? depth : 4];
}

static void put_share(struct page *p, const Gpusched__Share *s, const struct held *held)
{
	struct html *h = p->h;
	bool user = *s->user;

	HTML(h, "<tr><td class=\"t\"><span class=\"%s\">", indent(s->depth));
	if (user) {
		HTML(h, "<a class=\"dim\" href=\"/queue?account=");
		html_url(h, s->account);
		HTML(h, "&amp;user=");
		html_url(h, s->user);
		HTML(h, "\">%s</a>", s->user);
	} else {
		HTML_LINK(h, "/queue?account=", s->account, s->account);
	}
	HTML(h, "</span></td><td class=\"n\">%u</td><td class=\"n\">%.1f %%</td>", s->shares,
	        100 * s->norm);
	HTML(h, "<td class=\"n\">%.1f %%</td><td>", 100 * s->effective);
	put_bar(h, s->effective, 1, s->norm);
	HTML(h, "</td><td class=\"n\"><a href=\"/fair-share?account=");
	html_url(h, s->account);
	if (user) {
		HTML(h, "&amp;user=");
		html_url(h, s->user);
		HTML(h, "\">%.3f</a></td><td class=\"n\">%u</td>", s->fair_share, s->rank);
	} else {
		HTML(h, "\">over time</a></td><td></td>");
	}
	HTML(h,
	        "<td class=\"n\">%" PRIu64 "</td><td class=\"n\">%" PRIu64 "</td>"
	        "<td class=\"n\">%.1f</td><td class=\"n\">%.2f</td></tr>\n",
	        held->running, held->waiting, (double)s->gpu_us / 3.6e9, s->cost);
}

static void put_tree(struct page *p)
{
	struct html *h = p->h;
	struct held *held = count_held(p);

	HTML(h, "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Accounts and "
	        "users\">"
	        "<table><thead><tr><th scope=\"col\">Account, user</th>"
	        "<th scope=\"col\" class=\"n\">Shares</th>"
	        "<th scope=\"col\" class=\"n\" title=\"of its siblings'\">Share</th>"
	        "<th scope=\"col\" class=\"n\" title=\"of its siblings', with old use "
	        "forgotten\">Used</th>"
	        "<th scope=\"col\">Used, and its share as a mark</th>"
	        "<th scope=\"col\" class=\"n\">Fair-share</th><th scope=\"col\" "
	        "class=\"n\">Rank</th>"
	        "<th scope=\"col\" class=\"n\">GPUs held</th><th scope=\"col\" class=\"n\">GPUs "
	        "asked</th>"
	        "<th scope=\"col\" class=\"n\">GPU-hours</th><th scope=\"col\" class=\"n\">Cost");
	if (*p->snap->currency)
		HTML(h, ", %s", p->snap->currency);
	HTML(h, "</th></tr></thead><tbody>");
	for (size_t i = 0; i < p->snap->n_shares; i++) {
		const Gpusched__Share *s = p->snap->shares[i];

		if (page_sees_usage(p, s->account, s->user))
			put_share(p, s, &held[i]);
	}
	HTML(h, "</tbody></table></div>");
	free(held);
}

/* --- guarantees ------------------------------------------------------------------------------- */

static void put_gpus(struct html *h, uint64_t milli)
{
	if (!milli)
		HTML(h, "<td class=\"n dim\">-</td>");
	else if (milli % 1000)
		HTML(h, "<td class=\"n\">%.2f</td>", (double)milli / 1000);
	else
		HTML(h, "<td class=\"n\">%" PRIu64 "</td>", milli / 1000);
}

/* GPUs of its guarantee that are neither held, nor kept, nor lent. */
static uint64_t left_to_lend(const Gpusched__ShareGpus *g)
{
	uint64_t used = g->held_milli > g->kept_milli ? g->held_milli : g->kept_milli;

	used += g->lent_milli;
	return g->guaranteed_milli > used ? g->guaranteed_milli - used : 0;
}

static void put_quota(struct html *h, const Gpusched__Share *s, const Gpusched__ShareGpus *g)
{
	uint64_t most = g->limit ? g->limit * UINT64_C(1000) : g->guaranteed_milli;

	most = g->held_milli > most ? g->held_milli : most;
	HTML(h, "<tr><th scope=\"row\"><span class=\"%s\">%s</span></th><td class=\"t\">%s</td>",
	        indent(s->depth), s->account, *g->type ? g->type : "any");
	put_gpus(h, g->guaranteed_milli);
	put_gpus(h, g->held_milli);
	HTML(h, "<td>");
	put_bar(h, (double)g->held_milli, (double)most, (double)g->guaranteed_milli);
	HTML(h, "</td>");
	put_gpus(h, g->borrowed_milli);
	put_gpus(h, g->lent_milli);
	put_gpus(h, left_to_lend(g));
	put_gpus(h, g->kept_milli);
	put_gpus(h, g->limit * UINT64_C(1000));
	HTML(h, "</tr>\n");
}

static void put_quotas(struct page *p)
{
	struct html *h = p->h;
	size_t n = 0;

	for (size_t i = 0; i < p->snap->n_shares; i++)
		n += p->snap->shares[i]->n_gpus;
	if (!n)
		return;
	HTML(h, "<h2>Guarantees</h2><div class=\"scroll\" tabindex=\"0\" role=\"group\" "
	        "aria-label=\"Guarantees\"><table><thead><tr><th scope=\"col\">Account</th>"
	        "<th scope=\"col\">GPUs</th><th scope=\"col\" class=\"n\">Guaranteed</th>"
	        "<th scope=\"col\" class=\"n\">Held</th>"
	        "<th scope=\"col\">Held, and the guarantee as a mark</th>"
	        "<th scope=\"col\" class=\"n\" title=\"held, and guaranteed to other "
	        "accounts\">Borrowed</th>"
	        "<th scope=\"col\" class=\"n\" title=\"guaranteed, and in use by other "
	        "accounts\">Lent</th>"
	        "<th scope=\"col\" class=\"n\" title=\"guaranteed and idle: other accounts may "
	        "have so many more\">To lend</th>"
	        "<th scope=\"col\" class=\"n\" title=\"never lent\">Kept</th>"
	        "<th scope=\"col\" class=\"n\">Limit</th></tr></thead><tbody>");
	for (size_t i = 0; i < p->snap->n_shares; i++) {
		const Gpusched__Share *s = p->snap->shares[i];

		for (size_t k = 0; k < s->n_gpus; k++)
			if (s->gpus[k]->guaranteed_milli || s->gpus[k]->held_milli)
				put_quota(h, s, s->gpus[k]);
	}
	HTML(h, "</tbody></table></div>");
}

/* --- use by day ------------------------------------------------------------------------------- */

struct history {
	struct days days;
	const char *names[LINES_MAX];
	double hours[LINES_MAX][DAYS_MAX + 1];
	size_t n;
};

static size_t line_of(struct history *y, const char *account)
{
	for (size_t i = 0; i < y->n; i++)
		if (!strcmp(y->names[i], account))
			return i;
	if (y->n == LINES_MAX)
		return LINES_MAX;
	y->names[y->n] = account;
	return y->n++;
}

/* Accounts right under the root alone: those below count in them. */
static void collect(struct history *y, const struct report *r)
{
	for (size_t i = 0; i < r->n; i++) {
		const Gpusched__ReportLine *m = r->lines[i];
		size_t day = days_find(&y->days, m->n_keys > 1 ? m->keys[1] : ""), line;

		if (m->depth || day == y->days.n || !*m->keys[0])
			continue;
		line = line_of(y, m->keys[0]);
		if (line < LINES_MAX)
			y->hours[line][day] += (double)m->gpu_us / 3.6e9;
	}
	for (size_t i = 0; y->days.n && i < y->n; i++)
		y->hours[i][y->days.n] = y->hours[i][y->days.n - 1];
}

static void draw_history(struct strbuf *out, const void *arg)
{
	const struct history *y = arg;
	struct plot_series series[LINES_MAX];
	struct plot_frame f = { .title = "GPU-hours a day, by account",
		.id = "use",
		.bare = true,
		.x = { .unit = PLOT_UTC,
		        .fixed = true,
		        .min = y->days.at[0],
		        .max = y->days.at[y->days.n] },
		.y = { .label = "GPU-hours" } };

	for (size_t i = 0; i < y->n; i++)
		series[i] = (struct plot_series){ y->names[i], PLOT_STEP, y->days.at, y->hours[i],
			NULL, y->days.n + 1 };
	plot_xy(out, &f, series, y->n);
}

static void put_history(struct page *p)
{
	static char account[] = "account", day[] = "day";
	char *by[] = { account, day };
	struct history *y;
	struct report r;
	struct error err;
	int64_t since = parse_time_today(p->now) - (DAYS_TOLD - 1) * DAY_US;

	if (report_ask(p, by, 2, since, p->now, &r, &err) < 0) {
		HTML(p->h, "<p class=\"dim\">Not known: %s.</p>", err.text);
		return;
	}
	y = xcalloc(1, sizeof(*y));
	days_of(&y->days, since, p->now);
	collect(y, &r);
	if (y->n) {
		HTML(p->h, "<figure class=\"scroll\" tabindex=\"0\">");
		html_svg(p->h, draw_history, y);
		HTML(p->h, "</figure>");
	} else {
		HTML(p->h, "<p class=\"dim\">Nothing was used in the last %d days.</p>", DAYS_TOLD);
	}
	free(y);
	report_clear(&r);
}

/* A page by itself, since the controller takes its time for it; that of the accounts shows it where
 * there is a script. */
void page_usage(struct page *p)
{
	page_title(p, "Use by day");
	put_history(p);
}

void page_accounts(struct page *p)
{
	page_title(p, "Accounts");
	if (!p->snap->n_shares)
		HTML(p->h, "<p class=\"dim\">The configuration has no accounts.</p>");
	else
		put_tree(p);
	put_quotas(p);
	HTML(p->h, "<h2>Fair-share over time</h2><div data-later=\"/fair-share\">"
	           "<a href=\"/fair-share\">Use and fair-share of the last week</a></div>");
	HTML(p->h,
	        "<h2>Use by day</h2><div data-later=\"/usage\">"
	        "<a href=\"/usage\">GPU-hours of the last %d days, by account</a></div>",
	        DAYS_TOLD);
}
