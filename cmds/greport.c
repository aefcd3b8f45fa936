/* greport.c - what was used, what it cost, how long jobs waited: in groups */
#include <ctype.h>
#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "cmds/cli/cmd.h"
#include "cmds/cli/listing.h"
#include "cmds/cli/parse_time.h"
#include "cmds/cli/slurm_hints.h"
#include "cmds/greport_plot.h"
#include "cmds/views/acct_options.h"
#include "common/base/text.h"
#include "common/base/xalloc.h"
#include "common/net/msg.h"

#define BY_MAX 4
#define LONGER ",GPU-S,CPU-H,CPUTIME,WAIT-MAX,TARGETS" /* --long: these too */

/* What is shown of each group, behind what it is a group of. */
static const struct report {
	const char *name, *columns, *help;
} reports[] = {
	{ "use", "SHARE,USED,JOBS,GPU-H,IDLE-H,EFF,WAIT-P50,WAIT-P95,IN-TARGET,COST",
	        "GPU-hours, against shares; how long jobs waited; cost" },
	{ "wait", "STARTED,WAIT-P50,WAIT-P95,WAIT-MAX,TARGETS,IN-TARGET",
	        "how long jobs waited, and how many started within --max-wait" },
	{ "cost", "JOBS,GPU-H,CPU-H,COST,PART", "hours, cost, and the part of all cost" },
	{ "requests", "REQUESTS,TOKENS,GPU-H,REQUEST-COST,COST/1K",
	        "of services: requests, tokens, and what 1,000 requests cost" },
};
#define N_REPORTS (sizeof(reports) / sizeof(reports[0]))

struct greport {
	struct acctopt which;
	struct listing listing;
	const struct report *report;
	struct cmd_list by;
	Gpusched__ReportLine **lines; /* kept until the last says the sums */
	size_t n, room;
	const char *plot; /* a folder for charts; NULL: none */
	bool any; /* job was found */
	Gpusched__ReportChunk *last; /* with the types of GPU; NULL: it has not come */
};

/* --- columns -------------------------------------------------------------------------------- */

struct line {
	const struct greport *g;
	const Gpusched__ReportLine *m;
	double all_cost;
	bool indent; /* accounts stand as deep as they are in the tree */
};

#define LINE                              \
	const struct line *line = object; \
	const Gpusched__ReportLine *m = line->m

static const void *measures(const void *object)
{
	return ((const struct line *)object)->m;
}

#define FIELD(name, width, min, flags, help, how, member) \
	VIEW_FIELD(name, width, min, flags, help, how, measures, Gpusched__ReportLine, member)

static void show_key(const char *name, const struct line *line, struct view_cell *cell)
{
	for (size_t i = 0; i < line->g->by.n; i++) {
		if (strcmp(line->g->by.v[i], name) != 0)
			continue;
		if (!line->m->n_keys) /* all together */
			view_text(cell, i ? "" : "all");
		else if (line->indent && !strcmp(name, "account"))
			view_printf(cell, "%*s%s", (int)(line->m->depth % 32 * 2), "",
			        line->m->keys[i]);
		else
			view_text(cell, line->m->keys[i][0] ? line->m->keys[i] : "-");
		return;
	}
}

#define SHOW_KEY(name) CELL(name, , show_key(#name, object, cell))
SHOW_KEY(account)
SHOW_KEY(user)
SHOW_KEY(partition)
SHOW_KEY(qos)
SHOW_KEY(gpu)
SHOW_KEY(state)
SHOW_KEY(day)

/* The value of the nth label of --by. */
static void show_label_at(const struct line *line, size_t nth, struct view_cell *cell)
{
	for (size_t i = 0; i < line->g->by.n; i++) {
		if (strncmp(line->g->by.v[i], "label:", 6) != 0 || nth--)
			continue;
		if (!line->m->n_keys) /* all together */
			view_text(cell, i ? "" : "all");
		else
			view_text(cell, line->m->keys[i][0] ? line->m->keys[i] : "-");
		return;
	}
}

#define SHOW_LABEL(name, nth) CELL(name, , show_label_at(object, nth, cell))
SHOW_LABEL(label, 0)
SHOW_LABEL(label2, 1)
SHOW_LABEL(label3, 2)
SHOW_LABEL(label4, 3)

