/* gserve.c - shows services, and changes or stops them
 *
 * What gserve can do is a table of subcommands. What begins with none of them shows services. An
 * option may stand in front of the subcommand too, so the words are looked up once all are read.
 */
#include "cmds/serve/gserve.h"

#include <locale.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "cmds/cli/help.h"
#include "cmds/views/serviceview.h"
#include "common/base/text.h"
#include "common/base/xalloc.h"

static int serve_help(int argc, char **argv);

#define MANY SERVE_WORDS_MAX

#define EXAMPLES(text) "Examples:\n" text "\nExit status, and more: gserve --help and gserve(1)."

static const struct verb verbs[] = {
	{ "show", "[NAME...]", 0, MANY, TAKES_LISTING | TAKES_JSON | TAKES_SHOW, serve_show, NULL,
	        "All about services and their replicas; without names a list of all",
	        EXAMPLES("  gserve show chat\n"
	                 "  gserve show chat --watch\n"
	                 "  gserve show chat --json\n") },
	{ "endpoints", "NAME...", 1, MANY, TAKES_JSON, serve_endpoints, NULL,
	        "Where clients reach it: a line HOST:PORT for each replica that is ready",
	        EXAMPLES("  gserve endpoints chat\n"
	                 "  curl http://$(gserve endpoints chat | shuf -n1)/health\n") },
	{ "scale", "NAME N|MIN-MAX", 2, 2, TAKES_JSON | TAKES_KEPT | TAKES_REASON, serve_scale,
	        NULL, "Another number of replicas",
	        EXAMPLES("  gserve scale chat 4\n"
	                 "  gserve scale chat 2-8 --kept=2\n") },
	{ "pause", "NAME...", 1, MANY, TAKES_JSON | TAKES_REASON, serve_control, NULL,
	        "End all replicas, and keep the service",
	        EXAMPLES("  gserve pause chat --reason='model is wrong'\n") },
	{ "resume", "NAME...", 1, MANY, TAKES_JSON | TAKES_REASON, serve_control, NULL,
	        "Start the replicas of a paused service again",
	        EXAMPLES("  gserve resume chat\n") },
	{ "update", "NAME [OPTION...] SCRIPT [ARGUMENT...]", 0, 0, 0, NULL, serve_update,
	        "Replace its replicas one after another by those of another script", NULL },
	{ "undo", "NAME...", 1, MANY, TAKES_JSON | TAKES_REASON, serve_control, NULL,
	        "Give up an update, or go back to the generation before",
	        EXAMPLES("  gserve undo chat\n") },
	{ "wake", "NAME...", 1, MANY, TAKES_JSON | TAKES_REASON, serve_control, NULL,
	        "Start a replica of a service that has none, as a request would",
	        EXAMPLES("  gserve wake chat\n") },
	{ "stop", "NAME...", 1, MANY, TAKES_JSON | TAKES_REASON, serve_control, NULL,
	        "End the service: its replicas, its jobs and its name",
	        EXAMPLES("  gserve stop chat\n") },
	{ "help", "[SUBCOMMAND]", 0, 0, 0, NULL, serve_help,
	        "All about one subcommand, as SUBCOMMAND --help", NULL },
	{ .word = NULL },
};

/* --- options --------------------------------------------------------------------------------- */

#define AT(member) offsetof(struct gserve, member)
#define FLAG(name, letter, member, takes, help)                              \
	{                                                                    \
		name, letter, NULL, help, cmd_set_flag, AT(member), 0, takes \
	}
#define TEXT(name, letter, arg, member, takes, help)                        \
	{                                                                   \
		name, letter, arg, help, cmd_set_text, AT(member), 0, takes \
	}

