/* main.c - gsim: the past of a cluster, through the scheduler of the present */
#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/units.h"
#include "ctld/gsim/rerun.h"
#include "ctld/gsim/cluster.h"
#include "ctld/gsim/options.h"
#include "ctld/gsim/report.h"

#define DEFAULT_CONF SYSCONFDIR "/gpusched/gpusched.conf"
#define BAD_SHOWN    20 /* broken rows */
#define BAR          30
#define REDRAW_US    100000

/* What is shown while it runs. */
struct show {
	bool on;
	uint64_t jobs;          /* of the history; 0: not known (standard input) */
	uint64_t bad;           /* rows that were shown */
	int64_t started, drawn; /* us */
};

/* --- progress -------------------------------------------------------------------------------- */

static void progress(void *arg, const struct world *w)
{
	struct show *s = arg;
	const struct measures *m = world_measures((struct world *)w);
	int64_t now = clock_us(CLOCK_MONOTONIC);
	uint64_t done = m->ended + m->refused;
	char text[UNITS_TEXT];
	int full;

	if (!s->on || now - s->drawn < REDRAW_US)
		return;
	s->drawn = now;
	full = s->jobs ? (int)(done * BAR / s->jobs) : 0;
	full = full > BAR ? BAR : full;
	fprintf(stderr, "\r[%.*s%*s] %llu", full, "##############################", BAR - full, "",
	        (unsigned long long)done);
	if (s->jobs)
		fprintf(stderr, " of %llu", (unsigned long long)s->jobs);
	fprintf(stderr, " jobs, %s, %.0f jobs/s \033[K",
	        duration_format(text, (uint64_t)(world_now(w) / 1000000)),
	        (double)done * 1e6 / (double)(now - s->started + 1));
}

static void progress_end(struct show *s, const struct options *o, const struct measures *m)
{
	double cpu = (double)clock_us(CLOCK_PROCESS_CPUTIME_ID) / 1e6;

	if (s->on)
		fputs("\r\033[K", stderr);
	if (!o->quiet)
		fprintf(stderr, "gsim: %llu jobs in %.2f s of CPU: %.0f jobs/s\n",
		        (unsigned long long)m->jobs, cpu, (double)m->jobs / (cpu + 1e-9));
}

/* --- the history, beforehand ----------------------------------------------------------------- */

static void show_bad(void *arg, const struct error *err)
{
	struct show *s = arg;

	if (++s->bad <= BAD_SHOWN)
		fprintf(stderr, "gsim: %s\n", err->text);
	else if (s->bad == BAD_SHOWN + 1)
		fprintf(stderr, "gsim: and more\n");
}

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
	struct history *h;
	uint64_t bad;
	int rc;

	if (has_input(o))
		return 0;
	all.skip_bad = true;
	all.bad = show_bad;
	all.arg = s;
	h = history_open(o->files, o->n_files, &all, err);
	if (!h)
		return -1;
	while ((rc = history_next(h, &job, err)) > 0)
		s->jobs++;
	bad = history_bad(h);
	history_close(h);
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

/* The words for what was assumed. */
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

static int simulate(const struct options *o, const struct conf *conf, struct show *s,
        struct history *h, FILE *const out[2], struct error *err)
{
	static const char *const shared[] = {
		[SHARED_ROUND] = "all of it", [SHARED_SKIP] = "left out", [SHARED_SHARE] = "shared"
	};
	static const char *const places[] = { [RIVAL_NONE] = "as configured",
		[RIVAL_FGD] = "places by FGD",
		[RIVAL_BESTFIT] = "places by BestFit" };
	struct world *w = world_new(conf, &o->world, err);
	struct replay_options how = o->replay;
	struct inflation inflation = { 0 };
	struct words words;
	struct report_input in = { conf, o->files, o->n_files, 0, words.limits,
		o->replay.fifo ? "fifo, one job after another" : places[o->replay.rival],
		shared[o->replay.shared], words.ends, o->replay.scale_load, o->world.seed };
	int rc = -1;

	if (!w)
		return -1;
	if (out[0])
		measures_series(world_measures(w), out[0], o->series_step);
	if (out[1])
		measures_each(world_measures(w), out[1]);
	how.progress = progress;
	how.arg = s;
	s->started = clock_us(CLOCK_MONOTONIC);
	rc = o->inflate ? replay_inflated(w, h, o->world.seed, o->inflate, &how, &inflation, err)
	                : replay(w, h, &how, err);
	progress_end(s, o, world_measures(w));
	if (rc == 0) {
		in.bad_rows = history_bad(h);
		say(o, &words);
		rc = print_report(o, &in, world_measures(w), &inflation, err);
	}
	world_free(w);
	return rc;
}

static int with_history(const struct options *o, const struct conf *conf, struct show *s,
        FILE *const out[2], struct error *err)
{
	struct history_options once = o->history;
	struct history *h;
	int rc;

	if (has_input(o)) {
		once.bad = show_bad;
		once.arg = s;
	}
	h = history_open(o->files, o->n_files, &once, err);
	rc = h ? simulate(o, conf, s, h, out, err) : -1;
	history_close(h);
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

static void progress_bytes(void *arg, uint64_t done, uint64_t size)
{
	struct show *s = arg;
	int64_t now = clock_us(CLOCK_MONOTONIC);
	int full = size ? (int)(done * BAR / size) : 0;

	if (!s->on || now - s->drawn < REDRAW_US)
		return;
	s->drawn = now;
	fprintf(stderr, "\r[%.*s%*s] %llu of %llu MB \033[K", full,
	        "##############################", BAR - full, "",
	        (unsigned long long)(done / 1000000), (unsigned long long)(size / 1000000));
}

static int run_tapes(const struct options *o, struct error *err)
{
	struct show s = { .on = !o->quiet && isatty(STDERR_FILENO) };
	struct rerun_options how = { .json = o->json,
		.check_every = o->world.check_every,
		.progress = progress_bytes,
		.arg = &s };
	size_t i;
	int rc = 0;

	for (i = 0; i < o->n_files && rc == 0; i++) {
		rc = rerun(o->files[i], &how, stdout, err);
		if (s.on)
			fputs("\r\033[K", stderr);
	}
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
	struct show s = { .on = !o->quiet && isatty(STDERR_FILENO) };
	struct conf *conf = make_conf(o, err);
	int rc = 0;

	if (!conf)
		return -1;
	if (o->show_config) {
		conf_print(conf, stdout);
	} else {
		cluster_prepare(conf);
		rc = look_through(o, &s, err);
		if (rc == 0)
			rc = with_files(o, conf, &s, err);
	}
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
		status = (o.requests       ? run_service
		                 : o.rerun ? run_tapes
		                           : run)(&o, &err) < 0
		                 ? options_fail(&err)
		                 : EXIT_DONE;
	gsim_options_clear(&o);
	return status;
}
