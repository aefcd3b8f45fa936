/* taskset.c - see taskset.h */
#include "common/taskset.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/strbuf.h"
#include "common/text.h"
#include "common/xalloc.h"

#define COMPARES_MAX 200000 /* of ranges that lie over each other, to find what is there twice */
#define AT_ONCE_MAX  (TASK_MAX + 1)

static uint32_t range_count(const struct task_range *r)
{
	return (r->last - r->first) / r->step + 1;
}

static bool range_has(const struct task_range *r, uint32_t task)
{
	return task >= r->first && task <= r->last && (task - r->first) % r->step == 0;
}

/* Its last is a member, and a single number has the step 1. */
static struct task_range range_of(uint32_t first, uint32_t last, uint32_t step)
{
	last -= (last - first) % step;
	return (struct task_range){ first, last, first == last ? 1 : step };
}

static int by_first(const void *x, const void *y)
{
	const struct task_range *a = x, *b = y;

	return a->first < b->first ? -1 : a->first > b->first;
}

/* --- building -------------------------------------------------------------------------------- */

/* At the end, whatever its place. */
static void append(struct taskset *set, struct task_range r)
{
	if (set->n == set->size) {
		set->size = set->size ? set->size * 2 : 4;
		set->v = xrealloc(set->v, set->size, sizeof(*set->v));
	}
	set->v[set->n++] = r;
	set->count += range_count(&r);
}

/* Is the second the first's continuation? */
static bool goes_on(const struct task_range *r, const struct task_range *next)
{
	return next->first == r->last + r->step &&
	       (next->step == r->step || (next->first == next->last && r->first != r->last));
}

/* In order, and neighbours as one: 1,2,3 is 1-3. */
static void settle(struct taskset *set)
{
	size_t i, n = set->at;

	if (set->n > set->at)
		qsort(set->v + set->at, set->n - set->at, sizeof(*set->v), by_first);
	for (i = set->at; i < set->n; i++) {
		struct task_range *last = n > set->at ? &set->v[n - 1] : NULL;

		if (last && goes_on(last, &set->v[i]))
			last->last = set->v[i].last;
		else
			set->v[n++] = set->v[i];
	}
	set->n = n;
}

void taskset_clear(struct taskset *set)
{
	free(set->v);
	*set = (struct taskset){ 0 };
}

void taskset_copy(struct taskset *to, const struct taskset *from)
{
	size_t i;

	*to = (struct taskset){ 0 };
	for (i = from->at; i < from->n; i++)
		append(to, from->v[i]);
}

void taskset_single(struct taskset *set, uint32_t task)
{
	*set = (struct taskset){ 0 };
	append(set, range_of(task, task, 1));
}

void taskset_of_bits(struct taskset *set, const uint8_t *bits, uint32_t last)
{
	uint32_t t = 0, from;

	*set = (struct taskset){ 0 };
	while (t <= last) {
		if (!bits[t / 8] && t % 8 == 0) {
			t += 8;
			continue;
		}
		from = t;
		while (t <= last && bits[t / 8] >> t % 8 & 1)
			t++;
		if (t > from)
			append(set, range_of(from, t - 1, 1));
		else
			t++;
	}
}

/* --- two ranges ------------------------------------------------------------------------------ */

/* The greatest common divisor, and *inverse times a = it, modulo b. */
static int64_t gcd(int64_t a, int64_t b, int64_t *inverse)
{
	int64_t x = 1, y = 0, m = b;

	while (b) {
		int64_t q = a / b, r = a % b, z = x - q * y;

		a = b;
		b = r;
		x = y;
		y = z;
	}
	*inverse = x % m < 0 ? x % m + m : x % m;
	return a;
}

/* What both have, which is a range too. False: nothing. */
static bool range_meet(
        const struct task_range *x, const struct task_range *y, struct task_range *both)
{
	int64_t low = x->first > y->first ? x->first : y->first;
	int64_t high = x->last < y->last ? x->last : y->last;
	int64_t apart = (int64_t)y->first - x->first, inverse;
	int64_t g = gcd(x->step, y->step, &inverse), m = y->step / g, step = x->step * m, t, k;

	if (low > high || apart % g)
		return false;
	/* x.first + k * x.step is the first of y's numbers, were both without end. */
	k = apart / g % m * (inverse % m) % m;
	t = x->first + (k < 0 ? k + m : k) * x->step;
	if (t < low)
		t += (low - t + step - 1) / step * step;
	if (t > high)
		return false;
	*both = range_of((uint32_t)t, (uint32_t)high, (uint32_t)(step > high ? high + 1 : step));
	return true;
}

/* --- reading --------------------------------------------------------------------------------- */

/* `len` bytes of what was given, to be shown. */
static int wrong(struct error *err, const char *part, size_t len, const char *what)
{
	char shown[80];

	text_escape(shown, sizeof(shown), part, len);
	return error_set(err, ERR_USAGE, "'%s': %s", shown, what);
}