static const struct cmd_option table[] = {
	CMD_HEADING("Which services, and how (show):"),
	FLAG("me", 0, me, TAKES_SHOW, "My own (show)"),
	FLAG("watch", 0, watch, TAKES_SHOW, "Until interrupted, as they change (show)"),
	FLAG("why", 0, why, TAKES_SHOW,
	        "Why replicas wait: all reasons, and what would start them (show)"),
	CMD_HEADING("What is shown:"),
	TEXT("format", 'o', "COLUMNS", listing.columns, TAKES_LISTING,
	        "These columns, with commas between; NAME%20 is 20 wide (show)"),
	FLAG("long", 'l', listing.longer, TAKES_LISTING, "More columns (show)"),
	TEXT("sort", 0, "COLUMNS", listing.sort, TAKES_LISTING,
	        "In the order of these columns; -COLUMN the other way round (show)"),
	FLAG("noheader", 'h', listing.no_heading, TAKES_LISTING, "No heading (show)"),
	FLAG("csv", 0, listing.csv, TAKES_LISTING,
	        "Values with commas between, nothing cut (show)"),
	FLAG("json", 0, listing.json, TAKES_JSON, "All there is to know, as JSON"),
	CMD_HEADING("Of changes:"),
	TEXT("kept", 0, "N", kept, TAKES_KEPT, "So many of them are given up last (scale)"),
	{ "reason", 0, "TEXT", "Recorded with the change, next to who made it", cmd_set_reason,
	        AT(reason), 0, TAKES_REASON },
	CMD_TABLE_END,
};
#define N_OPTIONS (sizeof(table) / sizeof(table[0]))

static void note_given(void *input, const struct cmd_option *option)
{
	((struct gserve *)input)->given |= 1U << (option - table);
}

static int take_word(int key, char *word, struct argp_state *state, void *input, struct error *err)
{
	struct gserve *g = input;

	(void)key, (void)state;
	if (g->n_words == SERVE_WORDS_MAX)
		return error_set(err, ERR_USAGE, "more than %d arguments", SERVE_WORDS_MAX);
	g->words[g->n_words++] = word;
	return 0;
}

static void list_verbs(FILE *out)
{
	fputs("\nSubcommands:\n", out);
	for (const struct verb *v = verbs; v->word; v++) {
		char usage[100];

		snprintf(usage, sizeof(usage), "%s %s", v->word, v->arguments);
		help_row(out, usage, HELP_OPTION_INDENT + 1, v->help);
	}
}

const struct cmd serve_cmd = {
	.name = "gserve",
	.arguments = "[show] [NAME...]\nSUBCOMMAND [ARGUMENT...]\nhelp [SUBCOMMAND]",
	.about = "List services, and scale, pause, update and stop them.",
	.examples =
	        "A service is a script of which replicas stay up, as many as its load asks for: "
	        "gsubmit --service=NAME starts one. A replica is LOADING until its probe succeeds, "
	        "then READY and an endpoint. On its way out it is DRAINING: no endpoint any more, "
	        "it "
	        "answers what is in flight.\n"
	        "\n"
	        "Examples:\n"
	        "  gsubmit --service=chat --gpus=1 --ports=1 --replicas=2 serve.sh\n"
	        "  gserve                           all services\n"
	        "  gserve show chat                 one, with its replicas\n"
	        "  gserve chat --why                why its replicas wait\n"
	        "  gserve --me --watch\n"
	        "  gserve endpoints chat\n"
	        "  gserve scale chat 4\n"
	        "  gserve update chat new.sh        one replica after another\n"
	        "  gserve undo chat                 and back\n"
	        "  gserve help scale                all about one subcommand\n"
	        "\n"
	        "Exit status: 0 done; 1 refused; 2 usage; 3 no such service; 4 the controller was "
	        "not reached; 5 not permitted.",
	.table = table,
	.take = take_word,
	.given = note_given,
	.lists = { { "Columns of services", &service_kind },
	        { "Columns of replicas", &replica_kind } },
	.more_help = list_verbs,
};

/* --- subcommands ----------------------------------------------------------------------------- */

