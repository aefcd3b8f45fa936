/* gctl.c - ask and steer the controller, its nodes and jobs
 *
 * What gctl can do is a table of subcommands (gctl_table.c). This file reads the command line,
 * finds the row that its words mean, and refuses options that the row does not take. An option may
 * stand in front of the subcommand too, so the words are looked up once all options are read.
 */
#include "cmds/ctl/gctl.h"

#include <locale.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "cmds/cli/slurm_hints.h"
#include "common/base/text.h"
#include "common/base/xalloc.h"

/* --- what subcommands share ------------------------------------------------------------------- */

int gctl_ask(struct run *r, unsigned type, const ProtobufCMessage *request, bool repeatable,
        unsigned answer, gctl_on_chunk *on_chunk, struct error *err)
{
	struct client_call call = { .type = type,
		.request = request,
		.answer = answer,
		.on_chunk = on_chunk,
		.arg = r,
		.repeatable = repeatable };

	return client_call(r->client, &call, err);
}

char *gctl_reason(const struct run *r)
{
	return (char *)(r->g->reason ? r->g->reason : "");
}

/* --- options ---------------------------------------------------------------------------------- */

#define AT(member) offsetof(struct gctl, member)
#define TEXT(name, arg, member, takes, help) \
	{ name, 0, arg, help, cmd_set_text, AT(member), 0, takes }
#define FLAG(name, member, takes, help) { name, 0, NULL, help, cmd_set_flag, AT(member), 0, takes }
#define JOBS(name, letter, arg, what, help) \
	{ name, letter, arg, help, filter_set, AT(filter), what, TAKES_JOBS }

static const struct cmd_option table[] = {
	CMD_HEADING("Options of subcommands (gctl help SUBCOMMAND says which it takes):"),
	{ "reason", 0, "TEXT", "Recorded with the change, next to who made it", cmd_set_reason,
	        AT(reason), 0, TAKES_REASON },
	FLAG("json", json, TAKES_JSON, "Answer in JSON (ping, stats, show)"),
	TEXT("by", "user", by, TAKES_BY,
	        "What each user holds of the controller, and may (stats)"),
	FLAG("script", script, TAKES_SCRIPT, "The script alone, as it was submitted (show job)"),
	FLAG("env", env, TAKES_SCRIPT, "Its environment alone (show job)"),
	FLAG("hold", hold, TAKES_HOLD, "And hold them (requeue)"),
	FLAG("unchecked", unchecked, TAKES_UNCHECKED,
	        "Also what was signed with a munge key that is gone, as the controller shows it "
	        "(renew)"),
	FLAG("confirmed-off", confirmed_off, TAKES_CONFIRMED_OFF,
	        "I have seen to it that nothing runs there any more (node down)"),
	FLAG("dry-run", dry_run, TAKES_DRY_RUN,
	        "Say what would change, and change nothing (reconfigure)"),
	TEXT("before", "TIME", before, TAKES_AGE, "What ended and happened before then (archive)"),
	TEXT("older-than", "DURATION", older_than, TAKES_AGE,
	        "What ended and happened longer ago (archive)"),
	FLAG("delete", remove, TAKES_AGE,
	        "Remove it from the history, once it is in the file (archive)"),
	FLAG("quiet", quiet, TAKES_QUIET, "No progress on a terminal (archive, backup, verify)"),
	{ NULL, 0, NULL, "Which jobs, besides ids (hold, release, requeue, suspend):", NULL, 0, 0,
	        TAKES_JOBS },
	JOBS("user", 'u', "LIST", FILTER_USERS, "Of these users"),
	JOBS("partition", 'p', "LIST", FILTER_PARTITIONS, "In these partitions"),
	JOBS("states", 't', "LIST", FILTER_STATES, "In these states"),
	JOBS("name", 'n', "LIST", FILTER_NAMES, "With these names"),
	JOBS("nodes", 'w', "NODES", FILTER_NODES, "On these nodes"),
	CMD_TABLE_END,
};
#define N_OPTIONS (sizeof(table) / sizeof(table[0]))

static void note_given(void *input, const struct cmd_option *option)
{
	((struct gctl *)input)->given |= 1U << (option - table);
}

static int take_word(int key, char *word, struct argp_state *state, void *input, struct error *err)
{
	struct gctl *g = input;

	(void)key, (void)state;
	if (g->n_words == GCTL_WORDS_MAX)
		return error_set(err, ERR_USAGE, "more than %d arguments", GCTL_WORDS_MAX);
	g->words[g->n_words++] = word;
	return 0;
}

static const struct cmd cmd = {
	.name = "gctl",
	.arguments = "SUBCOMMAND [ARGUMENT...]\nhelp [SUBCOMMAND]",
	.about = "Ask and steer the controller, its nodes and jobs.",
	.examples =
	        "NODES is a list such as n[01-04],m1. Owners hold and release their own jobs; "
	        "nodes and partitions are for operators, the controller is for "
	        "administrators.\n"
	        "\n"
	        "Examples:\n"
	        "  gctl show job 4812\n"
	        "  gctl drain h04 'ECC errors on GPU 5'\n"
	        "  gctl update 4812 --gpus=h100:4 --time=2:00:00\n"
	        "  gctl help drain                  all about one subcommand\n"
	        "\n"
	        "Exit status: 0 done; 1 refused; 2 usage; 3 no such job, node, partition, account "
	        "or QOS; 4 the controller was not reached; 5 not permitted.",
	.table = table,
	.take = take_word,
	.given = note_given,
	.more_help = gctl_list_subcommands,
};

