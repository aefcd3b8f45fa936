/* parse_time.c - see parse_time.h */
#include "cmds/cli/parse_time.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "common/base/clock.h"
#include "common/base/units.h"

#define SECOND    1000000
#define LEAP_YEAR 8 /* years until there is a 29 February again, at most */

/* Where what was left out is looked for. */
enum direction { NEXT, PAST };

/* What was read; -1: not said. */
struct moment {
	int year, month, day; /* 1 is January, the first */
	int hour, minute, second;
	bool utc;
};

static const struct {
	const char *word;
	int hour;
} hours[] = { { "midnight", 0 }, { "noon", 12 }, { "fika", 15 }, { "teatime", 16 } };

static const struct {
	const char *word;
	int days;
} days[] = { { "yesterday", -1 }, { "today", 0 }, { "tomorrow", 1 } };

static const struct {
	const char *word; /* also without its last letter */
	int64_t s;
} units[] = { { "seconds", 1 }, { "minutes", 60 }, { "hours", 3600 }, { "days", 86400 },
	{ "weeks", 7 * 86400 } };

static const char *const expected[] = {
	[NEXT] = "expected a time: now+2hours, 16:00, tomorrow, 2027-01-31 or 2027-01-31T16:00",
	[PAST] = "expected a moment: 2026-11-21, 2026-11-21T09:30:15, 11/21, 09:30, today, "
	        "now-2days",
};

int64_t parse_time_now(void)
{
	return clock_us(CLOCK_REALTIME);
}

static bool word(const char **p, const char *what)
{
	size_t n = strlen(what);

	if (strncasecmp(*p, what, n) || isalnum((unsigned char)(*p)[n]))
		return false;
	*p += n;
	return true;
}

/* Up to `max` digits, at least one. */
static bool digits(const char **p, int max, int *out)
{
	int n = 0;

	for (*out = 0; n < max && isdigit((unsigned char)**p); n++, (*p)++)
		*out = *out * 10 + (**p - '0');
	return n;
}

static int digits_ahead(const char *p)
{
	int n = 0;

	while (isdigit((unsigned char)p[n]))
		n++;
	return n;
}

/* --- now+2hours, now-2h ---------------------------------------------------------------------- */

static bool read_unit(const char *p, int64_t *s)
{
	size_t n = strlen(p), i;

	for (i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		size_t full = strlen(units[i].word);

		if (n && n <= full && (n == 1 || n >= 3) && !strncasecmp(p, units[i].word, n)) {
			*s = units[i].s;
			return true;
		}
	}
	return false;
}

static const char *behind_blanks(const char *p)
{
	return p + strspn(p, " ");
}

/* "90", "1hour", "2 days", in seconds. */
static int read_span(const char *p, int64_t *s, struct error *err)
{
	int64_t n = 0, unit = 1;

	p = behind_blanks(p);
	if (!isdigit((unsigned char)*p))
		return error_set(err, ERR_USAGE, "%s", expected[NEXT]);
	for (; isdigit((unsigned char)*p); p++) {
		n = n * 10 + (*p - '0');
		if (n > INT64_C(1000000000))
			return error_set(err, ERR_USAGE, "too far away");
	}
	p = behind_blanks(p);
	if (*p && !read_unit(p, &unit))
		return error_set(err, ERR_USAGE,
		        "the units are seconds, minutes, hours, days and weeks, as in now+2hours");
	if (n > INT64_C(1000000000) / unit)
		return error_set(err, ERR_USAGE, "too far away");
	*s = n * unit;
	return 0;
}

static int from_now(const char *p, int64_t now_us, int64_t *us, struct error *err)
{
	int64_t s = 0;

	p = *p ? behind_blanks(p) : p;
	if (*p && *p != '+')
		return error_set(err, ERR_USAGE, "%s", expected[NEXT]);
	if (*p && read_span(p + 1, &s, err) < 0)
		return -1;
	*us = now_us + s * SECOND;
	return 0;
}

