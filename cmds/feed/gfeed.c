/* gfeed.c - the endpoints of services for load balancers and other programs, as they change
 *
 * One loop: what the controller says (service_watch.h) goes to each output (output.h). When it says
 * nothing the outputs keep what they have. There is nothing to be saved and nothing to clean up, so
 * gfeed ends as any process does and may be killed at any moment.
 */
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cmds/cli/cmd.h"
#include "cmds/feed/output.h"
#include "cmds/feed/service_watch.h"
#include "common/base/clock.h"
#include "common/base/daemon.h"
#include "common/base/log.h"
#include "common/base/text.h"
#include "common/base/xalloc.h"

#define TICK_MS 500  /* HAProxy is looked at again, and commands */
#define TELL_MS 1000 /* a break this short is not worth a line */

struct gfeed {
	struct cmd_list services;
	bool mine, all;
	struct output *outputs;
	size_t n_outputs;
	struct service_watch *source;
	struct feed feed;  /* what the controller said last */
	bool known;        /* it has said something */
	int64_t silent_ms; /* it does not answer since then; 0: it does */
	char silent_text[sizeof(((struct error *)0)->text)];
	bool told;
};

/* --- options ---------------------------------------------------------------------------------- */

static CMD_SETTER(set_output)
{
	struct gfeed *g = field;

	g->outputs = xrealloc(g->outputs, g->n_outputs + 1, sizeof(*g->outputs));
	if (output_parse(option->name, value, &g->outputs[g->n_outputs], err) < 0)
		return -1;
	g->n_outputs++;
	return 0;
}

#define OUTPUT(name, arg, help)                         \
	{                                               \
		name, 0, arg, help, set_output, 0, 0, 0 \
	}

static const struct cmd_option table[] = {
	CMD_HEADING("Which services:"),
	CMD_ROW(struct gfeed, services, "service", 's', "NAME,...", cmd_set_list, "These"),
	CMD_ROW(struct gfeed, mine, "mine", 0, NULL, cmd_set_flag, "All of mine, also new ones"),
	CMD_ROW(struct gfeed, all, "all", 0, NULL, cmd_set_flag,
	        "All that I may see, also new ones"),
	CMD_HEADING("What is kept up to date; each may be given several times:"),
	OUTPUT("haproxy", "SOCKET,backend=NAME[,KEY=VALUE...]",
	        "The servers of a backend of HAProxy, through its runtime API"),
	OUTPUT("nginx", "FILE[,KEY=VALUE...]", "A file with an upstream block for each service"),
	OUTPUT("envoy", "FILE[,KEY=VALUE...]", "A file for envoy's endpoint discovery (EDS)"),
	OUTPUT("prometheus", "FILE[,KEY=VALUE...]", "A file for Prometheus (file_sd)"),
	OUTPUT("litellm", "FILE[,KEY=VALUE...]", "A file with LiteLLM's model_list"),
	OUTPUT("json", "FILE[,KEY=VALUE...]", "All of it for programs of your own"),
	CMD_TABLE_END,
};

static const struct cmd gfeed_cmd = {
	.name = "gfeed",
	.arguments = "--service=NAME,... OUTPUT...\n--mine OUTPUT...\n--all OUTPUT...",
	.about = "Tell load balancers where the replicas of services are, as they come and go.",
	.examples =
	        "It runs until it is ended, as an ordinary user that may see the services. A "
	        "replica is in the outputs once it is ready, and leaves them when it is about "
	        "to end: two seconds at least before its server hears of that. While the "
	        "controller does not answer the outputs stay as they are. Files are replaced as "
	        "a whole, and only if something has changed.\n"
	        "\n"
	        "Keys of all outputs: service=NAME only that one; port=N the replica's N-th "
	        "port instead of the first. Of files: reload=COMMAND, the last one, is run "
	        "after each change. haproxy: server=PREFIX the servers' names before their "
	        "numbers, the service's name if it is not said; slots=N so many of them. nginx: "
	        "backup=HOST:PORT of a gactivate. litellm: model=NAME (hosted_vllm/%s), "
	        "path=PATH (/v1). Where FILE, backend or model has %s, that is the service's "
	        "name: a file for each.\n"
	        "\n"
	        "Examples:\n"
	        "  gfeed --service=chat --haproxy=/run/haproxy/admin.sock,backend=chat\n"
	        "  gfeed --mine --nginx=/run/gfeed/%s.conf,reload='sudo nginx -s reload'\n"
	        "  gfeed --all --prometheus=/run/gfeed/targets.json --json=/run/gfeed/all.json\n"
	        "  gfeed --service=chat,code --envoy=/run/gfeed/eds.json\n"
	        "\n"
	        "Ready configurations for HAProxy and nginx are in etc/examples/services.\n"
	        "\n"
	        "Exit status: 1 failed; 2 usage; else it ends by a signal.",
	.table = table,
};

