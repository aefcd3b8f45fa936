/* depend.c - see depend.h */
#include "common/job/depend.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/strbuf.h"
#include "common/base/text.h"
#include "common/base/xalloc.h"

#define X(sym, word, ids) [sym] = { word, ids },
static const struct {
	const char *word;
	bool ids;
} types[DEPEND_TYPE_COUNT] = { DEPEND_TYPES(X) };
#undef X

const char *depend_type_name(enum depend_type type)
{
	return types[type].word;
}

/* --- reading --------------------------------------------------------------------------------- */

struct reader {
	const char *p;
	bool kept;
	struct depend *d;
	uint32_t tasks; /* of ranges so far */
	struct error *err;
};

static int bad(const struct reader *r, const char *at, const char *what)
{
	char shown[60];
	size_t n = strcspn(at, ",?");

	text_escape(shown, sizeof(shown), at, n < 24 ? n : 24);
	return error_set(r->err, ERR_USAGE, "'%s': %s", shown, what);
}

/* Digits, at least one, not above `max`. */
static int number(struct reader *r, uint64_t max, uint64_t *out)
{
	const char *start = r->p;
	uint64_t n = 0;

	for (; *r->p >= '0' && *r->p <= '9'; r->p++) {
		unsigned digit = (unsigned)(*r->p - '0');

		if (n > (max - digit) / 10)
			return bad(r, start, "too large a number");
		n = n * 10 + digit;
	}
	if (r->p == start)
		return bad(r, start, "a number is missing");
	*out = n;
	return 0;
}

static int add(struct reader *r, const struct depend_term *term)
{
	struct depend *d = r->d;

	if (d->n == DEPEND_TERMS_MAX)
		return error_set(r->err, ERR_USAGE, "more than %d jobs", DEPEND_TERMS_MAX);
	if (!(d->n & (d->n - 1)))
		d->v = xrealloc(d->v, d->n ? 2 * d->n : 1, sizeof(*d->v));
	d->v[d->n++] = *term;
	return 0;
}

/* "[1-3,7]", as some tasks of the term's job; of a single one as that. */
static int read_tasks(struct reader *r, struct depend_term *term)
{
	const char *end = strchr(r->p, ']');
	struct taskset set;
	char *text;
	int rc;

	if (!end)
		return bad(r, r->p, "expected ']' behind the tasks, as in afterok:12_[1-3,7]");
	text = xstrndup(r->p + 1, (size_t)(end - r->p) - 1);
	rc = r->kept ? taskset_parse_kept(text, &set, r->err) : taskset_parse(text, &set, r->err);
	free(text);
	if (rc < 0)
		return -1;
	r->p = end + 1;
	if (!r->kept && set.count > DEPEND_TASKS_MAX - r->tasks) {
		taskset_clear(&set);
		return error_set(r->err, ERR_USAGE, "ranges of more than %d tasks, all in all",
		        DEPEND_TASKS_MAX);
	}
	r->tasks += set.count;
	if (!r->kept && set.count == 1) {
		term->task = taskset_first(&set);
		taskset_clear(&set);
		return 0;
	}
	term->tasks = xcalloc(1, sizeof(*term->tasks));
	*term->tasks = set;
	return 0;
}

static void term_clear(struct depend_term *term)
{
	if (term->tasks)
		taskset_clear(term->tasks);
	free(term->tasks);
	term->tasks = NULL;
}

/* What follows the id, and that the term is over. */
static int read_rest(struct reader *r, struct depend_term *term, const char *start)
{
	uint64_t n;

	if (*r->p == '+') {
		if (term->type != DEPEND_AFTER)
			return bad(r, start, "only after takes minutes: after:ID+MINUTES");
		r->p++;
		if (number(r, DEPEND_DELAY_MAX, &n) < 0)
			return -1;
		term->delay = (uint32_t)n;
	}
	if (r->kept && *r->p == '@') {
		r->p++;
		if (number(r, INT64_MAX / 1000000, &n) < 0)
			return -1;
		term->at = (int64_t)n;
	}
	if (r->kept && term->type == DEPEND_AFTERCORR && *r->p == '*') {
		r->p++;
		term->each = true;
	}
	if (r->kept && *r->p == '!') {
		r->p++;
		term->never = true;
	}
	if (*r->p && !strchr(":,?", *r->p))
		return bad(r, start, "expected ID, or several as in afterok:12:13");
	return add(r, term);
}

