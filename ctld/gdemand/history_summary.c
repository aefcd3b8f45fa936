/* history_summary.c - which history it was, over which time, and what was wrong with it; see demand.h */
#include <time.h>

#include "ctld/gdemand/demand.h"

static const struct sheet_column columns[] = {
	{ "what", "", SHEET_TEXT },
	{ "value", "", SHEET_TEXT },
};

static void count_row(struct sheet *s, const char *what, double n)
{
	char text[SHEET_CELL_TEXT];

	sheet_text(s, what);
	sheet_text(s, sheet_format(text, SHEET_COUNT, n));
}

/* A date, or so long after the first submission. */
static void time_row(const struct past *p, struct sheet *s, const char *what, usec_t at)
{
	char text[SHEET_CELL_TEXT];
	time_t t = (time_t)((at + p->origin) / 1000000);
	struct tm tm;

	if (p->dated && gmtime_r(&t, &tm))
		strftime(text, sizeof(text), "%Y-%m-%d %H:%M UTC", &tm);
	else
		sheet_format(text, SHEET_TIME, (double)at / 1e6);
	sheet_text(s, what);
	sheet_text(s, text);
}

static void flaws(const struct past *p, struct sheet *s)
{
	const struct {
		const char *what;
		uint64_t n;
	} rows[] = {
		{ "jobs without GPUs, not counted", p->flaws.no_gpus },
		{ "jobs that never ran", p->flaws.never_ran },
		{ "jobs without a duration", p->flaws.endless },
		{ "in more than one file", p->flaws.repeated },
		{ "broken rows, left out", p->flaws.bad_rows },
		{ "started before their submission", p->flaws.clock_steps },
	};
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].n)
			count_row(s, rows[i].what, (double)rows[i].n);
	}
	if (p->flaws.clock_steps)
		sheet_note(s,
		        "A clock was set: jobs that started before they were submitted count as "
		        "started at once.");
}

void demand_summary(struct demand *d)
{
	static const char *const lengths[] = { "none: too short", "hours", "days", "weeks" };
	const struct past *p = d->past;
	struct sheet *s = BOOK_SHEET(d->book, "history", "The history", columns);
	size_t i, n = 0;

	for (i = 0; i < p->n; i++)
		n += past_counts(p, &p->v[i]);
	count_row(s, "jobs with GPUs", (double)n);
	time_row(p, s, "from", p->from);
	time_row(p, s, "until", p->to);
	sheet_text(s, "intervals: 95 %, blocks of");
	sheet_text(
	        s, lengths[d->bootstrap.blocks >= BOOTSTRAP_LEAST ? p->block_length : BLOCKS_NONE]);
	flaws(p, s);
	if (p->simulated)
		sheet_note(s, "The history does not say when jobs started. Waits are those of gsim "
		              "on the "
		              "cluster that was given.");
}
