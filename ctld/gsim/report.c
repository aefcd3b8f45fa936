/* report.c - see report.h */
#include "ctld/gsim/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "common/base/error.h"
#include "common/base/units.h"
#include "ctld/gsim/account_shares.h"

#define US_PER_HOUR 3.6e9
#define US_PER_S    1e6
#define VERSION     1
#define SHARES_MAX  40 /* rows of a table; JSON has all */

/* --- figures --------------------------------------------------------------------------------- */

static double of(double part, double whole)
{
	return whole > 0 ? part / whole : 0;
}

/* Counts of jobs: X(key in JSON, words of the table, value). Those that are 0 and `always` false
 * are left out of the table. */
struct count_row {
	const char *key, *words;
	uint64_t value;
	bool always;
};

#define COUNT_ROWS 9
static void count_rows(
        const struct report_input *in, const struct measures *m, struct count_row rows[COUNT_ROWS])
{
	const struct count_row all[COUNT_ROWS] = {
		{ "submitted", "submitted", m->jobs, true },
		{ "refused", "refused at submission", m->refused, false },
		{ "ended", "ended", m->ended, true },
		{ "waiting", "never started", m->waiting, false },
		{ "running", "still running", m->running, false },
		{ "late", "later than first estimated", m->late, false },
		{ "without_duration", "left out: no duration", m->without_duration, false },
		{ "skipped_shared", "left out: part of a GPU", m->skipped_shared, false },
		{ "bad_rows", "left out: broken rows", in->bad_rows, false },
	};

	memcpy(rows, all, sizeof(all));
}

struct time_row {
	const char *key, *words;
	struct samples *samples;
	double unit; /* of the samples, in that of JSON */
	bool duration;
};

#define TIME_ROWS 4
static void time_rows(struct measures *m, struct time_row rows[TIME_ROWS])
{
	rows[0] = (struct time_row){ "wait_s", "wait", &m->wait, US_PER_S, true };
	rows[1] = (struct time_row){ "completion_s", "completion", &m->completion, US_PER_S, true };
	rows[2] = (struct time_row){ "estimate_minus_actual_s", "est. - actual", &m->estimate,
		US_PER_S, true };
	rows[3] = (struct time_row){ "slowdown", "slowdown (10 s)", &m->slowdown, SLOWDOWN_UNIT,
		false };
}

/* Shares of GPU time, and what was lost of it. */
struct figure_row {
	const char *key, *words;
	double value;
	enum { RATIO, HOURS, NUMBER, SECONDS } shape;
};

#define FIGURE_ROWS 10
static void figure_rows(const struct measures *m, struct figure_row rows[FIGURE_ROWS])
{
	double lost = (double)m->lost_us;
	const struct figure_row all[FIGURE_ROWS] = {
		{ "makespan_s", "makespan", (double)m->now / US_PER_S, SECONDS },
		{ "gpu_hours", "GPU-hours given", m->used_us / US_PER_HOUR, HOURS },
		{ "gpu_hours_lost", "GPU-hours lost", lost / US_PER_HOUR, HOURS },
		{ "gpu_utilisation", "GPU utilisation", of(m->used_us - lost, m->capacity_us),
		        RATIO },
		{ "gpu_allocation", "GPU allocation", of(m->used_us, m->capacity_us), RATIO },
		{ "gpu_allocation_while_waiting", "  while jobs waited",
		        of(m->busy_used_us, m->busy_capacity_us), RATIO },
		{ "preemptions", "preemptions", (double)m->preempted, NUMBER },
		{ "requeues", "requeues", (double)m->requeued, NUMBER },
		{ "waiting_mean", "jobs waiting, mean", of(m->waiting_us, (double)m->now), NUMBER },
		{ "waiting_most", "jobs waiting, most", (double)m->most_waiting, NUMBER },
	};

	memcpy(rows, all, sizeof(all));
}

