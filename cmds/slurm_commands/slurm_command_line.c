/* slurm_command_line.c - see slurm_command_line.h */
#include "cmds/slurm_commands/slurm_command_line.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/text.h"
#include "common/base/units.h"
#include "common/base/xalloc.h"

/* --- messages -------------------------------------------------------------------------------- */

void slurm_cmd_say(const char *name, const char *fmt, ...)
{
	char text[1024], *plain;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	plain = text_escape_dup(text);
	fflush(stdout);
	fprintf(stderr, "%s: error: %s\n", name, plain);
	free(plain);
}

int slurm_cmd_fail(const char *name, const struct error *err)
{
	slurm_cmd_say(name, "%s", err->text);
	if (*err->hint)
		slurm_cmd_say(name, "%s", err->hint);
	return SLURM_CMD_FAILED;
}

bool slurm_cmd_unreachable(const struct error *err)
{
	return err->code == ERR_UNREACHABLE || err->code == ERR_TIMEOUT;
}

int slurm_cmd_fail_load(const char *name, const char *call, const struct error *err)
{
	if (!slurm_cmd_unreachable(err))
		return slurm_cmd_fail(name, err);
	fflush(stdout);
	fprintf(stderr, "%s: %s\n", call,
	        err->code == ERR_TIMEOUT ? "Socket timed out on send/recv operation"
	                                 : "Unable to contact slurm controller (connect failure)");
	return SLURM_CMD_FAILED;
}

int slurm_cmd_finish(const char *name, int status)
{
	bool bad = ferror(stdout);

	errno = 0;
	if (fclose(stdout) == 0 && !bad)
		return status;
	fprintf(stderr, "%s: error: standard output: %s\n", name,
	        errno ? strerror(errno) : "not all could be written");
	return status ? status : SLURM_CMD_FAILED;
}

/* --- the command line ------------------------------------------------------------------------ */

#define KEY_ROW 0x100 /* rows without a letter: KEY_ROW + index */

static const struct option standard[] = {
	{ "help", no_argument, NULL, 0x7000 },
	{ "usage", no_argument, NULL, 0x7001 },
	{ "version", no_argument, NULL, 'V' },
};
#define N_STANDARD (sizeof(standard) / sizeof(standard[0]))

/* A program, as its row in `slurm_cmds` and its own file have it. */
struct program {
	const char *name, *usage;
	const struct slurm_cmd_option *options;
	size_t n;
	slurm_cmd_argument *argument;
};

static void print_help(const struct program *p, bool all)
{
	printf("Usage: %s [OPTIONS]%s%s\n", p->name, p->usage ? " " : "", p->usage ? p->usage : "");
	for (size_t i = 0; all && i < p->n; i++) {
		const struct slurm_cmd_option *o = &p->options[i];
		char letter[8] = "    ";

		if (o->says == SLURM_CMD_NO)
			continue;
		if (o->letter)
			snprintf(letter, sizeof(letter), "-%c, ", o->letter);
		printf("  %s--%s%s%s%s\n", letter, o->name,
		        o->arg == SLURM_CMD_VALUE ? "=VALUE"
		        : o->arg                  ? "[=VALUE]"
		                                  : "",
		        o->text ? "  " : "", o->text ? o->text : "");
	}
	if (all)
		printf("gpusched-slurm(7) says what differs from Slurm.\n");
}

/* Slurm's getopt tables, made of ours. */
struct tables {
	struct option *longs;
	char shorts[256];
};

static struct tables make_tables(const struct program *p)
{
	struct tables t = { .longs = xcalloc(p->n + N_STANDARD + 1, sizeof(*t.longs)) };
	char *s = t.shorts;

	*s++ = 'V';
	for (size_t i = 0; i < p->n; i++) {
		const struct slurm_cmd_option *o = &p->options[i];

		int has = o->arg == SLURM_CMD_NEXT ? optional_argument : (int)o->arg;

		t.longs[i] = (struct option){ o->name, has, NULL,
			o->letter ? o->letter : KEY_ROW + (int)i };
		if (!o->letter || memchr(t.shorts, o->letter, (size_t)(s - t.shorts)))
			continue;
		*s++ = (char)o->letter;
		for (int k = 0; k < has; k++)
			*s++ = ':';
	}
	memcpy(t.longs + p->n, standard, sizeof(standard));
	return t;
}

static int set_row(
        const struct slurm_cmd_option *o, const char *value, void *input, struct error *err)
{
	const struct cmd_option row = { .name = o->name, .letter = o->letter, .what = o->what };

	return o->set ? o->set((char *)input + o->offset, &row, value, err) : 0;
}

