/* main.c - gsim: the past of a cluster, through the scheduler of the present */
#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/command_line.h"
#include "common/base/progress.h"
#include "common/base/units.h"
#include "ctld/gsim/cluster.h"
#include "ctld/gsim/compare.h"
#include "ctld/gsim/history/bad_rows.h"
#include "ctld/gsim/options.h"
#include "ctld/gsim/plots.h"
#include "ctld/gsim/replay_recorded.h"
#include "ctld/gsim/report.h"

#define DEFAULT_CONF SYSCONFDIR "/gpusched/gpusched.conf"

/* What is shown while it runs. */
struct show {
	struct progress *bar;
	uint64_t jobs; /* of the history; 0: not known (standard input) */
	struct bad_rows bad;
};

/* --- progress -------------------------------------------------------------------------------- */

static void progress(void *arg, const struct world *w)
{
	struct show *s = arg;
	const struct measures *m = world_measures((struct world *)w);
	char text[UNITS_TEXT], note[UNITS_TEXT + 8];

	snprintf(note, sizeof(note), "%s",
	        duration_format(text, (uint64_t)(world_now(w) / 1000000)));
	progress_note(s->bar, note);
	progress_at(s->bar, m->ended + m->refused);
}

static void progress_done(struct show *s, const struct options *o, const struct measures *m)
{
	double cpu = (double)clock_us(CLOCK_PROCESS_CPUTIME_ID) / 1e6;

	progress_hide(s->bar);
	if (!o->quiet)
		fprintf(stderr, "gsim: %llu jobs in %.2f s of CPU: %.0f jobs/s\n",
		        (unsigned long long)m->jobs, cpu, (double)m->jobs / (cpu + 1e-9));
}

/* --- the history, beforehand ----------------------------------------------------------------- */

static bool has_input(const struct options *o)
{
	size_t i;

	for (i = 0; i < o->n_files; i++) {
		if (!strcmp(o->files[i], "-"))
			return true;
	}
	return false;
}

/* Read all of it once, so that nothing runs before every row was seen. What comes from standard
 * input is read once only: there a broken row ends the replay where it stands. */
static int look_through(const struct options *o, struct show *s, struct error *err)
{
	struct history_options all = o->history;
	struct history_job job;
	struct history_files *h;
	uint64_t bad;
	int rc;

	if (has_input(o))
		return 0;
	all.skip_bad = true;
	all.bad = bad_rows_show;
	all.arg = &s->bad;
	h = history_files_open(o->files, o->n_files, &all, err);
	if (!h)
		return -1;
	progress_part(s->bar, "reading", "jobs", PROGRESS_COUNT, 0);
	while ((rc = history_next(h, &job, err)) > 0)
		progress_at(s->bar, ++s->jobs);
	bad = history_bad(h);
	history_files_close(h);
	if (rc < 0 || !bad || o->history.skip_bad)
		return rc;
	error_set(
	        err, ERR_CONFIG, "%llu broken row%s", (unsigned long long)bad, bad == 1 ? "" : "s");
	return error_hint(err, "--skip-bad leaves them out");
}

/* --- the run --------------------------------------------------------------------------------- */

static struct conf *make_conf(const struct options *o, struct error *err)
{
	struct conf *conf;
	size_t i;

	if (o->nodes) {
		conf = cluster_make(o->nodes, o->history.partition_column, err);
		for (i = 0; conf && o->replay.shared == SHARED_SHARE && i < conf->n_nodes; i++)
			conf->nodes[i].share = CONF_SHARE_WATCH;
	} else {
		conf = cluster_read(o->conf ? o->conf : DEFAULT_CONF, err);
		if (!conf && !o->conf)
			error_hint(err, "-f FILE or --nodes=FILE says which cluster it is to be");
	}
	for (i = 0; conf && i < o->n_add_nodes; i++) {
		if (cluster_add(conf, o->add_nodes[i], err) < 0) {
			conf_free(conf);
			return NULL;
		}
	}
	return conf;
}

/* The words for the assumptions in the report. */
struct words {
	char limits[80], ends[80];
};

static void say(const struct options *o, struct words *w)
{
	char text[UNITS_TEXT];

	if (o->world.limits == LIMITS_FACTOR)
		snprintf(w->limits, sizeof(w->limits), "duration x 1 to %g", o->world.factor);
	else
		snprintf(w->limits, sizeof(w->limits), "%s", o->time_limit);
	snprintf(w->ends, sizeof(w->ends), "%s after %s",
	        o->world.checkpoint ? "go on later" : "begin again",
	        duration_format(text, (uint64_t)(o->world.end_delay / 1000000)));
}

