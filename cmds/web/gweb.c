/* gweb.c - the cluster by HTTP: metrics, REST, pages
 *
 * Two threads and a few helpers: this one has the event loop with the HTTP server (http.h), the
 * watcher keeps the snapshot (watcher.h), and workers ask the controller where one request needs
 * it.
 */
#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <event2/event.h>

#include "cmds/cli/cmd.h"
#include "cmds/web/auth/identify.h"
#include "cmds/web/auth/login_command.h"
#include "cmds/web/http.h"
#include "cmds/web/metrics/metrics.h"
#include "cmds/web/pages/page_table.h"
#include "cmds/web/rest/openapi.h"
#include "cmds/web/rest/rest.h"
#include "cmds/web/rest/slurmrest.h"
#include "cmds/web/share_history.h"
#include "cmds/web/snapshot.h"
#include "cmds/web/watcher.h"
#include "common/base/daemon.h"
#include "common/base/log.h"

#define LISTEN "127.0.0.1:7380"

/* Larger blocks, answers and lists of jobs above all, go back to the system when they are freed.
 * Said once, neither limit grows with what was freed before. */
#define OWN_MAPPING_BYTES (64 * 1024)
#define FREE_TOP_BYTES    (512 * 1024)

struct gweb {
	struct cmd_list listen, hosts;
	struct http_config http_config;
	struct watcher_config watcher_config;
	struct pages_options pages_options;
	struct identify_config identify_config;
	uint64_t session_ms;
	const char *log_level;
	bool manual, openapi;
	struct event_base *base;
	struct snapshots *snapshots;
	struct metrics *metrics;
	struct share_history *shares;
	struct identify *identify;
	struct rest *rest;
	struct http *http;
	struct watcher *watcher;
	int published; /* eventfd: the watcher tells the loop */
};

/* --- options ---------------------------------------------------------------------------------- */

static CMD_SETTER(set_mode)
{
	char *end;
	unsigned long mode = strtoul(value, &end, 8);

	if (*end || end == value || mode > 0777)
		return error_set(err, ERR_USAGE, "expected a mode in octal, such as 0660");
	*(unsigned *)field = (unsigned)mode;
	return 0;
}

static const struct cmd_option table[] = {
	CMD_ROW(struct gweb, listen, "listen", 0, "AT", cmd_set_list,
	        "Listen at [ADDRESS:]PORT or unix:PATH; several, or again (" LISTEN ")"),
	CMD_ROW(struct gweb, hosts, "host", 0, "NAME", cmd_set_list,
	        "A name that browsers reach it by, besides this host's"),
	CMD_ROW(struct gweb, http_config.unix_mode, "socket-mode", 0, "MODE", set_mode,
	        "Of unix sockets (0660)"),
	{ "max-connections", 0, "N", "Connections at most (4096)", cmd_set_count,
	        offsetof(struct gweb, http_config.max_connections), 60000, 0 },
	{ "max-per-address", 0, "N", "Of one address at most (256)", cmd_set_count,
	        offsetof(struct gweb, http_config.max_per_address), 60000, 0 },
	CMD_ROW(struct gweb, http_config.request_ms, "request-time", 0, "TIME", cmd_set_ms,
	        "A request is complete after so long at most, or its connection is closed (30s)"),
	CMD_ROW(struct gweb, watcher_config.period_ms, "period", 0, "TIME", cmd_set_ms,
	        "A new snapshot so often at most (1s)"),
	CMD_ROW(struct gweb, watcher_config.keep_ended_ms, "keep-ended", 0, "TIME", cmd_set_ms,
	        "Show jobs so long after their end (1h)"),
	CMD_ROW(struct gweb, pages_options.whatif_dir, "what-if", 0, "DIR", cmd_set_text,
	        "Show the charts of gsim --plot that are there, or in folders there"),
	CMD_ROW(struct gweb, session_ms, "session", 0, "TIME", cmd_set_ms,
	        "A login is good for so long (12h)"),
	CMD_ROW(struct gweb, identify_config.key_file, "key", 0, "FILE", cmd_set_text,
	        "With it tokens outlive a restart: 32 random bytes that only gweb can read"),
	CMD_ROW(struct gweb, identify_config.https, "https", 0, NULL, cmd_set_flag,
	        "Browsers reach it by https, through a proxy: cookies are for that alone"),
	CMD_ROW(struct gweb, log_level, "log-level", 0, "LEVEL", cmd_set_text,
	        "error, warning, info or debug"),
	CMD_ROW(struct gweb, manual, "metrics", 0, NULL, cmd_set_flag,
	        "Print the list of metrics that the manual has"),
	CMD_ROW(struct gweb, openapi, "openapi", 0, NULL, cmd_set_flag,
	        "Print the description of /v1/ (OpenAPI 3)"),
	CMD_TABLE_END,
};

