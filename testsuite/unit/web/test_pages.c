/* test_pages.c - each page of a made cluster: what it says, that hostile names are inert, and that its markup
 * is closed. With GWEB_PAGES=DIR the pages are also written there, to be looked at. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "cmds/web/pages/page_table.h"
#include "cmds/web/share_history.h"
#include "made_cluster.h"

static struct made made;
static char whatif_dir[] = "/tmp/test_pages.XXXXXX";
static struct pages_options options; /* as gweb without options */
static const char *last_type, *last_csp;
static struct viewer viewer = { .known = true, .uid = 1001, .name = "ana" };

static const struct http_route *route_of(const char *path, const char **name)
{
	for (const struct http_route *r = pages_routes; r->method; r++) {
		const char *hole = strstr(r->path, "{}");
		size_t n = hole ? (size_t)(hole - r->path) : 0;

		*name = "";
		if (!hole && !strcmp(r->path, path))
			return r;
		if (hole && !hole[2] && !strncmp(r->path, path, n) && path[n] &&
		        !strchr(path + n, '/')) {
			*name = path + n;
			return r;
		}
	}
	fail_msg("no route for %s", path);
	return NULL;
}

static void keep(const char *path, const char *text)
{
	const char *dir = getenv("GWEB_PAGES");
	char file[512], flat[128];
	FILE *f;

	if (!dir)
		return;
	snprintf(flat, sizeof(flat), "%s", path[1] ? path + 1 : "now");
	for (char *s = flat; *s; s++)
		*s = *s == '/' ? '-' : *s;
	snprintf(file, sizeof(file), "%s/%s.html", dir, flat);
	f = fopen(file, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

/* The page's text; the caller frees it. */
static char *page(const char *path, int want_status)
{
	struct http_request r = { .method = "GET",
		.path = path,
		.raw = path,
		.viewer = &viewer,
		.snap = made.snap,
		.trouble = made_silent ? "no connection" : "",
		.arg = &options,
		.client = (struct client *)&made };
	struct http_answer a = { .status = 200 };
	const struct http_route *route = route_of(path, &r.name);

	route->handler(&r, &a);
	assert_int_equal(a.status, want_status);
	last_type = a.type;
	last_csp = a.csp;
	if (!made_query && !made_silent && !made_part && want_status == 200)
		keep(path, a.body.s);
	return strbuf_take(&a.body);
}

static void has(const char *text, const char *what)
{
	if (!strstr(text, what))
		fail_msg("'%s' is not in:\n%s", what, text);
}

static void has_not(const char *text, const char *what)
{
	const char *at = strstr(text, what);

	if (at)
		fail_msg("'%s' is in: ...%.200s", what, at > text + 60 ? at - 60 : text);
}

/* --- markup ------------------------------------------------------------------------------------- */

static bool is_void(const char *tag, size_t n)
{
	static const char *const tags[] = { "meta", "link", "input", "img", "br", "!doctype" };

	for (size_t i = 0; i < sizeof(tags) / sizeof(tags[0]); i++)
		if (strlen(tags[i]) == n && !strncmp(tags[i], tag, n))
			return true;
	return false;
}

/* Each tag that is opened is closed, in order; nothing but our own script and style is meant. */
static void check_markup(const char *path, const char *text)
{
	char open[64][32];
	size_t depth = 0;

	for (const char *s = strchr(text, '<'); s; s = strchr(s, '<')) {
		const char *tag = s + 1 + (s[1] == '/'), *end = strchr(s, '>');
		size_t n = strcspn(tag, " />\n");

		assert_non_null(end);
		if (s[1] == '/') {
			if (!depth || strncmp(open[depth - 1], tag, n) || open[depth - 1][n])
				fail_msg("%s: </%.*s> closes %s", path, (int)n, tag,
				        depth ? open[depth - 1] : "nothing");
			depth--;
		} else if (!is_void(tag, n) && end[-1] != '/') {
			assert_true(depth < 64 && n < 32);
			snprintf(open[depth++], 32, "%.*s", (int)n, tag);
		}
		s = end;
	}
	if (depth)
		fail_msg("%s: <%s> is not closed", path, open[depth - 1]);
}

static const char *const paths[] = { "/", "/queue", "/nodes", "/node/h05", "/node/l03", "/node/l01",
	"/node/c01", "/accounts", "/usage", "/fair-share", "/services", "/service/chat", "/reports", "/what-if",
	"/about", "/job/4812", "/job/4690", "/job/4001", "/job/4900", "/job/4601" };

static void test_every_page_is_sound(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		char *text = page(paths[i], 200);

		check_markup(paths[i], text);
		has(text, "<!doctype html>");
		has(text, "<main id=\"main\"");
		has(text, "<h1");
		has(text, "aria-current=\"page\"");
		/* The policy lets neither run, so there is none. */
		has_not(text, "<script>");
		has_not(text, " style=\"");
		has_not(text, "<style");
		has_not(text, " onclick");
		has_not(text, "alert(1)<");
		free(text);
	}
}

static void test_hostile_names_are_inert(void **state)
{
	static const char *const shown[] = { "/queue", "/job/4900", "/accounts", "/node/l03",
		"/fair-share", "/services" };

	(void)state;
	for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++) {
		char *text = page(shown[i], 200);

		if (i < 5)
			has(text, "&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;");
		has_not(text, "<script>");
		free(text);
	}
}