/* `*us`, but so long before as `p` says behind its '-'; units as durations have them too. */
static int go_back(const char *p, int64_t *us, struct error *err)
{
	int64_t words;
	uint64_t s = 0;

	if (!*p)
		return 0;
	if (*p != '-')
		return error_set(err, ERR_USAGE, "%s", expected[PAST]);
	if (read_span(p + 1, &words, NULL) == 0)
		s = (uint64_t)words;
	else if (duration_parse(p + 1, DURATION_BARE_S, &s, err) < 0)
		return -1;
	if (s > (uint64_t)*us / SECOND)
		return error_set(err, ERR_USAGE, "that is before 1970");
	*us -= (int64_t)s * SECOND;
	return 0;
}

/* --- dates and times ------------------------------------------------------------------------- */

/* "16:00", "16:00:30", "4:30pm" */
static bool read_time(const char **p, struct moment *m)
{
	if (m->hour >= 0 || !digits(p, 2, &m->hour) || *(*p)++ != ':' || !digits(p, 2, &m->minute))
		return false;
	m->second = 0;
	if (**p == ':') {
		(*p)++;
		if (!digits(p, 2, &m->second))
			return false;
	}
	if (**p == ' ' && (!strcasecmp(*p + 1, "am") || !strcasecmp(*p + 1, "pm")))
		(*p)++;
	if (!strncasecmp(*p, "am", 2) || !strncasecmp(*p, "pm", 2)) {
		if (m->hour < 1 || m->hour > 12)
			return false;
		m->hour = m->hour % 12 + (tolower((unsigned char)**p) == 'p' ? 12 : 0);
		*p += 2;
	}
	if (**p == 'Z') {
		m->utc = true;
		(*p)++;
	}
	return m->hour < 24 && m->minute < 60 && m->second < 60;
}

/* Of two digits, or of four. */
static bool read_year(const char **p, int *year)
{
	int n = digits_ahead(*p);

	if ((n != 2 && n != 4) || !digits(p, n, year))
		return false;
	*year += n == 2 ? 2000 : 0;
	return true;
}

/* "2027-01-31", "01/31[/27]", "31.01[.27]", "0131[27]" */
static bool read_date(const char **p, struct moment *m)
{
	int n = digits_ahead(*p);
	char mark = (*p)[n];

	if (m->day >= 0)
		return false;
	if (n == 4 && mark == '-')
		return digits(p, 4, &m->year) && *(*p)++ == '-' && digits(p, 2, &m->month) &&
		       *(*p)++ == '-' && digits(p, 2, &m->day);
	if (n <= 2 && (mark == '/' || mark == '.')) {
		int *first = mark == '/' ? &m->month : &m->day;
		int *second = mark == '/' ? &m->day : &m->month;

		if (!digits(p, 2, first) || *(*p)++ != mark || !digits(p, 2, second))
			return false;
		if (**p != mark)
			return true;
		(*p)++;
		return read_year(p, &m->year);
	}
	if (n != 4 && n != 6)
		return false;
	if (!digits(p, 2, &m->month) || !digits(p, 2, &m->day))
		return false;
	return n == 4 || read_year(p, &m->year);
}

static void set_day(struct moment *m, int64_t now_us, int later)
{
	time_t t = (time_t)(now_us / SECOND);
	struct tm tm;

	localtime_r(&t, &tm);
	tm.tm_mday += later;
	tm.tm_hour = 12;
	tm.tm_isdst = -1;
	mktime(&tm);
	m->year = tm.tm_year + 1900;
	m->month = tm.tm_mon + 1;
	m->day = tm.tm_mday;
}

static bool read_part(const char **p, struct moment *m, int64_t now_us)
{
	size_t i;

	for (i = 0; i < sizeof(hours) / sizeof(hours[0]); i++) {
		if (!word(p, hours[i].word))
			continue;
		m->minute = m->second = 0;
		if (m->hour >= 0)
			return false;
		m->hour = hours[i].hour;
		return true;
	}
	for (i = 0; i < sizeof(days) / sizeof(days[0]); i++) {
		if (!word(p, days[i].word))
			continue;
		if (m->day >= 0)
			return false;
		set_day(m, now_us, days[i].days);
		return true;
	}
	i = (size_t)digits_ahead(*p);
	return (*p)[i] == ':' && i ? read_time(p, m) : read_date(p, m);
}