static const struct cmd gweb_cmd = {
	.name = "gweb",
	.arguments = "",
	.about = "Serve the cluster by HTTP: metrics for Prometheus, REST and pages.",
	.examples = "Examples:\n"
	            "  gweb\n"
	            "  gweb --listen=0.0.0.0:7380 --host=gpus.example.org\n"
	            "  gweb --listen=unix:/run/gweb/http.sock    behind a proxy (X-Remote-User)\n"
	            "  gweb login      prints a link that logs a browser in; gweb login --help\n"
	            "  gweb sign GET URL    prints the header that proves a program's user\n"
	            "\n"
	            "TERM ends it.\n"
	            "\n"
	            "Exit status: 0 ended by TERM; 1 failed; 2 usage.",
	.table = table,
};

/* --- running ---------------------------------------------------------------------------------- */

static void raise_files(const struct gweb *g)
{
	uint64_t want = (uint64_t)g->http_config.max_connections + 256,
	         files = daemon_raise_files();

	if (files && files < want)
		log_warning("this process may have %" PRIu64
		            " files: --max-connections=%u needs %" PRIu64,
		        files, g->http_config.max_connections, want);
}

static void prepare(const struct snapshot *snap, void *arg)
{
	struct gweb *g = arg;

	share_history_note(g->shares, snap);
	metrics_prepare(g->metrics, snap);
}

static void tell_published(void *arg)
{
	const struct gweb *g = arg;
	const uint64_t one = 1;

	if (write(g->published, &one, sizeof(one)) < 0)
		return; /* it is told already */
}

static void on_published(evutil_socket_t fd, short what, void *arg)
{
	struct gweb *g = arg;
	uint64_t n;

	(void)what;
	if (read(fd, &n, sizeof(n)) == sizeof(n))
		http_published(g->http);
}

static void on_term(evutil_socket_t sig, short what, void *arg)
{
	(void)sig, (void)what;
	event_base_loopbreak(((struct gweb *)arg)->base);
}

static int loop(struct gweb *g)
{
	struct event *events[] = {
		evsignal_new(g->base, SIGTERM, on_term, g),
		evsignal_new(g->base, SIGINT, on_term, g),
		event_new(g->base, g->published, EV_READ | EV_PERSIST, on_published, g),
	};
	char text[160];

	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)
		event_add(events[i], NULL);
	for (size_t i = 0; *http_at(g->http, i); i++)
		log_info("listening at %s", http_at(g->http, i));
	snprintf(text, sizeof(text), "listening at %s", http_at(g->http, 0));
	daemon_ready(-1, text);
	event_base_dispatch(g->base);
	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)
		event_free(events[i]);
	return EXIT_DONE;
}

