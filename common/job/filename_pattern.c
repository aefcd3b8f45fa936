/* filename_pattern.c - see filename_pattern.h */
#include "common/job/filename_pattern.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define TASK_NONE 4294967294u /* what sbatch writes for %a of a job that is no array */

struct text {
	char *p;
	size_t size, n; /* n may exceed size: it did not fit */
	bool own;       /* it tells the nodes of a job apart */
	bool task;      /* it tells the tasks of an array apart */
	bool of_task;   /* the job's id is to do that */
};

static void put(struct text *t, const char *s, size_t len)
{
	if (t->n + len < t->size)
		memcpy(t->p + t->n, s, len);
	t->n += len;
}

static void put_number(struct text *t, uint64_t v, unsigned width)
{
	char s[32];
	int n = snprintf(s, sizeof(s), "%0*" PRIu64, (int)width, v);

	put(t, s, (size_t)n);
}

static void put_name(struct text *t, const char *s)
{
	for (; *s; s++)
		put(t, *s == '/' ? "_" : s, 1);
}

/* 1: the letter is known and its value was put. */
static int put_value(struct text *t, char letter, unsigned width, const struct pattern_values *v)
{
	switch (letter) {
	case 'j':
	case 'J':
		put_number(t, v->raw_id ? v->raw_id : v->job, width);
		if (t->of_task) {
			put(t, "_", 1);
			put_number(t, v->task, 0);
		}
		return 1;
	case 'A':
		put_number(t, v->job, width);
		return 1;
	case 'a':
		t->task = true;
		put_number(t, v->is_array ? v->task : TASK_NONE, width);
		return 1;
	case 'n':
	case 't':
		t->own = true;
		put_number(t, v->rank, width);
		return 1;
	case 's':
		put(t, "batch", 5);
		return 1;
	case 'x':
		put_name(t, v->name);
		return 1;
	case 'u':
		put_name(t, v->user);
		return 1;
	case 'N':
		t->own = true;
		put_name(t, v->node);
		return 1;
	case '%':
		put(t, "%", 1);
		return 1;
	default:
		return 0;
	}
}

/* One piece of the pattern: a letter with its %, or a byte. Returns the length that was used. */
static size_t put_piece(struct text *t, const char *p, const struct pattern_values *v)
{
	size_t digits = 0;
	unsigned width = 0;

	if (p[0] != '%') {
		put(t, p, 1);
		return 1;
	}
	while (isdigit((unsigned char)p[1 + digits]) && digits < 3)
		width = width * 10 + (unsigned)(p[1 + digits++] - '0');
	if (width > PATTERN_PAD_MAX)
		width = PATTERN_PAD_MAX;
	if (put_value(t, p[1 + digits], width, v))
		return 2 + digits;
	put(t, "%", 1);
	return 1;
}

static void put_all(struct text *t, const char *pattern, const struct pattern_values *v)
{
	bool literal = strchr(pattern, '\\');

	for (const char *p = pattern; *p;) {
		if (!literal) {
			p += put_piece(t, p, v);
			continue;
		}
		if (*p != '\\')
			put(t, p, 1);
		p++;
	}
}

int pattern_expand(const char *pattern, const struct pattern_values *values, char *out, size_t size,
        struct error *err)
{
	struct text t = { .size = 0 };

	put_all(&t, pattern, values);
	t = (struct text){
		.p = out, .size = size, .of_task = values->own && values->is_array && !t.task && !values->raw_id
	};
	put_all(&t, pattern, values);
	if (values->own && values->rank && t.n && !t.own && strncmp(pattern, "/dev/", 5) != 0) {
		put(&t, ".", 1);
		put_number(&t, values->rank, 0);
	}
	if (t.n >= size)
		return error_set(err, ERR_JOB_SPEC,
		        "file name pattern '%.64s' expands to %zu bytes; at most %zu", pattern, t.n,
		        size - 1);
	out[t.n] = '\0';
	return 0;
}
