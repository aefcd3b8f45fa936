/* main.c - gdemand: what a history says of the demand for GPUs */
#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "common/base/command_line.h"
#include "common/base/progress.h"
#include "ctld/gdemand/charts.h"
#include "ctld/gdemand/cluster_size.h"
#include "ctld/gdemand/demand.h"
#include "ctld/gdemand/options.h"
#include "ctld/gdemand/propose_conf.h"
#include "ctld/gsim/cluster.h"
#include "ctld/gsim/history/bad_rows.h"

struct show {
	struct progress *progress;
	struct bad_rows bad;
	uint64_t jobs;
};

static void show_done(void *arg, uint64_t jobs)
{
	progress_at(((struct show *)arg)->progress, jobs);
}

static void show_try(void *arg, uint32_t nodes)
{
	struct show *s = arg;
	char note[40];

	snprintf(note, sizeof(note), "%u nodes", (unsigned)nodes);
	progress_part(s->progress, "sizing", "jobs", PROGRESS_COUNT, s->jobs);
	progress_note(s->progress, note);
}

/* --- the history ----------------------------------------------------------------------------- */

/* One reader for all files. */
static int find_format(
        const struct gdemand_options *o, const struct history_reader **reader, struct error *err)
{
	size_t i;

	for (i = 0; i < o->n_files && !o->past.history.reader; i++) {
		const struct history_reader *r = past_format(o->files[i], err);

		if (!r)
			return -1;
		if (i && r != *reader)
			return error_set(err, ERR_CONFIG, "%s is of another kind than %s",
			        o->files[i], o->files[0]);
		*reader = r;
	}
	return 0;
}

static int read_past(const struct gdemand_options *o, const struct conf *conf, struct show *show,
        struct past *past, struct error *err)
{
	struct past_options how = o->past;

	how.files = o->files;
	how.n_files = o->n_files;
	how.conf = conf;
	how.history.bad = o->past.history.skip_bad ? bad_rows_show : NULL;
	how.history.arg = &show->bad;
	how.progress = show_done;
	how.progress_arg = show;
	if (find_format(o, &how.history.reader, err) < 0)
		return -1;
	return past_read(past, &how, err);
}

static struct trial_options trial_of(const struct gdemand_options *o, struct show *show)
{
	return (struct trial_options){ .conf = o->conf,
		.nodes = o->nodes,
		.like = o->like,
		.seed = o->seed,
		.progress = show_done,
		.arg = show };
}

/* Where the history does not say when jobs started, gsim does. */
static int simulate_starts(
        const struct gdemand_options *o, struct show *show, struct past *past, struct error *err)
{
	const struct trial_options how = trial_of(o, show);
	struct trial t;
	size_t i;

	if (past->has.starts || (!o->conf && !o->nodes))
		return 0;
	progress_part(show->progress, "simulating", "jobs", PROGRESS_COUNT, past->n);
	if (trial_run(past, &how, TRIAL_AS_IT_IS, &t, err) < 0)
		return -1;
	for (i = 0; i < past->n; i++)
		past->v[i].start = t.starts[i];
	past->has.starts = past->simulated = true;
	trial_clear(&t);
	return 0;
}

/* --- the answers ----------------------------------------------------------------------------- */

static void (*const questions[])(struct demand *d) = { demand_summary, demand_concurrency,
	demand_bursts, demand_queue, demand_tolerance, demand_mix, demand_residency,
	demand_durations, demand_hidden };
#define QUESTIONS (sizeof(questions) / sizeof(questions[0]))

static int print(const struct gdemand_options *o, const struct demand *d, struct error *err)
{
	if (o->propose)
		propose(d, stdout);
	else if (o->json)
		book_print_json(d->book, stdout);
	else
		book_print(d->book, stdout);
	if (fflush(stdout) == 0 && !ferror(stdout))
		return 0;
	return error_set(err, ERR_SYSTEM, "standard output: %s", strerror(errno));
}

static int find_size(
        const struct gdemand_options *o, struct show *show, struct demand *d, struct error *err)
{
	const struct size_options how = {
		.trial = trial_of(o, show), .part = o->keep, .on_try = show_try, .arg = show
	};

	return size_find(d, &how, err);
}

static int answer(const struct gdemand_options *o, const struct conf *conf, struct show *show,
        const struct past *past, struct error *err)
{
	struct demand d;
	size_t i;
	int rc = 0;

	demand_init(&d, past, conf, o->top, o->rounds, o->seed);
	progress_part(show->progress, "counting", "tables", PROGRESS_COUNT, QUESTIONS);
	for (i = 0; i < QUESTIONS; i++) {
		questions[i](&d);
		progress_at(show->progress, i + 1);
	}
	if (o->size)
		rc = find_size(o, show, &d, err);
	if (rc == 0 && o->plot)
		rc = charts_draw(&d, o->plot, err);
	progress_hide(show->progress);
	if (rc == 0)
		rc = print(o, &d, err);
	demand_clear(&d);
	return rc;
}

static int run(const struct gdemand_options *o, struct error *err)
{
	struct show show = { .progress =
		                     progress_new("reading", "jobs", PROGRESS_COUNT, 0, o->quiet) };
	struct conf *conf = o->conf ? cluster_read(o->conf, err) : NULL;
	struct past past = { .names = NULL };
	int rc = o->conf && !conf ? -1 : 0;

	show.bad = (struct bad_rows){ .program = "gdemand", .bar = show.progress };
	if (rc == 0)
		rc = read_past(o, conf, &show, &past, err);
	show.jobs = past.n;
	if (rc == 0)
		rc = simulate_starts(o, &show, &past, err);
	if (rc == 0)
		rc = answer(o, conf, &show, &past, err);
	progress_end(show.progress);
	past_clear(&past);
	conf_free(conf);
	return rc;
}

int main(int argc, char **argv)
{
	struct gdemand_options o;
	struct error err = { .code = ERR_NONE };
	int status;

	setlocale(LC_CTYPE, "");
	status = gdemand_options_read(&o, argc, argv);
	if (status < 0)
		status = run(&o, &err) < 0 ? tool_fail("gdemand", &err) : EXIT_DONE;
	gdemand_options_clear(&o);
	return status;
}