static int print_report(const struct options *o, const struct report_input *in, struct measures *m,
        const struct inflation *r, struct error *err)
{
	if (o->inflate && o->json)
		report_inflation_json(in, m, r, stdout);
	else if (o->inflate)
		report_inflation_print(in, m, r, stdout);
	else if (o->json)
		report_json(in, m, stdout);
	else
		report_print(in, m, stdout);
	if (fflush(stdout) == 0 && !ferror(stdout))
		return 0;
	return error_set(err, ERR_SYSTEM, "standard output: %s", strerror(errno));
}

static void what_was_assumed(const struct options *o, const struct conf *conf, struct words *words,
        struct report_input *in)
{
	static const char *const shared[] = {
		[SHARED_ROUND] = "all of it", [SHARED_SKIP] = "left out", [SHARED_SHARE] = "shared"
	};
	static const char *const places[] = { [RIVAL_NONE] = "as configured",
		[RIVAL_FGD] = "places by FGD",
		[RIVAL_BESTFIT] = "places by BestFit" };

	say(o, words);
	*in = (struct report_input){ conf, o->files, o->n_files, 0, words->limits,
		o->replay.fifo ? "fifo, one job after another" : places[o->replay.rival],
		shared[o->replay.shared], words->ends, o->replay.scale_load, o->world.seed };
}

/* Run the history; the measures are then the world's. */
static int play(const struct options *o, struct world *w, struct show *s, struct history_files *h,
        struct inflation *inflation, struct error *err)
{
	struct replay_options how = o->replay;
	int rc;

	how.progress = progress;
	how.arg = s;
	progress_part(s->bar, "simulating", "jobs", PROGRESS_COUNT, s->jobs);
	rc = o->inflate ? replay_inflated(w, h, o->world.seed, o->inflate, &how, inflation, err)
	                : replay(w, h, &how, err);
	world_results(w);
	progress_done(s, o, world_measures(w));
	return rc;
}

/* Do the times of a history have dates? */
static bool is_dated(const struct options *o)
{
	return o->history.reader && o->history.reader != &history_csv;
}

static int simulate(const struct options *o, const struct conf *conf, struct show *s,
        struct history_files *h, FILE *const out[2], struct error *err)
{
	struct world *w = world_new(conf, &o->world, err);
	struct results *results = o->plot ? results_new() : NULL;
	struct inflation inflation = { 0 };
	struct report_input in;
	struct words words;
	int rc = -1;

	what_was_assumed(o, conf, &words, &in);
	if (w && out[0])
		measures_series(world_measures(w), out[0], o->series_step);
	if (w && out[1])
		measures_each(world_measures(w), out[1]);
	if (w) {
		world_measures(w)->results = results;
		rc = play(o, w, s, h, &inflation, err);
	}
	if (rc == 0 && o->plot)
		rc = plots_write(o->plot, &in, world_measures(w), is_dated(o), err);
	if (rc == 0) {
		in.bad_rows = history_bad(h);
		rc = print_report(o, &in, world_measures(w), &inflation, err);
	}
	world_free(w);
	results_free(results);
	return rc;
}

static int with_history(const struct options *o, const struct conf *conf, struct show *s,
        FILE *const out[2], struct error *err)
{
	struct history_options once = o->history;
	struct history_files *h;
	int rc;

	if (has_input(o)) {
		once.bad = bad_rows_show;
		once.arg = &s->bad;
	}
	h = history_files_open(o->files, o->n_files, &once, err);
	rc = h ? simulate(o, conf, s, h, out, err) : -1;
	history_files_close(h);
	return rc;
}

/* With the files that are written besides the report. */
static int with_files(
        const struct options *o, const struct conf *conf, struct show *s, struct error *err)
{
	const char *const names[2] = { o->series, o->jobs };
	FILE *out[2] = { NULL };
	int rc = 0, i;

	for (i = 0; i < 2 && rc == 0; i++) {
		out[i] = names[i] ? fopen(names[i], "we") : NULL;
		if (names[i] && !out[i])
			rc = error_set(err, ERR_SYSTEM, "%s: %s", names[i], strerror(errno));
	}
	if (rc == 0)
		rc = with_history(o, conf, s, out, err);
	for (i = 0; i < 2; i++) {
		if (out[i] && (ferror(out[i]) | fclose(out[i])) && rc == 0)
			rc = error_set(err, ERR_SYSTEM, "%s: %s", names[i], strerror(errno));
	}
	return rc;
}

/* --- comparisons ------------------------------------------------------------------------------ */