static int check(struct gfeed *g, struct error *err)
{
	if ((g->services.n != 0) + g->mine + g->all != 1) {
		error_set(err, ERR_USAGE, "expected one of --service, --mine and --all");
		return error_hint(err, "gfeed --service=chat --json=chat.json");
	}
	for (size_t i = 0; i < g->services.n; i++)
		if (!feed_is_name(g->services.v[i]))
			return error_set(err, ERR_USAGE, "--service=%s: no name of a service",
			        g->services.v[i]);
	for (size_t i = 0; i < g->n_outputs; i++)
		if (output_settle(&g->outputs[i], g->services.v, g->services.n, err) < 0)
			return -1;
	if (g->n_outputs)
		return 0;
	error_set(err, ERR_USAGE, "there is no output");
	return error_hint(err, "gfeed --service=chat --json=chat.json");
}

/* --- the loop --------------------------------------------------------------------------------- */

static void keep_outputs(struct gfeed *g)
{
	int64_t now = clock_us(CLOCK_MONOTONIC) / 1000;

	for (size_t i = 0; i < g->n_outputs; i++) {
		struct output *o = &g->outputs[i];

		o->how.silent_since =
		        g->told ? (int64_t)time(NULL) - (now - g->silent_ms) / 1000 : 0;
		output_keep(o, &g->feed, now);
	}
}

/* A service that is gone has no endpoints, and that must be written, too. */
static void take_feed(struct gfeed *g, struct feed *fresh)
{
	for (size_t i = 0; i < g->feed.n; i++)
		feed_add_unknown(fresh, g->feed.v[i].name);
	for (size_t i = 0; i < g->n_outputs; i++)
		output_add_known(&g->outputs[i], fresh);
	feed_sort(fresh);
	feed_clear(&g->feed);
	g->feed = *fresh;
	g->known = true;
}

static void note_answer(struct gfeed *g)
{
	if (g->told)
		log_info("the controller answers again");
	g->silent_ms = 0;
	g->told = false;
}

static void note_silence(struct gfeed *g, const struct error *why)
{
	int64_t now = clock_us(CLOCK_MONOTONIC) / 1000;

	if (!g->silent_ms)
		g->silent_ms = now;
	if (g->told || now - g->silent_ms < TELL_MS)
		return;
	g->told = true;
	text_escape(g->silent_text, sizeof(g->silent_text), why->text, strlen(why->text));
	log_warning("the controller does not answer: %s; the outputs stay as they are", why->text);
}

static _Noreturn void follow(struct gfeed *g)
{
	for (;;) {
		struct feed fresh;
		struct error why;
		int rc = service_watch_wait(g->source, TICK_MS, &fresh, &why);

		if (rc < 0)
			note_silence(g, &why);
		if (rc > 0) {
			bool first = !g->known;

			note_answer(g);
			take_feed(g, &fresh);
			keep_outputs(g);
			if (first)
				daemon_ready(-1, "feeding");
		} else if (g->known) {
			keep_outputs(g);
		}
	}
}

static int run(void *input, struct error *err)
{
	struct gfeed *g = input;
	struct service_watch_which which;

	if (check(g, err) < 0 || log_open("stderr", "info", "gfeed", err) < 0)
		return -1;
	which = (struct service_watch_which){
		.names = g->services.v, .n = g->services.n, .mine = g->mine
	};
	g->source = service_watch_new(&which, err);
	if (!g->source)
		return -1;
	for (size_t i = 0; i < g->n_outputs; i++) {
		g->outputs[i].how.cluster = service_watch_cluster(g->source);
		g->outputs[i].how.silent_text = g->silent_text;
	}
	signal(SIGPIPE, SIG_IGN);
	follow(g);
}

int main(int argc, char **argv)
{
	static struct gfeed g;

	setlocale(LC_ALL, "");
	return cmd_main(&gfeed_cmd, argc, argv, &g, run);
}
