/* sreport.c - what was used, summed up as Slurm's sreport does */
#include <inttypes.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cmds/cli/parse_time.h"
#include "cmds/slurm_commands/program_table.h"
#include "cmds/slurm_commands/slurm_command_line.h"
#include "cmds/slurm_commands/value_formats.h"
#include "common/base/strbuf.h"
#include "common/base/units.h"
#include "common/base/xalloc.h"
#include "common/gpusched.pb-c.h"

#define WORDS_MAX 64
#define GPU       "gres/gpu"
#define TOP       10

struct sreport {
	struct fields_style style;
	const char *tres, *clusters, *words[WORDS_MAX];
	size_t n;
	int64_t since, until;
	struct cmd_list accounts, users;
	uint64_t top;
	double unit_us; /* of what is reported */
	const char *unit;
	Gpusched__ReportLine **lines; /* of account and user */
	size_t n_lines;
	struct fields fields;
};

struct line {
	const struct sreport *s;
	const char *account, *user;
	double used_us;
	uint64_t energy_mj;
};

#define LINE const struct line *l = object

CELL(account, LINE, view_text(cell, l->account))
CELL(login, LINE, view_text(cell, l->user))

SHOW(proper)
{
	LINE;
	const struct passwd *p = *l->user ? getpwnam(l->user) : NULL;

	if (p)
		view_printf(cell, "%.*s", (int)strcspn(p->pw_gecos, ","), p->pw_gecos);
}

CELL(tres, LINE, view_text(cell, l->s->tres))
CELL(used, LINE, view_printf(cell, "%.0f", l->used_us / l->s->unit_us))
CELL(energy, LINE, view_number(cell, (int64_t)(l->energy_mj / 1000)))