/* Runs with several GPUs by how close these are, the closest first: i is 0 to NEAR_ROWS - 1. */
#define NEAR_ROWS (NEAR_LEVEL_COUNT + 1)
static const struct near_use *near_row(
        const struct measures *m, int i, const char **word, double *share)
{
	int level = NEAR_ROWS - 1 - i, k;
	uint64_t all = 0;

	for (k = 0; k < NEAR_ROWS; k++)
		all += m->near[k].runs;
	*word = level == MEASURES_NVLINK ? "NVLINK" : near_level_word((enum near_level)level);
	*share = of((double)m->near[level].runs, (double)all);
	return &m->near[level];
}

/* GPUs by type. */
static uint64_t of_type(const struct conf *conf, size_t type)
{
	uint64_t sum = 0;
	size_t i, g;

	for (i = 0; i < conf->n_nodes; i++) {
		for (g = 0; g < conf->nodes[i].n_gpus; g++)
			sum += conf->nodes[i].gpus[g].type == type ? conf->nodes[i].gpus[g].count
			                                           : 0;
	}
	return sum;
}

/* --- table ----------------------------------------------------------------------------------- */

static void print_input(const struct report_input *in, const struct measures *m, FILE *out)
{
	const char *comma = "";
	size_t i;

	fputs("history   ", out);
	for (i = 0; i < in->n_files; i++)
		fprintf(out, "%s%s", i ? ", " : "", in->files[i]);
	fprintf(out, "\ncluster   %s: %zu nodes, %llu GPUs (", in->conf->cluster, in->conf->n_nodes,
	        (unsigned long long)m->capacity);
	for (i = 0; i < in->conf->n_gpu_types; i++) {
		uint64_t n = of_type(in->conf, i);

		if (n)
			fprintf(out, "%s%s:%llu", comma, in->conf->gpu_types[i].name,
			        (unsigned long long)n);
		comma = n ? "," : comma;
	}
	fprintf(out, ")\npolicy    %s\nassumed   time limits: %s; runs told to end: %s\n",
	        in->policy, in->time_limits, in->ends);
	fprintf(out, "          part of a GPU: %s; load x %g; seed %llu\n", in->shared,
	        in->scale_load, (unsigned long long)in->seed);
}

static void print_jobs(const struct report_input *in, const struct measures *m, FILE *out)
{
	struct count_row rows[COUNT_ROWS];
	size_t i;

	count_rows(in, m, rows);
	fprintf(out, "\n%-28s %10s %12s\n", "JOBS", "NUMBER", "GPU-H");
	for (i = 0; i < COUNT_ROWS; i++) {
		if (rows[i].value || rows[i].always)
			fprintf(out, "%-28s %10llu\n", rows[i].words,
			        (unsigned long long)rows[i].value);
	}
	for (i = 0; i < m->n_states; i++)
		fprintf(out, "  %-26s %10llu %12.1f\n", m->states[i].state,
		        (unsigned long long)m->states[i].jobs,
		        (double)m->states[i].gpu_us / US_PER_HOUR);
	for (i = 0; i < m->n_refusals; i++)
		fprintf(out, "refused (%s): %llu, the first: %s\n", error_name(m->refusals[i].code),
		        (unsigned long long)m->refusals[i].jobs, m->refusals[i].text);
}

static void print_cell(const struct time_row *row, double value, FILE *out)
{
	char text[UNITS_TEXT];

	value /= row->unit;
	if (row->duration) {
		const char *sign = value <= -0.5 ? "-" : "";

		duration_format(text, (uint64_t)(fabs(value) + 0.5));
		fprintf(out, " %*s%s", 12 - (int)strlen(text), sign, text);
	} else {
		fprintf(out, " %12.2f", value);
	}
}

static void print_times(struct measures *m, FILE *out)
{
	static const unsigned percents[] = { 50, 95, 99 };
	struct time_row rows[TIME_ROWS];
	size_t i, p;

	time_rows(m, rows);
	fprintf(out, "\n%-15s %12s %12s %12s %12s\n", "TIMES", "MEAN", "P50", "P95", "P99");
	for (i = 0; i < TIME_ROWS; i++) {
		if (!rows[i].samples->n)
			continue;
		fprintf(out, "%-15s", rows[i].words);
		print_cell(&rows[i], samples_mean(rows[i].samples), out);
		for (p = 0; p < sizeof(percents) / sizeof(percents[0]); p++)
			print_cell(&rows[i],
			        (double)samples_percentile(rows[i].samples, percents[p]), out);
		putc('\n', out);
	}
}

