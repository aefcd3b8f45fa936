/* attribute_values.c - see attribute_values.h */
#include "cmds/drmaa/attribute_values.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "cmds/drmaa/drmaa.h"
#include "common/base/strbuf.h"
#include "common/base/units.h"
#include "common/base/xalloc.h"

/* --- moments -------------------------------------------------------------------------------- */

struct moment {
	int v[3];  /* year, month, day */
	int given; /* of these, from the last on */
	int hour, minute, second;
	bool zone;
	int offset_s; /* east of UTC */
};

static int no_time(struct error *err)
{
	return error_set(err, ERR_USAGE,
	        "expected [[[[CC]YY/]MM/]DD] hh:mm[:ss] [{-|+}UU:uu], as 2027/01/31 16:00");
}

/* A number of one to four digits. */
static bool take_number(const char **s, int *n)
{
	size_t digits = strspn(*s, "0123456789");

	if (!digits || digits > 4)
		return false;
	*n = atoi(*s);
	*s += digits;
	return true;
}

static bool take_date(const char **s, struct moment *m, int64_t now)
{
	size_t year = strspn(*s, "0123456789");
	int v[3], n = 0;
	time_t seconds = (time_t)(now / 1000000);
	struct tm tm;

	do {
		if (n == 3 || !take_number(s, &v[n++]))
			return false;
	} while (**s == '/' && (*s)++ != NULL);
	for (int i = 0; i < n; i++)
		m->v[3 - n + i] = v[i];
	m->given = n;
	localtime_r(&seconds, &tm);
	if (n == 3 && year <= 2) /* of this century */
		m->v[0] += (tm.tm_year + 1900) / 100 * 100;
	return (n < 2 || (m->v[1] >= 1 && m->v[1] <= 12)) && m->v[2] >= 1 && m->v[2] <= 31;
}

static bool take_clock(const char **s, struct moment *m)
{
	if (!take_number(s, &m->hour) || *(*s)++ != ':' || !take_number(s, &m->minute))
		return false;
	if (**s == ':' && (++*s, !take_number(s, &m->second)))
		return false;
	return m->hour < 24 && m->minute < 60 && m->second < 61;
}

static bool take_zone(const char **s, struct moment *m)
{
	int sign = **s == '-' ? -1 : 1, hours, minutes;

	if (**s != '-' && **s != '+')
		return true;
	++*s;
	if (!take_number(s, &hours) || *(*s)++ != ':' || !take_number(s, &minutes) || hours > 14 ||
	        minutes > 59)
		return false;
	m->zone = true;
	m->offset_s = sign * (hours * 3600 + minutes * 60);
	return true;
}

static void skip_blanks(const char **s)
{
	*s += strspn(*s, " \t");
}

static bool read_moment(const char *s, struct moment *m, int64_t now)
{
	*m = (struct moment){ .given = 0 };
	skip_blanks(&s);
	if (s[strspn(s, "0123456789")] != ':') {
		if (!take_date(&s, m, now))
			return false;
		skip_blanks(&s);
	}
	if (!take_clock(&s, m))
		return false;
	skip_blanks(&s);
	if (!take_zone(&s, m))
		return false;
	skip_blanks(&s);
	return !*s;
}

/* `later` steps of what is left out: days, months or years. */
static time_t place(const struct moment *m, time_t now, int later)
{
	struct tm tm, at;
	time_t there = now + (m->zone ? m->offset_s : 0);

	if (m->zone)
		gmtime_r(&there, &tm);
	else
		localtime_r(&there, &tm);
	at = (struct tm){ .tm_year = m->given == 3 ? m->v[0] - 1900 : tm.tm_year,
		.tm_mon = m->given >= 2 ? m->v[1] - 1 : tm.tm_mon,
		.tm_mday = m->given >= 1 ? m->v[2] : tm.tm_mday,
		.tm_hour = m->hour,
		.tm_min = m->minute,
		.tm_sec = m->second,
		.tm_isdst = -1 };
	at.tm_mday += m->given == 0 ? later : 0;
	at.tm_mon += m->given == 1 ? later : 0;
	at.tm_year += m->given == 2 ? later : 0;
	return m->zone ? timegm(&at) - m->offset_s : mktime(&at);
}

int value_time(const char *text, int64_t now, int64_t *us, struct error *err)
{
	time_t seconds = (time_t)(now / 1000000), at;
	struct moment m;

	if (!read_moment(text, &m, now))
		return no_time(err);
	at = place(&m, seconds, 0);
	if (at < seconds && m.given < 3)
		at = place(&m, seconds, 1);
	if (at <= 0)
		return no_time(err);
	*us = (int64_t)at * 1000000;
	return 0;
}

int value_duration(const char *text, uint32_t *s, struct error *err)
{
	uint64_t all = 0, one;
	int parts = 0;

	for (const char *p = text;; p++) {
		char part[16] = "";
		size_t n = strcspn(p, ":");

		if (n < sizeof(part))
			memcpy(part, p, n);
		if (++parts > 3 || count_parse(part, 0, UINT32_MAX - 1, &one, NULL) < 0)
			return error_set(err, ERR_USAGE, "expected [[hours:]minutes:]seconds");
		all = all * 60 + one;
		p += n;
		if (!*p)
			break;
	}
	if (!all || all >= UINT32_MAX)
		return error_set(err, ERR_USAGE, "expected a time of at least a second");
	*s = (uint32_t)all;
	return 0;
}

/* --- files ---------------------------------------------------------------------------------- */

