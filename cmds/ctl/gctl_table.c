/* gctl_table.c - what gctl can do: one row a subcommand
 *
 * A row is everything there is to say about a subcommand: how it is written, which options it
 * takes, what carries it out, and its help, which gctl --help and gctl help SUBCOMMAND print. To
 * add one: a function, a row, a paragraph in man/gctl.1 (a test compares).
 */
#include <stdio.h>

#include "cmds/cli/help.h"
#include "cmds/ctl/events.h"
#include "cmds/ctl/gctl.h"
#include "cmds/ctl/update.h"

#define MANY GCTL_WORDS_MAX

#define EXAMPLES(text) "Examples:\n" text "\nExit status, and more: gctl --help and gctl(1)."

const struct subcommand gctl_subcommands[] = {
	{ .heading = "To look:" },
	{ NULL, { "ping" }, "", 0, 0, TAKES_JSON, false, gctl_ping, NULL,
	        "Does the controller answer?",
	        EXAMPLES("  gctl ping\n"
	                 "  gctl ping --json\n") },
	{ NULL, { "stats" }, "", 0, 0, TAKES_JSON | TAKES_BY, false, gctl_stats, NULL,
	        "The controller's own figures; with --by=user what each user holds of it",
	        EXAMPLES("  gctl stats\n"
	                 "  gctl stats --by=user\n") },
	{ NULL, { "show", "job" }, "ID...", 1, MANY, TAKES_JSON | TAKES_SCRIPT, false,
	        gctl_show_job, NULL, "All about jobs; with --script or --env what they run",
	        EXAMPLES("  gctl show job 4812\n"
	                 "  gctl show job 4812_7 --json\n"
	                 "  gctl show job 4812 --script >job.sh\n") },
	{ NULL, { "show", "node" }, "[NODES...]", 0, MANY, TAKES_JSON, false, gctl_show_node, NULL,
	        "All about nodes",
	        EXAMPLES("  gctl show node h04\n"
	                 "  gctl show node h[01-16] --json\n") },
	{ NULL, { "show", "partition" }, "[NAME...]", 0, MANY, TAKES_JSON, false,
	        gctl_show_partition, NULL, "All about partitions",
	        EXAMPLES("  gctl show partition\n"
	                 "  gctl show partition batch\n") },
	{ NULL, { "show", "config" }, "[SECTION...]", 0, MANY, 0, false, gctl_show_config, NULL,
	        "The configuration in force: all of it, or accounts, qos, partitions, ...",
	        EXAMPLES("  gctl show config\n"
	                 "  gctl show config accounts qos\n") },
	{ NULL, { "show", "hostnames" }, "[NODES]", 0, 1, 0, true, gctl_show_hostnames, NULL,
	        "The names that a list stands for, one a line (default: the job's nodes)",
	        EXAMPLES("  gctl show hostnames 'h[07-08],m1'\n"
	                 "  gctl show hostnames            in a job: its nodes\n") },
	{ NULL, { "show", "hostlist" }, "NAMES", 1, 1, 0, true, gctl_show_hostlist, NULL,
	        "The short list of these names", EXAMPLES("  gctl show hostlist h07,h08,m1\n") },
	{ NULL, { "events" }, "[OPTION...]", 0, 0, 0, false, NULL, events_main,
	        "The audit trail: changes with user, time, host and reason", NULL },
	{ .heading = "Jobs:" },
	{ NULL, { "hold" }, "ID...", 0, MANY, TAKES_JOBS | TAKES_REASON, false, gctl_control_jobs,
	        NULL, "Hold waiting jobs: they do not start until they are released",
	        EXAMPLES("  gctl hold 4812 4813\n"
	                 "  gctl hold --user=ana --name=embed --reason='disk full'\n") },
	{ NULL, { "release" }, "ID...", 0, MANY, TAKES_JOBS | TAKES_REASON, false,
	        gctl_control_jobs, NULL, "Release held jobs",
	        EXAMPLES("  gctl release 4812\n"
	                 "  gctl release --user=ana --name=embed\n") },
	{ NULL, { "requeue" }, "ID...", 0, MANY, TAKES_JOBS | TAKES_REASON | TAKES_HOLD, false,
	        gctl_control_jobs, NULL, "Requeue jobs; running ones are stopped first",
	        EXAMPLES("  gctl requeue 4812\n"
	                 "  gctl requeue --hold 4812\n"
	                 "  gctl requeue --nodes=h04 --reason='bad driver'\n") },
	{ NULL, { "suspend" }, "ID...", 0, MANY, TAKES_JOBS | TAKES_REASON, false,
	        gctl_control_jobs, NULL, "Suspend running jobs; they keep their GPUs",
	        EXAMPLES("  gctl suspend 4812\n"
	                 "  gctl resume 4812\n") },
	{ NULL, { "update" }, "ID... OPTION...", 0, 0, 0, false, NULL, update_main,
	        "Change what waiting jobs ask for", NULL },
	{ NULL, { "renew" }, "ID...", 1, MANY, TAKES_REASON | TAKES_UNCHECKED, false, gctl_renew,
	        NULL, "Renew the signature of your jobs, so that they can start after a long wait",
	        EXAMPLES("  gctl renew 4812 4813\n") },
	{ NULL, { "wait" }, "ID...", 1, MANY, 0, false, gctl_wait, NULL,
	        "Wait until jobs, arrays or tasks have ended; the highest exit status is its own",
	        EXAMPLES("  gctl wait 4812 4813 && echo all went well\n"
	                 "  gctl wait 4820_[0-9]\n") },
	{ .heading = "Nodes and partitions:" },
	{ NULL, { "drain" }, "NODES[:GPU] REASON...", 1, MANY, TAKES_REASON, false, gctl_drain,
	        NULL, "Start no new jobs there; running jobs go on",
	        EXAMPLES("  gctl drain h04 new driver\n"
	                 "  gctl drain 'h[01-08]' --reason='power at noon'\n"
	                 "  gctl drain h04:5 ECC errors     one GPU\n") },
	{ NULL, { "resume" }, "NODES[:GPU] | ID...", 1, MANY, TAKES_REASON, false, gctl_resume,
	        NULL, "Let nodes accept jobs again; let suspended jobs go on",
	        EXAMPLES("  gctl resume h04\n"
	                 "  gctl resume h04:5\n"
	                 "  gctl resume 4812\n") },
	{ NULL, { "node", "down" }, "NODES [REASON...]", 1, MANY,
	        TAKES_REASON | TAKES_CONFIRMED_OFF, false, gctl_node_down, NULL,
	        "Mark nodes down; with --confirmed-off their jobs end as NODE_FAIL",
	        EXAMPLES("  gctl node down h04 no network\n"
	                 "  gctl node down h04 --confirmed-off\n") },
	{ NULL, { "node", "clear" }, "NODES REASON...", 1, MANY, TAKES_REASON, false,
	        gctl_node_clear, NULL, "Kill runs that belong to no known job",
	        EXAMPLES("  gctl node clear h04 left by an older database\n") },
	{ NULL, { "partition" }, "NAME STATE", 2, 2, TAKES_REASON, false, gctl_partition, NULL,
	        "Make it up, drain, down or inactive, whatever gpusched.conf says",
	        EXAMPLES("  gctl partition batch drain --reason='maintenance'\n"
	                 "  gctl partition batch up\n") },
	{ .heading = "The controller:" },
	{ NULL, { "reconfigure" }, "", 0, 0, TAKES_REASON | TAKES_DRY_RUN, false, gctl_reconfigure,
	        NULL, "Read gpusched.conf again; a file with a mistake changes nothing",
	        EXAMPLES("  gctl reconfigure --dry-run\n"
	                 "  gctl reconfigure\n") },
	{ NULL, { "backup" }, "FILE", 1, 1, TAKES_REASON | TAKES_QUIET, false, gctl_backup, NULL,
	        "Write a backup of the running controller's state, on its host",
	        EXAMPLES("  gctl backup /srv/backup/state.db\n"
	                 "  gctl verify /srv/backup/state.db\n") },
	{ NULL, { "verify" }, "FILE", 1, 1, TAKES_QUIET, true, gctl_verify, NULL,
	        "Check a backup as a start would, on the controller's host",
	        EXAMPLES("  gctl verify /srv/backup/state.db\n") },
	{ NULL, { "archive" }, "FILE", 1, 1, TAKES_AGE | TAKES_REASON | TAKES_QUIET, false,
	        gctl_archive, NULL, "Copy old history into a file, on the controller's host",
	        EXAMPLES("  gctl archive /srv/2025.db --before=2026-01-01\n"
	                 "  gctl archive /srv/old.db --older-than=90d --delete\n") },
	{ NULL, { "shutdown" }, "", 0, 0, TAKES_REASON, false, gctl_shutdown, NULL,
	        "End the controller; running jobs go on",
	        EXAMPLES("  gctl shutdown --reason='move to another host'\n") },
	{ .heading = "Lists, and help:" },
	{ NULL, { "list-errors" }, "", 0, 0, 0, true, gctl_list_errors, NULL,
	        "Error codes, with exit status and meaning",
	        EXAMPLES("  gctl list-errors | grep node\n") },
	{ NULL, { "list-reasons" }, "", 0, 0, 0, true, gctl_list_reasons, NULL,
	        "Reasons why a job waits or how it ended", EXAMPLES("  gctl list-reasons\n") },
	{ NULL, { "help" }, "[SUBCOMMAND]", 0, 0, 0, false, NULL, help_main,
	        "All about one subcommand, as SUBCOMMAND --help", NULL },
	{ .heading = NULL },
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
	for (const struct subcommand *s = gctl_subcommands; s->heading || s->words[0]; s++) {
		char name[64], usage[100];

		if (s->heading) {
			fprintf(out, " %s\n", s->heading);
			continue;
		}
		snprintf(usage, sizeof(usage), "%s %s",
		        gctl_subcommand_name(s, name, sizeof(name)), s->arguments);
		help_row(out, usage, HELP_OPTION_INDENT + 1, s->help);
	}
}