SHOW(share)
{
	LINE;

	if (m->share > 0)
		view_percent(cell, m->share, 1, 0);
	else
		view_text(cell, m->n_keys ? "-" : "");
}

CELL(used, LINE, view_percent(cell, m->used, 1, 0))

CELL(gpu_seconds, LINE, view_seconds(cell, m->gpu_us))
CELL(cpu_time, LINE, view_duration(cell, m->cpu_time_us / 1000000))
CELL(part, LINE, view_percent(cell, m->cost, line->all_cost, 1))

CELL(wait_p50, LINE, view_duration_if(cell, m->started, m->wait_p50_s))
CELL(wait_p95, LINE, view_duration_if(cell, m->started, m->wait_p95_s))
CELL(wait_max, LINE, view_duration_if(cell, m->started, m->wait_max_s))
CELL(in_target, LINE, view_percent(cell, (double)m->in_target, (double)m->targets, 1))

/* What nothing has measured is not 0. */
CELL(idle_hours, LINE, view_real_if(cell, m->gpu_seen_us, (double)m->gpu_idle_us / 3.6e9, 2))
CELL(eff, LINE, view_percent(cell, (double)m->gpu_busy_us, (double)m->gpu_seen_us, 0))
CELL(idle_cost, LINE, view_real_if(cell, m->gpu_seen_us, m->idle_cost, 2))
/* In GiB times hours. */
CELL(mem_time, LINE, view_real_if(cell, m->gpu_mem_mbs, (double)m->gpu_mem_mbs / 1024 / 3600, 2))
CELL(energy, LINE, view_real_if(cell, m->energy_mj, (double)m->energy_mj / 3.6e9, 2))
CELL(request_cost, LINE, view_real_if(cell, m->requests, m->request_cost, 2))
CELL(cost_of_1000, LINE,
        view_real_if(cell, m->requests, m->request_cost / (double)m->requests * 1000, 4))

static const struct view_column columns[] = {
	COLUMN("ACCOUNT", 12, 7, 0, "account, below the one that it belongs to", account),
	COLUMN("USER", 8, 4, 0, "user", user),
	COLUMN("PARTITION", 9, 5, 0, "partition", partition),
	COLUMN("QOS", 8, 4, 0, "quality of service", qos),
	COLUMN("GPU", 8, 4, 0, "type of GPU; -: none", gpu),
	COLUMN("STATE", 9, 4, 0, "state of the job", state),
	COLUMN("DAY", 10, 0, TABLE_WHOLE, "day, in the controller's time zone", day),
	COLUMN("LABEL", 10, 5, 0, "value of the label; -: it has none", label),
	COLUMN("LABEL2", 10, 6, 0, "that of the second label of --by", label2),
	COLUMN("LABEL3", 10, 6, 0, "that of the third", label3),
	COLUMN("LABEL4", 10, 6, 0, "that of the fourth", label4),
	COLUMN("SHARE", 5, 0, NUM, "the account's part of the shares of its siblings", share),
	COLUMN("USED", 4, 0, NUM,
	        "its part of the GPU time: by account, of its siblings'; else of all", used),
	FIELD("JOBS", 6, 0, NUM, "jobs that ran", NUMBER, jobs),
	FIELD("GPU-H", 7, 0, NUM, "GPU-hours", HOURS, gpu_us),
	COLUMN("IDLE-H", 6, 0, NUM, "of them idle while held; -: not known", idle_hours),
	COLUMN("EFF", 4, 0, NUM, "compute use while the GPUs were held; -: not known", eff),
	COLUMN("IDLE-COST", 9, 0, NUM, "what the idle time cost", idle_cost),
	COLUMN("MEM-H", 7, 0, NUM, "memory used of GPUs over time, in GiB-hours", mem_time),
	COLUMN("ENERGY", 7, 0, NUM, "energy of the GPUs, in kWh", energy),
	COLUMN("GPU-S", 12, 0, NUM, "GPU-seconds, in full", gpu_seconds),
	FIELD("CPU-H", 7, 0, NUM, "CPU-hours held", HOURS, cpu_us),
	COLUMN("CPUTIME", 8, 0, NUM, "CPU time that programs used; of what has ended", cpu_time),
	FIELD("COST", 8, 0, NUM, "what that cost, by the prices of then", DIGITS_2, cost),
	COLUMN("PART", 6, 0, NUM, "part of all cost", part),
	FIELD("REQUESTS", 9, 0, NUM, "requests that services answered; -: not known",
	        NUMBER_OR_DASH, requests),
	FIELD("TOKENS", 9, 0, NUM, "tokens that they generated; -: not known",
	        NUMBER_OR_DASH, tokens),
	COLUMN("REQUEST-COST", 12, 0, NUM, "cost of the replicas that answered them", request_cost),
	COLUMN("COST/1K", 8, 0, NUM, "of it, for 1,000 requests", cost_of_1000),
	FIELD("STARTED", 7, 0, NUM, "jobs that first started; the waits are theirs",
	        NUMBER, started),
	COLUMN("WAIT-P50", 8, 0, NUM, "half of them waited no longer", wait_p50),
	COLUMN("WAIT-P95", 8, 0, NUM, "95 of 100 waited no longer", wait_p95),
	COLUMN("WAIT-MAX", 8, 0, NUM, "the longest wait", wait_max),
	FIELD("TARGETS", 7, 0, NUM, "those with --max-wait", NUMBER, targets),
	COLUMN("IN-TARGET", 9, 0, NUM, "how many of those did", in_target),
};