static int show_comparison(const struct options *o, const char *a, const struct results *in_a,
        const char *b, const struct results *in_b, struct error *err)
{
	struct comparison c;
	int rc = 0;

	comparison_make(&c, a, in_a, b, in_b, o->world.seed);
	if (o->plot)
		rc = comparison_plot(&c, o->plot, err);
	if (rc == 0 && o->json)
		comparison_json(&c, stdout);
	else if (rc == 0)
		comparison_print(&c, stdout);
	comparison_free(&c);
	if (rc == 0 && (fflush(stdout) != 0 || ferror(stdout)))
		rc = error_set(err, ERR_SYSTEM, "standard output: %s", strerror(errno));
	return rc;
}

static int run_compare(const struct options *o, struct error *err)
{
	struct results *a = results_read(o->files[0], err);
	struct results *b = a ? results_read(o->files[1], err) : NULL;
	int rc = b ? show_comparison(o, o->files[0], a, o->files[1], b, err) : -1;

	results_free(a);
	results_free(b);
	return rc;
}

/* Runs the history with these options. */
static int results_of(const struct options *o, const struct conf *conf, struct show *s,
        struct results *out, struct error *err)
{
	struct history_files *h = history_files_open(o->files, o->n_files, &o->history, err);
	struct world *w = h ? world_new(conf, &o->world, err) : NULL;
	int rc = -1;

	if (w) {
		world_measures(w)->results = out;
		rc = play(o, w, s, h, NULL, err);
	}
	world_free(w);
	history_files_close(h);
	return rc;
}

static int run_against(
        const struct options *o, const struct conf *conf, struct show *s, struct error *err)
{
	struct options other = *o;
	struct results *a = results_new(), *b = results_new();
	const char *name = o->nodes ? o->nodes : o->conf ? o->conf : DEFAULT_CONF;
	bool fifo = !strcmp(o->against, "fifo");
	struct conf *conf_b;
	int rc = -1;

	other.replay.fifo = fifo;
	if (!fifo) {
		other.conf = o->against;
		other.nodes = NULL;
	}
	conf_b = make_conf(&other, err);
	if (conf_b) {
		cluster_prepare(conf_b);
		rc = results_of(o, conf, s, a, err);
	}
	if (rc == 0)
		rc = results_of(&other, conf_b, s, b, err);
	progress_hide(s->bar);
	if (rc == 0)
		rc = show_comparison(
		        o, name, a, fifo ? "fifo, one job after another" : o->against, b, err);
	conf_free(conf_b);
	results_free(a);
	results_free(b);
	return rc;
}

static void progress_bytes(void *arg, uint64_t done, uint64_t size)
{
	struct show *s = arg;

	progress_total(s->bar, size);
	progress_at(s->bar, done);
}

static int run_tapes(const struct options *o, struct error *err)
{
	struct show s = { .bar = progress_new("replaying", "", PROGRESS_BYTES, 0, o->quiet) };
	struct replay_recorded_options how = { .json = o->json,
		.check_every = o->world.check_every,
		.progress = progress_bytes,
		.arg = &s };
	size_t i;
	int rc = 0;

	for (i = 0; i < o->n_files && rc == 0; i++) {
		rc = replay_recorded(o->files[i], &how, stdout, err);
		progress_hide(s.bar);
	}
	progress_end(s.bar);
	return rc;
}

static int run_service(const struct options *o, struct error *err)
{
	struct scaling_options how = o->scaling;

	how.requests.skip_bad = o->history.skip_bad;
	how.requests.scale_load = o->replay.scale_load;
	how.requests.until = o->replay.until;
	how.service.series_step = o->series_step;
	how.json = o->json;
	return scaling_run(&how, o->files, o->n_files, o->series, err);
}

static int run(const struct options *o, struct error *err)
{
	struct show s = { .bar = NULL };
	struct conf *conf = make_conf(o, err);
	int rc = 0;

	if (!conf)
		return -1;
	if (o->show_config) {
		conf_print(conf, stdout);
	} else {
		cluster_prepare(conf);
		s.bar = progress_new("reading", "jobs", PROGRESS_COUNT, 0, o->quiet);
		s.bad = (struct bad_rows){ .program = "gsim", .bar = s.bar };
		rc = look_through(o, &s, err);
		if (rc == 0)
			rc = o->against ? run_against(o, conf, &s, err)
			                : with_files(o, conf, &s, err);
	}
	progress_end(s.bar);
	conf_free(conf);
	return rc;
}

int main(int argc, char **argv)
{
	struct options o;
	struct error err = { .code = ERR_NONE };
	int status;

	setlocale(LC_CTYPE, "");
	status = options_read(&o, argc, argv);
	if (status < 0)
		status = (o.requests                 ? run_service
		                 : o.replay_recorded ? run_tapes
		                 : o.compare         ? run_compare
		                                     : run)(&o, &err) < 0
		                 ? tool_fail("gsim", &err)
		                 : EXIT_DONE;
	gsim_options_clear(&o);
	return status;
}
