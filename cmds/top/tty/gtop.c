/* gtop.c - the cluster on a terminal, as it changes */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmds/cli/cmd.h"
#include "cmds/top/link/controller_thread.h"
#include "cmds/top/screens/frame.h"
#include "cmds/top/screens/keys.h"
#include "cmds/top/screens/once.h"
#include "cmds/top/screens/screen.h"
#include "cmds/top/tty/term.h"
#include "common/base/clock.h"
#include "common/base/text.h"

#define DRAW_MS  100   /* two pictures are at least so far apart; a key shows at once */
#define TICK_MS  1000  /* times go on */
#define APPLY_US 50000 /* of updates, before keys have their turn */

struct gtop {
	const char *screen, *user, *account, *partition, *filter; /* of the command line */
	bool once;
	struct state state;
	struct grid grid;
	struct link *link;
	struct updates updates; /* taken, and not applied yet */
};

#define ROW(member, name, letter, arg, set, help) \
	CMD_ROW(struct gtop, member, name, letter, arg, set, help)

static const struct cmd_option table[] = {
	CMD_HEADING("What is shown first (keys change it):"),
	ROW(screen, "screen", 0, "NAME", cmd_set_text,
	        "map, queue, running, accounts, services or node"),
	ROW(user, "user", 'u', "USER", cmd_set_text, "Jobs of this user"),
	ROW(account, "account", 'A', "ACCOUNT", cmd_set_text, "Of this account"),
	ROW(partition, "partition", 'p', "NAME", cmd_set_text, "In this partition"),
	ROW(filter, "filter", 0, "TEXT", cmd_set_text, "With this text in some column"),
	CMD_HEADING("Without a terminal:"),
	ROW(once, "once", 0, NULL, cmd_set_flag, "Print the map of GPUs as text, and end"),
	CMD_TABLE_END,
};

static const struct cmd cmd = {
	.name = "gtop",
	.arguments = "",
	.about = "Show GPUs, the queue, running jobs, accounts and services on the terminal, as "
	         "they change.",
	.examples =
	        "The key ? lists all keys: 1 to 6 and Tab are screens, / u a p filter, Enter or "
	        "w says why a job waits, c cancels, q quits.\n"
	        "\n"
	        "Examples:\n"
	        "  gtop\n"
	        "  gtop --screen=queue -u ana\n"
	        "  gtop --once | head -n 1\n"
	        "\n"
	        "Exit status: 0 done; 2 usage, or no terminal that it can use; 4 --once: the "
	        "controller was not reached.",
	.table = table,
};

/* --- signals ---------------------------------------------------------------------------------- */

static volatile sig_atomic_t ended_by;

static void on_end(int signal)
{
	ended_by = signal;
}

static void on_resize(int signal)
{
	(void)signal; /* poll() ends */
}

static void begin_signals(void)
{
	struct sigaction end = { .sa_handler = on_end }, resize = { .sa_handler = on_resize };

	sigaction(SIGTERM, &end, NULL);
	sigaction(SIGINT, &end, NULL);
	sigaction(SIGHUP, &end, NULL);
	sigaction(SIGWINCH, &resize, NULL);
}

/* --- the loop --------------------------------------------------------------------------------- */

static void send_command(const struct command *c, void *arg)
{
	link_send(arg, c);
}

/* Some of what has come; true: there is more. */
static bool apply(struct gtop *g)
{
	int64_t until = clock_us(CLOCK_MONOTONIC) + APPLY_US;
	struct updates more;

	link_take(g->link, &more);
	STAILQ_CONCAT(&g->updates, &more);
	while (!STAILQ_EMPTY(&g->updates)) {
		struct update *u = STAILQ_FIRST(&g->updates);

		STAILQ_REMOVE_HEAD(&g->updates, next);
		state_apply(&g->state, u);
		if (clock_us(CLOCK_MONOTONIC) > until)
			break;
	}
	return !STAILQ_EMPTY(&g->updates);
}

/* Handle keys; returns whether one was pressed. Each key acts on the screen that the previous key
 * has left, also if several come at once. */
static bool press_keys(struct gtop *g)
{
	bool any = false;
	int key;

	while ((key = term_key()) > 0) {
		if (key == ('z' & 0x1f)) {
			raise(SIGTSTP); /* the terminal is raw */
			continue;
		}
		if (any)
			frame_draw(&g->state, &g->grid);
		keys_press(&g->state, key);
		any = true;
	}
	return any;
}