/* The placeholder at the beginning: what it stands for, and *rest behind it. */
static const char *leading(const char *text, const struct value_places *places, const char **rest)
{
	const struct {
		const char *name, *value;
	} known[] = {
		{ DRMAA_PLACEHOLDER_HD, places->home },
		{ DRMAA_PLACEHOLDER_WD, places->wd },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		size_t len = strlen(known[i].name);

		if (!strncmp(text, known[i].name, len)) {
			*rest = text + len;
			return known[i].value;
		}
	}
	*rest = text;
	return "";
}

static void add_literally(struct strbuf *out, const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (s[i] == '%')
			strbuf_add(out, "%", 1);
		strbuf_add(out, s + i, 1);
	}
}

/* Is it the host that this is: empty, or its name with or without its domain? */
static bool is_here(const char *name, size_t len, const char *host)
{
	size_t here = strcspn(host, "."), there = len;
	const char *dot = memchr(name, '.', len);

	if (dot)
		there = (size_t)(dot - name);
	return !len || (len == 9 && !strncasecmp(name, "localhost", 9)) ||
	       (there == here && !strncasecmp(name, host, here));
}

static int no_index(struct error *err)
{
	return error_set(err, ERR_USAGE,
	        DRMAA_PLACEHOLDER_INCR " stands for the index of a bulk, and this is a single job");
}

int value_path(const char *text, const struct value_places *places, char **out, struct error *err)
{
	const char *colon = strchr(text, ':'), *rest, *first, *index, *at;
	char *whole;
	struct strbuf path = { .s = NULL };

	if (colon && !is_here(text, (size_t)(colon - text), places->host)) {
		error_set(err, ERR_USAGE,
		        "files are on the node that runs the job, and not on '%.*s'",
		        (int)(colon - text), text);
		return error_hint(err, ":PATH, in a folder that all nodes share");
	}
	first = leading(colon ? colon + 1 : text, places, &rest);
	if (!*first && !*rest)
		return error_set(err, ERR_USAGE, "the path is empty");
	if (strchr(rest, '\\'))
		return error_set(err, ERR_USAGE, "a backslash in the path");
	at = whole = xasprintf("%s%s", first, rest);
	while ((index = strstr(at, DRMAA_PLACEHOLDER_INCR)) && places->bulk) {
		add_literally(&path, at, (size_t)(index - at));
		strbuf_add(&path, "%a", 2);
		at = index + strlen(DRMAA_PLACEHOLDER_INCR);
	}
	add_literally(&path, at, strlen(at));
	free(whole);
	*out = strbuf_take(&path);
	if (!index)
		return 0;
	free(*out);
	return no_index(err);
}

/* In quotes for sh. */
static void add_quoted(struct strbuf *out, const char *s, size_t n)
{
	strbuf_add(out, "'", 1);
	for (size_t i = 0; i < n; i++) {
		if (s[i] == '\'')
			strbuf_add(out, "'\\'", 3);
		strbuf_add(out, s + i, 1);
	}
	strbuf_add(out, "'", 1);
}

int value_folder(const char *text, const struct value_places *places, char **out, char **script,
        struct error *err)
{
	const char *rest, *first = leading(text, places, &rest), *index;
	struct strbuf line = { .s = NULL };

	*script = NULL;
	if (!*first && *rest != '/')
		return error_set(err, ERR_USAGE, "expected an absolute path");
	if (strstr(rest, DRMAA_PLACEHOLDER_INCR) && !places->bulk)
		return no_index(err);
	*out = xasprintf("%s%s", first, rest);
	if (!strstr(rest, DRMAA_PLACEHOLDER_INCR))
		return 0;
	strbuf_addf(&line, "cd -- ");
	add_quoted(&line, first, strlen(first));
	while ((index = strstr(rest, DRMAA_PLACEHOLDER_INCR))) {
		add_quoted(&line, rest, (size_t)(index - rest));
		strbuf_addf(&line, "\"$GPUSCHED_ARRAY_TASK_ID\"");
		rest = index + strlen(DRMAA_PLACEHOLDER_INCR);
	}
	add_quoted(&line, rest, strlen(rest));
	strbuf_addf(&line, " || exit");
	*script = strbuf_take(&line);
	return 0;
}

/* --- words ---------------------------------------------------------------------------------- */

/* One word from *s to *to, which is moved behind its NUL. */
static int take_word(const char **s, char **to, struct error *err)
{
	const char *p = *s;
	char quote = 0;

	for (; *p && (quote || !strchr(" \t\n", *p)); p++) {
		if (quote ? *p == quote : *p == '\'' || *p == '"') {
			quote = quote ? 0 : *p;
			continue;
		}
		if (*p == '\\' && quote != '\'' && (!quote || (p[1] && strchr("\"\\$`", p[1]))) &&
		        !*++p)
			return error_set(err, ERR_USAGE, "a backslash at the end");
		*(*to)++ = *p;
	}
	if (quote)
		return error_set(err, ERR_USAGE, "the quote %c is not closed", quote);
	*(*to)++ = '\0';
	*s = p;
	return 0;
}

char **value_words(const char *text, size_t *n, struct error *err)
{
	size_t len = strlen(text), most = len / 2 + 2;
	char **words = xcalloc(1, most * sizeof(*words) + len + 2), *to = (char *)(words + most);

	*n = 0;
	for (;;) {
		text += strspn(text, " \t\n");
		if (!*text)
			return words;
		words[(*n)++] = to;
		if (take_word(&text, &to, err) < 0) {
			free(words);
			return NULL;
		}
	}
}