static void print_figures(const struct measures *m, FILE *out)
{
	struct figure_row rows[FIGURE_ROWS];
	char text[UNITS_TEXT];
	size_t i;

	figure_rows(m, rows);
	putc('\n', out);
	for (i = 0; i < FIGURE_ROWS; i++) {
		fprintf(out, "%-24s ", rows[i].words);
		switch (rows[i].shape) {
		case RATIO:
			fprintf(out, "%13.2f%%\n", rows[i].value * 100);
			break;
		case SECONDS:
			fprintf(out, "%14s\n",
			        duration_format(text, (uint64_t)(rows[i].value + 0.5)));
			break;
		case HOURS:
		case NUMBER:
			fprintf(out, "%14.*f\n", rows[i].shape == HOURS ? 1 : 2, rows[i].value);
			break;
		}
	}
}

static void print_near(const struct measures *m, FILE *out)
{
	const char *word;
	double share;
	int i;

	if (!m->has_near)
		return;
	fprintf(out, "\n%-28s %10s %12s %9s\n", "CLOSENESS", "RUNS", "GPU-H", "SHARE");
	for (i = 0; i < NEAR_ROWS; i++) {
		const struct near_use *use = near_row(m, i, &word, &share);

		if (use->runs)
			fprintf(out, "%-28s %10llu %12.1f %8.2f%%\n", word,
			        (unsigned long long)use->runs, (double)use->gpu_us / US_PER_HOUR,
			        share * 100);
	}
}

static void print_queue(const struct measures *m, FILE *out)
{
	static const char *const bars[] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	size_t points = timeline_points(&m->queue), i;
	double most = 0;

	for (i = 0; i < points; i++)
		most = timeline_mean(&m->queue, i) > most ? timeline_mean(&m->queue, i) : most;
	fprintf(out, "%-24s ", "jobs waiting, over time");
	for (i = 0; i < points; i++)
		fputs(bars[(size_t)(of(timeline_mean(&m->queue, i), most) * 8 + 0.5)], out);
	putc('\n', out);
}

static void print_shares(const struct report_input *in, const struct measures *m, FILE *out)
{
	size_t n, i;
	struct share *v = shares_make(in->conf, m, &n);
	char text[UNITS_TEXT];

	if (n > 1 || (n && *v[0].name))
		fprintf(out, "\n%-28s %9s %9s %10s %12s %12s\n", "ACCOUNT", "PROMISED", "RECEIVED",
		        "JOBS", "GPU-H", "MEAN WAIT");
	else
		n = 0;
	for (i = 0; i < n && i < SHARES_MAX; i++) {
		fprintf(out, "%*s%-*s", (int)v[i].depth * 2, "", 28 - (int)v[i].depth * 2,
		        *v[i].name ? v[i].name : "-");
		if (v[i].promised < 0)
			fprintf(out, " %9s", "-");
		else
			fprintf(out, " %8.2f%%", v[i].promised * 100);
		fprintf(out, " %8.2f%% %10llu %12.1f %12s\n", v[i].received * 100,
		        (unsigned long long)v[i].jobs, v[i].gpu_hours,
		        duration_format(text, (uint64_t)(v[i].mean_wait_s + 0.5)));
	}
	if (n > SHARES_MAX)
		fprintf(out, "and %zu more: --json has them\n", n - SHARES_MAX);
	free(v);
}

static void print_lending(const struct measures *m, FILE *out)
{
	const struct memory_bursts *l = &m->memory_bursts;

	if (!l->runs)
		return;
	fprintf(out,
	        "\nBURSTS    %llu runs; of the memory beyond their parts %.1f %% was in nobody's "
	        "part",
	        (unsigned long long)l->runs, 100 * of(l->there, l->wanted));
	fprintf(out, "\n          %llu starts came for memory that may have been borrowed\n",
	        (unsigned long long)l->starts);
}

void report_print(const struct report_input *in, struct measures *m, FILE *out)
{
	print_input(in, m, out);
	print_jobs(in, m, out);
	print_times(m, out);
	print_figures(m, out);
	print_queue(m, out);
	print_near(m, out);
	print_lending(m, out);
	print_shares(in, m, out);
}

