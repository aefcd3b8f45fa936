/* grun_signals.c - signals to grun, ^C among them: for the job, or for us; see grun.h
 *
 *   before it runs   ^C cancels it; a second one does not wait for that
 *   while it runs    the first ^C asks, two within a second end it, one more and we do not wait;
 *                    other signals are passed on
 *   without a connection, or once it has ended: we end
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cmds/cli/terminal.h"
#include "cmds/run/grun.h"
#include "common/base/clock.h"
#include "common/base/text.h"
#include "common/base/units.h"

#define TWICE_MS 1000 /* between two ^C that are one */

void grun_notice(const struct grun *g, const char *fmt, ...)
{
	char text[1024], shown[1200];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	text_escape(shown, sizeof(shown), text, strlen(text));
	fprintf(stderr, "grun: %s%s\n", shown, g->io.pty && g->io.attached ? "\r" : "");
}

int grun_catch_signals(struct grun *g, struct error *err)
{
	static const int ours[] = { SIGINT, SIGTERM, SIGQUIT, SIGHUP, SIGUSR1, SIGUSR2, SIGALRM,
		SIGWINCH, SIGCONT };
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		sigaddset(&set, ours[i]);
	g->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (g->signals < 0 || sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return error_set(err, ERR_SYSTEM, "signals: %s", strerror(errno));
	return 0;
}

/* We go; what becomes of the job is said. */
static void leave(struct grun *g, int sig, const char *what)
{
	g->ended_by = sig;
	terminal_restore();
	if (!g->quiet)
		grun_notice(g, "job %" PRIu64 " %s", g->link.job, what);
}

static void pass_on(struct grun *g, int sig)
{
	g->io.signals |= (uint64_t)1 << sig;
}

/* As srun has it: the first ^C asks, two within a second mean it, one more and we do not wait. */
static void interrupt(struct grun *g)
{
	int64_t s = clock_us(CLOCK_REALTIME) / 1000000 - g->link.start_time / 1000000;
	char ran[UNITS_TEXT];

	if (g->io.pty || g->disable_status || !isatty(STDERR_FILENO)) {
		pass_on(g, SIGINT);
		return;
	}
	if (g->ints) {
		leave(g, SIGINT, "is being ended; not waiting for it");
		return;
	}
	if (g->int_ms && clock_ms(CLOCK_MONOTONIC) - g->int_ms <= TWICE_MS) {
		g->ints++;
		grun_notice(g, "sending ^C to job %" PRIu64 ", and ending it", g->link.job);
		pass_on(g, SIGINT);
		g->cancel_ms =
		        clock_ms(CLOCK_MONOTONIC) + TWICE_MS; /* it may have its own way to end */
		return;
	}
	g->int_ms = clock_ms(CLOCK_MONOTONIC);
	duration_format(ran, (uint64_t)(s > 0 ? s : 0));
	grun_notice(g, "job %" PRIu64 " runs on %s for %s (one more ^C within a second to end it)",
	        g->link.job, g->link.node, ran);
}

static void hang_up(struct grun *g)
{
	struct error err;

	if (!g->detach_on_loss) {
		pass_on(g, SIGHUP);
		return;
	}
	runio_detach(&g->io, &err); /* or it notices by itself */
	leave(g, SIGHUP, "goes on by itself");
}

/* While it runs and we are with it. */
static void on_signal(struct grun *g, int sig)
{
	switch (sig) {
	case SIGINT:
		interrupt(g);
		break;
	case SIGHUP:
		hang_up(g);
		break;
	default:
		pass_on(g, sig);
	}
}

/* Before it runs it is cancelled, and a second time we do not wait for that. */
static void on_early_signal(struct grun *g, int sig)
{
	if (sig == SIGHUP && g->detach_on_loss) {
		leave(g, sig, "is left to itself");
	} else if (g->ints++) {
		leave(g, sig, "is being cancelled; not waiting for it");
	} else if (g->attach) {
		leave(g, sig, "is left as it is");
	} else {
		g->link.cancel = true;
		g->ints = sig;
	}
}

static void take_signal(struct grun *g, int sig)
{
	if (sig == SIGWINCH) {
		g->io.window = g->io.pty;
	} else if (sig == SIGCONT) {
		g->io.in_off = false;
		if (g->io.pty && g->io.attached)
			terminal_raw();
	} else if (!g->link.started) {
		on_early_signal(g, sig);
	} else if (g->io.attached) {
		on_signal(g, sig);
	} else if (!g->link.ended) {
		leave(g, sig, "is left to itself: there is no connection to it");
	} else {
		leave(g, sig, "has ended; the rest of its output is not waited for");
	}
}

void grun_take_signals(struct grun *g)
{
	struct signalfd_siginfo si;

	while (!g->ended_by && read(g->signals, &si, sizeof(si)) == sizeof(si))
		take_signal(g, (int)si.ssi_signo);
}

void grun_end_after_interrupt(struct grun *g)
{
	if (!g->cancel_ms || clock_ms(CLOCK_MONOTONIC) < g->cancel_ms)
		return;
	g->cancel_ms = 0;
	g->link.cancel = true;
}