static const char *number(const char *p, const char *end, uint64_t *n)
{
	const char *start = p;

	for (*n = 0; p < end && *p >= '0' && *p <= '9'; p++)
		*n = *n > UINT32_MAX ? *n : *n * 10 + (uint64_t)(*p - '0');
	return p == start ? NULL : p;
}

/* "5", "5-7", "0-15:4" of `len` bytes. */
static int read_range(const char *part, size_t len, struct task_range *r, struct error *err)
{
	const char *p = part, *end = part + len;
	uint64_t first = 0, last, step = 1;

	if (!len)
		return wrong(err, part, len, "a task number is missing, as in \"1,3,5-7\"");
	p = number(p, end, &first);
	last = first;
	if (p && p < end && *p == '-')
		p = number(p + 1, end, &last);
	if (p && p < end && *p == ':' && p > part && memchr(part, '-', len))
		p = number(p + 1, end, &step);
	if (!p || p != end)
		return wrong(err, part, len, "must be N, N-N or N-N:STEP");
	if (first > TASK_MAX || last > TASK_MAX)
		return wrong(err, part, len, "task numbers are 0 to 4000000");
	if (last < first)
		return wrong(err, part, len, "the range runs backwards");
	if (!step || step > TASK_MAX)
		return wrong(err, part, len, "a step is 1 to 4000000");
	*r = range_of((uint32_t)first, (uint32_t)last, (uint32_t)step);
	return 0;
}

/* Nothing is there twice. */
static int check_twice(const struct taskset *set, struct error *err)
{
	struct task_range both;
	size_t i, k, compares = 0;

	for (i = 0; i < set->n; i++) {
		for (k = i + 1; k < set->n && set->v[k].first <= set->v[i].last; k++) {
			if (++compares > COMPARES_MAX)
				return error_set(err, ERR_USAGE,
				        "too many ranges lie over each other: write it with fewer");
			if (range_meet(&set->v[i], &set->v[k], &both))
				return error_set(
				        err, ERR_USAGE, "task %u is there twice", both.first);
		}
	}
	return 0;
}

static int read_set(const char *text, size_t len, struct taskset *set, struct error *err)
{
	const char *p = text, *end = text + len;

	*set = (struct taskset){ 0 };
	for (;;) {
		const char *comma = memchr(p, ',', (size_t)(end - p));
		struct task_range r;

		if (read_range(p, (size_t)((comma ? comma : end) - p), &r, err) < 0) {
			taskset_clear(set);
			return -1;
		}
		append(set, r);
		if (!comma)
			break;
		p = comma + 1;
	}
	qsort(set->v, set->n, sizeof(*set->v), by_first);
	return 0;
}

/* What people write. */
static int read_checked(const char *text, size_t len, struct taskset *set, struct error *err)
{
	*set = (struct taskset){ 0 };
	if (len > TASKSET_TEXT_MAX)
		return error_set(err, ERR_USAGE, "%zu bytes of task numbers; at most %d", len,
		        TASKSET_TEXT_MAX);
	if (read_set(text, len, set, err) < 0)
		return -1;
	if (check_twice(set, err) < 0) {
		taskset_clear(set);
		return -1;
	}
	settle(set);
	return 0;
}

int taskset_parse_kept(const char *text, struct taskset *set, struct error *err)
{
	if (read_set(text, strlen(text), set, err) < 0)
		return -1;
	settle(set);
	return 0;
}

int taskset_parse(const char *text, struct taskset *set, struct error *err)
{
	return read_checked(text, strlen(text), set, err);
}

int taskset_parse_array(const char *text, struct taskset *set, uint32_t *at_once, struct error *err)
{
	const char *percent = strchr(text, '%'), *end = text + strlen(text);
	uint64_t n = 0;

	*at_once = 0;
	if (percent) {
		if (number(percent + 1, end, &n) != end)
			return wrong(err, percent, (size_t)(end - percent),
			        "must be %N, how many tasks may run at a time");
		if (!n || n > AT_ONCE_MAX)
			return wrong(err, percent, (size_t)(end - percent),
			        "so many tasks at a time: 1 or more, or no % for no limit");
	}
	if (read_checked(text, (size_t)((percent ? percent : end) - text), set, err) < 0)
		return -1;
	*at_once = (uint32_t)n;
	return 0;
}

/* --- asking ---------------------------------------------------------------------------------- */

bool taskset_has(const struct taskset *set, uint32_t task)
{
	size_t i;

	for (i = set->at; i < set->n && set->v[i].first <= task; i++) {
		if (range_has(&set->v[i], task))
			return true;
	}
	return false;
}

bool taskset_meets(const struct taskset *x, const struct taskset *y)
{
	struct task_range both;
	size_t i, k;

	for (i = x->at; i < x->n; i++) {
		for (k = y->at; k < y->n; k++) {
			if (range_meet(&x->v[i], &y->v[k], &both))
				return true;
		}
	}
	return false;
}

uint32_t taskset_first(const struct taskset *set)
{
	return set->at < set->n ? set->v[set->at].first : TASK_NONE;
}