static void test_questions_are_inert(void **state)
{
	static const struct made_query query[] = { { "user", HOSTILE }, { "name", HOSTILE },
		{ "sort", HOSTILE }, { "page", HOSTILE }, { "since", HOSTILE }, { "by", HOSTILE },
		{ NULL, NULL } };
	char *text;

	(void)state;
	made_query = query;
	text = page("/queue", 200);
	check_markup("/queue?", text);
	has_not(text, "<script>");
	has(text, "value=\"&lt;script&gt;");
	free(text);
	text = page("/reports", 200);
	has_not(text, "<script>");
	has(text, "a time is");
	free(text);
	made_query = NULL;
}

/* --- what pages say ------------------------------------------------------------------------------- */

static void test_now(void **state)
{
	char *text = page("/", 200);

	(void)state;
	has(text, "<dt>GPUs free</dt><dd>28 <small>of 95</small>");
	has(text, "<b>h06</b><span class=\"hide\">, mixed: 2 free, 4 held, 1 drained, 1 in "
	          "trouble</span>");
	has(text, "<em aria-hidden=\"true\">down</em>");
	has(text, "8 on <a href=\"/node/h04\">h04</a>");
	has(text, "class=\"g idle\" title=\"GPU 2: held, idle, computes 0 %\"");
	has(text, "<dd>4:14:0"); /* the oldest wait that is not by choice */
	has(text, "<a href=\"/job/4691\">4691</a>");
	free(text);
}

static void test_queue(void **state)
{
	static const struct made_query by_user[] = { { "user", "bo" }, { "sort", "-gpus" },
		{ NULL, NULL } };
	static const struct made_query by_reason[] = { { "reason", "Assoc" }, { NULL, NULL } };
	static const struct made_query all[] = { { "state", "ALL" }, { NULL, NULL } };
	static const struct made_query none[] = { { "user", "nobody" }, { NULL, NULL } };
	char *text = page("/queue", 200);

	(void)state;
	has(text, "9 of 9 jobs");
	has(text, "data-why=\"4812\" aria-expanded=\"false\">AssocGrpGRES and 1 more</a>");
	has_not(text, "/job/4601");
	free(text);
	made_query = by_user;
	text = page("/queue", 200);
	has(text, "3 of 9 jobs");
	has(text, "aria-sort=\"descending\"");
	has(text, "<a href=\"?user=bo&amp;sort=name\">Name</a>");
	assert_true(strstr(text, "/job/4813\"") < strstr(text, "/job/4691\""));
	free(text);
	made_query = by_reason;
	text = page("/queue", 200);
	has(text, "1 of 9 jobs");
	free(text);
	made_query = all;
	text = page("/queue", 200);
	has(text, "11 of 11 jobs");
	has(text, "/job/4601");
	free(text);
	made_query = none;
	text = page("/queue", 200);
	has(text, "No job is like that");
	free(text);
	made_query = NULL;
}