/* --- subcommands ------------------------------------------------------------------------------ */

/* Words of earlier releases are still taken. */
static const char *present_word(const char *word)
{
	return strcmp(word, "resign") ? word : "renew";
}

static const struct subcommand *row_of(const char *const *words, size_t n)
{
	for (const struct subcommand *s = gctl_subcommands; n && (s->heading || s->words[0]); s++)
		if (s->words[0] && !strcmp(present_word(words[0]), s->words[0]) &&
		        (!s->words[1] || (n > 1 && !strcmp(words[1], s->words[1]))))
			return s;
	return NULL;
}

/* The words mean no subcommand. */
static int unknown(const char *const *words, size_t n, struct error *err)
{
	const char *names[GCTL_SUBCOMMANDS_MAX + 1], *near, *habit, *first = n ? words[0] : "";
	char shown[80];
	size_t i = 0;

	for (const struct subcommand *s = gctl_subcommands; s->heading || s->words[0]; s++)
		if (s->words[0])
			names[i++] = s->words[0];
	names[i] = NULL;
	text_escape(shown, sizeof(shown), first, strlen(first));
	near = text_nearest(first, names);
	if (!n)
		error_set(err, ERR_USAGE, "a subcommand is required");
	else if (!strcmp(first, "show"))
		error_set(err, ERR_USAGE,
		        "show: expected show job, show node, show partition, show config, show "
		        "hostnames or show hostlist");
	else if (!strcmp(first, "node"))
		error_set(err, ERR_USAGE, "node: expected node down or node clear");
	else
		error_set(err, ERR_USAGE, "'%s': no such subcommand%s%s%s", shown,
		        near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
	habit = !strcmp(first, "show") && n > 1 ? slurm_hint("gctl show", words[1])
	                                        : slurm_hint(cmd.name, first);
	return error_hint(err, "%s", habit ? habit : "gctl --help lists the subcommands");
}

static int check(const struct subcommand *s, const struct gctl *g, size_t n, struct error *err)
{
	char name[64];

	gctl_subcommand_name(s, name, sizeof(name));
	if (s->main) {
		error_set(err, ERR_USAGE, "%s: its options must follow it", name);
		return error_hint(err, "gctl %s --help", name);
	}
	if (n < s->min || n > s->max)
		return error_set(err, ERR_USAGE, "%s: %zu arguments; expected gctl %s %s", name, n,
		        name, s->arguments);
	for (size_t i = 0; i < N_OPTIONS; i++)
		if ((g->given >> i & 1) && !(s->takes & table[i].own))
			return error_set(err, ERR_USAGE, "%s: takes no --%s", name, table[i].name);
	return 0;
}

static int run(void *input, struct error *err)
{
	struct gctl *g = input;
	struct run r = { .g = g, .cmd = &cmd };
	const struct subcommand *s = row_of(g->words, g->n_words);
	size_t used = s && s->words[1] ? 2 : 1;
	int rc;

	if (!s)
		return unknown(g->words, g->n_words, err);
	if (check(s, g, g->n_words - used, err) < 0)
		return -1;
	r.word = s->words[0];
	r.words = g->words + used;
	r.n = g->n_words - used;
	if (!s->offline) {
		r.client = client_new(NULL, err);
		if (!r.client)
			return -1;
		cmd_tell_retry(&cmd, r.client);
	}
	rc = s->run(&r, err);
	client_free(r.client);
	return rc;
}

/* --- help ------------------------------------------------------------------------------------- */

/* --help of one subcommand: its row, and the options that it takes. */
static int print_help(const struct subcommand *s)
{
	char word[64], name[80], flag[] = "--help", *argv[] = { name, flag, NULL };
	struct cmd one = { .name = name,
		.arguments = s->arguments,
		.about = s->help,
		.examples = s->examples };

	snprintf(name, sizeof(name), "gctl %s", gctl_subcommand_name(s, word, sizeof(word)));
	return s->main ? s->main(2, argv) : cmd_help_subcommand(&one, table, N_OPTIONS, s->takes);
}

int help_main(int argc, char **argv)
{
	const char *const *words = (const char *const *)argv + 1;
	size_t n = (size_t)argc - 1;
	const struct subcommand *s = row_of(words, n);
	char name[] = "gctl", flag[] = "--help", *help[] = { name, flag, NULL };
	struct error err;

	if (s && s->main != help_main)
		return print_help(s);
	if (!n || s || words[0][0] == '-')
		return cmd_parse(&cmd, 2, help, NULL);
	unknown(words, n, &err);
	return cmd_fail(&cmd, &err);
}

int main(int argc, char **argv)
{
	const struct subcommand *s = row_of((const char *const *)argv + 1, (size_t)argc - 1);
	struct gctl *g;
	int status, at = cmd_help_at(argc, argv);

	setlocale(LC_ALL, "");
	if (s && s->main)
		return s->main(argc - 1, argv + 1);
	/* "gctl drain --help", also behind its arguments. */
	s = at ? row_of((const char *const *)argv + 1, (size_t)(at - 1)) : NULL;
	if (s)
		return print_help(s);
	g = xcalloc(1, sizeof(*g));
	status = cmd_main(&cmd, argc, argv, g, run);
	filter_clear(&g->filter);
	free(g);
	return status;
}
