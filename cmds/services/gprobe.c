/* gprobe.c - the owner's process around one replica of a service
 *
 *	gprobe OPTIONS -- SCRIPT [ARGUMENT...]
 *
 * The shepherd executes it in place of the script, as the owner, in the run's cgroup. It starts the
 * script, probes it (health.h), asks for its load (scrape.h), reports both to the shepherd
 * (shepherd_lines.h), and ends as the script does. One thread; nothing in it blocks, and its memory
 * does not grow with the server's answers.
 *
 *	SERVING -- TERM --> DRAINING (drain.h) -- it is over --> ENDING: TERM to the script's group
 *	SERVING -- not READY in time, live probe fails --> KILLING: the same, and KILL after 10 s
 *
 * In each of these the end of the script is the end of gprobe. TERM drains. Any other signal is
 * passed on to the script: the shepherd sends those of a run to all processes but gprobe (CONT to
 * all).
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "cmds/services/drain.h"
#include "cmds/services/health.h"
#include "cmds/services/load.h"
#include "cmds/services/loopback_only.h"
#include "cmds/services/options.h"
#include "cmds/services/owner_messages.h"
#include "cmds/services/probe.h"
#include "cmds/services/runfile.h"
#include "cmds/services/scrape.h"
#include "cmds/services/script.h"
#include "cmds/services/server_address.h"
#include "cmds/services/shepherd_lines.h"
#include "cmds/steps/loop.h"

#include "config.h"

#define LOADING_EVERY_MS  500   /* a replica that loads is probed so often, or more often */
#define KILL_AFTER_MS     10000 /* a script that has got TERM since it must end */
#define DEADLINE_EVERY_MS 1000  /* the interruption file is read again */
#define INTERRUPT_FILE    "interrupt"
#define INTERRUPT_MAX     2048

enum phase { SERVING, DRAINING, ENDING, KILLING };

struct gprobe {
	struct gprobe_options o;
	struct loop *loop;
	struct shepherd_lines *tell;
	struct server_address target;
	struct probe *ready, *live; /* NULL: none; `live` also where it is the same as `ready` */
	bool is_same;               /* the ready probe is the live probe, too */
	struct scrape *scrape;      /* NULL: none */
	struct loopback_only *reach; /* NULL: not looked for */
	bool was_reached;           /* it was looked for */
	struct health health;
	struct drain drain;
	struct load_counters counters;
	enum phase phase;
	int64_t kill_ms;     /* KILLING */
	int64_t deadline_ms; /* DRAINING: the interruption file is read next */
	int signals;
	struct loop_watch *signal_watch;
	sigset_t mask; /* as it was */
	pid_t script;
	int status;
	bool ended;
};

/* --- the end of the script -------------------------------------------------------------------- */

static void end_script(struct gprobe *g, enum phase phase)
{
	g->phase = phase;
	g->kill_ms = phase == KILLING ? loop_now_ms() + KILL_AFTER_MS : INT64_MAX;
	script_signal_group(g->script, SIGTERM);
	script_signal_group(g->script, SIGCONT);
}

static void check_kill(struct gprobe *g, int64_t now_ms)
{
	if (g->phase != KILLING || now_ms < g->kill_ms)
		return;
	g->kill_ms = INT64_MAX;
	script_signal_group(g->script, SIGKILL);
}

/* --- drain ------------------------------------------------------------------------------------ */

static void read_deadline(struct gprobe *g, int64_t now_ms)
{
	char text[INTERRUPT_MAX];
	int n = -1;

	if (*g->o.run_dir)
		n = runfile_read(g->o.run_dir, INTERRUPT_FILE, text, sizeof(text), NULL, NULL);
	if (n > 0)
		drain_interrupted(&g->drain, now_ms, (int64_t)time(NULL), text, (size_t)n);
	g->deadline_ms = now_ms + DEADLINE_EVERY_MS;
}

static void begin_drain(struct gprobe *g)
{
	int64_t now = loop_now_ms();

	if (g->phase != SERVING)
		return;
	g->phase = DRAINING;
	g->health.draining = true;
	drain_begin(&g->drain, now, (uint32_t)g->o.drain_s, g->health.was_ready, g->scrape != NULL);
	read_deadline(g, now);
	scrape_want(g->scrape, g->health.was_ready);
	scrape_hurry(g->scrape);
}