static void test_job(void **state)
{
	char *text = page("/job/4812", 200);

	(void)state;
	has(text, "It asks for 8 h100 on one node");
	has(text, "<td>vision: limit h100:32, holds 28, +8</td>");
	has(text, "4690 must end");
	has(text, "<dt class=\"option\">--gpus=h100:4</dt><dd>on h07, within the limit (32 of "
	          "32)</dd>");
	has(text, "glog -f 4812");
	free(text);
	text = page("/job/4690", 200);
	has_not(text, "Why it waits");
	has(text, "idle for 56 %");
	has(text, "41.00 EUR");
	has(text, "<svg");
	free(text);
	text = page("/job/4001", 200);
	has(text, "<span class=\"option\">--time=1:10:00</span> is enough");
	free(text);
	free(page("/job/1", 404));
	free(page("/job/4812_9x", 404));
	free(page("/node/nosuch", 404));
	free(page("/service/nosuch", 404));
}

/* Of what was agreed to be shown the owner gets a link; to all others nothing is offered. */
static void test_output_is_offered_to_its_owner(void **state)
{
	const uid_t owner = viewer.uid;
	char *text = page("/job/4690", 200);

	(void)state;
	has(text, "<a href=\"/output/4690\">Its last lines</a>");
	free(text);
	text = page("/job/4601", 200);
	has(text, "if you submit with --show-output");
	has_not(text, "/output/");
	free(text);
	viewer.uid = owner + 1;
	text = page("/job/4690", 200);
	has_not(text, "/output/");
	has_not(text, "--show-output");
	free(text);
	viewer.uid = owner;
}

static void test_accounts_add_up(void **state)
{
	char *text = page("/accounts", 200);

	(void)state;
	/* research: vision's 20 and its own 2 held; 8 and 1 wait. */
	has(text, "research</a></span></td><td class=\"n\">50</td><td class=\"n\">50.0 %</td>");
	has(text, "<td class=\"n\">22</td><td class=\"n\">9</td>");
	has(text, "user=ana\">0.310</a></td>");
	/* 24 guaranteed and 8 held: 10 are kept, 2.5 of the other 14 are lent; and half a GPU of
	 * the 4.5 beyond a guarantee is another account's. */
	has(text, "<td class=\"n dim\">-</td><td class=\"n\">2.50</td><td class=\"n\">11.50</td>"
	          "<td class=\"n\">10</td><td class=\"n\">32</td>");
	has(text, "<td class=\"n\">0.50</td><td class=\"n dim\">-</td><td class=\"n dim\">-</td>");
	free(text);
}

/* Two samples more, with another use: times in seconds after the first. */
static void note_at(int64_t seconds, double used)
{
	Gpusched__Share s = GPUSCHED__SHARE__INIT, *shares[] = { &s };
	struct snapshot snap = { .taken_us = (made.snap->taken_us / 1000000 + seconds) * 1000000,
		.shares = shares,
		.n_shares = 1 };

	s.account = (char *)"vision";
	s.user = (char *)"ana";
	s.fair_share = used;
	share_history_note(options.shares, &snap);
}