static void draw(struct gtop *g)
{
	term_fit(&g->grid);
	frame_draw(&g->state, &g->grid);
	term_show(&g->grid);
	keys_tell_shown(&g->state);
}

/* The terminal has gone: SIGHUP would say so, if it came. */
static bool wait_for(struct gtop *g, int ms)
{
	struct pollfd p[2] = { { .fd = STDIN_FILENO, .events = POLLIN },
		{ .fd = link_fd(g->link), .events = POLLIN } };

	return poll(p, 2, ms) < 0 || !(p[0].revents & (POLLHUP | POLLERR | POLLNVAL));
}

static void loop(struct gtop *g)
{
	int64_t drawn_ms = 0;
	uint64_t shown = UINT64_MAX;
	bool more = false, there = true;

	while (!g->state.quit && !ended_by && there) {
		int64_t now = clock_us(CLOCK_MONOTONIC) / 1000, since = now - drawn_ms;
		bool changed = shown != g->state.model.changes;

		g->state.now_us = clock_us(CLOCK_REALTIME);
		if (press_keys(g) || term_fit(&g->grid) || since >= TICK_MS ||
		        (changed && since >= DRAW_MS)) {
			shown = g->state.model.changes;
			draw(g);
			drawn_ms = clock_us(CLOCK_MONOTONIC) / 1000;
			since = 0;
			changed = false;
		}
		there = wait_for(g, more ? 0 : (int)((changed ? DRAW_MS : TICK_MS) - since));
		g->state.now_us = clock_us(CLOCK_REALTIME);
		more = apply(g);
	}
}

/* --- beginning and end ------------------------------------------------------------------------ */

static int set_word(char *field, const char *option, const char *value, struct error *err)
{
	if (!value)
		return 0;
	if (text_check("filter", value, ROWS_WORD_MAX - 1, err) < 0)
		return cmd_blame(option, value, err);
	strcpy(field, value);
	return 0;
}

static int set_screen(struct gtop *g, struct error *err)
{
	for (size_t i = 0; g->screen && i < SCREENS; i++)
		if (!strcmp(screens[i].name, g->screen)) {
			g->state.at = (enum screen_id)i;
			return 0;
		}
	if (!g->screen)
		return 0;
	error_set(err, ERR_USAGE, "no such screen");
	error_hint(err, "map, queue, running, accounts, services or node");
	return cmd_blame("--screen", g->screen, err);
}

static int use_options(struct gtop *g, struct error *err)
{
	struct row_filter *f = &g->state.filter;

	if (set_screen(g, err) < 0 || set_word(f->user, "--user", g->user, err) < 0 ||
	        set_word(f->account, "--account", g->account, err) < 0 ||
	        set_word(f->partition, "--partition", g->partition, err) < 0)
		return -1;
	return set_word(f->text, "--filter", g->filter, err);
}

static int watch(struct gtop *g, struct client *c, struct error *err)
{
	if (term_begin(err) < 0) {
		client_free(c);
		return -1;
	}
	g->link = link_start(c, err);
	if (g->link) {
		g->state.send = send_command;
		g->state.send_arg = g->link;
		begin_signals();
		loop(g);
	}
	term_end();
	link_stop(g->link);
	return !g->link ? -1 : ended_by ? 128 + ended_by : 0;
}

static int run(void *input, struct error *err)
{
	struct gtop *g = input;
	struct client *c;
	int rc;

	if (use_options(g, err) < 0 || (!g->once && term_check(err) < 0))
		return -1;
	c = client_new(NULL, err);
	if (!c)
		return -1;
	snprintf(g->state.cluster, sizeof(g->state.cluster), "%s", client_conf(c)->cluster);
	if (!g->once)
		return watch(g, c, err);
	rc = once_print(&cmd, &g->state, c, err);
	client_free(c);
	return rc;
}

int main(int argc, char **argv)
{
	struct gtop g = { .once = false };
	int status;

	STAILQ_INIT(&g.updates);
	state_begin(&g.state, geteuid(), "");
	status = cmd_main(&cmd, argc, argv, &g, run);
	while (!STAILQ_EMPTY(&g.updates)) {
		struct update *u = STAILQ_FIRST(&g.updates);

		STAILQ_REMOVE_HEAD(&g.updates, next);
		update_free(u);
	}
	grid_free(&g.grid);
	state_clear(&g.state);
	return status;
}