static int64_t seconds_of(const struct moment *m)
{
	struct tm tm = { .tm_year = m->year - 1900,
		.tm_mon = m->month - 1,
		.tm_mday = m->day,
		.tm_hour = m->hour,
		.tm_min = m->minute,
		.tm_sec = m->second,
		.tm_isdst = -1 };
	time_t t = m->utc ? timegm(&tm) : mktime(&tm);

	/* There is no 30 February. */
	return tm.tm_mday == m->day && tm.tm_mon == m->month - 1 ? (int64_t)t : -1;
}

/* A date without a year: the next one that there is, or the last. */
static int64_t in_nearest_year(struct moment *m, int64_t now_us, enum direction to)
{
	struct moment today = *m;
	int64_t s;

	set_day(&today, now_us, 0);
	m->year = today.year;
	if (to == PAST && m->month * 100 + m->day > today.month * 100 + today.day)
		m->year--;
	s = seconds_of(m);
	for (int tries = 0; tries < LEAP_YEAR; tries++) {
		if (s >= 0 && (to == PAST || s >= now_us / SECOND))
			break;
		m->year += to == PAST ? -1 : 1;
		s = seconds_of(m);
	}
	return s;
}

/* What was left out is the nearest in that direction; a time without a date is of today, or the
 * next. In seconds; -1: this date does not exist. */
static int64_t complete(struct moment *m, int64_t now_us, enum direction to)
{
	bool no_day = m->day < 0;
	int64_t s;

	if (m->hour < 0)
		m->hour = m->minute = m->second = 0;
	if (no_day)
		set_day(m, now_us, 0);
	else if (m->year < 0)
		return in_nearest_year(m, now_us, to);
	s = seconds_of(m);
	if (no_day && to == NEXT && s < now_us / SECOND) {
		set_day(m, now_us, 1);
		s = seconds_of(m);
	}
	return s;
}

static int parse(
        const char *text, int64_t now_us, enum direction to, int64_t *us, struct error *err)
{
	struct moment m = { -1, -1, -1, -1, -1, -1, false };
	bool back = to == PAST && isalpha((unsigned char)*text);
	const char *p = text;
	int64_t s;

	*us = now_us;
	if (word(&p, "now"))
		return back ? go_back(p, us, err) : from_now(p, now_us, us, err);
	if (!read_part(&p, &m, now_us))
		return error_set(err, ERR_USAGE, "%s", expected[to]);
	back = back && *p == '-';
	if (!back && (*p == 'T' || *p == ' ' || *p == '-') && p[1]) {
		p++;
		if (!read_part(&p, &m, now_us))
			return error_set(err, ERR_USAGE, "%s", expected[to]);
	}
	if (*p && !back)
		return error_set(err, ERR_USAGE, "%s", expected[to]);
	if (m.year >= 0 && (m.year < 1970 || m.year > 9999))
		return error_set(err, ERR_USAGE, "a year of four digits from 1970 on");
	s = complete(&m, now_us, to);
	if (s < 0)
		return error_set(err, ERR_USAGE, "this date does not exist");
	*us = s * SECOND;
	return back ? go_back(p, us, err) : 0;
}

int parse_time_next(const char *text, int64_t now, int64_t *us, struct error *err)
{
	return parse(text, now, NEXT, us, err);
}

int parse_time(const char *text, int64_t now, int64_t *us, struct error *err)
{
	return parse(text, now, PAST, us, err);
}

int64_t parse_time_today(int64_t now)
{
	struct moment m = { -1, -1, -1, 0, 0, 0, false };

	set_day(&m, now, 0);
	return seconds_of(&m) * SECOND;
}