static void test_fair_share_is_kept(void **state)
{
	struct share_samples *v = calloc(1, sizeof(*v));
	struct share_history *whole = options.shares;
	int64_t since;

	(void)state;
	options.shares = share_history_new();
	assert_int_equal(share_history_get(options.shares, "vision", "ana", v), 0);
	assert_int_equal(v->n, 0);
	share_history_note(options.shares, made.snap);
	since = share_history_get(options.shares, "vision", "ana", v);
	assert_int_equal(since, made.snap->taken_us / 1000000 / SHARE_STEP_S * SHARE_STEP_S);
	assert_int_equal(v->n, 1);
	assert_float_equal(v->v[0], 0.31, 1e-4);
	/* The first of each five minutes counts; a gap shows. */
	note_at(SHARE_STEP_S * 3, 0.5);
	note_at(SHARE_STEP_S * 3, 0.9);
	share_history_get(options.shares, "vision", "ana", v);
	assert_int_equal(v->n, 4);
	assert_true(v->v[1] != v->v[1] && v->v[2] != v->v[2]);
	assert_float_equal(v->v[3], 0.5, 1e-4);
	assert_int_equal(v->at[3] - v->at[0], SHARE_STEP_S * 3);
	/* A line that is gone ends there, and is forgotten after a week. */
	share_history_get(options.shares, HOSTILE, HOSTILE, v);
	assert_int_equal(v->n, 4);
	note_at(SHARE_STEP_S * SHARE_SLOTS, 1.5);
	share_history_get(options.shares, HOSTILE, HOSTILE, v);
	assert_int_equal(v->n, 0);
	assert_int_equal(share_history_get(options.shares, "vision", "ana", v),
	        since + SHARE_STEP_S);
	assert_int_equal(v->n, SHARE_SLOTS - 2);
	assert_float_equal(v->v[v->n - 1], 1, 0);
	/* A clock that was set back. */
	note_at(-SHARE_STEP_S, 0.25);
	share_history_get(options.shares, "vision", "ana", v);
	assert_int_equal(v->n, 1);
	share_history_free(options.shares);
	options.shares = whole;
	free(v);
}

/* More lines than there is room for, each with a sample. */
static void test_fair_share_is_bounded(void **state)
{
	struct share_samples *v = calloc(1, sizeof(*v));
	struct share_history *h = share_history_new();
	static char names[SHARE_LINES + 1][8];
	static Gpusched__Share lines[SHARE_LINES + 1], *shares[SHARE_LINES + 1];
	struct snapshot snap = { .taken_us = 1, .shares = shares, .n_shares = SHARE_LINES + 1 };

	(void)state;
	for (size_t i = 0; i <= SHARE_LINES; i++) {
		gpusched__share__init(&lines[i]);
		snprintf(names[i], sizeof(names[i]), "u%zu", i);
		lines[i].account = (char *)"a";
		lines[i].user = names[i];
		shares[i] = &lines[i];
	}
	snap.taken_us = made.snap->taken_us;
	share_history_note(h, &snap);
	share_history_get(h, "a", names[SHARE_LINES - 1], v);
	assert_int_equal(v->n, 1);
	share_history_get(h, "a", names[SHARE_LINES], v);
	assert_int_equal(v->n, 0);
	share_history_free(h);
	free(v);
}

static void test_fair_share_page(void **state)
{
	static const struct made_query in_vision[] = { { "account", "vision" }, { NULL, NULL } };
	static const struct made_query hostile[] = { { "account", HOSTILE }, { "user", HOSTILE },
		{ NULL, NULL } };
	char *text = page("/fair-share", 200);

	(void)state;
	has(text, "every 5 minutes while it ran");
	has(text, "<svg ");
	has(text, ">vision ana</th><td class=\"n\">0.310</td><td class=\"n\">0.310</td>"
	          "<td class=\"n\">0.500</td>");
	has(text, ">speech</th><td class=\"n\">0.700</td>");
	free(text);
	made_query = in_vision;
	text = page("/fair-share", 200);
	has(text, "vision ana</th>");
	has_not(text, "speech");
	free(text);
	made_query = hostile;
	text = page("/fair-share", 200);
	check_markup("/fair-share?", text);
	has(text, "In &lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;.");
	has(text, "<td class=\"n\">0.500</td>");
	has_not(text, "<script>");
	free(text);
	made_query = NULL;
}

/* Where usage is private a viewer sees its own line alone. */
static void test_fair_share_is_private(void **state)
{
	static const struct viewer shy = {
		.known = true, .uid = 7, .name = "bo", .private_usage = true
	};
	struct http_request r = { .method = "GET",
		.path = "/fair-share",
		.raw = "/fair-share",
		.name = "",
		.viewer = &shy,
		.snap = made.snap,
		.trouble = "",
		.arg = &options };
	struct http_answer a = { .status = 200 };

	(void)state;
	route_of("/fair-share", &r.name)->handler(&r, &a);
	assert_int_equal(a.status, 200);
	has(a.body.s, "speech bo</th>");
	has_not(a.body.s, "vision");
	strbuf_free(&a.body);
}