static void check_drain(struct gprobe *g, int64_t now_ms)
{
	if (g->phase != DRAINING)
		return;
	if (now_ms >= g->deadline_ms)
		read_deadline(g, now_ms);
	if (now_ms >= drain_over_ms(&g->drain))
		end_script(g, ENDING);
}

/* --- health and load -------------------------------------------------------------------------- */

static void on_load(void *arg, const struct load *load, int64_t began_ms)
{
	char line[LOAD_LINE_MAX];
	struct gprobe *g = arg;

	load_line(&g->counters, load, line);
	shepherd_lines_load(g->tell, line);
	if (g->phase == DRAINING)
		drain_scraped(&g->drain, began_ms, load_is_idle(load));
}

/* The probes run less often once it is ready, and the load is asked for. */
static void follow_state(struct gprobe *g)
{
	bool ready = g->health.state == HEALTH_READY;
	int64_t every = (int64_t)g->o.every_ms;

	if (g->ready && !g->health.was_ready && every > LOADING_EVERY_MS)
		every = LOADING_EVERY_MS;
	if (g->ready)
		probe_set_every(g->ready, every);
	if (g->phase != SERVING)
		return;
	if (ready && !g->was_reached && probe_needs_port(&g->o.ready)) {
		g->was_reached = true;
		g->reach = loopback_only_new(g->loop, &g->target, (int64_t)g->o.timeout_ms);
	}
	scrape_want(g->scrape, ready);
	if (g->scrape && !ready && g->health.was_ready)
		shepherd_lines_load(g->tell, "load unknown\n");
}

static void take_news(struct gprobe *g, enum health_news news)
{
	if (g->phase != SERVING)
		return;
	if (news == HEALTH_TELL)
		shepherd_lines_health(g->tell, health_word(g->health.state), g->health.text);
	if (news == HEALTH_END) {
		owner_message("the replica is ended: %s", g->health.text);
		shepherd_lines_end(g->tell, g->health.text);
		end_script(g, KILLING);
	}
	follow_state(g);
}

static void on_live(void *arg, bool well, const char *text)
{
	struct gprobe *g = arg;

	take_news(g, health_live(&g->health, well, text));
}

static void on_ready(void *arg, bool well, const char *text)
{
	struct gprobe *g = arg;

	take_news(g, health_ready(&g->health, well, text));
	if (g->is_same)
		on_live(g, well, text);
}

/* --- signals ---------------------------------------------------------------------------------- */

static void take_signal(struct gprobe *g, int sig)
{
	if (sig == SIGCHLD)
		g->ended |= script_reap(g->script, &g->status);
	else if (sig == SIGTERM)
		begin_drain(g);
	else if (sig != SIGCONT)
		script_signal(g->script, sig);
}

static void on_signal(uint32_t events, void *arg)
{
	struct signalfd_siginfo info;
	struct gprobe *g = arg;

	(void)events;
	while (!g->ended && read(g->signals, &info, sizeof(info)) == sizeof(info))
		take_signal(g, (int)info.ssi_signo);
}

/* All but those that mean a fault in this process, and PIPE, which is an error of write(2) then. */
static int catch_signals(struct gprobe *g, struct error *err)
{
	static const int faults[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS };
	sigset_t all;

	sigfillset(&all);
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		sigdelset(&all, faults[i]);
	sigprocmask(SIG_SETMASK, &all, &g->mask);
	sigdelset(&all, SIGPIPE);
	g->signals = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
	if (g->signals < 0)
		return error_set(err, ERR_SYSTEM, "signalfd: %s", strerror(errno));
	g->signal_watch = loop_watch(g->loop, g->signals, EPOLLIN, on_signal, g);
	return 0;
}

/* --- the whole -------------------------------------------------------------------------------- */

static bool same_probe(const struct probe_spec *a, const struct probe_spec *b)
{
	return a->kind == b->kind && (a->kind != PROBE_HTTP || strcmp(a->path, b->path) == 0);
}

