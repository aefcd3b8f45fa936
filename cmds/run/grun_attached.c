/* grun_attached.c - see grun.h: follows a submitted job to its end, and returns its exit status
 *
 *   wait     for its start: why it does not, once
 *   run      its input and output are ours (runio.h)
 *   break    the connection is made again
 *   end      our exit status is that of the job
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cmds/cli/terminal.h"
#include "cmds/run/grun.h"
#include "common/base/clock.h"

#define SIGNAL_STATUS 128
#define EXPLAIN_MS    1500 /* of waiting, and it is said what for */
#define LAST_SEND_MS  2000 /* for the last words to leave */

/* --- waiting ---------------------------------------------------------------------------------- */

/* Said once, after a moment: most jobs start at once. */
static void explain(struct grun *g)
{
	struct runlink *l = &g->link;
	struct error err;

	if (g->quiet || l->started || g->told_waits)
		return;
	if (l->has_why) {
		grun_notice(g, "job %" PRIu64 " waits: %s", l->job, l->why);
		g->told_waits = true;
	} else if (!g->asked_why && clock_ms(CLOCK_MONOTONIC) - g->began_ms >= EXPLAIN_MS &&
	           l->dial) {
		g->asked_why = runlink_ask_why(l, &err) == 0;
	}
}

static void look_at_patience(struct grun *g)
{
	if (g->immediate_ms < 0 || g->too_late || g->link.started ||
	        clock_ms(CLOCK_MONOTONIC) - g->began_ms < g->immediate_ms)
		return;
	g->too_late = true;
	g->link.cancel = true;
}

static int own_timeout(const struct grun *g)
{
	int64_t next = g->cancel_ms ? g->cancel_ms : INT64_MAX, left;

	if (!g->link.started && !g->quiet && !g->asked_why)
		next = g->began_ms + EXPLAIN_MS;
	if (!g->link.started && g->immediate_ms >= 0 && !g->too_late &&
	        g->began_ms + g->immediate_ms < next)
		next = g->began_ms + g->immediate_ms;
	if (next == INT64_MAX)
		return -1;
	left = next - clock_ms(CLOCK_MONOTONIC);
	return left < 0 ? 0 : left > INT32_MAX ? INT32_MAX : (int)left;
}

/* --- the stream ------------------------------------------------------------------------------- */

/* Broken, or refused by the other side for a reason that a second try does not change. */
static int stream_dead(struct grun *g, const struct error *why, struct error *err)
{
	bool for_good = why->code == ERR_JOB_STATE || why->code == ERR_NOT_PERMITTED ||
	                why->code == ERR_AUTH || why->code == ERR_NO_JOB;

	terminal_restore();
	if (for_good && !g->link.ended) {
		*err = *why;
		return -1;
	}
	g->link.no_more = for_good;
	runlink_stream_lost(&g->link, why);
	return 0;
}

static void tell_break(struct grun *g)
{
	struct runlink *l = &g->link;
	bool broken = l->started && l->lost_ms >= 0 && !runlink_is_done(l) && g->io.ever;

	if (broken == g->told_lost)
		return;
	if (broken)
		terminal_restore();
	g->told_lost = broken;
	if (g->quiet)
		return;
	if (broken)
		grun_notice(g, "job %" PRIu64 ": the connection broke (%s); trying again", l->job,
		        l->lost.text);
	else if (!runlink_is_done(l))
		grun_notice(g, "job %" PRIu64 ": connected again", l->job);
}

static int step_stream(struct grun *g, struct error *err)
{
	bool was = g->io.attached;
	struct error why;

	if (runio_step(&g->io, &why) < 0)
		return stream_dead(g, &why, err);
	if (!was && g->io.attached) {
		if (g->io.pty)
			terminal_raw();
		if (g->told_waits && !g->quiet)
			grun_notice(g, "job %" PRIu64 " runs on %s", g->link.job, g->link.node);
		g->told_waits = false;
	}
	return 0;
}

static int timeout_of(const struct grun *g)
{
	int a = runlink_timeout(&g->link), b = own_timeout(g);

	return a < 0 ? b : b < 0 || a < b ? a : b;
}

static void wait_for_something(struct grun *g)
{
	struct pollfd p[4] = { runlink_poll(&g->link), { .fd = g->signals, .events = POLLIN } };
	size_t n = 2 + runio_poll(&g->io, p + 2);

	if (poll(p, (nfds_t)n, timeout_of(g)) <= 0)
		return;
	for (size_t i = 2; i < n; i++)
		if (p[i].fd == STDIN_FILENO && p[i].revents)
			runio_read(&g->io);
	if (p[1].revents)
		grun_take_signals(g);
}

/* --- the end ---------------------------------------------------------------------------------- */

/* Send the last messages: how much output has arrived, and that this client leaves. */
static void send_the_last(struct grun *g)
{
	struct error err;

	runio_step(&g->io, &err);
	if (g->link.dial)
		dial_flush(g->link.dial, LAST_SEND_MS, &err);
}

static int status_of(const struct grun *g)
{
	const struct runlink *l = &g->link;
	bool failed = !strcmp(l->state, "FAILED"), ok = !strcmp(l->state, "COMPLETED");

	if ((!ok && !failed) || (failed && !l->exit_code && !l->exit_signal))
		grun_notice(g, "job %" PRIu64 ": %s%s%s", l->job, l->state,
		        *l->text ? ": " : "", l->text);
	if (l->exit_signal)
		return SIGNAL_STATUS + (int)l->exit_signal;
	if (l->exit_code || ok)
		return (int)l->exit_code & 0xff;
	return EXIT_OWN_FAILURE;
}

static int end(struct grun *g, struct error *err)
{
	struct runlink *l = &g->link;

	send_the_last(g);
	terminal_restore();
	if (g->ended_by)
		return SIGNAL_STATUS + g->ended_by;
	if (l->refused) {
		error_set(err, ERR_LAUNCH, "job %" PRIu64 " could not be started: %.350s", l->job,
		        *l->text ? l->text : "no node took it");
		return -1;
	}
	if (g->too_late && !l->started)
		return error_set(err, ERR_TIMEOUT, "job %" PRIu64 " did not start within %lld s",
		        l->job, (long long)(g->immediate_ms / 1000));
	if (l->started && !g->io.over)
		grun_notice(g, "job %" PRIu64 " has ended; the rest of its output is lost: %s",
		        l->job,
		        l->lost.text);
	if (!l->started && g->ints)
		return SIGNAL_STATUS + g->ints;
	if (g->io.write_errno) {
		error_set(err, ERR_SYSTEM, "the output cannot be written: %s",
		        strerror(g->io.write_errno));
		return -1;
	}
	return status_of(g);
}

/* A node could not start the run. The controller would try again, but grun does not wait for
 * that. */
static bool give_it_up(struct grun *g)
{
	if (!g->link.refused)
		return false;
	g->link.cancel = true;
	g->link.wait_id = 0;
	return true;
}

int grun_attached(struct grun *g, struct error *err)
{
	g->began_ms = clock_ms(CLOCK_MONOTONIC);
	for (;;) {
		if (runlink_step(&g->link, err) < 0 || step_stream(g, err) < 0) {
			terminal_restore();
			return g->attach ? -1 : error_wrap(err, "job %" PRIu64, g->link.job);
		}
		if (give_it_up(g)) {
			runlink_step(&g->link, err);
			return end(g, err);
		}
		tell_break(g);
		if (g->ended_by || runlink_is_done(&g->link))
			return end(g, err);
		explain(g);
		look_at_patience(g);
		grun_end_after_interrupt(g);
		wait_for_something(g);
	}
}
