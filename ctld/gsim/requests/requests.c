/* requests.c - see requests.h */
#include "ctld/gsim/requests/requests.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "ctld/gsim/history/csv.h"

#define SECOND     ((usec_t)1000000)
#define DAY        (86400 * SECOND)
#define TOKENS_MAX 100000000

void requests_add(struct requests *r, struct request request)
{
	*XADD(r->v, r->n, r->size) = request;
}

void requests_clear(struct requests *r)
{
	free(r->v);
	*r = (struct requests){ .v = NULL };
}

static int by_time(const void *x, const void *y)
{
	const struct request *a = x, *b = y;

	if (a->at != b->at)
		return a->at < b->at ? -1 : 1;
	if (a->output != b->output)
		return a->output < b->output ? -1 : 1;
	return (a->input > b->input) - (a->input < b->input);
}

void requests_finish(struct requests *r, const struct requests_options *o)
{
	size_t i, kept = 0;
	usec_t first;

	if (!r->n)
		return;
	qsort(r->v, r->n, sizeof(*r->v), by_time);
	first = r->v[0].at;
	for (i = 0; i < r->n; i++) {
		struct request request = r->v[i];

		request.at = (usec_t)((double)(request.at - first) / o->scale_load);
		if (request.at < o->from || request.at >= o->until)
			continue;
		request.at -= o->from;
		r->v[kept++] = request;
	}
	r->n = kept;
}

/* --- times ----------------------------------------------------------------------------------- */

/* Days since 1970 of a date (Hinnant's days_from_civil). */
static int64_t days(int64_t year, int64_t month, int64_t day)
{
	int64_t era, of_era, of_year;

	year -= month <= 2;
	era = year / 400;
	of_era = year - era * 400;
	of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
	return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

/* A fraction and perhaps a zone behind a time of day; the zone must be UTC. */
static int fraction(const char *at, usec_t *value)
{
	usec_t unit = 100000;

	*value = 0;
	if (*at == '.') {
		for (at++; *at >= '0' && *at <= '9'; at++, unit /= 10)
			*value += (*at - '0') * unit;
	}
	return !*at || !strcmp(at, "Z") || !strcmp(at, "+00:00") ? 0 : -1;
}

int request_time(const char *text, usec_t *at)
{
	unsigned year, month, day, hour, minute, second;
	usec_t part;
	int end = 0;
	char sep;

	if (sscanf(text, "%4u-%2u-%2u%c%2u:%2u:%2u%n", &year, &month, &day, &sep, &hour, &minute,
	            &second, &end) != 7 ||
	        !end)
		return *text ? csv_seconds(text, "time", at, NULL) : -1;
	if ((sep != ' ' && sep != 'T') || !month || month > 12 || !day || day > 31 || hour > 23 ||
	        minute > 59 || second > 60 || year < 1970 || fraction(text + end, &part) < 0)
		return -1;
	*at = days(year, month, day) * DAY +
	      ((usec_t)hour * 3600 + (usec_t)minute * 60 + second) * SECOND + part;
	return 0;
}

/* --- files ----------------------------------------------------------------------------------- */

enum { AT, INPUT, OUTPUT, FIELDS };

/* Which columns say when, how much goes in and how much comes out. */
static const struct csv_column known[][FIELDS] = {
	{ { "TIMESTAMP", true }, { "ContextTokens", true }, { "GeneratedTokens", true } },
	{ { "Timestamp", true }, { "Request tokens", true }, { "Response tokens", true } },
	{ { "time_s", true }, { "input_tokens", true }, { "output_tokens", true } },
};

static struct csv *open_any(const char *path, struct error *err)
{
	size_t n = sizeof(known) / sizeof(known[0]), i;
	struct csv *c = NULL;

	/* Standard input cannot be read twice: it has the names of the first kind or is refused. */
	for (i = 0; !c && i < n && (i == 0 || strcmp(path, "-")); i++) {
		c = csv_open(path, known[i], FIELDS, err);
		if (!c && err->code == ERR_SYSTEM)
			return NULL;
	}
	if (!c)
		error_set(err, ERR_CONFIG,
		        "%s: expected the columns TIMESTAMP,ContextTokens,GeneratedTokens or "
		        "time_s,input_tokens,output_tokens",
		        path);
	return c;
}

static int read_row(const char *const *fields, struct request *request, struct error *err)
{
	uint64_t input = 0, output = 0;

	if (request_time(fields[AT], &request->at) < 0)
		return error_set(err, ERR_USAGE,
		        "time \"%.40s\": expected seconds or 2023-11-16 18:15:46.68", fields[AT]);
	if (csv_count(fields[INPUT], "input tokens", TOKENS_MAX, &input, err) < 0 ||
	        csv_count(fields[OUTPUT], "output tokens", TOKENS_MAX, &output, err) < 0)
		return -1;
	request->input = (uint32_t)input;
	request->output = (uint32_t)output;
	return 0;
}

static int read_file(
        struct requests *r, const char *path, const struct requests_options *o, struct error *err)
{
	struct csv *c = open_any(path, err);
	const char *fields[FIELDS];
	struct request request;
	enum csv_result result = CSV_FAILED;

	while (c && (result = csv_next(c, fields, err)) != CSV_END && result != CSV_FAILED) {
		if (result == CSV_ROW && read_row(fields, &request, err) == 0) {
			requests_add(r, request);
			continue;
		}
		if (!o->skip_bad) {
			if (result == CSV_ROW)
				csv_blame(c, err);
			error_hint(err, "--skip-bad leaves broken rows out");
			result = CSV_FAILED;
			break;
		}
		r->bad++;
	}
	csv_close(c);
	return result == CSV_END ? 0 : -1;
}

int requests_read(struct requests *r, const char *const *paths, size_t n,
        const struct requests_options *o, struct error *err)
{
	size_t i;

	*r = (struct requests){ .v = NULL };
	for (i = 0; i < n; i++) {
		if (read_file(r, paths[i], o, err) < 0) {
			requests_clear(r);
			return -1;
		}
	}
	requests_finish(r, o);
	return 0;
}