/* --- JSON ------------------------------------------------------------------------------------ */

static void set(json_t *object, const char *key, json_t *value)
{
	/* What is not UTF-8 (a file's name) is left out. */
	if (value)
		json_object_set_new(object, key, value);
}

static json_t *json_input(const struct report_input *in, const struct measures *m)
{
	json_t *o = json_object(), *files = json_array(), *types = json_object();
	size_t i;

	for (i = 0; i < in->n_files; i++)
		json_array_append_new(files, json_string(in->files[i]));
	for (i = 0; i < in->conf->n_gpu_types; i++)
		set(types, in->conf->gpu_types[i].name,
		        json_integer((json_int_t)of_type(in->conf, i)));
	set(o, "version", json_integer(VERSION));
	set(o, "cluster", json_string(in->conf->cluster));
	set(o, "history", files);
	set(o, "nodes", json_integer((json_int_t)in->conf->n_nodes));
	set(o, "gpus", json_integer((json_int_t)m->capacity));
	set(o, "gpu_types", types);
	set(o, "policy", json_string(in->policy));
	set(o, "time_limits", json_string(in->time_limits));
	set(o, "ends", json_string(in->ends));
	set(o, "shared", json_string(in->shared));
	set(o, "scale_load", json_real(in->scale_load));
	set(o, "seed", json_integer((json_int_t)in->seed));
	return o;
}

static void json_jobs(const struct report_input *in, const struct measures *m, json_t *o)
{
	struct count_row rows[COUNT_ROWS];
	json_t *jobs = json_object(), *states = json_object(), *refusals = json_array();
	size_t i;

	count_rows(in, m, rows);
	for (i = 0; i < COUNT_ROWS; i++)
		set(jobs, rows[i].key, json_integer((json_int_t)rows[i].value));
	for (i = 0; i < m->n_states; i++)
		set(states, m->states[i].state,
		        json_pack("{sIsf}", "jobs", (json_int_t)m->states[i].jobs, "gpu_hours",
		                (double)m->states[i].gpu_us / US_PER_HOUR));
	for (i = 0; i < m->n_refusals; i++)
		json_array_append_new(refusals,
		        json_pack("{sssIss}", "code", error_name(m->refusals[i].code), "jobs",
		                (json_int_t)m->refusals[i].jobs, "first", m->refusals[i].text));
	set(o, "jobs", jobs);
	set(o, "states", states);
	set(o, "refusals", refusals);
}

static void json_times(struct measures *m, json_t *o)
{
	struct time_row rows[TIME_ROWS];
	size_t i;

	time_rows(m, rows);
	for (i = 0; i < TIME_ROWS; i++) {
		struct samples *s = rows[i].samples;

		set(o, rows[i].key,
		        json_pack("{sIsfsfsfsfsfsf}", "n", (json_int_t)s->n, "mean",
		                samples_mean(s) / rows[i].unit, "least",
		                (double)samples_percentile(s, 0) / rows[i].unit, "p50",
		                (double)samples_percentile(s, 50) / rows[i].unit, "p95",
		                (double)samples_percentile(s, 95) / rows[i].unit, "p99",
		                (double)samples_percentile(s, 99) / rows[i].unit, "most",
		                (double)samples_percentile(s, 100) / rows[i].unit));
	}
}

static json_t *json_timeline(const struct timeline *t)
{
	json_t *a = json_array();
	size_t i;

	for (i = 0; i < timeline_points(t); i++)
		json_array_append_new(a, json_real(timeline_mean(t, i)));
	return a;
}

static void json_shares(const struct report_input *in, const struct measures *m, json_t *o)
{
	size_t n, i;
	struct share *v = shares_make(in->conf, m, &n);
	json_t *a = json_array();

	for (i = 0; i < n; i++) {
		json_t *row = json_pack("{sssisfsfsfsI}", "account", v[i].name, "depth",
		        (int)v[i].depth, "received", v[i].received, "gpu_hours", v[i].gpu_hours,
		        "mean_wait_s", v[i].mean_wait_s, "jobs", (json_int_t)v[i].jobs);

		if (v[i].promised >= 0)
			set(row, "promised", json_real(v[i].promised));
		json_array_append_new(a, row);
	}
	set(o, "accounts", a);
	free(v);
}

