/* load.c - see load.h */
#include "cmds/services/load.h"

#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmds/services/prometheus_text.h"

/* Words of RUN_DIR/load. */
static const char *const words[LOAD_FIELDS] = { "running", "waiting", "kv", "requests", "tokens" };

/* --- the file --------------------------------------------------------------------------------- */

/* "running=3" */
static int take_word(struct load *l, const char *word, struct error *err)
{
	const char *value = strchr(word, '=');
	char *rest;
	double v;

	for (size_t f = 0; value && f < LOAD_FIELDS; f++) {
		if (strlen(words[f]) != (size_t)(value - word) ||
		        strncmp(words[f], word, (size_t)(value - word)) != 0)
			continue;
		v = strtod(value + 1, &rest);
		if (rest == value + 1 || *rest || !isfinite(v) || v < 0 || v > METRICS_VALUE_MAX)
			return error_set(err, ERR_PROTOCOL,
			        "%s: its value is no number of 0 or more", words[f]);
		l->v[f] = v;
		l->has[f] = true;
	}
	return 0;
}

int load_from_text(const char *text, size_t len, struct load *out, struct error *err)
{
	char copy[LOAD_FILE_MAX + 1], *at = copy, *word;
	struct load l = { 0 };

	*out = l;
	if (len > LOAD_FILE_MAX || memchr(text, '\0', len))
		return error_set(
		        err, ERR_PROTOCOL, "it is no text of at most %d bytes", LOAD_FILE_MAX);
	memcpy(copy, text, len);
	copy[len] = '\0';
	while ((word = strsep(&at, " \t\r\n")) != NULL)
		if (take_word(&l, word, err) < 0)
			return -1;
	if (!l.has[LOAD_RUNNING])
		return error_set(err, ERR_PROTOCOL, "it has no running=NUMBER");
	l.known = true;
	*out = l;
	return 0;
}

/* --- the line --------------------------------------------------------------------------------- */

static uint64_t count_on(struct load_counters *c, const struct load *l, enum load_field f)
{
	uint64_t now = (uint64_t)l->v[f];

	if (l->has[f]) {
		if (now < c->last[f])
			c->before[f] += c->last[f];
		c->last[f] = now;
	}
	return c->before[f] + c->last[f];
}

/* "3", or "2.5" where it is no whole number. */
static size_t put_gauge(char *out, size_t size, double v)
{
	double most = v < METRICS_VALUE_MAX ? v : METRICS_VALUE_MAX;
	bool whole = most < (double)INT64_MAX && most == (double)(int64_t)most;
	int n = snprintf(out, size, whole ? " %.0f" : " %.3f", most);

	return n > 0 ? (size_t)n : 0;
}

size_t load_line(struct load_counters *c, const struct load *l, char out[LOAD_LINE_MAX])
{
	double kv = l->v[LOAD_KV] < 1 ? l->v[LOAD_KV] : 1;
	size_t n;

	if (!l->known)
		return (size_t)snprintf(out, LOAD_LINE_MAX, "load unknown\n");
	n = (size_t)snprintf(out, LOAD_LINE_MAX, "load");
	n += put_gauge(out + n, LOAD_LINE_MAX - n, l->v[LOAD_RUNNING]);
	n += put_gauge(out + n, LOAD_LINE_MAX - n, l->v[LOAD_WAITING]);
	n += (size_t)snprintf(out + n, LOAD_LINE_MAX - n, " %.0f %" PRIu64 " %" PRIu64 "\n",
	        kv * 1000, count_on(c, l, LOAD_REQUESTS), count_on(c, l, LOAD_TOKENS));
	return n;
}