static const struct view_kind kind = {
	VIEW_COLUMNS(columns),
	.standard = "ACCOUNT",
};

/* --- the command line ----------------------------------------------------------------------- */

#define ROW(member, name, letter, arg, set, help) \
	CMD_ROW(struct greport, member, name, letter, arg, set, help)

static const struct cmd_option table[] = {
	CMD_HEADING("What is reported:"),
	ROW(by, "by", 'b', "LIST", cmd_set_list,
	        "A line for each of these: account, user, partition, qos, gpu, state, day, "
	        "label:KEY; several, for each of their combinations"),
	ROW(plot, "plot", 0, "DIR", cmd_set_text,
	        "Write charts (SVG) into DIR too: GPUs in use, demand, waits"),
	ACCTOPT_OPTIONS(struct greport, which),
	LISTING_OPTIONS(struct greport, listing),
	CMD_TABLE_END,
};

static int take_report(
        int key, char *name, struct argp_state *state, void *input, struct error *err)
{
	struct greport *g = input;
	char shown[80];

	(void)key, (void)state;
	for (size_t i = 0; i < N_REPORTS && !g->report; i++)
		if (!strcmp(reports[i].name, name)) {
			g->report = &reports[i];
			return 0;
		}
	text_escape(shown, sizeof(shown), name, strlen(name));
	error_set(err, ERR_USAGE, "'%s': expected use, wait, cost or requests", shown);
	if (slurm_hint("greport", name))
		error_hint(err, "%s", slurm_hint("greport", name));
	return -1;
}

static const struct cmd cmd = {
	.name = "greport",
	.arguments = "use|wait|cost|requests",
	.about = "Report what was used, what it cost and how long jobs waited, by account or "
	         "something else.",
	.examples = "Without --since and --file: of today. Use is cut to the window, and by day to "
	            "days. An "
	            "account "
	            "counts what is used in those below it.\n"
	            "\n"
	            "Examples:\n"
	            "  greport use --since=2026-11-01 --until=2026-12-01\n"
	            "  greport use --by=account,user -A research -S now-30d\n"
	            "  greport wait --by=qos,day -S now-7d\n"
	            "  greport use -S now-30d --plot=charts\n"
	            "  greport cost --by=label:project -S 2026-11-01 --csv\n"
	            "  greport requests --by=label:service,day -S now-7d\n"
	            "\n"
	            "Exit status: 0 done; 2 usage; 3 no such account, partition, QOS or node; "
	            "4 the "
	            "controller was not reached.",
	.table = table,
	.take = take_report,
	.lists = { { "Columns", &kind } },
};

/* --- the report ----------------------------------------------------------------------------- */

static int keep_types(struct greport *g, const Gpusched__ReportChunk *chunk, struct error *err)
{
	if (g->last)
		gpusched__report_chunk__free_unpacked(g->last, NULL);
	g->last = (Gpusched__ReportChunk *)msg_copy(&chunk->base);
	return g->last ? 0 : error_set(err, ERR_SYSTEM, "out of memory");
}