/* "12", "12_7", "12_[1-3,7]", "12+5"; kept: "12+5@1795250000", "12*", "12!" */
static int read_id(struct reader *r, enum depend_type type)
{
	struct depend_term term = { .type = type, .task = DEPEND_NO_TASK };
	const char *start = r->p;
	uint64_t n;

	if (number(r, INT64_MAX, &term.job) < 0)
		return -1;
	if (!term.job)
		return bad(r, start, "job ids begin at 1");
	if (*r->p == '_' && r->p[1] == '[') {
		r->p++;
		if (read_tasks(r, &term) < 0)
			return -1;
	} else if (*r->p == '_') {
		r->p++;
		if (number(r, DEPEND_NO_TASK - 1, &n) < 0)
			return -1;
		term.task = (uint32_t)n;
	}
	if (read_rest(r, &term, start) == 0)
		return 0;
	term_clear(&term);
	return -1;
}

static int read_type(struct reader *r)
{
	size_t n = strcspn(r->p, ":,?!");
	const char *start = r->p;
	enum depend_type t = 0;

	while (t < DEPEND_TYPE_COUNT &&
	        (strlen(types[t].word) != n || strncasecmp(types[t].word, r->p, n)))
		t++;
	if (t == DEPEND_TYPE_COUNT)
		return bad(r, start,
		        "expected after, afterok, afternotok, afterany, aftercorr or singleton");
	r->p += n;
	if (!types[t].ids) {
		if (*r->p && !strchr(",?", *r->p))
			return bad(r, start, "takes no ids");
		return add(r, &(struct depend_term){ .type = t, .task = DEPEND_NO_TASK });
	}
	if (*r->p != ':')
		return bad(r, start, "needs the ids of jobs, as in afterok:12");
	while (*r->p == ':') {
		r->p++;
		if (read_id(r, t) < 0)
			return -1;
	}
	return 0;
}

static int read_all(struct reader *r)
{
	char between = 0;

	while (read_type(r) == 0) {
		if (!*r->p)
			return 0;
		if (*r->p != ',' && *r->p != '?')
			return bad(r, r->p, "expected ',' or '?' here");
		if (between && *r->p != between)
			return error_set(
			        r->err, ERR_USAGE, "',' (all) and '?' (any) cannot be mixed");
		between = *r->p++;
		r->d->any = between == '?';
	}
	return -1;
}

int depend_parse(const char *text, bool kept, struct depend *d, struct error *err)
{
	struct reader r = { .p = text, .kept = kept, .d = d, .err = err };

	*d = (struct depend){ .v = NULL };
	if (!*text)
		return 0;
	if (!kept && strlen(text) > DEPEND_TEXT_MAX)
		return error_set(err, ERR_USAGE, "at most %d bytes", DEPEND_TEXT_MAX);
	if (read_all(&r) == 0)
		return 0;
	depend_clear(d);
	return -1;
}

void depend_clear(struct depend *d)
{
	for (size_t i = 0; i < d->n; i++)
		term_clear(&d->v[i]);
	free(d->v);
	*d = (struct depend){ .v = NULL };
}

/* --- writing --------------------------------------------------------------------------------- */

static void write_tasks(struct strbuf *out, const struct taskset *tasks, bool kept)
{
	char *text = taskset_text(tasks);

	if (tasks->count == 1 && !kept)
		strbuf_addf(out, "_%s", text);
	else
		strbuf_addf(out, "_[%s]", text);
	free(text);
}

/* A sign and a number; a thousand of them are written each time that one is decided. */
static void write_number(struct strbuf *out, char sign, uint64_t n)
{
	char text[24], *p = text + sizeof(text);

	do
		*--p = (char)('0' + n % 10);
	while (n /= 10);
	*--p = sign;
	strbuf_add(out, p, (size_t)(text + sizeof(text) - p));
}

static void write_term(struct strbuf *out, const struct depend_term *t, bool kept)
{
	if (t->job)
		write_number(out, ':', t->job);
	if (t->task != DEPEND_NO_TASK)
		write_number(out, '_', t->task);
	if (t->tasks)
		write_tasks(out, t->tasks, kept);
	if (t->delay)
		write_number(out, '+', t->delay);
	if (kept && t->at)
		write_number(out, '@', (uint64_t)t->at);
	if (kept && t->each)
		strbuf_adds(out, "*");
	if (t->never)
		strbuf_adds(out, kept ? "!" : "(failed)");
}

static char *format(const struct depend *d, bool kept, size_t bytes)
{
	struct strbuf out = { .s = NULL };
	const struct depend_term *last = NULL;

	for (size_t i = 0; i < d->n && out.len < bytes; i++) {
		const struct depend_term *t = &d->v[i];
		bool follows = last && last->type == t->type && t->job && !d->any;

		if (t->met)
			continue;
		if (last && !follows)
			strbuf_adds(&out, d->any ? "?" : ",");
		if (!follows)
			strbuf_adds(&out, types[t->type].word);
		write_term(&out, t, kept);
		last = t;
	}
	return strbuf_take(&out);
}

char *depend_format(const struct depend *d, bool kept)
{
	return format(d, kept, SIZE_MAX);
}

char *depend_format_some(const struct depend *d, size_t bytes)
{
	return format(d, false, bytes);
}