static void test_services_and_nodes(void **state)
{
	char *text = page("/service/embed", 200);

	(void)state;
	has(text, "DEGRADED");
	has(text, "10.0.0.7:20001");
	has(text, "12.5 in flight over 60 s");
	free(text);
	text = page("/node/h05", 200);
	has(text, "new firmware");
	has(text, "79, ");
	has(text, "<td class=\"n\">41 \302\260C</td>");
	free(text);
	text = page("/node/l01", 200);
	has(text, ">4690</a> 20G");
	has(text, "<td class=\"t\">PIX</td>");
	free(text);
}

/* --- when things are not as they should be -------------------------------------------------------- */

static void test_controller_gone(void **state)
{
	char *text;

	(void)state;
	made_silent = true;
	text = page("/", 200);
	has(text, "As it was 0:0");
	has(text, "no connection");
	free(text);
	text = page("/job/4812", 200);
	has(text, "vision: limit h100:32, holds 28, +8");
	has(text, "the controller does not answer");
	free(text);
	text = page("/reports", 200);
	has(text, "There is no report");
	free(text);
	free(page("/job/4001", 502));
	made_silent = false;
}

static void test_no_snapshot_yet(void **state)
{
	struct snapshot *snap = made.snap;
	char *text;

	(void)state;
	made.snap = NULL;
	text = page("/", 503);
	has(text, "The controller was not reached yet");
	check_markup("/", text);
	free(text);
	made.snap = snap;
}

static void test_main_alone(void **state)
{
	char *text;

	(void)state;
	made_part = "main";
	text = page("/accounts", 200);
	assert_true(!strncmp(text, "<main ", 6));
	has_not(text, "<nav");
	free(text);
	made_part = NULL;
}

/* Viewers who see all are sent one text; a viewer to whom jobs are private gets another. */
static void test_made_once_for_many(void **state)
{
	static const struct viewer shy = {
		.known = true, .uid = 7, .name = "shy", .private_jobs = true
	};
	struct http_request r = { .method = "GET",
		.path = "/queue",
		.raw = "/queue?user=bo",
		.name = "",
		.viewer = &viewer,
		.snap = made.snap,
		.trouble = "",
		.arg = &options };
	struct http_answer a[4] = { { .status = 200 }, { .status = 200 }, { .status = 200 },
		{ .status = 200 } };
	const struct http_route *route = route_of("/queue", &r.name);

	(void)state;
	made_part = "main";
	route->handler(&r, &a[0]);
	route->handler(&r, &a[1]);
	assert_non_null(a[0].shared);
	assert_ptr_equal(a[0].shared, a[1].shared);
	r.raw = "/queue?user=ana";
	route->handler(&r, &a[2]);
	assert_ptr_not_equal(a[0].shared, a[2].shared);
	r.viewer = &shy;
	route->handler(&r, &a[3]);
	assert_null(a[3].shared);
	has(a[3].body.s, "0 of 0 jobs");
	strbuf_free(&a[3].body);
	for (size_t i = 0; i < 3; i++)
		http_body_put(a[i].shared);
	made_part = NULL;
}

static void test_many_jobs(void **state)
{
	static const struct made_query last[] = { { "page", "4" }, { "sort", "job" },
		{ NULL, NULL } };
	struct made few = made;
	char *text;

	(void)state;
	made_begin(&made, 700);
	text = page("/queue", 200);
	has(text, "709 of 709 jobs");
	has(text, "Page 1 of 4");
	free(text);
	made_query = last;
	text = page("/queue", 200);
	has(text, "Page 4 of 4");
	has(text, "/job/10699\"");
	has_not(text, "/job/10590\"");
	has(text, "rel=\"prev\" href=\"?sort=job&amp;page=3\"");
	free(text);
	made_query = NULL;
	made_end(&made);
	made = few;
}

static void put_file(const char *name, const char *text)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", whatif_dir, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