/* Lines come whole and few: they are kept until the last, which has the sums. */
static int on_chunk(const ProtobufCMessage *m, void *arg, struct error *err)
{
	const Gpusched__ReportChunk *chunk = (const Gpusched__ReportChunk *)m;
	struct greport *g = arg;

	if (chunk->n_types && keep_types(g, chunk, err) < 0)
		return -1;
	for (size_t i = 0; i < chunk->n_lines; i++) {
		const Gpusched__ReportLine *line = chunk->lines[i];

		if (line->n_keys && line->n_keys != g->by.n)
			return error_set(
			        err, ERR_PROTOCOL, "the report has other columns than requested");
		g->lines = xgrow(g->lines, g->n, &g->room, sizeof(*g->lines));
		g->lines[g->n] = (Gpusched__ReportLine *)msg_copy(&line->base);
		g->any = g->any || line->jobs;
		if (!g->lines[g->n++])
			return error_set(err, ERR_SYSTEM, "out of memory");
	}
	return 0;
}

static int ask_for_lines(struct greport *g, struct client *c, struct error *err)
{
	Gpusched__JobFilter filter;
	Gpusched__ListAcct jobs;
	Gpusched__Report request = GPUSCHED__REPORT__INIT;
	struct client_call call = CLIENT_ASK(REPORT, &request.base, REPORT_CHUNK, on_chunk, g);

	acctopt_message(&g->which, parse_time_today(parse_time_now()), &filter, &jobs);
	request.jobs = &jobs;
	request.by = g->by.v;
	request.n_by = g->by.n;
	call.timeout_ms = -1; /* it comes as a whole */
	return client_call(c, &call, err);
}

/* The line of totals is the last one, whatever the order. */
static void show_lines(struct greport *g)
{
	const Gpusched__ReportLine *all = g->n ? g->lines[g->n - 1] : NULL;
	struct line line = { .g = g, .all_cost = all ? all->cost : 0 };

	line.indent = !g->listing.csv && !g->listing.sort;
	for (size_t i = 0; i < g->n; i++) {
		line.m = g->lines[i];
		if (line.m->n_keys)
			listing_add(&g->listing, &line, &line.m->base);
		else if (!g->listing.json)
			listing_add_total(&g->listing, &line);
		else
			listing_add(&g->listing, &line, &line.m->base);
	}
}

/* "h100: 18176.00 of 21504.00 GPU-hours given (84.5%); 2658.00 idle while held, cost EUR 6645.00",
 * below the table. */
static void show_type(const Gpusched__ReportType *t, const char *currency)
{
	double given = (double)t->gpu_us / 3.6e9, there = (double)t->capacity_us / 3.6e9;
	struct view_cell cell;

	if (!t->capacity_us) {
		printf("%s: %.2f GPU-hours given", t->type, given);
	} else if (t->known_since_time) {
		view_time(&cell, t->known_since_time);
		printf("%s: %.2f GPU-hours given; since %s there were %.2f", t->type, given,
		        cell.text, there);
	} else {
		printf("%s: %.2f of %.2f GPU-hours given (%.1f%%)", t->type, given, there,
		        100 * given / there);
	}
	if (t->gpu_seen_us)
		printf("; %.2f idle while held, cost %s%s%.2f", (double)t->gpu_idle_us / 3.6e9,
		        currency, *currency ? " " : "", t->idle_cost);
	putchar('\n');
}

static void show_types(struct greport *g)
{
	for (size_t i = 0; g->last && i < g->last->n_types; i++) {
		if (g->listing.json)
			jsonout_message(&g->listing.out, &g->last->types[i]->base);
		else if (!g->listing.csv && !g->listing.no_heading && g->report == &reports[0])
			show_type(g->last->types[i], g->last->currency);
	}
}

/* "ACCOUNT,USER,SHARE,...": the keys of the groups, and the columns of the report. */
static char *standard_columns(const struct greport *g)
{
	char *names = xstrdup(""), *more;
	unsigned labels = 0;

	for (size_t i = 0; i < g->by.n; i++) {
		size_t len = strcspn(g->by.v[i], ":");
		char upper[40], nth[4] = "";
		size_t n = 0;

		if (g->by.v[i][len] && ++labels > 1)
			snprintf(nth, sizeof(nth), "%u", labels % 10);
		for (; n < len && n < sizeof(upper) - 1; n++)
			upper[n] = (char)toupper((unsigned char)g->by.v[i][n]);
		upper[n] = '\0';
		more = xasprintf("%s%s%s,", names, upper, nth);
		free(names);
		names = more;
	}
	more = xasprintf("%s%s%s", names, g->report->columns, g->listing.longer ? LONGER : "");
	free(names);
	return more;
}