uint32_t taskset_last(const struct taskset *set)
{
	uint32_t last = 0;
	size_t i;

	for (i = set->at; i < set->n; i++)
		last = set->v[i].last > last ? set->v[i].last : last;
	return set->at < set->n ? last : TASK_NONE;
}

uint32_t taskset_step(const struct taskset *set)
{
	return set->n - set->at == 1 ? set->v[set->at].step : 1;
}

size_t taskset_ranges(const struct taskset *set)
{
	return set->n - set->at;
}

uint32_t taskset_before(const struct taskset *set, uint32_t task)
{
	uint32_t n = 0;
	size_t i;

	for (i = set->at; i < set->n && set->v[i].first < task; i++) {
		uint32_t last = set->v[i].last < task ? set->v[i].last : task - 1;

		n += (last - set->v[i].first) / set->v[i].step + 1;
	}
	return n;
}

/* --- taking out ------------------------------------------------------------------------------ */

/* The ranges from `i` on have changed at the front of i: let it move to its place. */
static void sink(struct taskset *set, size_t i)
{
	for (; i + 1 < set->n && set->v[i].first > set->v[i + 1].first; i++) {
		struct task_range swap = set->v[i];

		set->v[i] = set->v[i + 1];
		set->v[i + 1] = swap;
	}
}

static void remove_range(struct taskset *set, size_t i)
{
	if (i == set->at) {
		set->at++;
		return;
	}
	memmove(&set->v[i], &set->v[i + 1], (--set->n - i) * sizeof(*set->v));
}

/* The part of a range behind a task that was taken out, as a range of its own. */
static void insert_rest(struct taskset *set, size_t i, struct task_range rest)
{
	set->count -= range_count(&rest); /* append() counts it again */
	append(set, rest);
	memmove(&set->v[i + 2], &set->v[i + 1], (set->n - i - 2) * sizeof(*set->v));
	set->v[i + 1] = rest;
	sink(set, i + 1);
}

void taskset_remove(struct taskset *set, uint32_t task)
{
	size_t i = set->at;

	while (i < set->n && !range_has(&set->v[i], task))
		i++;
	if (i == set->n)
		return;
	set->count--;
	if (set->v[i].first == set->v[i].last) {
		remove_range(set, i);
	} else if (set->v[i].first == task) {
		set->v[i] = range_of(task + set->v[i].step, set->v[i].last, set->v[i].step);
		sink(set, i);
	} else {
		struct task_range r = set->v[i];

		set->v[i] = range_of(r.first, task - r.step, r.step);
		if (r.last != task)
			insert_rest(set, i, range_of(task + r.step, r.last, r.step));
	}
}

/* r without the members of `out`, a part of it, to the end of `set`. */
static void append_without(struct taskset *set, struct task_range r, const struct task_range *out)
{
	uint32_t every = out->step / r.step, k, t;

	if (out->first > r.first)
		append(set, range_of(r.first, out->first - r.step, r.step));
	if (out->last < r.last)
		append(set, range_of(out->last + r.step, r.last, r.step));
	if (out->first == out->last || every < 2)
		return;
	/* Between its members: as many ranges as there are gaps, or as there are places in a gap.
	 */
	if (range_count(out) <= every) {
		for (t = out->first; t < out->last; t += out->step)
			append(set, range_of(t + r.step, t + out->step - r.step, r.step));
		return;
	}
	for (k = 1; k < every; k++)
		append(set, range_of(out->first + k * r.step, out->last - 1, out->step));
}

void taskset_take(struct taskset *set, const struct taskset *what, struct taskset *taken)
{
	struct taskset left = { 0 };
	struct task_range both;
	size_t i, k;

	*taken = (struct taskset){ 0 };
	/* What is left of a range is looked at again: another range of `what` may be in it too. */
	for (i = set->at; i < set->n; i++) {
		struct task_range r = set->v[i];

		for (k = what->at; k < what->n && !range_meet(&r, &what->v[k], &both); k++)
			;
		if (k == what->n) {
			append(&left, r);
			continue;
		}
		append(taken, both);
		append_without(set, r, &both);
	}
	free(set->v);
	*set = left;
	settle(set);
	settle(taken);
}

void taskset_add(struct taskset *set, const struct taskset *more)
{
	struct taskset new, both;
	size_t i;

	taskset_copy(&new, more);
	taskset_take(&new, set, &both);
	for (i = new.at; i < new.n; i++)
		append(set, new.v[i]);
	settle(set);
	taskset_clear(&new);
	taskset_clear(&both);
}

/* --- writing --------------------------------------------------------------------------------- */

char *taskset_text(const struct taskset *set)
{
	struct strbuf b = { 0 };
	size_t i;

	strbuf_add(&b, "", 0);
	for (i = set->at; i < set->n; i++) {
		const struct task_range *r = &set->v[i];

		strbuf_addf(&b, "%s%u", i > set->at ? "," : "", r->first);
		if (r->first != r->last)
			strbuf_addf(&b, "-%u", r->last);
		if (r->step > 1)
			strbuf_addf(&b, ":%u", r->step);
	}
	return strbuf_take(&b);
}