static int serve(struct gweb *g, struct error *err)
{
	const struct http_routes tables[] = {
		{ metrics_routes, g->metrics },
		{ pages_routes, &g->pages_options },
		{ identify_routes, g->identify },
		rest_routes(g->rest),
		{ slurmrest_routes, g->rest },
	};
	int rc = -1;

	g->http = http_new(g->base, &g->http_config, tables, sizeof(tables) / sizeof(tables[0]),
	        g->snapshots, err);
	if (g->http) {
		metrics_set_http(g->metrics, g->http);
		g->watcher = watcher_new(&g->watcher_config, g->snapshots, err);
	}
	if (g->watcher)
		rc = loop(g);
	/* The thread ends first, for what it prepares; and then what looks at snapshots, since the
	 * texts of their jobs are the watcher's. */
	watcher_stop(g->watcher);
	http_free(g->http);
	rest_free(g->rest);
	identify_free(g->identify);
	metrics_free(g->metrics);
	share_history_free(g->shares);
	snapshots_free(g->snapshots);
	watcher_free(g->watcher);
	return rc;
}

/* Programs read an error of /v1/ as JSON, a browser reads one as a page; others are text. */
static void tell_failure(const struct http_request *r, struct http_answer *a)
{
	rest_failed(r, a);
	pages_failed(r, a);
}

/* What proves users, and what is made once. */
static int make_rest(struct gweb *g, struct error *err)
{
	g->identify_config.session_s = (unsigned)(g->session_ms / 1000);
	g->identify = identify_new(&g->identify_config, err);
	if (!g->identify)
		return -1;
	g->http_config.identify = identify_request;
	g->http_config.identify_ask = identify_ask;
	g->http_config.identify_arg = g->identify;
	g->http_config.failed = tell_failure;
	g->pages_options.identify = g->identify;
	g->rest = rest_new(g->identify);
	return 0;
}

static int run(void *input, struct error *err)
{
	static const char *const standard[] = { LISTEN };
	struct gweb *g = input;
	int rc;

	if (g->manual) {
		metrics_manual(stdout);
		return EXIT_DONE;
	}
	if (g->openapi) {
		char *text = openapi_text();

		puts(text);
		free(text);
		return EXIT_DONE;
	}
	if (log_open("stderr", g->log_level, "gweb", err) < 0)
		return -1;
	signal(SIGPIPE, SIG_IGN);
	raise_files(g);
	g->http_config.listen = g->listen.n ? (const char *const *)g->listen.v : standard;
	g->http_config.n_listen = g->listen.n ? g->listen.n : 1;
	g->http_config.hosts = (const char *const *)g->hosts.v;
	g->http_config.n_hosts = g->hosts.n;
	g->watcher_config.made = prepare;
	g->watcher_config.published = tell_published;
	g->watcher_config.arg = g;
	g->published = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	g->base = event_base_new();
	if (!g->base || g->published < 0)
		return error_set(err, ERR_SYSTEM, "no event loop: %s", strerror(errno));
	g->snapshots = snapshots_new();
	g->metrics = metrics_new();
	g->shares = share_history_new();
	g->pages_options.shares = g->shares;
	rc = make_rest(g, err) < 0 ? -1 : serve(g, err);
	event_base_free(g->base);
	close(g->published);
	cmd_list_clear(&g->listen);
	cmd_list_clear(&g->hosts);
	return rc;
}

int main(int argc, char **argv)
{
	static struct gweb g = {
		.http_config = { .max_connections = 4096, .max_per_address = 256, .unix_mode = 0660 },
		.watcher_config = { .period_ms = WATCHER_PERIOD_MS,
		        .keep_ended_ms = 3600 * 1000,
		        .ended_max = 20000 },
		.session_ms = 12 * 3600 * 1000,
		.log_level = "info",
	};

	if (argc > 1 && (!strcmp(argv[1], "login") || !strcmp(argv[1], "sign")))
		return login_main(argc - 1, argv + 1);
	setlocale(LC_ALL, "C.UTF-8");
	mallopt(M_MMAP_THRESHOLD, OWN_MAPPING_BYTES);
	mallopt(M_TRIM_THRESHOLD, FREE_TOP_BYTES);
	return cmd_main(&gweb_cmd, argc, argv, &g, run);
}
