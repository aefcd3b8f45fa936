/* gactivate.c - holds requests for services without a replica until there is one
 *
 * Behind a load balancer it is the backup of each service: it gets the requests that find no
 * replica, tells the controller that they wait, and passes them on to the first replica that serves
 * (held_connections.h). It understands nothing of what it passes on. One event loop; the controller
 * is asked by threads (service_finder.h).
 */
#include <inttypes.h>
#include <locale.h>
#include <netdb.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "cmds/cli/cmd.h"
#include "cmds/feed/endpoints.h"
#include "cmds/feed/held_connections.h"
#include "common/base/daemon.h"
#include "common/base/log.h"
#include "common/base/text.h"
#include "common/base/xalloc.h"
#include "common/net/listen_at.h"

#define MAX_HELD     1000
#define MAX_HELD_MAX 100000
#define WAKE_WAIT_MS (5 * 60 * 1000)
#define EMPTY_MS     100 /* so often it is looked whether the last connection has ended */

struct gactivate {
	struct held_connections_limits limits;
	char **names;
	struct held_connections_at *at;
	size_t n;
	struct held_connections *held;
	struct event_base *base;
	struct event *empty;
	bool ending;
};

/* --- options ---------------------------------------------------------------------------------- */

static const struct cmd_option table[] = {
	{ "max-held", 0, "N", "Hold so many connections at most (1000)", cmd_set_count,
	        offsetof(struct gactivate, limits.max_held), MAX_HELD_MAX, 0 },
	CMD_ROW(struct gactivate, limits.wake_wait_ms, "wake-wait", 0, "TIME", cmd_set_ms,
	        "Each of them so long at most (5m)"),
	CMD_TABLE_END,
};

static int parse_at(const char *text, struct held_connections_at *at, struct error *err)
{
	struct addrinfo *found = listen_at(text, 1, err);

	if (!found)
		return -1;
	memcpy(&at->at, found->ai_addr, found->ai_addrlen);
	at->len = found->ai_addrlen;
	freeaddrinfo(found);
	return 0;
}

static int take_word(int key, char *word, struct argp_state *state, void *input, struct error *err)
{
	struct gactivate *g = input;
	char *at = strchr(word, '='), shown[80];

	(void)key, (void)state;
	text_escape(shown, sizeof(shown), word, strlen(word));
	if (at)
		*at++ = '\0';
	if (!at || !feed_is_name(word)) {
		error_set(err, ERR_USAGE, "'%s': expected SERVICE=[ADDRESS:]PORT", shown);
		return error_hint(err, "gactivate chat=127.0.0.1:7001");
	}
	g->names = xrealloc(g->names, g->n + 1, sizeof(*g->names));
	g->at = xrealloc(g->at, g->n + 1, sizeof(*g->at));
	g->names[g->n] = word;
	if (parse_at(at, &g->at[g->n++], err) < 0)
		return error_wrap(err, "%s", shown);
	return 0;
}

static const struct cmd gactivate_cmd = {
	.name = "gactivate",
	.arguments = "SERVICE=[ADDRESS:]PORT...",
	.about = "Hold requests for services that have no replica, wake the services, and pass the "
	         "requests on.",
	.examples =
	        "It is the backup server of a load balancer that gfeed tells of replicas: while "
	        "there are some it gets nothing. A connection counts once its first bytes have "
	        "come, so health checks that only connect wake no service; others, as those of "
	        "an HTTP path, would. Bytes are passed on as they are. What is more than it may "
	        "hold is closed, with HTTP's status 503 if it looks like HTTP.\n"
	        "\n"
	        "It must run as the service's owner, a coordinator of its account or an "
	        "operator. Without ADDRESS it listens at 127.0.0.1.\n"
	        "\n"
	        "Examples:\n"
	        "  gactivate chat=7001\n"
	        "  gactivate chat=7001 code=7002 --max-held=200 --wake-wait=10m\n"
	        "  gactivate chat=0.0.0.0:7001\n"
	        "\n"
	        "TERM: no new connections, those that are held are refused, and it ends with "
	        "the last of the others.\n"
	        "\n"
	        "Exit status: 0 ended by TERM; 1 failed; 2 usage.",
	.table = table,
	.take = take_word,
};

/* --- running ---------------------------------------------------------------------------------- */

/* Two descriptors for each request that was passed on. */
static void raise_files(const struct gactivate *g)
{
	uint64_t want = (uint64_t)g->limits.max_held * 4, files = daemon_raise_files();

	if (files && files < want)
		log_warning("this process may have %" PRIu64
		            " files: --max-held=%u needs up to %" PRIu64,
		        files, g->limits.max_held, want);
}

static void check_empty(evutil_socket_t fd, short what, void *arg)
{
	const struct timeval again = { 0, EMPTY_MS * 1000 };
	struct gactivate *g = arg;

	(void)fd, (void)what;
	if (held_connections_are_none(g->held))
		event_base_loopbreak(g->base);
	else
		evtimer_add(g->empty, &again);
}

static void on_term(evutil_socket_t sig, short what, void *arg)
{
	struct gactivate *g = arg;

	(void)sig, (void)what;
	if (g->ending) {
		event_base_loopbreak(g->base);
		return;
	}
	g->ending = true;
	held_connections_close(g->held);
	check_empty(-1, 0, g);
}

static int serve(struct gactivate *g, struct error *err)
{
	struct event *term, *interrupt;

	g->held = held_connections_new(g->base, g->names, g->at, g->n, &g->limits, err);
	if (!g->held)
		return -1;
	g->empty = evtimer_new(g->base, check_empty, g);
	term = evsignal_new(g->base, SIGTERM, on_term, g);
	interrupt = evsignal_new(g->base, SIGINT, on_term, g);
	event_add(term, NULL);
	event_add(interrupt, NULL);
	daemon_ready(-1, "holding requests for services without a replica");
	event_base_dispatch(g->base);
	event_free(term);
	event_free(interrupt);
	event_free(g->empty);
	held_connections_free(g->held);
	return EXIT_DONE;
}

static int run(void *input, struct error *err)
{
	struct gactivate *g = input;
	int rc;

	if (!g->n) {
		error_set(err, ERR_USAGE, "there is no service");
		return error_hint(err, "gactivate chat=7001");
	}
	if (log_open("stderr", "info", "gactivate", err) < 0)
		return -1;
	signal(SIGPIPE, SIG_IGN);
	raise_files(g);
	g->base = event_base_new();
	if (!g->base)
		return error_set(err, ERR_SYSTEM, "out of memory");
	rc = serve(g, err);
	event_base_free(g->base);
	free(g->names);
	free(g->at);
	return rc;
}

int main(int argc, char **argv)
{
	static struct gactivate g = { .limits = { MAX_HELD, WAKE_WAIT_MS } };

	setlocale(LC_ALL, "");
	return cmd_main(&gactivate_cmd, argc, argv, &g, run);
}
