/* gctl_table.c - what gctl can do: one row a subcommand
 *
 * A row is everything there is to say about a subcommand: how it is written, which options it takes,
 * what carries it out, and its help, which gctl --help and gctl help SUBCOMMAND print. To add one: a
 * function, a row, a paragraph in man/gctl.1 (a test compares).
 */
#include <stdio.h>

#include "cmds/cli/help.h"
#include "cmds/ctl/events.h"
#include "cmds/ctl/gctl.h"
#include "cmds/ctl/update.h"

#define MANY GCTL_WORDS_MAX

#define EXAMPLES(text) "Examples:\n" text "\nExit status, and more: gctl --help and gctl(1)."

const struct subcommand gctl_subcommands[] = {
	{ .heading = "To look:",
	        .words = { "ping" },
	        .arguments = "",
	        .takes = TAKES_JSON,
	        .run = gctl_ping,
	        .help = "Does the controller answer?",
	        .examples = EXAMPLES("  gctl ping\n"
	                             "  gctl ping --json\n") },
	{ .words = { "stats" },
	        .arguments = "",
	        .takes = TAKES_JSON | TAKES_BY,
	        .run = gctl_stats,
	        .help = "The controller's own figures; with --by=user what each user holds of it",
	        .examples = EXAMPLES("  gctl stats\n"
	                             "  gctl stats --by=user\n") },
	{ .words = { "show", "job" },
	        .arguments = "ID...",
	        .min = 1,
	        .max = MANY,
	        .takes = TAKES_JSON | TAKES_SCRIPT,
	        .run = gctl_show_job,
	        .help = "All about jobs; with --script or --env what they run",
	        .examples = EXAMPLES("  gctl show job 4812\n"
	                             "  gctl show job 4812_7 --json\n"
	                             "  gctl show job 4812 --script >job.sh\n") },
	{ .words = { "show", "node" },
	        .arguments = "[NODES...]",
	        .max = MANY,
	        .takes = TAKES_JSON,
	        .run = gctl_show_node,
	        .help = "All about nodes",
	        .examples = EXAMPLES("  gctl show node h04\n"
	                             "  gctl show node h[01-16] --json\n") },
	{ .words = { "show", "partition" },
	        .arguments = "[NAME...]",
	        .max = MANY,
	        .takes = TAKES_JSON,
	        .run = gctl_show_partition,
	        .help = "All about partitions",
	        .examples = EXAMPLES("  gctl show partition\n"
	                             "  gctl show partition batch\n") },
	{ .words = { "show", "config" },
	        .arguments = "[SECTION...]",
	        .max = MANY,
	        .run = gctl_show_config,
	        .help = "The configuration in force: all of it, or accounts, qos, partitions, ...",
	        .examples = EXAMPLES("  gctl show config\n"
	                             "  gctl show config accounts qos\n") },
	{ .words = { "show", "hostnames" },
	        .arguments = "[NODES]",
	        .max = 1,
	        .offline = true,
	        .run = gctl_show_hostnames,
	        .help = "The names that a list stands for, one a line (default: the job's nodes)",
	        .examples = EXAMPLES("  gctl show hostnames 'h[07-08],m1'\n"
	                             "  gctl show hostnames            in a job: its nodes\n") },
	{ .words = { "show", "hostlist" },
	        .arguments = "NAMES",
	        .min = 1,
	        .max = 1,
	        .offline = true,
	        .run = gctl_show_hostlist,
	        .help = "The short list of these names",
	        .examples = EXAMPLES("  gctl show hostlist h07,h08,m1\n") },
	{ .words = { "events" },
	        .arguments = "[OPTION...]",
	        .main = events_main,
	        .help = "The audit trail: changes with user, time, host and reason" },

	{ .heading = "Jobs:",
	        .words = { "hold" },
	        .arguments = "ID...",
	        .max = MANY,
	        .takes = TAKES_JOBS | TAKES_REASON,
	        .run = gctl_control_jobs,
	        .help = "Hold waiting jobs: they do not start until they are released",
	        .examples = EXAMPLES("  gctl hold 4812 4813\n"
	                             "  gctl hold --user=ana --name=embed --reason='disk full'\n") },
	{ .words = { "release" },
	        .arguments = "ID...",
	        .max = MANY,
	        .takes = TAKES_JOBS | TAKES_REASON,
	        .run = gctl_control_jobs,
	        .help = "Release held jobs",
	        .examples = EXAMPLES("  gctl release 4812\n"
	                             "  gctl release --user=ana --name=embed\n") },
	{ .words = { "requeue" },
	        .arguments = "ID...",
	        .max = MANY,
	        .takes = TAKES_JOBS | TAKES_REASON | TAKES_HOLD,
	        .run = gctl_control_jobs,
	        .help = "Requeue jobs; running ones are stopped first",
	        .examples = EXAMPLES("  gctl requeue 4812\n"
	                             "  gctl requeue --hold 4812\n"
	                             "  gctl requeue --nodes=h04 --reason='bad driver'\n") },
	{ .words = { "suspend" },
	        .arguments = "ID...",
	        .max = MANY,
	        .takes = TAKES_JOBS | TAKES_REASON,
	        .run = gctl_control_jobs,
	        .help = "Suspend running jobs; they keep their GPUs",
	        .examples = EXAMPLES("  gctl suspend 4812\n"
	                             "  gctl resume 4812\n") },
	{ .words = { "update" },
	        .arguments = "ID... OPTION...",
	        .main = update_main,
	        .help = "Change what waiting jobs ask for" },
	{ .words = { "renew" },
	        .arguments = "ID...",
	        .min = 1,
	        .max = MANY,
	        .takes = TAKES_REASON | TAKES_UNCHECKED,
	        .run = gctl_resign,
	        .help = "Renew the signature of your jobs, so that they can start after a long wait",
	        .examples = EXAMPLES("  gctl renew 4812 4813\n") },
	{ .words = { "wait" },
	        .arguments = "ID...",
	        .min = 1,
	        .max = MANY,
	        .run = gctl_wait,
	        .help = "Wait until jobs, arrays or tasks have ended; the highest exit status is "
	                "its own",
	        .examples = EXAMPLES("  gctl wait 4812 4813 && echo all went well\n"
	                             "  gctl wait 4820_[0-9]\n") },

	{ .heading = "Nodes and partitions:",
	        .words = { "drain" },
	        .arguments = "NODES[:GPU] REASON...",
	        .min = 1,
	        .max = MANY,
	        .takes = TAKES_REASON,
	        .run = gctl_drain,
	        .help = "Start no new jobs there; running jobs go on",
	        .examples = EXAMPLES("  gctl drain h04 new driver\n"
	                             "  gctl drain 'h[01-08]' --reason='power at noon'\n"
	                             "  gctl drain h04:5 ECC errors          one GPU\n") },
	{ .words = { "resume" },
	        .arguments = "NODES[:GPU] | ID...",
	        .min = 1,
	        .max = MANY,
	        .takes = TAKES_REASON,
	        .run = gctl_resume,
	        .help = "Let nodes accept jobs again; let suspended jobs go on",
	        .examples = EXAMPLES("  gctl resume h04\n"
	                             "  gctl resume h04:5\n"
	                             "  gctl resume 4812\n") },
	{ .words = { "node", "down" },
	        .arguments = "NODES [REASON...]",
	        .min = 1,
	        .max = MANY,
	        .takes = TAKES_REASON | TAKES_CONFIRMED_OFF,
	        .run = gctl_node_down,
	        .help = "Mark nodes down; with --confirmed-off their jobs end as NODE_FAIL",
	        .examples = EXAMPLES("  gctl node down h04 no network\n"
	                             "  gctl node down h04 --confirmed-off\n") },
	{ .words = { "node", "clear" },
	        .arguments = "NODES REASON...",
	        .min = 1,
	        .max = MANY,
	        .takes = TAKES_REASON,
	        .run = gctl_node_clear,
	        .help = "Kill runs that belong to no known job",
	        .examples = EXAMPLES("  gctl node clear h04 left by an older database\n") },
	{ .words = { "partition" },
	        .arguments = "NAME STATE",
	        .min = 2,
	        .max = 2,
	        .takes = TAKES_REASON,
	        .run = gctl_partition,
	        .help = "Make it up, drain, down or inactive, whatever gpusched.conf says",
	        .examples = EXAMPLES("  gctl partition batch drain --reason='maintenance'\n"
	                             "  gctl partition batch up\n") },

	{ .heading = "The controller:",
	        .words = { "reconfigure" },
	        .arguments = "",
	        .takes = TAKES_REASON | TAKES_DRY_RUN,
	        .run = gctl_reconfigure,
	        .help = "Read gpusched.conf again; a file with a mistake changes nothing",
	        .examples = EXAMPLES("  gctl reconfigure --dry-run\n"
	                             "  gctl reconfigure\n") },
	{ .words = { "backup" },
	        .arguments = "FILE",
	        .min = 1,
	        .max = 1,
	        .takes = TAKES_REASON,
	        .run = gctl_backup,
	        .help = "Write a backup of the running controller's state, on its host",
	        .examples = EXAMPLES("  gctl backup /srv/backup/state.db\n"
	                             "  gctl verify /srv/backup/state.db\n") },
	{ .words = { "verify" },
	        .arguments = "FILE",
	        .min = 1,
	        .max = 1,
	        .offline = true,
	        .run = gctl_verify,
	        .help = "Check a backup as a start would, on the controller's host",
	        .examples = EXAMPLES("  gctl verify /srv/backup/state.db\n") },
	{ .words = { "archive" },
	        .arguments = "FILE",
	        .min = 1,
	        .max = 1,
	        .takes = TAKES_AGE | TAKES_REASON,
	        .run = gctl_archive,
	        .help = "Copy old history into a file, on the controller's host",
	        .examples = EXAMPLES("  gctl archive /srv/2025.db --before=2026-01-01\n"
	                             "  gctl archive /srv/old.db --older-than=90d --delete\n") },
	{ .words = { "shutdown" },
	        .arguments = "",
	        .takes = TAKES_REASON,
	        .run = gctl_shutdown,
	        .help = "End the controller; running jobs go on",
	        .examples = EXAMPLES("  gctl shutdown --reason='move to another host'\n") },

	{ .heading = "Lists, and help:",
	        .words = { "list-errors" },
	        .arguments = "",
	        .offline = true,
	        .run = gctl_list_errors,
	        .help = "Error codes, with exit status and meaning",
	        .examples = EXAMPLES("  gctl list-errors | grep node\n") },
	{ .words = { "list-reasons" },
	        .arguments = "",
	        .offline = true,
	        .run = gctl_list_reasons,
	        .help = "Reasons why a job waits or how it ended",
	        .examples = EXAMPLES("  gctl list-reasons\n") },
	{ .words = { "help" },
	        .arguments = "[SUBCOMMAND]",
	        .main = help_main,
	        .help = "All about one subcommand, as SUBCOMMAND --help" },
	{ .words = { NULL } },
};

const char *gctl_subcommand_name(const struct subcommand *s, char *buf, size_t size)
{
	snprintf(buf, size, "%s%s%s", s->words[0], s->words[1] ? " " : "",
	        s->words[1] ? s->words[1] : "");
	return buf;
}

void gctl_list_subcommands(FILE *out)
{
	fputs("\nSubcommands:\n", out);
	for (const struct subcommand *s = gctl_subcommands; s->words[0]; s++) {
		char name[64], usage[100];

		if (s->heading)
			fprintf(out, " %s\n", s->heading);
		snprintf(usage, sizeof(usage), "%s %s",
		        gctl_subcommand_name(s, name, sizeof(name)), s->arguments);
		help_row(out, usage, HELP_OPTION_INDENT + 1, s->help);
	}
}
