/* when.c - see when.h */
#include "cmds/cli/when.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "cmds/cli/begin.h"
#include "common/base/units.h"

#define SECOND 1000000

int64_t when_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (int64_t)ts.tv_sec * SECOND + ts.tv_nsec / 1000;
}

/* A day before or after the present one, at `hour`. */
static int64_t day(int64_t now, int days, int hour)
{
	time_t s = (time_t)(now / SECOND);
	struct tm tm;

	if (!localtime_r(&s, &tm))
		return 0;
	tm.tm_mday += days;
	tm.tm_hour = hour;
	tm.tm_min = tm.tm_sec = 0;
	tm.tm_isdst = -1;
	return (int64_t)mktime(&tm) * SECOND;
}

int64_t when_today(int64_t now)
{
	return day(now, 0, 0);
}

static int wrong(struct error *err)
{
	return error_set(err, ERR_USAGE,
	        "want a moment: 2026-11-21, 2026-11-21T09:30:15, 11/21, 09:30, today, now-2days");
}

/* "HH:MM" or "HH:MM:SS", all of the text. */
static int clock_of(const char *text, struct tm *tm)
{
	int n = 0;

	tm->tm_sec = 0;
	if (sscanf(text, "%2d:%2d%n", &tm->tm_hour, &tm->tm_min, &n) < 2)
		return -1;
	if (text[n] == ':') {
		int more = 0;

		if (sscanf(text + n, ":%2d%n", &tm->tm_sec, &more) < 1)
			return -1;
		n += more;
	}
	return text[n] || tm->tm_hour < 0 || tm->tm_hour > 23 || tm->tm_min < 0 ||
	                       tm->tm_min > 59 || tm->tm_sec < 0 || tm->tm_sec > 59
	               ? -1
	               : 0;
}

/* Slurm's "MM/DD[/YY]", then "-HH:MM[:SS]" or the clock as after other dates. Without a year: the
 * last time that there was such a day. */
static int with_slashes(const char *text, struct tm *tm, struct error *err)
{
	struct tm now = *tm;
	int n = 0, year = -1, more = 0;

	if (sscanf(text, "%2d/%2d%n", &tm->tm_mon, &tm->tm_mday, &n) < 2)
		return wrong(err);
	if (text[n] == '/') {
		if (sscanf(text + n, "/%4d%n", &year, &more) < 1 || (more != 3 && more != 5))
			return wrong(err);
		n += more;
		tm->tm_year = year < 100 ? 100 + year : year - 1900;
	}
	tm->tm_mon--;
	tm->tm_hour = tm->tm_min = tm->tm_sec = 0;
	if (text[n] && (!strchr("-T ", text[n]) || clock_of(text + n + 1, tm)))
		return wrong(err);
	if (year < 0 && (tm->tm_mon > now.tm_mon ||
	                        (tm->tm_mon == now.tm_mon && tm->tm_mday > now.tm_mday)))
		tm->tm_year--;
	return 0;
}

/* A date with or without a clock, or a clock alone. */
static int absolute(const char *text, int64_t now, int64_t *us, struct error *err)
{
	time_t s = (time_t)(now / SECOND);
	struct tm tm, was;
	int n = 0, year, month, mday;

	if (!localtime_r(&s, &tm))
		return wrong(err);
	if (sscanf(text, "%4d-%2d-%2d%n", &year, &month, &mday, &n) == 3) {
		tm.tm_year = year - 1900;
		tm.tm_mon = month - 1;
		tm.tm_mday = mday;
		tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
		if (text[n] && ((text[n] != 'T' && text[n] != ' ') || clock_of(text + n + 1, &tm)))
			return wrong(err);
	} else if (strchr(text, '/')) {
		if (with_slashes(text, &tm, err) < 0)
			return -1;
	} else if (clock_of(text, &tm)) {
		return wrong(err);
	}
	was = tm;
	tm.tm_isdst = -1;
	s = mktime(&tm);
	if (tm.tm_mday != was.tm_mday || tm.tm_mon != was.tm_mon || tm.tm_year != was.tm_year)
		return error_set(err, ERR_USAGE, "there is no such day");
	*us = (int64_t)s * SECOND;
	return 0;
}

/* Units in words too, as in --begin: 2hours. */
static int span_of(const char *text, uint64_t *s, struct error *err)
{
	int64_t words;

	if (begin_parse_span(text, &words, NULL) < 0)
		return duration_parse(text, DURATION_BARE_S, s, err);
	*s = (uint64_t)words;
	return 0;
}

int when_parse(const char *text, int64_t now, int64_t *us, struct error *err)
{
	static const struct {
		const char *name;
		int days, hour; /* hour -1: this moment */
	} words[] = { { "now", 0, -1 }, { "today", 0, 0 }, { "midnight", 0, 0 },
		{ "yesterday", -1, 0 }, { "noon", 0, 12 } };
	size_t len = strcspn(text, "-");
	uint64_t ago = 0;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strlen(words[i].name) != len || strncasecmp(text, words[i].name, len) != 0)
			continue;
		if (text[len] && span_of(text + len + 1, &ago, err) < 0)
			return -1;
		*us = words[i].hour < 0 ? now : day(now, words[i].days, words[i].hour);
		if (ago > (uint64_t)*us / SECOND)
			return error_set(err, ERR_USAGE, "that is before 1970");
		*us -= (int64_t)ago * SECOND;
		return 0;
	}
	return absolute(text, now, us, err);
}
