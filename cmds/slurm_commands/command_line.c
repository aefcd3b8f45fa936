/* command_line.c - see command_line.h */
#include "cmds/slurm_commands/command_line.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <grp.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "cmds/cli/parse_time.h"
#include "common/base/text.h"
#include "common/base/units.h"
#include "common/base/xalloc.h"

/* --- messages -------------------------------------------------------------------------------- */

void front_say(const char *name, const char *fmt, ...)
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

int front_fail(const char *name, const struct error *err)
{
	front_say(name, "%s", err->text);
	if (*err->hint)
		front_say(name, "%s", err->hint);
	return FRONT_FAILED;
}

bool front_unreachable(const struct error *err)
{
	return err->code == ERR_UNREACHABLE || err->code == ERR_TIMEOUT;
}

int front_fail_load(const char *name, const char *call, const struct error *err)
{
	if (!front_unreachable(err))
		return front_fail(name, err);
	fflush(stdout);
	fprintf(stderr, "%s: %s\n", call,
	        err->code == ERR_TIMEOUT ? "Socket timed out on send/recv operation"
	                                 : "Unable to contact slurm controller (connect failure)");
	return FRONT_FAILED;
}

int front_finish(const char *name, int status)
{
	bool bad = ferror(stdout);

	errno = 0;
	if (fclose(stdout) == 0 && !bad)
		return status;
	fprintf(stderr, "%s: error: standard output: %s\n", name,
	        errno ? strerror(errno) : "not all could be written");
	return status ? status : FRONT_FAILED;
}

/* --- the command line ------------------------------------------------------------------------ */

#define KEY_ROW 0x100 /* rows without a letter: KEY_ROW + index */

static const struct option standard[] = {
	{ "help", no_argument, NULL, 0x7000 },
	{ "usage", no_argument, NULL, 0x7001 },
	{ "version", no_argument, NULL, 'V' },
};
#define N_STANDARD (sizeof(standard) / sizeof(standard[0]))

/* A program, as its row in `fronts` and its own file have it. */
struct program {
	const char *name, *usage;
	const struct front_option *options;
	size_t n;
	front_argument *argument;
};