static void json_near(const struct measures *m, json_t *o)
{
	json_t *levels = json_object();
	const char *word;
	double share;
	int i;

	for (i = 0; m->has_near && i < NEAR_ROWS; i++) {
		const struct near_use *use = near_row(m, i, &word, &share);

		set(levels, word,
		        json_pack("{sIsfsf}", "runs", (json_int_t)use->runs, "gpu_hours",
		                (double)use->gpu_us / US_PER_HOUR, "share", share));
	}
	set(o, "closeness", levels);
}

static void json_lending(const struct measures *m, json_t *o)
{
	const struct memory_bursts *l = &m->memory_bursts;

	if (l->runs)
		set(o, "bursts",
		        json_pack("{sIsfsI}", "runs", (json_int_t)l->runs, "room",
		                of(l->there, l->wanted), "starts", (json_int_t)l->starts));
}

static void dump(json_t *o, FILE *out)
{
	json_dumpf(o, out, JSON_INDENT(1) | JSON_REAL_PRECISION(12));
	putc('\n', out);
	json_decref(o);
}

void report_json(const struct report_input *in, struct measures *m, FILE *out)
{
	struct figure_row rows[FIGURE_ROWS];
	json_t *o = json_input(in, m), *over_time = json_object();
	size_t i;

	json_jobs(in, m, o);
	json_times(m, o);
	figure_rows(m, rows);
	for (i = 0; i < FIGURE_ROWS; i++)
		set(o, rows[i].key, json_real(rows[i].value));
	json_near(m, o);
	json_lending(m, o);
	json_shares(in, m, o);
	set(over_time, "span_s", json_real((double)m->queue.span / US_PER_S));
	set(over_time, "waiting", json_timeline(&m->queue));
	set(over_time, "used_gpus", json_timeline(&m->use));
	set(o, "over_time", over_time);
	dump(o, out);
}

/* --- the packing experiment ------------------------------------------------------------------ */

void report_inflation_print(const struct report_input *in, const struct measures *m,
        const struct inflation *r, FILE *out)
{
	print_input(in, m, out);
	fprintf(out, "\n%-28s %10llu\n%-28s %10llu\n%-28s %10llu\n%-28s %10llu\n",
	        "jobs of the history", (unsigned long long)r->jobs, "jobs that came",
	        (unsigned long long)r->arrived, "placed", (unsigned long long)r->placed, "dropped",
	        (unsigned long long)r->dropped);
	if (m->skipped_shared)
		fprintf(out, "%-28s %10llu\n", "left out: part of a GPU",
		        (unsigned long long)m->skipped_shared);
	fprintf(out, "\n%10s %20s\n", "ARRIVED", "GPU ALLOCATION");
	if (r->at_100.arrived > 0 && r->at_100.arrived < r->end.arrived)
		fprintf(out, "%9.2f%% %19.2f%%\n", r->at_100.arrived * 100,
		        r->at_100.allocated * 100);
	fprintf(out, "%9.2f%% %19.2f%%\n", r->end.arrived * 100, r->end.allocated * 100);
}

static json_t *json_point(const struct inflate_point *p)
{
	return json_pack("{sfsf}", "arrived", p->arrived, "allocated", p->allocated);
}

void report_inflation_json(const struct report_input *in, const struct measures *m,
        const struct inflation *r, FILE *out)
{
	json_t *o = json_input(in, m), *points = json_array();

	set(o, "jobs",
	        json_pack("{sIsIsIsIsI}", "history", (json_int_t)r->jobs, "arrived",
	                (json_int_t)r->arrived, "placed", (json_int_t)r->placed, "dropped",
	                (json_int_t)r->dropped, "skipped_shared", (json_int_t)m->skipped_shared));
	if (r->at_100.arrived > 0 && r->at_100.arrived < r->end.arrived)
		json_array_append_new(points, json_point(&r->at_100));
	json_array_append_new(points, json_point(&r->end));
	set(o, "inflation", points);
	dump(o, out);
}