#define FIELD(name, heading, width, show) \
	SLURM_CMD_FIELD(0, name, heading, width, NULL, show_##show, 0)
static const struct slurm_cmd_field fields[] = {
	FIELD("Account", "Account", 15, account),
	SLURM_CMD_FIELD(0, "Cluster", "Cluster", 9, NULL, slurm_cmd_show_cluster, 0),
	FIELD("Energy", "Energy", 8, energy),
	FIELD("Login", "Login", 9, login),
	FIELD("Proper", "Proper Name", 15, proper),
	FIELD("TresName", "TRES Name", 14, tres),
	FIELD("Used", "Used", 8, used),
};
#define N_FIELDS (sizeof(fields) / sizeof(fields[0]))

/* --- what was used ---------------------------------------------------------------------------- */

static int on_report(const ProtobufCMessage *m, void *arg, struct error *err)
{
	const Gpusched__ReportChunk *chunk = (const Gpusched__ReportChunk *)m;
	struct sreport *s = arg;
	(void)err;

	for (size_t i = 0; i < chunk->n_lines; i++) {
		Gpusched__ReportLine *line = xcalloc(1, sizeof(*line));
		const Gpusched__ReportLine *from = chunk->lines[i];

		if (from->n_keys < 2) {
			free(line);
			continue; /* the sum of all */
		}
		*line = *from;
		line->keys = xcalloc(2, sizeof(*line->keys));
		line->keys[0] = xstrdup(from->keys[0]);
		line->keys[1] = xstrdup(from->keys[1]);
		s->lines = xrealloc(s->lines, s->n_lines + 1, sizeof(*s->lines));
		s->lines[s->n_lines++] = line;
	}
	return 0;
}

static double used_us(const struct sreport *s, const Gpusched__ReportLine *l)
{
	return (double)(strcmp(s->tres, GPU) ? l->cpu_us : l->gpu_us);
}

static int by_account(const void *x, const void *y)
{
	const Gpusched__ReportLine *const *a = x, *const *b = y;
	int order = strcmp((*a)->keys[0], (*b)->keys[0]);

	return order ? order : strcmp((*a)->keys[1], (*b)->keys[1]);
}

static int by_user(const void *x, const void *y)
{
	const Gpusched__ReportLine *const *a = x, *const *b = y;
	int order = strcmp((*a)->keys[1], (*b)->keys[1]);

	return order ? order : strcmp((*a)->keys[0], (*b)->keys[0]);
}

static int by_use(const void *x, const void *y, void *arg)
{
	double a = used_us(arg, *(const Gpusched__ReportLine *const *)x),
	       b = used_us(arg, *(const Gpusched__ReportLine *const *)y);

	return (a < b) - (a > b);
}

static int ask(struct sreport *s, struct client *c, struct error *err)
{
	static const char *by[] = { "account", "user" };
	Gpusched__Report request = GPUSCHED__REPORT__INIT;
	Gpusched__ListAcct jobs = GPUSCHED__LIST_ACCT__INIT;
	Gpusched__JobFilter filter = GPUSCHED__JOB_FILTER__INIT;
	struct client_call call = CLIENT_ASK(REPORT, &request.base, REPORT_CHUNK, on_report, s);

	filter.users = s->users.v;
	filter.n_users = s->users.n;
	jobs.filter = &filter;
	jobs.accounts = s->accounts.v;
	jobs.n_accounts = s->accounts.n;
	jobs.since_time = s->since;
	jobs.until_time = s->until;
	request.jobs = &jobs;
	request.by = (char **)by;
	request.n_by = 2;
	return client_call(c, &call, err);
}

/* --- reports ---------------------------------------------------------------------------------- */

static void put(struct sreport *s, const struct line *line)
{
	struct strbuf text = { 0 };

	fields_print(&s->fields, &s->style, line, &text);
	fwrite(text.s, 1, text.len, stdout);
	strbuf_free(&text);
}

static void put_line(struct sreport *s, const Gpusched__ReportLine *l)
{
	const struct line line = { s, l->keys[0], l->keys[1], used_us(s, l), l->energy_mj };

	put(s, &line);
}

/* Each account, and below it its users. */
static void account_by_user(struct sreport *s)
{
	if (s->n_lines)
		qsort(s->lines, s->n_lines, sizeof(*s->lines), by_account);
	for (size_t i = 0; i < s->n_lines; i++) {
		struct line sum = { s, s->lines[i]->keys[0], "", 0, 0 };

		if (!i || strcmp(s->lines[i - 1]->keys[0], sum.account) != 0) {
			for (size_t k = i;
			        k < s->n_lines && !strcmp(s->lines[k]->keys[0], sum.account); k++) {
				sum.used_us += used_us(s, s->lines[k]);
				sum.energy_mj += s->lines[k]->energy_mj;
			}
			put(s, &sum);
		}
		put_line(s, s->lines[i]);
	}
}

static void user_by_account(struct sreport *s)
{
	if (s->n_lines)
		qsort(s->lines, s->n_lines, sizeof(*s->lines), by_user);
	for (size_t i = 0; i < s->n_lines; i++)
		put_line(s, s->lines[i]);
}

static void top_users(struct sreport *s)
{
	if (s->n_lines)
		qsort_r(s->lines, s->n_lines, sizeof(*s->lines), by_use, s);
	for (size_t i = 0; i < s->n_lines && i < s->top; i++)
		put_line(s, s->lines[i]);
}

#define NOT_SUMMED "greport sums up by account, user, partition, QOS, GPU, state, day and label"

static const struct {
	const char *group, *name, *title, *format;
	void (*run)(struct sreport *s);
} reports[] = {
	{ "cluster", "AccountUtilizationByUser", "Cluster/Account/User Utilization",
	        "Cluster,Account,Login,Proper", account_by_user },
	{ "cluster", "UserUtilizationByAccount", "Cluster/User/Account Utilization",
	        "Cluster,Login,Proper,Account", user_by_account },
	{ "user", "TopUsage", "Top", "Cluster,Login,Proper,Account", top_users },
};

static const struct slurm_cmd_word words[] = {
	{ "cluster AccountUtilizationByUser", SLURM_CMD_YES, NULL },
	{ "cluster UserUtilizationByAccount", SLURM_CMD_YES, NULL },
	{ "user TopUsage", SLURM_CMD_YES, NULL },
	{ "cluster Utilization", SLURM_CMD_NO,
	        "greport --by=gpu has what was there and what was used of it" },
	{ "cluster AccountUtilizationByWCKey", SLURM_CMD_NO,
	        "there are no workload characterization keys" },
	{ "cluster WCKeyUtilizationByUser", SLURM_CMD_NO,
	        "there are no workload characterization keys" },
	{ "job SizesByAccount", SLURM_CMD_NO, NOT_SUMMED },
	{ "job SizesByAccountAndWckey", SLURM_CMD_NO, NOT_SUMMED },
	{ "job SizesByWckey", SLURM_CMD_NO, NOT_SUMMED },
	{ "reservation Utilization", SLURM_CMD_NO, "there are no reservations" },
};

SLURM_CMD_TABLE(word, sreport_words, words)

/* --- the command line ------------------------------------------------------------------------- */

static const struct {
	const char *name, *unit;
	double us;
} units[] = {
	{ "seconds", "Seconds", 1e6 },
	{ "minutes", "Minutes", 60e6 },
	{ "hours", "Hours", 3600e6 },
};

static CMD_SETTER(set_unit)
{
	struct sreport *s = field;

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (*value && !strncasecmp(units[i].name, value, strlen(value))) {
			s->unit = units[i].unit;
			s->unit_us = units[i].us;
			return 0;
		}
	return error_set(err, ERR_USAGE,
	        "unknown time format: %s; seconds, minutes and hours are known", value);
}

static CMD_SETTER(set_tres)
{
	*(const char **)field = value;
	return strcasecmp(value, "cpu") && strcasecmp(value, GPU)
	               ? error_set(err, ERR_USAGE, "--tres=%s: cpu and gres/gpu are counted", value)
	               : 0;
}

static const struct slurm_cmd_option options[] = {
	SLURM_CMD_SAME("all_clusters", 'a', SLURM_CMD_PLAIN),
	SLURM_CMD_CLUSTERS(struct sreport, clusters, "cluster"),
	SLURM_CMD_NONE("federation", 0, SLURM_CMD_PLAIN, "there are no federations"),
	SLURM_CMD_SAME("local", 0, SLURM_CMD_PLAIN),
	SLURM_CMD_ROW(
	        struct sreport, style.no_heading, "noheader", 'n', SLURM_CMD_PLAIN, cmd_set_flag),
	SLURM_CMD_ROW(
	        struct sreport, style, "parsable", 'p', SLURM_CMD_PLAIN, slurm_cmd_set_parsable),
	SLURM_CMD_ROW(
	        struct sreport, style.parsable, "parsable2", 'P', SLURM_CMD_PLAIN, cmd_set_flag),
	SLURM_CMD_SAME("quiet", 'Q', SLURM_CMD_PLAIN),
	{ "time", 't', SLURM_CMD_VALUE, SLURM_CMD_DIFFERS, "seconds, minutes or hours", set_unit, 0,
	        0 },
	{ "tres", 'T', SLURM_CMD_VALUE, SLURM_CMD_DIFFERS, "cpu or gres/gpu", set_tres,
	        offsetof(struct sreport, tres), 0 },
	SLURM_CMD_SAME("verbose", 'v', SLURM_CMD_PLAIN),
};

static int take_word(const char *value, void *input, struct error *err)
{
	struct sreport *s = input;
	const char *equal = strchr(value, '=');
	size_t len = equal ? (size_t)(equal - value) : 0;

	if (s->n == WORDS_MAX)
		return error_set(err, ERR_USAGE, "too many words");
	if (!equal) {
		s->words[s->n++] = value;
		return 0;
	}
	err->code = ERR_NONE;
	if (!strncasecmp("start", value, len))
		slurm_moment(equal + 1, &s->since, err);
	else if (!strncasecmp("end", value, len))
		slurm_moment(equal + 1, &s->until, err);
	else if (!strncasecmp("accounts", value, len))
		return cmd_list_add(&s->accounts, equal + 1, err);
	else if (!strncasecmp("users", value, len))
		return cmd_list_add(&s->users, equal + 1, err);
	else if (!strncasecmp("topcount", value, len))
		return count_parse(equal + 1, 1, 1000000, &s->top, err);
	else if (strncasecmp("clusters", value, len) != 0)
		return error_set(err, ERR_USAGE, "Unknown condition: %s", value);
	return err->code ? -1 : 0;
}

/* Yesterday, as in Slurm, unless it is said. */
static void settle_times(struct sreport *s)
{
	int64_t today = parse_time_today(parse_time_now());

	if (!s->since)
		s->since = parse_time_today(today - 1);
	if (!s->until)
		s->until = s->since < today ? today : parse_time_now();
}

static void print_title(const struct sreport *s, const char *title)
{
	static const char line[] =
	        "--------------------------------------------------------------------------------";
	struct view_cell from, to;

	if (s->style.no_heading)
		return;
	slurm_time(&from, s->since, "");
	slurm_time(&to, s->until - 1000000, "");
	printf("%s\n", line);
	if (!strcmp(title, "Top"))
		printf("Top %" PRIu64 " Users", s->top);
	else
		fputs(title, stdout);
	printf(" %s - %s (%" PRId64 " secs)\n", from.text, to.text,
	        (s->until - s->since) / 1000000);
	printf("Usage reported in %s %s\n%s\n", strcmp(s->tres, GPU) ? "CPU" : "TRES", s->unit,
	        line);
}

static int report(struct sreport *s, size_t r, struct client *c)
{
	char *format = xasprintf(
	        "%s,%sUsed,Energy", reports[r].format, strcmp(s->tres, GPU) ? "" : "TresName,");
	struct error err;
	int status = 0;

	settle_times(s);
	fields_names(&s->fields, format, fields, N_FIELDS, &err);
	if (ask(s, c, &err) < 0 && error_exit_status(err.code) != EXIT_NO_OBJECT) {
		status = slurm_cmd_fail_load("sreport", "sreport: error", &err);
	} else {
		print_title(s, reports[r].title);
		fields_print_heading(&s->fields, &s->style, stdout);
		reports[r].run(s);
	}
	free(format);
	return status;
}

static int refuse(const struct sreport *s)
{
	size_t n;
	const struct slurm_cmd_word *all = sreport_words(&n);
	char name[160];

	snprintf(name, sizeof(name), "%.60s %.60s", s->n ? s->words[0] : "",
	        s->n > 1 ? s->words[1] : "");
	for (size_t i = 0; i < n && s->n > 1; i++)
		if (all[i].says == SLURM_CMD_NO && !strncasecmp(all[i].name, name, strlen(name))) {
			slurm_cmd_say("sreport", "%s: %s", all[i].name, all[i].text);
			return SLURM_CMD_FAILED;
		}
	slurm_cmd_say("sreport",
	        "Not valid report %s; there are cluster AccountUtilizationByUser, "
	        "cluster UserUtilizationByAccount, user TopUsage",
	        name);
	return SLURM_CMD_FAILED;
}

/* Words may be abbreviated. */
static bool begins(const char *name, const char *word)
{
	return *word && !strncasecmp(name, word, strlen(word));
}

static int run(struct sreport *s)
{
	struct client *c;
	size_t r = 0, n = sizeof(reports) / sizeof(reports[0]);
	int status;

	while (r < n && (s->n < 2 || !begins(reports[r].group, s->words[0]) ||
	                        !begins(reports[r].name, s->words[1])))
		r++;
	if (r == n)
		return refuse(s);
	c = slurm_cmd_client("sreport", "sreport: error", s->clusters);
	if (!c)
		return SLURM_CMD_FAILED;
	status = report(s, r, c);
	client_free(c);
	return status;
}

int sreport_main(int argc, char **argv)
{
	struct sreport s = { .tres = "cpu", .top = TOP, .unit = "Minutes", .unit_us = 60e6 };
	int status = slurm_cmd_parse("sreport", take_word, argc, argv, &s);

	if (status == CMD_GO_ON)
		status = slurm_cmd_finish("sreport", run(&s));
	for (size_t i = 0; i < s.n_lines; i++) {
		free(s.lines[i]->keys[0]);
		free(s.lines[i]->keys[1]);
		free(s.lines[i]->keys);
		free(s.lines[i]);
	}
	free(s.lines);
	fields_clear(&s.fields);
	cmd_list_clear(&s.accounts);
	cmd_list_clear(&s.users);
	return status;
}

SLURM_CMD_TABLE(option, sreport_options, options)