static struct probe *make_probe(struct gprobe *g, const struct probe_spec *spec,
        void (*found)(void *arg, bool well, const char *text))
{
	struct probe_ops ops = { .spec = spec,
		.run_dir = g->o.run_dir,
		.every_ms = (int64_t)g->o.every_ms,
		.timeout_ms = (int64_t)g->o.timeout_ms,
		.found = found,
		.arg = g };

	return spec->kind == PROBE_NONE ? NULL : probe_new(g->loop, &g->target, &ops);
}

static int set_up(struct gprobe *g, struct error *err)
{
	struct scrape_ops scrape = { .preset = g->o.metrics,
		.path = g->o.metrics_path,
		.run_dir = g->o.run_dir,
		.timeout_ms = (int64_t)g->o.timeout_ms,
		.load = on_load,
		.arg = g };

	g->loop = loop_new();
	g->tell = shepherd_lines_new(g->loop, g->o.fd, err);
	if (!g->tell || catch_signals(g, err) < 0)
		return -1;
	server_address_begin(&g->target, (uint16_t)g->o.port);
	g->is_same = same_probe(&g->o.ready, &g->o.live);
	g->ready = make_probe(g, &g->o.ready, on_ready);
	if (!g->is_same)
		g->live = make_probe(g, &g->o.live, on_live);
	if (*g->o.metrics)
		g->scrape = scrape_new(g->loop, &g->target, &scrape);
	g->script = script_start(g->o.program, &g->mask, err);
	return g->script < 0 ? -1 : 0;
}

static void begin(struct gprobe *g)
{
	health_begin(
	        &g->health, (unsigned)g->o.fails, loop_now_ms() + (int64_t)g->o.load_time_s * 1000);
	shepherd_lines_health(g->tell, health_word(HEALTH_LOADING), "");
	follow_state(g);
	if (!g->ready)
		on_ready(g, true, "");
}

static int64_t earlier(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Live probes begin once it was ready. */
static struct probe *live_now(const struct gprobe *g)
{
	return g->health.was_ready ? g->live : NULL;
}

static int wait_ms(const struct gprobe *g, int64_t now_ms)
{
	int64_t at = earlier(shepherd_lines_wake_ms(g->tell), scrape_wake_ms(g->scrape));

	at = earlier(at, earlier(probe_wake_ms(g->ready), probe_wake_ms(live_now(g))));
	at = earlier(at, loopback_only_wake_ms(g->reach));
	if (g->phase == SERVING)
		at = earlier(at, health_wake_ms(&g->health));
	if (g->phase == DRAINING)
		at = earlier(at, earlier(g->deadline_ms, drain_over_ms(&g->drain)));
	if (g->phase == KILLING)
		at = earlier(at, g->kill_ms);
	return at <= now_ms ? 0 : at - now_ms < 3600000 ? (int)(at - now_ms) : 3600000;
}

static void tick(struct gprobe *g)
{
	int64_t now = loop_now_ms();

	check_kill(g, now);
	check_drain(g, now);
	probe_tick(g->ready, now);
	probe_tick(live_now(g), now);
	scrape_tick(g->scrape, now);
	loopback_only_tick(g->reach, now);
	if (g->phase == SERVING)
		take_news(g, health_clock(&g->health, now));
	shepherd_lines_tick(g->tell, now);
}

static _Noreturn void serve(struct gprobe *g)
{
	begin(g);
	while (!g->ended) {
		loop_run(g->loop, wait_ms(g, loop_now_ms()));
		if (!g->ended)
			tick(g);
	}
	shepherd_lines_last(g->tell);
	script_end_alike(g->status);
}

int main(int argc, char **argv)
{
	static struct gprobe g;
	struct error err;

	if (options_read(&g.o, argc, argv, &err) < 0) {
		fprintf(stderr, "gprobe: error: %s\n%s", err.text, options_usage());
		return EXIT_USAGE;
	}
	if (!g.o.program)
		return puts("gprobe (gpusched) " PACKAGE_VERSION) < 0;
	if (set_up(&g, &err) < 0) {
		fprintf(stderr, "gprobe: error: %s\n", err.text);
		return EXIT_FAILURE;
	}
	serve(&g);
}
