/* gcancel.c - cancel jobs, or send them a signal */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmds/cli/cmd.h"
#include "cmds/cli/sig.h"
#include "cmds/views/control.h"
#include "cmds/views/filter.h"
#include "common/base/text.h"

enum { KEY_REASON = 0x200, KEY_ME };

#define REASON_MAX 255

struct gcancel {
	struct filter filter;
	uint32_t signal;
	const char *signal_text, *reason;
	bool batch, full;
};

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0,
	        "Which jobs, besides ids (several restrict together; LIST has commas "
	        "between):",
	        1 },
	{ "me", KEY_ME, NULL, 0, "My own", 1 },
	{ "user", 'u', "LIST", 0, "Of these users", 1 },
	{ "account", 'A', "LIST", 0, "Of these accounts, and all below them", 1 },
	{ "partition", 'p', "LIST", 0, "In these partitions", 1 },
	{ "qos", 'q', "LIST", 0, "With these qualities of service", 1 },
	{ "state", 't', "LIST", 0, "In these states: PENDING or PD, RUNNING or R, ...", 1 },
	{ "name", 'n', "LIST", 0, "With these names", 1 },
	{ "nodes", 'w', "NODES", 0, "On these nodes: n[01-04],m1", 1 },
	{ NULL, 0, NULL, 0, "What is done:", 2 },
	{ "signal", 's', "SIGNAL", 0, "Send this signal, and cancel nothing: USR1, HUP, 12", 2 },
	{ "batch", 'b', NULL, 0, "To the script alone, not to what it has started", 2 },
	{ "full", 'f', NULL, 0, "To the script and all that it has started (default)", 2 },
	{ "reason", KEY_REASON, "TEXT", 0, "Kept with the job, next to who did it", 2 },
	{ 0 },
};

static int take_reason(struct gcancel *g, const char *value, struct error *err)
{
	if (text_check("--reason", value, REASON_MAX, err) < 0)
		return -1;
	g->reason = value;
	return 0;
}

static int take(int key, char *value, struct argp_state *state, void *input, struct error *err)
{
	struct gcancel *g = input;
	(void)state;

	switch (key) {
	case KEY_ME:
		return filter_add_me(&g->filter, err);
	case 'u':
		return filter_add(&g->filter, FILTER_USERS, "--user", value, err);
	case 'A':
		return filter_add(&g->filter, FILTER_ACCOUNTS, "--account", value, err);
	case 'q':
		return filter_add(&g->filter, FILTER_QOS, "--qos", value, err);
	case 'p':
		return filter_add(&g->filter, FILTER_PARTITIONS, "--partition", value, err);
	case 't':
		return filter_add(&g->filter, FILTER_STATES, "--state", value, err);
	case 'n':
		return filter_add(&g->filter, FILTER_NAMES, "--name", value, err);
	case 'w':
		return filter_add(&g->filter, FILTER_NODES, "--nodes", value, err);
	case 's':
		g->signal_text = value;
		if (sig_parse(value, &g->signal, err) < 0)
			return error_wrap(err, "--signal=%s", value);
		return 0;
	case 'b':
		g->batch = true;
		return 0;
	case 'f':
		g->full = true;
		return 0;
	case KEY_REASON:
		return take_reason(g, value, err);
	default:
		return filter_add(&g->filter, FILTER_IDS, "ID", value, err);
	}
}

static const struct cmd cmd = {
	.name = "gcancel",
	.arguments = "[ID...]",
	.about = "Cancel jobs: those that wait never start, those that run are ended.",
	.examples =
	        "Nothing is asked. Who names no ids and no user cancels only jobs of his own; root "
	        "cancels everybody's.\n"
	        "\n"
	        "Examples:\n"
	        "  gcancel 4812 4813\n"
	        "  gcancel --me -t PENDING\n"
	        "  gcancel -n embed --reason='wrong model'\n"
	        "  gcancel --signal=USR1 --batch 4812\n"
	        "\n"
	        "Exit status: 0 done; 1 refused (it has ended already); 2 usage; 3 no such job, account, "
	        "partition, QOS or node; 4 "
	        "the "
	        "controller was not reached; 5 not permitted.",
	.options = options,
	.take = take,
};

/* Without ids and users only root means the jobs of all users. */
static int restrict_to_own(struct filter *f, struct error *err)
{
	if (f->ids.n || f->lists[FILTER_USERS].n || geteuid() == 0)
		return 0;
	return filter_add_me(f, err);
}

static int run(struct gcancel *g, struct error *err)
{
	struct control control = { .verb = GPUSCHED__JOB_CONTROL__VERB__CANCEL,
		.done = "Cancelled",
		.reason = g->reason };
	char done[64];

	if (filter_is_empty(&g->filter)) {
		error_set(err, ERR_USAGE, "which jobs?");
		return error_hint(err, "gcancel ID..., or gcancel --me for all of your own");
	}
	if ((g->batch || g->full) && !g->signal)
		return error_set(err, ERR_USAGE, "--batch and --full say where a --signal goes");
	if (g->batch && g->full)
		return error_set(err, ERR_USAGE, "--batch and --full exclude each other");
	if (restrict_to_own(&g->filter, err) < 0)
		return -1;
	if (g->signal) {
		const char *name = sig_name(g->signal);

		control.verb = GPUSCHED__JOB_CONTROL__VERB__SIGNAL;
		control.signal = g->signal;
		control.script_only = g->batch;
		snprintf(done, sizeof(done), "Sent %s to", name ? name : g->signal_text);
		control.done = done;
	}
	return control_jobs(&cmd, &control, &g->filter);
}

int main(int argc, char **argv)
{
	struct gcancel g = { .signal = 0 };
	struct error err = { .code = ERR_NONE };
	int status = cmd_parse(&cmd, argc, argv, &g);

	if (status == CMD_GO_ON) {
		status = run(&g, &err);
		status = cmd_finish(&cmd, status < 0 ? cmd_fail(&cmd, &err) : status);
	}
	filter_clear(&g.filter);
	return status;
}