/* Is the i-th name of --by a key to group by, and not given twice? */
static int check_by(const struct greport *g, size_t i, struct error *err)
{
	static const char *const known[] = { "account", "user", "partition", "qos", "gpu", "state",
		"day" };
	const char *by = g->by.v[i];
	char shown[80];

	if ((strncmp(by, "label:", 6) != 0 || !by[6]) &&
	        !text_among(by, known, sizeof(known) / sizeof(known[0])))
		return error_set(err, ERR_USAGE,
		        "--by: expected account, user, partition, qos, gpu, state, day or "
		        "label:KEY");
	if (!text_among(by, (const char *const *)g->by.v, i))
		return 0;
	text_escape(shown, sizeof(shown), by, strlen(by));
	return error_set(err, ERR_USAGE, "--by: %s is given twice", shown);
}

static int check(struct greport *g, char **names, struct error *err)
{
	if (!g->report) {
		error_set(err, ERR_USAGE, "a report is required");
		return error_hint(err, "greport use, greport wait or greport cost");
	}
	if (g->plot && !*g->plot)
		return error_set(err, ERR_USAGE, "--plot: expected a folder");
	if (g->plot && text_check("--plot", g->plot, PATH_MAX - 1, err) < 0)
		return -1;
	if (!g->by.n && cmd_list_add(&g->by, "account", err) < 0)
		return -1;
	if (g->by.n > BY_MAX)
		return error_set(err, ERR_USAGE, "--by: at most %d things", BY_MAX);
	for (size_t i = 0; i < g->by.n; i++)
		if (check_by(g, i, err) < 0)
			return -1;
	*names = standard_columns(g);
	g->listing.own_columns = *names;
	g->listing.fitted = true;
	return 0;
}

/* The average number of GPUs in the window; 0: not known. */
static double capacity(const struct greport *g)
{
	const struct acctopt *which = &g->which;
	int64_t until = which->until ? which->until : parse_time_now();
	int64_t since = which->since ? which->since : parse_time_today(until - 1);
	double us = 0;

	for (size_t i = 0; g->last && i < g->last->n_types; i++) {
		if (g->last->types[i]->known_since_time)
			return 0;
		us += (double)g->last->types[i]->capacity_us;
	}
	return which->file || which->filter.ids.n || since >= until ? 0
	                                                            : us / (double)(until - since);
}

/* A client that reads a file answers one request only, so the charts need another one. */
static int plot(struct greport *g, struct client *c, struct error *err)
{
	struct client *again = g->which.file ? client_new_file(g->which.file, err) : NULL;
	int rc = -1;

	if (again || !g->which.file)
		rc = greport_plot(again ? again : c, &g->which, capacity(g), g->plot, err);
	client_free(again);
	return rc;
}

static int run(void *input, struct error *err)
{
	struct greport *g = input;
	char *names = NULL;
	struct client *c = NULL;
	int rc;

	if (check(g, &names, err) == 0)
		c = listing_open(&g->listing, &cmd, &kind, "report", g->which.file, err);
	if (!c) {
		free(names);
		return -1;
	}
	rc = ask_for_lines(g, c, err);
	if (rc >= 0)
		rc = filter_check_users(&g->which.filter, g->any, err);
	if (rc >= 0 && g->plot)
		rc = plot(g, c, err);
	if (rc >= 0)
		show_lines(g);
	if (rc >= 0 && g->listing.json) {
		jsonout_list(&g->listing.out, "types");
		show_types(g);
	}
	listing_close(&g->listing, c, rc, false, err);
	if (rc >= 0 && !g->listing.json)
		show_types(g);
	free(names);
	return rc;
}

int main(int argc, char **argv)
{
	struct greport g = { .n = 0 };
	int status = cmd_main(&cmd, argc, argv, &g, run);

	for (size_t i = 0; i < g.n; i++)
		gpusched__report_line__free_unpacked(g.lines[i], NULL);
	if (g.last)
		gpusched__report_chunk__free_unpacked(g.last, NULL);
	free(g.lines);
	cmd_list_clear(&g.by);
	acctopt_clear(&g.which);
	return status;
}
