/* srun_signals.c - signals to srun, Ctrl-C among them, while its step runs; see srun_step.h */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cmds/cli/terminal.h"
#include "cmds/srun/srun_step.h"
#include "cmds/steps/loop.h"
#include "common/base/wirenum.h"

#define TWICE_MS 1000 /* between two ^C that mean it */

/* ^C asks how it stands; a second one within a second goes to the tasks, a third one ends them. */
static void take_interrupt(struct srun_run *r)
{
	int64_t now = loop_now_ms();

	if (r->created && r->o->forward && r->o->disable_status) {
		srun_signal(r, SIGINT);
		return;
	}
	if (!r->created || r->interrupted || r->o->quit_on_interrupt) {
		srun_force(r);
		return;
	}
	if (!r->o->disable_status && (!r->int_ms || now - r->int_ms > TWICE_MS)) {
		srun_info("interrupt (one more within 1 sec to abort)");
		srun_tell_states(r);
		r->int_ms = now;
		return;
	}
	srun_info("sending Ctrl-C to %s", r->name);
	r->interrupted = true;
	srun_signal(r, SIGINT);
	r->kill_ms = now + SRUN_KILL_S * 1000;
}

static void send_window(struct srun_run *r)
{
	uint16_t rows, cols;
	uint8_t b[4];

	if (!r->o->pty || !r->created)
		return;
	terminal_window(&rows, &cols);
	put_u16(b, rows);
	put_u16(b + 2, cols);
	steplink_put(r->link, STEP_WINDOW_SIZE, r->id, b, sizeof(b));
}

/* `scancel --signal` makes the node's shepherd signal all processes of the run: the step's tasks,
 * and srun beside them. They would get from srun what they have got already. */
static bool from_the_node(const struct signalfd_siginfo *info)
{
	char path[64], name[sizeof("gshepherd")] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%u/comm", info->ssi_pid);
	f = info->ssi_pid ? fopen(path, "r") : NULL;
	if (!f)
		return info->ssi_pid == 0 && info->ssi_code == SI_USER;
	(void)!fread(name, 1, sizeof(name) - 1, f);
	fclose(f);
	return strcmp(name, "gshepherd") == 0;
}

void srun_take_signals(void *arg)
{
	struct srun_run *r = arg;
	struct signalfd_siginfo info;

	while (read(r->signals, &info, sizeof(info)) == sizeof(info)) {
		switch (info.ssi_signo) {
		case SIGINT:
			take_interrupt(r);
			break;
		case SIGTERM:
		case SIGQUIT:
		case SIGHUP:
			if (r->created && r->o->forward)
				srun_signal(r, info.ssi_signo);
			else
				srun_force(r);
			break;
		case SIGWINCH:
			send_window(r);
			break;
		default:
			if (!from_the_node(&info))
				srun_signal(r, info.ssi_signo);
		}
	}
}