static void print_help(const struct program *p, bool all)
{
	printf("Usage: %s [OPTIONS]%s%s\n", p->name, p->usage ? " " : "", p->usage ? p->usage : "");
	for (size_t i = 0; all && i < p->n; i++) {
		const struct front_option *o = &p->options[i];
		char letter[8] = "    ";

		if (o->says == FRONT_NO)
			continue;
		if (o->letter)
			snprintf(letter, sizeof(letter), "-%c, ", o->letter);
		printf("  %s--%s%s%s%s\n", letter, o->name,
		        o->arg == FRONT_VALUE ? "=VALUE"
		        : o->arg              ? "[=VALUE]"
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
		const struct front_option *o = &p->options[i];

		int has = o->arg == FRONT_NEXT ? optional_argument : (int)o->arg;

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

static int set_row(const struct front_option *o, const char *value, void *input, struct error *err)
{
	const struct cmd_option row = { .name = o->name, .letter = o->letter, .what = o->what };

	return o->set ? o->set((char *)input + o->offset, &row, value, err) : 0;
}

/* Of several names of one letter the first row counts. */
static const struct front_option *row_of(const struct front_option *o, int key)
{
	if (key >= KEY_ROW)
		return o + (key - KEY_ROW);
	while (o->letter != key)
		o++;
	return o;
}

int front_set(const struct front_option *options, int letter, const char *value, void *input,
        struct error *err)
{
	return set_row(row_of(options, letter), value, input, err);
}

static int take_one(const struct program *p, int key, char **argv, void *input, struct error *err)
{
	const struct front_option *o = row_of(p->options, key);
	const char *value = optarg;

	if (o->says == FRONT_NO)
		return error_set(err, ERR_USAGE, "--%s: %s", o->name, o->text);
	if (o->arg == FRONT_NEXT && !value && argv[optind] && argv[optind][0] != '-')
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
			puts(FRONT_VERSION);
			return front_finish(p->name, 0);
		case 0x7000:
		case 0x7001:
			print_help(p, key == 0x7000);
			return front_finish(p->name, 0);
		case '?':
			fprintf(stderr, "Try \"%s --help\" for more information\n", p->name);
			return FRONT_FAILED;
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

int front_parse(const char *name, front_argument *argument, int argc, char **argv, void *input)
{
	const struct front *front = front_find(name);
	struct program p = { .name = name, .usage = front->usage, .argument = argument };
	struct tables t;
	struct error err;
	int rc;

	p.options = front->options(&p.n);
	t = make_tables(&p);
	argv[0] = (char *)name; /* getopt's messages begin with it */
	rc = parse(&p, argc, argv, input, &t, &err);
	free(t.longs);
	if (rc != TOLD_BELOW)
		return rc;
	front_fail(name, &err);
	return FRONT_FAILED;
}

int front_clusters(const char *name, const char *value, const char *cluster)
{
	char *list = xstrdup(value), *at = list, *one;
	int ok = 1;

	while (ok && (one = strsep(&at, ","))) {
		if (!*one || !strcasecmp(one, "all") || !strcasecmp(one, cluster))
			continue;
		front_say(name, "No cluster '%s' known by database.", one);
		front_say(name,
		        "'%s' can't be reached now, or it is an invalid entry for --cluster.  This "
		        "is cluster %s; GPUSCHED_CONTROLLER names another.",
		        one, cluster);
		ok = 0;
	}
	free(list);
	return ok;
}

static const char *cluster_name = "";

const char *front_cluster(void)
{
	return cluster_name;
}

void front_show_cluster(const void *object, struct view_cell *cell)
{
	(void)object;
	view_text(cell, cluster_name);
}

struct client *front_client(const char *name, const char *call, const char *clusters)
{
	struct error err;
	struct client *c = client_new(NULL, &err);

	if (!c)
		front_fail_load(name, call, &err);
	if (c && clusters && !front_clusters(name, clusters, client_conf(c)->cluster)) {
		client_free(c);
		return NULL;
	}
	cluster_name = c ? client_conf(c)->cluster : cluster_name;
	return c;
}

/* --- states ---------------------------------------------------------------------------------- */

#define SIGNAL_OUT_OF_MEMORY 125

static const struct front_state states[] = {
	{ "PENDING", "PD", "PENDING" },
	{ "RUNNING", "R", "RUNNING" },
	{ "SUSPENDED", "S", "SUSPENDED" },
	{ "COMPLETED", "CD", "COMPLETED" },
	{ "CANCELLED", "CA", "CANCELLED" },
	{ "FAILED", "F", "FAILED" },
	{ "TIMEOUT", "TO", "TIMEOUT" },
	{ "NODE_FAIL", "NF", "NODE_FAIL" },
	{ "PREEMPTED", "PR", "PREEMPTED" },
	{ "BOOT_FAIL", "BF", NULL },
	{ "DEADLINE", "DL", "DEADLINE" },
	{ "OUT_OF_MEMORY", "OOM", "OUT_OF_MEMORY" },
	{ "COMPLETING", "CG", "COMPLETING" },
	{ "CONFIGURING", "CF", "CONFIGURING" },
	{ "RESIZING", "RS", NULL },
	{ "RESV_DEL_HOLD", "RD", NULL },
	{ "REQUEUED", "RQ", NULL },
	{ "REQUEUE_FED", "RF", NULL },
	{ "REQUEUE_HOLD", "RH", NULL },
	{ "REVOKED", "RV", NULL },
	{ "SIGNALING", "SI", NULL },
	{ "SPECIAL_EXIT", "SE", NULL },
	{ "STAGE_OUT", "SO", NULL },
	{ "STOPPED", "ST", NULL },
};
#define N_STATES (sizeof(states) / sizeof(states[0]))

const struct front_state *front_state(const char *name)
{
	for (size_t i = 0; i < N_STATES; i++)
		if (!strcasecmp(states[i].name, name) || !strcasecmp(states[i].code, name))
			return &states[i];
	return NULL;
}

const char *front_base_state(const char *state)
{
	bool runs = !strcmp(state, "CONFIGURING") || !strcmp(state, "COMPLETING");

	return runs ? "RUNNING" : state;
}

struct front_exit front_exit(const char *state, uint32_t code, uint32_t signal)
{
	if (!strcmp(state, "OUT_OF_MEMORY"))
		return (struct front_exit){ 0, SIGNAL_OUT_OF_MEMORY };
	return (struct front_exit){ code, signal };
}

void front_state_names(char *buf, size_t size)
{
	size_t used = 0;

	for (size_t i = 0; i < N_STATES && used < size; i++)
		used += (size_t)snprintf(
		        buf + used, size - used, "%s%s", i ? "," : "", states[i].name);
}

int front_states(struct filter *f, const char *value, bool *none, bool *all, struct error *err)
{
	char *list = xstrdup(value), *at = list, *one;
	int rc = 0;

	*none = true;
	*all = false;
	while (rc == 0 && (one = strsep(&at, ","))) {
		const struct front_state *s = front_state(one);

		if (!strcasecmp(one, "all"))
			*all = true;
		else if (!s)
			rc = error_set(err, ERR_USAGE, "%s", one);
		else if (s->ours)
			rc = filter_add(f, FILTER_STATES, "--states", s->ours, err);
		*none = *none && !*all && !(s && s->ours);
	}
	free(list);
	if (*all)
		cmd_list_clear(&f->lists[FILTER_STATES]);
	f->ended = f->ended || *all;
	return rc;
}

int front_every_state(struct filter *f, struct error *err)
{
	for (size_t i = 0; i < N_STATES; i++)
		if (states[i].ours &&
		        filter_add(f, FILTER_STATES, "--state", states[i].ours, err) < 0)
			return -1;
	return 0;
}

/* --- values ---------------------------------------------------------------------------------- */

/* The format is the user's own. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
static bool formatted(char *buf, size_t size, const char *format, const struct tm *tm)
{
	return strftime(buf, size, format, tm) > 0;
}
#pragma GCC diagnostic pop

void front_time(struct view_cell *cell, int64_t us, const char *none)
{
	const char *format = getenv("SLURM_TIME_FORMAT");
	time_t s = (time_t)(us / 1000000);
	struct tm tm;

	if (!format || !*format || !strcmp(format, "standard") || !strcmp(format, "relative"))
		format = "%Y-%m-%dT%H:%M:%S";
	cell->is_number = true;
	cell->number = us;
	cell->text = cell->buf;
	if (!us || !localtime_r(&s, &tm) || !formatted(cell->buf, sizeof(cell->buf), format, &tm))
		cell->text = none;
}

void front_clock(struct view_cell *cell, uint64_t s)
{
	unsigned long long days = s / 86400, hours = s / 3600 % 24, minutes = s / 60 % 60;

	cell->is_number = true;
	cell->number = (int64_t)s;
	cell->text = cell->buf;
	if (days)
		snprintf(cell->buf, sizeof(cell->buf), "%llu-%02llu:%02llu:%02llu", days, hours,
		        minutes, (unsigned long long)s % 60);
	else
		snprintf(cell->buf, sizeof(cell->buf), "%02llu:%02llu:%02llu", hours, minutes,
		        (unsigned long long)s % 60);
}

void front_limit(struct view_cell *cell, uint64_t s, const char *none)
{
	if (s && s != UINT32_MAX)
		front_clock(cell, s);
	else
		view_text(cell, none);
}

void front_memory(struct view_cell *cell, uint64_t mb)
{
	static const char units[] = "MGTP";
	uint64_t n = mb;
	size_t u = 0;

	for (; n && n % 1024 == 0 && u < 3; n /= 1024)
		u++;
	if (mb)
		view_printf(cell, "%llu%c", (unsigned long long)n, units[u]);
	else
		view_text(cell, "0");
	cell->is_number = true;
	cell->number = (int64_t)mb;
}

void front_texts(struct view_cell *cell, char *const *v, size_t n, const char *none)
{
	view_text(cell, none);
	for (size_t i = 0; i < n; i++)
		view_item(cell, ",", "%s", v[i]);
}

struct primary_group {
	uint32_t uid;
	unsigned gid;
	char name[128];
};

/* Lists have many jobs of one user behind each other: the last is kept. */
static const struct primary_group *primary_group(uint32_t uid)
{
	static struct primary_group last;
	const struct passwd *p;
	const struct group *g;

	if (uid == last.uid && *last.name)
		return &last;
	p = getpwuid(uid);
	last.uid = uid;
	last.gid = p ? p->pw_gid : uid;
	g = getgrgid(last.gid);
	if (g)
		snprintf(last.name, sizeof(last.name), "%s", g->gr_name);
	else
		snprintf(last.name, sizeof(last.name), "%u", last.gid);
	return &last;
}

const char *front_group(uint32_t uid)
{
	return primary_group(uid)->name;
}

unsigned front_gid(uint32_t uid)
{
	return primary_group(uid)->gid;
}

/* Slurm also takes a "-" between the day and the time. */
void front_moment(const char *text, int64_t *us, struct error *err)
{
	char copy[64];

	snprintf(copy, sizeof(copy), "%s", text);
	if (strlen(copy) > 11 && isdigit((unsigned char)copy[0]) && copy[4] == '-' &&
	        copy[10] == '-')
		copy[10] = 'T';
	err->code = ERR_NONE;
	when_parse(copy, when_now(), us, err);
}

CMD_SETTER(front_set_iterate)
{
	if (count_parse(value, 1, 1000000, field, NULL) < 0)
		return error_set(err, ERR_USAGE, "Error: invalid entry for --iterate=%s", value);
	return 0;
}

CMD_SETTER(front_set_parsable)
{
	struct fields_style *style = field;

	style->parsable = style->ended = true;
	return 0;
}