static const struct verb *find_verb(const char *word)
{
	for (const struct verb *v = verbs; v->word; v++)
		if (!strcmp(word, v->word))
			return v;
	return NULL;
}

static int check(const struct gserve *g, struct error *err)
{
	const struct verb *v = g->verb;

	if (v->main) {
		error_set(err, ERR_USAGE, "%s: its options must follow it", v->word);
		return error_hint(err, "gserve %s --help", v->word);
	}
	if (g->n < v->min || g->n > v->max)
		return error_set(err, ERR_USAGE, "%s: %zu arguments; expected gserve %s %s",
		        v->word, g->n, v->word, v->arguments);
	for (size_t i = 0; i < N_OPTIONS; i++)
		if ((g->given >> i & 1) && !(v->takes & table[i].own))
			return error_set(
			        err, ERR_USAGE, "%s: takes no --%s", v->word, table[i].name);
	return 0;
}

/* A word that was no service may be a subcommand that was mistyped. */
static void hint_at_verb(const struct gserve *g, struct error *err)
{
	const char *names[sizeof(verbs) / sizeof(verbs[0])] = { NULL }, *near;

	for (size_t i = 0; verbs[i].word; i++)
		names[i] = verbs[i].word;
	near = g->n_words ? text_nearest(g->words[0], names) : NULL;
	if (near && strcmp(near, g->words[0]) != 0)
		error_hint(err, "did you mean gserve %s?", near);
	else if (!*err->hint)
		error_hint(err, "gserve lists the services");
}

static int run(void *input, struct error *err)
{
	struct gserve *g = input;
	int rc;

	g->verb = g->n_words ? find_verb(g->words[0]) : NULL;
	g->names = g->words + (g->verb ? 1 : 0);
	g->n = g->n_words - (g->verb ? 1 : 0);
	g->details = g->verb && g->verb->run == serve_show && g->n && !g->listing.csv;
	if (!g->verb)
		g->verb = &verbs[0];
	if (check(g, err) < 0)
		return -1;
	rc = g->verb->run(g, err);
	if (rc < 0 && err->code == ERR_NO_SERVICE)
		hint_at_verb(g, err);
	return rc;
}

/* --- help ------------------------------------------------------------------------------------ */

/* --help of one subcommand: its row, and the options that it takes. */
static int print_help(const struct verb *v)
{
	char name[40], flag[] = "--help", *argv[] = { name, flag, NULL };
	struct cmd one = { .name = name,
		.arguments = v->arguments,
		.about = v->help,
		.examples = v->examples };

	snprintf(name, sizeof(name), "gserve %s", v->word);
	return v->main && v->main != serve_help
	               ? v->main(2, argv)
	               : cmd_help_subcommand(&one, table, N_OPTIONS, v->takes);
}

static int serve_help(int argc, char **argv)
{
	const struct verb *v = argc > 1 ? find_verb(argv[1]) : NULL;
	char name[] = "gserve", flag[] = "--help", *help[] = { name, flag, NULL };
	struct error err;

	if (v && v->main != serve_help)
		return print_help(v);
	if (argc < 2 || v || argv[1][0] == '-')
		return cmd_parse(&serve_cmd, 2, help, NULL);
	error_set(&err, ERR_USAGE, "'%.40s': no such subcommand", argv[1]);
	error_hint(&err, "gserve --help lists the subcommands");
	return cmd_fail(&serve_cmd, &err);
}

int main(int argc, char **argv)
{
	const struct verb *v = argc > 1 ? find_verb(argv[1]) : NULL;
	struct gserve *g;
	int status;

	setlocale(LC_ALL, "");
	if (v && v->main)
		return v->main(argc - 1, argv + 1);
	if (v && cmd_help_at(argc, argv))
		return print_help(v);
	g = xcalloc(1, sizeof(*g));
	status = cmd_main(&serve_cmd, argc, argv, g, run);
	free(g);
	return status;
}
