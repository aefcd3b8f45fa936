/* taskset.c - see taskset.h */
#include "common/base/taskset.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"
#include "common/base/xalloc.h"

#define AT_ONCE_MAX (TASK_MAX + 1)

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

/* --- building -------------------------------------------------------------------------------- */

static void push(struct taskset *set, struct task_range r)
{
	if (set->n == set->size) {
		set->size = set->size ? set->size * 2 : 4;
		set->v = xrealloc(set->v, set->size, sizeof(*set->v));
	}
	set->v[set->n++] = r;
}

/* Is the second the first's continuation? */
static bool goes_on(const struct task_range *r, const struct task_range *next)
{
	return next->first == r->last + r->step &&
	       (next->step == r->step || (next->first == next->last && r->first != r->last));
}

/* Behind all that is there; neighbours become one: 1,2,3 is 1-3. */
static void append(struct taskset *set, struct task_range r)
{
	struct task_range *last = set->n > set->at ? &set->v[set->n - 1] : NULL;

	set->count += range_count(&r);
	if (last && goes_on(last, &r))
		last->last = r.last;
	else
		push(set, r);
}

void taskset_clear(struct taskset *set)
{
	free(set->v);
	*set = (struct taskset){ 0 };
}

void taskset_copy(struct taskset *to, const struct taskset *from)
{
	size_t n = taskset_ranges(from);

	*to = (struct taskset){ .n = n, .size = n, .count = from->count };
	if (n)
		to->v = xmemdup(from->v + from->at, n * sizeof(*to->v));
}

