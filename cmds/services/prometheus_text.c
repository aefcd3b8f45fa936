/* prometheus_text.c - see prometheus_text.h */
#include "cmds/services/prometheus_text.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 *	NAME -- a wanted name and '{' --> LABELS <-- '"' --> QUOTED
 *	  |  \                              | '}'
 *	  |   `-- a wanted name and ' ' --> VALUE -- ' ' --> SKIP (timestamp, exemplar)
 *	  `-- any other name --> SKIP
 *
 * A LF leads from each of them to NAME.
 */
enum { NAME, SKIP, LABELS, QUOTED, VALUE };

typedef const char *step_fn(struct metrics *m, const char *p, const char *end);

void metrics_begin(struct metrics *m, const struct metric_name *names, size_t n)
{
	assert(n <= METRICS_MAX);
	memset(m, 0, sizeof(*m));
	m->names = names;
	m->n = n;
}

static void next_line(struct metrics *m)
{
	m->state = NAME;
	m->len = 0;
}

static void break_line(struct metrics *m)
{
	m->sums[m->metric].bad = true;
	next_line(m);
}

static void go_to(struct metrics *m, int state)
{
	m->state = state;
	m->len = 0;
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static bool is_word(const struct metrics *m, const char *word)
{
	return strlen(word) == m->len && memcmp(word, m->word, m->len) == 0;
}

/* The name is complete: is it one of those? */
static bool find_metric(struct metrics *m)
{
	m->part = false;
	for (m->metric = 0; m->metric < m->n; m->metric++)
		if (is_word(m, m->names[m->metric].name))
			return true;
	return false;
}

static const char *read_name(struct metrics *m, const char *p, const char *end)
{
	for (; p < end; p++) {
		if (*p == '\n') {
			m->len = 0;
		} else if (is_space(*p) && m->len == 0) {
			continue;
		} else if (is_space(*p) || *p == '{') {
			go_to(m, !find_metric(m) ? SKIP : *p == '{' ? LABELS : VALUE);
			return p + 1;
		} else if (m->len == sizeof(m->word)) {
			go_to(m, SKIP);
			return p;
		} else {
			m->word[m->len++] = *p;
		}
	}
	return p;
}

static const char *skip_line(struct metrics *m, const char *p, const char *end)
{
	const char *lf = memchr(p, '\n', (size_t)(end - p));

	if (!lf)
		return end;
	next_line(m);
	return lf + 1;
}

/* What stands before a quoted text is its label, '='. */
static const char *read_labels(struct metrics *m, const char *p, const char *end)
{
	const char *parts = m->names[m->metric].parts;

	for (; p < end; p++) {
		if (*p == '\n') {
			break_line(m);
			return p + 1;
		}
		if (*p == '"' || *p == '}') {
			m->of_parts = parts && is_word(m, parts);
			go_to(m, *p == '"' ? QUOTED : VALUE);
			m->escaped = false;
			return p + 1;
		}
		if (*p == ',')
			m->len = 0;
		else if (!is_space(*p) && *p != '=' && m->len < sizeof(m->word))
			m->word[m->len++] = *p;
	}
	return p;
}

static const char *skip_quoted(struct metrics *m, const char *p, const char *end)
{
	for (; p < end; p++) {
		if (*p == '\n') {
			break_line(m);
			return p + 1;
		}
		if (*p == '"' && !m->escaped) {
			go_to(m, LABELS);
			return p + 1;
		}
		m->part |= m->of_parts;
		m->escaped = *p == '\\' && !m->escaped;
	}
	return p;
}

static void take_value(struct metrics *m)
{
	struct metric_sum *s = &m->sums[m->metric];
	char text[METRICS_WORD_MAX + 1], *rest;
	double v;

	if (m->part)
		return;
	memcpy(text, m->word, m->len);
	text[m->len] = '\0';
	v = strtod(text, &rest);
	if (rest == text || rest != text + m->len || !isfinite(v) || v < 0 ||
	        v > METRICS_VALUE_MAX) {
		s->bad = true;
		return;
	}
	s->sum += v;
	s->samples++;
}

static const char *read_value(struct metrics *m, const char *p, const char *end)
{
	for (; p < end; p++) {
		if (m->len == 0 && is_space(*p))
			continue;
		if (m->len == 0 && *p == '{') { /* "name {a="b"} 1" */
			go_to(m, LABELS);
			return p + 1;
		}
		if (*p == '\n' || is_space(*p)) {
			take_value(m);
			go_to(m, *p == '\n' ? NAME : SKIP);
			return p + 1;
		}
		if (m->len == sizeof(m->word)) {
			m->sums[m->metric].bad = true;
			go_to(m, SKIP);
			return p;
		}
		m->word[m->len++] = *p;
	}
	return p;
}

void metrics_feed(struct metrics *m, const void *data, size_t len)
{
	static step_fn *const steps[] = { [NAME] = read_name,
		[SKIP] = skip_line,
		[LABELS] = read_labels,
		[QUOTED] = skip_quoted,
		[VALUE] = read_value };
	const char *p = data, *end = p + len;

	while (p < end)
		p = steps[m->state](m, p, end);
}

bool metrics_end(const struct metrics *m)
{
	return m->state == NAME && m->len == 0;
}