/* Files that the folder should not have are as if they were not there. */
static void test_what_if(void **state)
{
	static const struct made_query of_more[] = { { "of", "more" }, { NULL, NULL } };
	static const struct made_query outside[] = { { "of", ".." }, { NULL, NULL } };
	char path[256], *text;

	(void)state;
	assert_non_null(mkdtemp(whatif_dir));
	options.whatif_dir = whatif_dir;
	text = page("/what-if", 200);
	has(text, "There is no comparison yet");
	free(text);
	snprintf(path, sizeof(path), "%s/more", whatif_dir);
	assert_int_equal(mkdir(path, 0755), 0);
	put_file("compare-waits.svg", "<svg><script>alert(1)</script></svg>");
	put_file("more/use.svg", "<svg/>");
	put_file("figures.json", "{ \"mean\": \"<script>\" }\n");
	put_file("<b>.svg", "<svg/>");
	snprintf(path, sizeof(path), "%s/link.svg", whatif_dir);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	text = page("/what-if", 200);
	check_markup("/what-if", text);
	has(text, "src=\"/what-if/compare-waits.svg?of=\"");
	has(text, "src=\"/what-if/use.svg?of=more\"");
	has(text, "{ &quot;mean&quot;: &quot;&lt;script&gt;&quot; }\n");
	has_not(text, "link.svg");
	has_not(text, "<b>.svg");
	free(text);
	text = page("/what-if/compare-waits.svg", 200);
	assert_string_equal(last_type, "image/svg+xml");
	has(last_csp, "sandbox");
	has_not(last_csp, "script-src");
	free(text);
	free(page("/what-if/link.svg", 404));
	free(page("/what-if/figures.json", 404));
	free(page("/what-if/use.svg", 404));
	made_query = of_more;
	free(page("/what-if/use.svg", 200));
	made_query = outside;
	free(page("/what-if/use.svg", 404));
	made_query = NULL;
	options.whatif_dir = NULL;
}

static void remove_files(void)
{
	static const char *const names[] = { "compare-waits.svg", "more/use.svg", "figures.json",
		"<b>.svg", "link.svg", "more", "" };
	char path[256];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", whatif_dir, names[i]);
		remove(path);
	}
}

static void test_static_files(void **state)
{
	char *text = page("/static/gweb.css", 200);

	(void)state;
	has(text, "prefers-color-scheme");
	free(text);
	text = page("/static/gweb.js", 200);
	has(text, "EventSource");
	has_not(text, "innerHTML");
	has_not(text, "eval(");
	free(text);
	text = page("/static/plot.css", 200);
	has(text, "plot");
	free(text);
	text = page("/favicon.ico", 200);
	has(text, "<svg");
	free(text);
	free(page("/static/secret", 404));
}

static int begin(void **state)
{
	(void)state;
	made_begin(&made, 0);
	options.shares = share_history_new();
	share_history_note(options.shares, made.snap);
	note_at(SHARE_STEP_S, 0.5);
	return 0;
}

static int end(void **state)
{
	(void)state;
	remove_files();
	share_history_free(options.shares);
	made_end(&made);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_page_is_sound),
		cmocka_unit_test(test_hostile_names_are_inert),
		cmocka_unit_test(test_questions_are_inert),
		cmocka_unit_test(test_now),
		cmocka_unit_test(test_queue),
		cmocka_unit_test(test_job),
		cmocka_unit_test(test_output_is_offered_to_its_owner),
		cmocka_unit_test(test_accounts_add_up),
		cmocka_unit_test(test_fair_share_is_kept),
		cmocka_unit_test(test_fair_share_is_bounded),
		cmocka_unit_test(test_fair_share_page),
		cmocka_unit_test(test_fair_share_is_private),
		cmocka_unit_test(test_services_and_nodes),
		cmocka_unit_test(test_controller_gone),
		cmocka_unit_test(test_no_snapshot_yet),
		cmocka_unit_test(test_main_alone),
		cmocka_unit_test(test_made_once_for_many),
		cmocka_unit_test(test_many_jobs),
		cmocka_unit_test(test_what_if),
		cmocka_unit_test(test_static_files),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