void taskset_single(struct taskset *set, uint32_t task)
{
	*set = (struct taskset){ 0 };
	append(set, range_of(task, task, 1));
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

/* The tasks of both ranges, which are a range too. False: there are none. */
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

/* --- putting in order ------------------------------------------------------------------------ */

/* Ranges in any order, the one that begins first at the top. */
struct heap {
	struct task_range *v;
	size_t n;
};

static void sink(struct heap *h, size_t i)
{
	struct task_range r = h->v[i];
	size_t child;

	while ((child = 2 * i + 1) < h->n) {
		if (child + 1 < h->n && h->v[child + 1].first < h->v[child].first)
			child++;
		if (h->v[child].first >= r.first)
			break;
		h->v[i] = h->v[child];
		i = child;
	}
	h->v[i] = r;
}

static void heap_make(struct heap *h)
{
	for (size_t i = h->n / 2; i-- > 0;)
		sink(h, i);
}

/* The first `n` tasks of the range at the top are done with. */
static void heap_pass(struct heap *h, uint32_t n)
{
	struct task_range *top = &h->v[0];

	if (n == range_count(top))
		*top = h->v[--h->n];
	else
		*top = range_of(top->first + n * top->step, top->last, top->step);
	if (h->n)
		sink(h, 0);
}

/* The range that begins next after the one at the top; NULL: that is the last one. */
static const struct task_range *heap_second(const struct heap *h)
{
	const struct task_range *a = h->n > 1 ? &h->v[1] : NULL;

	return h->n > 2 && h->v[2].first < a->first ? &h->v[2] : a;
}

enum twice { TWICE_REFUSED, TWICE_DROPPED };

/* Two ranges begin with the same task, the top and another one. */
static int drop_twice(
        struct heap *h, const struct task_range *other, enum twice twice, struct error *err)
{
	const struct task_range *top = &h->v[0];
	bool within = top->step == other->step && top->last <= other->last;

	if (twice == TWICE_REFUSED)
		return error_set(err, ERR_USAGE, "task %u is there twice", top->first);
	heap_pass(h, within || top->first == top->last ? range_count(top) : 1);
	return 0;
}

/* Empty `h` into `set`, in order, in at most *steps. */
static int put_in_order(
        struct heap *h, struct taskset *set, enum twice twice, size_t *steps, struct error *err)
{
	heap_make(h);
	while (h->n) {
		const struct task_range *next = heap_second(h);
		struct task_range r = h->v[0];

		if (!*steps)
			return error_set(err, ERR_USAGE,
			        "too many ranges, or they lie over each other too often: write it "
			        "with fewer");
		--*steps;
		if (next && next->first == r.first) {
			if (drop_twice(h, next, twice, err) < 0)
				return -1;
			continue;
		}
		if (next && next->first <= r.last)
			r = range_of(r.first, next->first - 1, r.step);
		append(set, r);
		heap_pass(h, range_count(&r));
	}
	return 0;
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

/* All of a text, as it stands there. */
static int read_ranges(const char *text, size_t len, struct heap *h, struct error *err)
{
	const char *p = text, *end = text + len, *comma;
	struct taskset all = { 0 };

	for (;; p = comma + 1) {
		struct task_range r = { 0 };

		comma = memchr(p, ',', (size_t)(end - p));
		if (read_range(p, (size_t)((comma ? comma : end) - p), &r, err) < 0) {
			taskset_clear(&all);
			return -1;
		}
		push(&all, r);
		if (!comma)
			break;
	}
	*h = (struct heap){ all.v, all.n };
	return 0;
}

static int read_set(
        const char *text, size_t len, struct taskset *set, size_t *steps, struct error *err)
{
	struct heap h;
	int rc;

	*set = (struct taskset){ 0 };
	if (read_ranges(text, len, &h, err) < 0)
		return -1;
	rc = put_in_order(&h, set, TWICE_REFUSED, steps, err);
	free(h.v);
	if (rc < 0)
		taskset_clear(set);
	return rc;
}

static int check_ranges(struct taskset *set, size_t max, struct error *err)
{
	size_t n = taskset_ranges(set);

	if (n <= max)
		return 0;
	taskset_clear(set);
	return error_set(err, ERR_USAGE,
	        "%zu ranges of tasks, in order; at most %zu: write it with fewer, of neighbouring "
	        "tasks",
	        n, max);
}

/* Reads an expression of a user. */
static int read_checked(
        const char *text, size_t len, struct taskset *set, size_t *steps, struct error *err)
{
	*set = (struct taskset){ 0 };
	if (len > TASKSET_TEXT_MAX)
		return error_set(err, ERR_USAGE, "%zu bytes of task numbers; at most %d", len,
		        TASKSET_TEXT_MAX);
	if (read_set(text, len, set, steps, err) < 0)
		return -1;
	return check_ranges(set, TASKSET_RANGES_MAX, err);
}

int taskset_parse_kept(const char *text, struct taskset *set, struct error *err)
{
	size_t any = SIZE_MAX;

	return read_set(text, strlen(text), set, &any, err);
}

int taskset_parse_some(const char *text, struct taskset *set, size_t *steps, struct error *err)
{
	return read_checked(text, strlen(text), set, steps, err);
}

int taskset_parse(const char *text, struct taskset *set, struct error *err)
{
	size_t steps = TASKSET_STEPS_MAX;

	return taskset_parse_some(text, set, &steps, err);
}

/* %N, and how long the text before it is. */
static int read_at_once(const char *text, size_t *len, uint32_t *at_once, struct error *err)
{
	const char *percent = strchr(text, '%'), *end = text + strlen(text);
	uint64_t n = 0;

	*at_once = 0;
	*len = (size_t)((percent ? percent : end) - text);
	if (!percent)
		return 0;
	if (number(percent + 1, end, &n) != end)
		return wrong(err, percent, (size_t)(end - percent),
		        "must be %N, how many tasks may run at a time");
	if (!n || n > AT_ONCE_MAX)
		return wrong(err, percent, (size_t)(end - percent),
		        "so many tasks at a time: 1 or more, or no % for no limit");
	*at_once = (uint32_t)n;
	return 0;
}

int taskset_parse_array(const char *text, struct taskset *set, uint32_t *at_once, struct error *err)
{
	size_t len, steps = TASKSET_STEPS_MAX;

	*set = (struct taskset){ 0 };
	if (read_at_once(text, &len, at_once, err) < 0)
		return -1;
	return read_checked(text, len, set, &steps, err);
}

int taskset_parse_signed(
        const char *text, struct taskset *set, uint32_t *at_once, struct error *err)
{
	size_t len, any = SIZE_MAX;

	*set = (struct taskset){ 0 };
	if (read_at_once(text, &len, at_once, err) < 0)
		return -1;
	return read_set(text, len, set, &any, err);
}

/* --- asking ---------------------------------------------------------------------------------- */

/* The first range, `i` or behind it, that does not end before `task`; n: there is none. Near ones
 * are found first, so that a walk over two sets costs what both have at most. */
static size_t skip_to(const struct taskset *set, size_t i, uint32_t task)
{
	size_t jump = 1, end;

	while (i + jump < set->n && set->v[i + jump - 1].last < task) {
		i += jump;
		jump *= 2;
	}
	for (end = i + jump < set->n ? i + jump : set->n; i < end;) {
		size_t middle = i + (end - i) / 2;

		if (set->v[middle].last < task)
			i = middle + 1;
		else
			end = middle;
	}
	return i;
}

bool taskset_has(const struct taskset *set, uint32_t task)
{
	size_t i = skip_to(set, set->at, task);

	return i < set->n && range_has(&set->v[i], task);
}

/* Two sets, side by side. */
struct walk {
	const struct taskset *x, *y;
	size_t i, k; /* ranges that are looked at next */
};

static struct walk walk_begin(const struct taskset *x, const struct taskset *y)
{
	return (struct walk){ x, y, x->at, y->at };
}

/* The next range of tasks that both have. False: no more. */
static bool walk_next(struct walk *w, struct task_range *both)
{
	while (w->i < w->x->n && w->k < w->y->n) {
		const struct task_range *x = &w->x->v[w->i], *y = &w->y->v[w->k];
		bool meet;

		if (x->last < y->first) {
			w->i = skip_to(w->x, w->i, y->first);
			continue;
		}
		if (y->last < x->first) {
			w->k = skip_to(w->y, w->k, x->first);
			continue;
		}
		meet = range_meet(x, y, both);
		if (x->last <= y->last)
			w->i++;
		if (y->last <= x->last)
			w->k++;
		if (meet)
			return true;
	}
	return false;
}

bool taskset_meets(const struct taskset *x, const struct taskset *y)
{
	struct walk w = walk_begin(x, y);
	struct task_range both;

	return walk_next(&w, &both);
}

uint32_t taskset_common(const struct taskset *x, const struct taskset *y)
{
	struct walk w = walk_begin(x, y);
	struct task_range both;
	uint32_t n = 0;

	while (walk_next(&w, &both))
		n += range_count(&both);
	return n;
}

uint32_t taskset_first(const struct taskset *set)
{
	return set->at < set->n ? set->v[set->at].first : TASK_NONE;
}

uint32_t taskset_last(const struct taskset *set)
{
	return set->at < set->n ? set->v[set->n - 1].last : TASK_NONE;
}

uint32_t taskset_next(const struct taskset *set, uint32_t from)
{
	size_t i = skip_to(set, set->at, from);
	const struct task_range *r = &set->v[i];

	if (i == set->n)
		return TASK_NONE;
	return from <= r->first ? r->first : from + (r->last - from) % r->step;
}

uint32_t taskset_step(const struct taskset *set)
{
	return set->n - set->at == 1 ? set->v[set->at].step : 1;
}

size_t taskset_ranges(const struct taskset *set)
{
	return set->n - set->at;
}

uint32_t taskset_at(const struct taskset *set, uint32_t n)
{
	for (size_t i = set->at; i < set->n; i++) {
		uint32_t here = range_count(&set->v[i]);

		if (n < here)
			return set->v[i].first + n * set->v[i].step;
		n -= here;
	}
	return TASK_NONE;
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

static void remove_range(struct taskset *set, size_t i)
{
	if (i == set->at) {
		set->at++;
		return;
	}
	memmove(&set->v[i], &set->v[i + 1], (--set->n - i) * sizeof(*set->v));
}

/* Behind range `i`. */
static void insert_range(struct taskset *set, size_t i, struct task_range r)
{
	push(set, r);
	memmove(&set->v[i + 2], &set->v[i + 1], (set->n - i - 2) * sizeof(*set->v));
	set->v[i + 1] = r;
}

void taskset_remove(struct taskset *set, uint32_t task)
{
	size_t i = skip_to(set, set->at, task);
	struct task_range r;

	if (i == set->n || !range_has(&set->v[i], task))
		return;
	set->count--;
	r = set->v[i];
	if (r.first == r.last) {
		remove_range(set, i);
	} else if (r.first == task) {
		set->v[i] = range_of(task + r.step, r.last, r.step);
	} else {
		set->v[i] = range_of(r.first, task - r.step, r.step);
		if (r.last != task)
			insert_range(set, i, range_of(task + r.step, r.last, r.step));
	}
}

/* The members of r that come before the last one of `out`, a part of r, and are not in it: until
 * the set has more than `max` ranges. */
static void append_before(
        struct taskset *set, struct task_range r, const struct task_range *out, size_t max)
{
	uint32_t t;

	if (out->first > r.first)
		append(set, range_of(r.first, out->first - r.step, r.step));
	if (out->first == out->last || out->step == r.step)
		return;
	/* Every second one. */
	if (out->step == 2 * r.step) {
		append(set, range_of(out->first + r.step, out->last - r.step, out->step));
		return;
	}
	for (t = out->first; t < out->last && set->n <= max; t += out->step)
		append(set, range_of(t + r.step, t + out->step - r.step, r.step));
}

/* A set without another one. */
struct split {
	struct taskset left, taken;
	size_t max; /* ranges of either, and a few more: then it is enough */
};

static bool is_enough(const struct split *s)
{
	return s->left.n > s->max || s->taken.n > s->max;
}

/* r without what is in `what`, from its range k on. */
static void split_range(
        struct split *s, struct task_range r, const struct taskset *what, size_t k)
{
	struct task_range both;

	for (; k < what->n && what->v[k].first <= r.last && !is_enough(s); k++) {
		if (!range_meet(&r, &what->v[k], &both))
			continue;
		append(&s->taken, both);
		append_before(&s->left, r, &both, s->max);
		if (both.last == r.last)
			return;
		r = range_of(both.last + r.step, r.last, r.step);
	}
	append(&s->left, r);
}

static void split_set(struct split *s, const struct taskset *set, const struct taskset *what)
{
	size_t i, k = what->at;

	for (i = set->at; i < set->n && !is_enough(s); i++) {
		k = skip_to(what, k, set->v[i].first);
		split_range(s, set->v[i], what, k);
	}
}

void taskset_take(struct taskset *set, const struct taskset *what, struct taskset *taken)
{
	struct split s = { .max = SIZE_MAX };

	split_set(&s, set, what);
	free(set->v);
	*set = s.left;
	*taken = s.taken;
}

void taskset_lacks(
        const struct taskset *of, const struct taskset *set, size_t max, struct taskset *out)
{
	struct split s = { .max = max };

	split_set(&s, set, of);
	taskset_clear(&s.taken);
	for (; s.left.n > max; s.left.n--)
		s.left.count -= range_count(&s.left.v[s.left.n - 1]);
	*out = s.left;
}

int taskset_part(
        const struct taskset *of, const struct taskset *set, size_t max, struct taskset *part)
{
	struct split s = { .max = max };

	split_set(&s, of, set);
	*part = s.taken;
	if (s.left.n <= max && s.taken.n <= max) {
		taskset_clear(&s.left);
		return 0;
	}
	taskset_clear(&s.left);
	taskset_clear(part);
	return -1;
}

/* --- putting in ------------------------------------------------------------------------------ */

int taskset_join(const struct taskset *sets, size_t n, size_t max, struct taskset *all,
        size_t *steps, struct error *err)
{
	struct taskset ranges = { 0 };
	struct heap h;
	size_t i, k;
	int rc;

	for (i = 0; i < n; i++)
		for (k = sets[i].at; k < sets[i].n; k++)
			push(&ranges, sets[i].v[k]);
	h = (struct heap){ ranges.v, ranges.n };
	*all = (struct taskset){ 0 };
	rc = put_in_order(&h, all, TWICE_DROPPED, steps, err);
	free(ranges.v);
	if (rc < 0)
		taskset_clear(all);
	return rc < 0 ? -1 : check_ranges(all, max, err);
}

void taskset_add(struct taskset *set, const struct taskset *more)
{
	struct taskset both[] = { *set, *more }, all;
	size_t any = SIZE_MAX;

	taskset_join(both, 2, SIZE_MAX, &all, &any, NULL);
	free(set->v);
	*set = all;
}

/* --- writing --------------------------------------------------------------------------------- */

#define RANGE_TEXT 26 /* "4000000-4000000:4000000," and a NUL, at most */

static char *write_number(char *p, uint32_t n)
{
	char digits[10], *d = digits;

	do
		*d++ = (char)('0' + n % 10);
	while (n /= 10);
	while (d > digits)
		*p++ = *--d;
	return p;
}

char *taskset_text(const struct taskset *set)
{
	char *text = xcalloc(taskset_ranges(set) * RANGE_TEXT + 1, 1), *p = text;
	size_t i;

	for (i = set->at; i < set->n; i++) {
		const struct task_range *r = &set->v[i];

		if (i > set->at)
			*p++ = ',';
		p = write_number(p, r->first);
		if (r->first == r->last)
			continue;
		*p++ = '-';
		p = write_number(p, r->last);
		if (r->step == 1)
			continue;
		*p++ = ':';
		p = write_number(p, r->step);
	}
	return xrealloc(text, (size_t)(p - text) + 1, 1);
}