/* Of several names of one letter the first row counts. */
static const struct slurm_cmd_option *row_of(const struct slurm_cmd_option *o, int key)
{
	if (key >= KEY_ROW)
		return o + (key - KEY_ROW);
	while (o->letter != key)
		o++;
	return o;
}

int slurm_cmd_set(const struct slurm_cmd_option *options, int letter, const char *value,
        void *input, struct error *err)
{
	return set_row(row_of(options, letter), value, input, err);
}

static int take_one(const struct program *p, int key, char **argv, void *input, struct error *err)
{
	const struct slurm_cmd_option *o = row_of(p->options, key);
	const char *value = optarg;

	if (o->says == SLURM_CMD_NO)
		return error_set(err, ERR_USAGE, "--%s: %s", o->name, o->text);
	if (o->arg == SLURM_CMD_NEXT && !value && argv[optind] && argv[optind][0] != '-')
		value = argv[optind++];
	return set_row(o, value, input, err);
}

#define TOLD_BELOW (-2) /* `err` is set */

static int parse(const struct program *p, int argc, char **argv, void *input,
        const struct tables *t, struct error *err)
{
	int key;

	optind = 0;
	while ((key = getopt_long(argc, argv, t->shorts, t->longs, NULL)) != -1) {
		switch (key) {
		case 'V':
			puts(SLURM_CMD_VERSION);
			return slurm_cmd_finish(p->name, 0);
		case 0x7000:
		case 0x7001:
			print_help(p, key == 0x7000);
			return slurm_cmd_finish(p->name, 0);
		case '?':
			fprintf(stderr, "Try \"%s --help\" for more information\n", p->name);
			return SLURM_CMD_FAILED;
		default:
			if (take_one(p, key, argv, input, err) < 0)
				return TOLD_BELOW;
		}
	}
	for (; optind < argc; optind++) {
		if (!p->argument)
			error_set(err, ERR_USAGE, "Unrecognized option: %s", argv[optind]);
		if (!p->argument || p->argument(argv[optind], input, err) < 0)
			return TOLD_BELOW;
	}
	return CMD_GO_ON;
}

int slurm_cmd_parse(
        const char *name, slurm_cmd_argument *argument, int argc, char **argv, void *input)
{
	const struct slurm_cmd *cmd = slurm_cmd_find(name);
	struct program p = { .name = name, .usage = cmd->usage, .argument = argument };
	struct tables t;
	struct error err;
	int rc;

	p.options = cmd->options(&p.n);
	t = make_tables(&p);
	argv[0] = (char *)name; /* getopt's messages begin with it */
	rc = parse(&p, argc, argv, input, &t, &err);
	free(t.longs);
	if (rc != TOLD_BELOW)
		return rc;
	slurm_cmd_fail(name, &err);
	return SLURM_CMD_FAILED;
}

int slurm_cmd_clusters(const char *name, const char *value, const char *cluster)
{
	char *list = xstrdup(value), *at = list, *one;
	int ok = 1;

	while (ok && (one = strsep(&at, ","))) {
		if (!*one || !strcasecmp(one, "all") || !strcasecmp(one, cluster))
			continue;
		slurm_cmd_say(name, "No cluster '%s' known by database.", one);
		slurm_cmd_say(name,
		        "'%s' can't be reached now, or it is an invalid entry for --cluster.  This "
		        "is cluster %s; GPUSCHED_CONTROLLER names another.",
		        one, cluster);
		ok = 0;
	}
	free(list);
	return ok;
}

static const char *cluster_name = "";

const char *slurm_cmd_cluster(void)
{
	return cluster_name;
}

void slurm_cmd_show_cluster(const void *object, struct view_cell *cell)
{
	(void)object;
	view_text(cell, cluster_name);
}

struct client *slurm_cmd_client(const char *name, const char *call, const char *clusters)
{
	struct error err;
	struct client *c = client_new(NULL, &err);

	if (!c)
		slurm_cmd_fail_load(name, call, &err);
	if (c && clusters && !slurm_cmd_clusters(name, clusters, client_conf(c)->cluster)) {
		client_free(c);
		return NULL;
	}
	cluster_name = c ? client_conf(c)->cluster : cluster_name;
	return c;
}

/* --- setters ---------------------------------------------------------------------------------- */

CMD_SETTER(slurm_cmd_set_iterate)
{
	if (count_parse(value, 1, 1000000, field, NULL) < 0)
		return error_set(err, ERR_USAGE, "Error: invalid entry for --iterate=%s", value);
	return 0;
}

CMD_SETTER(slurm_cmd_set_parsable)
{
	struct fields_style *style = field;

	style->parsable = style->ended = true;
	return 0;
}
