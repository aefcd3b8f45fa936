/* begin.c - see begin.h */
#include "cmds/cli/begin.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#define SECOND 1000000

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
	const char *word; /* also without its last letter */
	int64_t s;
} units[] = { { "seconds", 1 }, { "minutes", 60 }, { "hours", 3600 }, { "days", 86400 },
	{ "weeks", 7 * 86400 } };

static int unclear(struct error *err)
{
	return error_set(err, ERR_USAGE,
	        "no time: want now+2hours, 16:00, tomorrow, 2027-01-31 or 2027-01-31T16:00");
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

/* --- now+2hours ------------------------------------------------------------------------------ */

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

int begin_parse_span(const char *p, int64_t *s, struct error *err)
{
	int64_t n = 0, unit = 1;

	p = behind_blanks(p);
	if (!isdigit((unsigned char)*p))
		return unclear(err);
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
		return unclear(err);
	if (*p && begin_parse_span(p + 1, &s, err) < 0)
		return -1;
	*us = now_us + s * SECOND;
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

static void short_year(int *year)
{
	*year += *year < 100 ? 2000 : 0;
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
		if (!digits(p, 4, &m->year))
			return false;
		short_year(&m->year);
		return true;
	}
	if (n != 4 && n != 6)
		return false;
	if (!digits(p, 2, &m->month) || !digits(p, 2, &m->day))
		return false;
	if (n == 6 && digits(p, 2, &m->year))
		short_year(&m->year);
	return true;
}

static void set_day(struct moment *m, int64_t now_us, int days)
{
	time_t t = (time_t)(now_us / SECOND);
	struct tm tm;

	localtime_r(&t, &tm);
	tm.tm_mday += days;
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
	if (word(p, "today") || word(p, "tomorrow")) {
		bool tomorrow = tolower((unsigned char)(*p)[-1]) == 'w';

		if (m->day >= 0)
			return false;
		set_day(m, now_us, tomorrow);
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

/* What was not said: the soonest. */
static int64_t soonest(struct moment *m, int64_t now_us)
{
	bool no_day = m->day < 0, no_year = m->year < 0;
	int64_t s;

	if (m->hour < 0)
		m->hour = m->minute = m->second = 0;
	if (no_day) {
		set_day(m, now_us, 0);
		s = seconds_of(m);
		if (s < now_us / SECOND) {
			set_day(m, now_us, 1);
			s = seconds_of(m);
		}
		return s;
	}
	if (no_year) {
		struct moment today = *m;

		set_day(&today, now_us, 0);
		m->year = today.year;
		s = seconds_of(m);
		/* It has passed (or there is no such day in this year): the next one's. */
		for (int tries = 0; s < now_us / SECOND && tries < 8; tries++) {
			m->year++;
			s = seconds_of(m);
		}
		return s;
	}
	return seconds_of(m);
}

int begin_parse(const char *text, int64_t now_us, int64_t *us, struct error *err)
{
	struct moment m = { -1, -1, -1, -1, -1, -1, false };
	const char *p = text;
	int64_t s;

	if (word(&p, "now"))
		return from_now(p, now_us, us, err);
	if (!read_part(&p, &m, now_us))
		return unclear(err);
	if ((*p == 'T' || *p == ' ' || *p == '-') && p[1]) {
		p++;
		if (!read_part(&p, &m, now_us))
			return unclear(err);
	}
	if (*p)
		return unclear(err);
	if (m.year >= 0 && (m.year < 1970 || m.year > 9999))
		return error_set(err, ERR_USAGE, "a year of four digits from 1970 on");
	s = soonest(&m, now_us);
	if (s < 0)
		return error_set(err, ERR_USAGE, "there is no such day");
	*us = s * SECOND;
	return 0;
}
