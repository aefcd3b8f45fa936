/* view.c - see view.h */
#include "cmds/cli/view.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "cmds/cli/help.h"
#include "common/base/text.h"
#include "common/base/units.h"
#include "common/base/xalloc.h"

#define WIDTH_MAX     1000
#define COLUMN_INDENT 20 /* of what a column is, in --help */

/* One value of a row that is kept back. */
struct value {
	char *text;
	int64_t number;
	bool is_number;
	enum table_colour colour;
};

struct row {
	struct value *values; /* of the shown columns, then of the sort columns */
	int64_t rank[VIEW_RANK];
	size_t serial;
};

struct view {
	const struct view_kind *kind;
	const struct view_column *shown[VIEW_COLUMNS_MAX];
	size_t n_shown;
	const struct view_column *sort[VIEW_COLUMNS_MAX];
	bool turned[VIEW_COLUMNS_MAX];
	size_t n_sort;
	struct table_column layout[VIEW_COLUMNS_MAX];
	struct percent_format letters; /* n == 0: names were given */
	const char *between[VIEW_COLUMNS_MAX + 1];
	struct table *table;
	bool csv;
	bool holds; /* rows are kept back */
	struct row *rows;
	size_t n_rows, room;
};

/* --- names of columns ----------------------------------------------------------------------- */

/* Brackets need quotes in a shell: NODELIST does for NODELIST(REASON). */
const struct view_column *view_find(const struct view_kind *kind, const char *name, size_t len)
{
	for (size_t i = 0; i < kind->n; i++) {
		const char *column = kind->columns[i].name;

		if (len && !strncasecmp(column, name, len) && (!column[len] || column[len] == '('))
			return &kind->columns[i];
	}
	return NULL;
}

/* By our name, or by Slurm's. */
static const struct view_column *find_column(
        const struct view_kind *kind, const char *name, size_t len)
{
	const struct view_column *column = view_find(kind, name, len);

	for (const struct slurm_name *s = kind->slurm; !column && len > 1 && s && s->name; s++)
		if (!strncasecmp(s->name, name, len) && !s->name[len])
			column = view_find(kind, s->column, strlen(s->column));
	return column;
}

static int no_such_column(
        const struct view_kind *kind, const char *name, size_t len, struct error *err)
{
	const char *names[VIEW_COLUMNS_MAX + 1], *near;
	char upper[64] = "", shown[80];
	size_t i;

	text_escape(shown, sizeof(shown), name, len);
	if (*name == '%') {
		error_set(err, ERR_USAGE, "'%s': expected names of columns, not letters", shown);
		return error_hint(err, "-o NAME,NAME%%20; --help lists them");
	}
	for (i = 0; i < len && i < sizeof(upper) - 1; i++)
		upper[i] = (char)(name[i] >= 'a' && name[i] <= 'z' ? name[i] - 32 : name[i]);
	for (i = 0; i < kind->n && i < VIEW_COLUMNS_MAX; i++)
		names[i] = kind->columns[i].name;
	names[i] = NULL;
	near = text_nearest(upper, names);
	for (i = 0; !near && names[i]; i++) /* EXITCODE, JOBNAME, NODES */
		if (strlen(upper) > 2 && strlen(names[i]) > 2 &&
		        (strstr(upper, names[i]) || strstr(names[i], upper)))
			near = names[i];
	error_set(err, ERR_USAGE, "'%s': no such column%s%s%s", shown,
	        near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
	return near ? -1 : error_hint(err, "--help lists the columns");
}

/* The length of "NAME" in "NAME%20", and in *width the 20; -1: no width. */
static int cut_width(const char *name, size_t *len, unsigned *width, struct error *err)
{
	const char *percent = memchr(name, '%', *len);
	unsigned value = 0;
	char shown[80];

	*width = 0;
	if (!percent)
		return 0;
	for (const char *c = percent + 1; c < name + *len; c++) {
		if (*c < '0' || *c > '9' || value > WIDTH_MAX) {
			value = 0;
			break;
		}
		value = value * 10 + (unsigned)(*c - '0');
	}
	if (value < 1 || value > WIDTH_MAX) {
		text_escape(shown, sizeof(shown), name, *len);
		return error_set(
		        err, ERR_USAGE, "'%s': expected a width of 1 to %d, as in NAME%%20",
		        shown, WIDTH_MAX);
	}
	*width = value;
	*len = (size_t)(percent - name);
	return 0;
}

/* Find the columns of a list; with `turned` a "-" may stand before each, else a width behind it. */
static int select_columns(const struct view_kind *kind, const char *list,
        const struct view_column **out, bool *turned, unsigned *widths, size_t *n,
        struct error *err)
{
	for (const char *s = list;;) {
		size_t len = strcspn(s, ","), name = len;
		bool minus = turned && *s == '-';
		unsigned width = 0;

		if (*n == VIEW_COLUMNS_MAX)
			return error_set(err, ERR_USAGE, "more than %d columns", VIEW_COLUMNS_MAX);
		if (widths && *s != '%' && cut_width(s, &name, &width, err) < 0)
			return -1;
		out[*n] = find_column(kind, s + minus, name - minus);
		if (!out[*n])
			return no_such_column(kind, s + minus, name - minus, err);
		if (widths)
			widths[*n] = width;
		if (turned)
			turned[*n] = minus;
		++*n;
		if (!s[len])
			return 0;
		s += len + 1;
	}
}

void view_print_columns(const struct view_kind *kind, FILE *out)
{
	for (size_t i = 0; i < kind->n; i++)
		help_row(out, kind->columns[i].name, COLUMN_INDENT, kind->columns[i].help);
}

/* --- values --------------------------------------------------------------------------------- */

void view_text(struct view_cell *cell, const char *text)
{
	cell->text = text;
}

void view_text_or_dash(struct view_cell *cell, const char *text)
{
	cell->text = *text ? text : "-";
}

void view_number(struct view_cell *cell, int64_t number)
{
	snprintf(cell->buf, sizeof(cell->buf), "%" PRId64, number);
	cell->text = cell->buf;
	cell->is_number = true;
	cell->number = number;
}

void view_number_or_none(struct view_cell *cell, int64_t number)
{
	if (number)
		view_number(cell, number);
}

void view_number_or_dash(struct view_cell *cell, int64_t number)
{
	if (number)
		view_number(cell, number);
	else
		view_text(cell, "-");
}

void view_percent(struct view_cell *cell, double part, double all, int digits)
{
	if (all <= 0) {
		view_text(cell, "-");
		return;
	}
	view_printf(cell, "%.*f%%", digits, 100 * part / all);
	cell->is_number = true;
	cell->number = (int64_t)(part / all * 1e9);
}

void view_state(
        struct view_cell *cell, const char *state, const struct view_colour *colours, size_t n)
{
	view_text(cell, state);
	for (size_t i = 0; i < n; i++)
		if (!strcmp(colours[i].state, state))
			cell->colour = colours[i].colour;
}

void view_item(struct view_cell *cell, const char *between, const char *fmt, ...)
{
	bool first = cell->text != cell->buf;
	size_t used = first ? 0 : strlen(cell->buf), size = sizeof(cell->buf);
	va_list ap;

	cell->text = cell->buf;
	used += (size_t)snprintf(cell->buf + used, size - used, "%s", first ? "" : between);
	if (used >= size)
		return;
	va_start(ap, fmt);
	vsnprintf(cell->buf + used, size - used, fmt, ap);
	va_end(ap);
}

void view_list(struct view_cell *cell, size_t n, const void *arg,
        int (*print)(char *buf, size_t size, size_t i, const void *arg))
{
	size_t used = 0, size = sizeof(cell->buf);

	cell->text = n ? cell->buf : "-";
	for (size_t i = 0; i < n && used < size; i++) {
		used += (size_t)snprintf(cell->buf + used, size - used, "%s", i ? "," : "");
		if (used < size)
			used += (size_t)print(cell->buf + used, size - used, i, arg);
	}
}

#define TASKS_SHOWN 14 /* of several */

const char *view_job_text(char buf[VIEW_JOB_TEXT], uint64_t id, const char *tasks, bool several)
{
	size_t shown = strlen(tasks);

	if (!several || !*tasks) {
		snprintf(buf, VIEW_JOB_TEXT, "%" PRIu64 "%s%.12s", id, *tasks ? "_" : "", tasks);
		return buf;
	}
	if (shown > TASKS_SHOWN) {
		/* Whole ranges, if one fits. */
		for (shown = TASKS_SHOWN - 3; shown && tasks[shown - 1] != ','; shown--)
			;
		shown = shown ? shown : TASKS_SHOWN - 3;
	}
	snprintf(buf, VIEW_JOB_TEXT, "%" PRIu64 "_[%.*s%s]", id, (int)shown, tasks,
	        tasks[shown] ? "..." : "");
	return buf;
}

void view_job(struct view_cell *cell, uint64_t id, const char *tasks, bool several)
{
	view_job_text(cell->buf, id, tasks, several);
	cell->text = cell->buf;
	cell->number = (int64_t)id;
}

void view_printf(struct view_cell *cell, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(cell->buf, sizeof(cell->buf), fmt, ap);
	va_end(ap);
	cell->text = cell->buf;
}

void view_real(struct view_cell *cell, double value, int digits)
{
	if (isinf(value))
		view_text(cell, "inf");
	else
		view_printf(cell, "%.*f", cell->csv ? VIEW_CSV_DIGITS : digits, value);
	cell->is_number = true;
	cell->number = value >= 9e12    ? INT64_MAX
	               : value <= -9e12 ? INT64_MIN
	                                : (int64_t)(value * 1e6);
}

void view_real_if(struct view_cell *cell, bool known, double value, int digits)
{
	if (known)
		view_real(cell, value, digits);
	else
		view_text(cell, "-");
}

void view_time(struct view_cell *cell, int64_t us)
{
	time_t s = (time_t)(us / 1000000);
	struct tm tm;

	cell->is_number = true;
	cell->number = us;
	cell->text = cell->buf;
	if (!us || !localtime_r(&s, &tm) ||
	        !strftime(cell->buf, sizeof(cell->buf), "%Y-%m-%dT%H:%M:%S", &tm))
		cell->text = "-";
}

void view_duration(struct view_cell *cell, int64_t s)
{
	cell->text = duration_format(cell->buf, (uint64_t)s);
	cell->is_number = true;
	cell->number = s < 0 ? INT64_MAX : s;
}

void view_limit(struct view_cell *cell, int64_t s)
{
	view_duration(cell, s && s != UINT32_MAX ? s : (int64_t)DURATION_FOREVER);
}

void view_duration_if(struct view_cell *cell, bool known, int64_t s)
{
	if (known)
		view_duration(cell, s);
	else
		view_text(cell, "-");
}

void view_duration_or_dash(struct view_cell *cell, int64_t s)
{
	view_duration_if(cell, s != 0, s);
}

void view_seconds(struct view_cell *cell, uint64_t us)
{
	view_printf(cell, "%" PRIu64 ".%06" PRIu64, us / 1000000, us % 1000000);
	cell->is_number = true;
	cell->number = (int64_t)us;
}

void view_us(struct view_cell *cell, int64_t us)
{
	view_duration(cell, us / 1000000);
	cell->number = us;
}

void view_hours(struct view_cell *cell, int64_t us)
{
	view_real(cell, (double)(uint64_t)us / 3.6e9, 2);
}

void view_size_mb(struct view_cell *cell, int64_t mb)
{
	cell->text = mb ? size_format_mb(cell->buf, (uint64_t)mb) : "-";
	cell->is_number = true;
	cell->number = mb;
}

void view_size_kb(struct view_cell *cell, int64_t kb)
{
	view_size_mb(cell, (kb + 1023) / 1024);
}

/* --- rows ----------------------------------------------------------------------------------- */

static void show_field(const struct view_field *f, const void *object, struct view_cell *cell)
{
	const char *in = f->of ? f->of(object) : object;
	const void *at;

	if (!in)
		return;
	at = in + f->offset;
	if (f->text)
		f->text(cell, *(const char *const *)at);
	else if (f->number)
		f->number(cell, f->type == VIEW_U32   ? *(const uint32_t *)at
		                : f->type == VIEW_I32 ? *(const int32_t *)at
		                                      : *(const int64_t *)at);
	else
		view_real(cell, *(const double *)at, f->digits);
}

void view_show(
        const struct view_column *column, const void *object, bool csv, struct view_cell *cell)
{
	cell->csv = csv;
	cell->text = "";
	cell->colour = TABLE_PLAIN;
	cell->is_number = false;
	cell->number = 0;
	if (column->show)
		column->show(object, cell);
	else
		show_field(&column->field, object, cell);
}

static struct value keep(const struct view *v, const struct view_column *column, const void *object)
{
	struct view_cell cell;

	view_show(column, object, v->csv, &cell);
	return (struct value){ xstrdup(cell.text), cell.number, cell.is_number, cell.colour };
}

static void row_clear(const struct view *v, struct row *row)
{
	for (size_t i = 0; i < v->n_shown + v->n_sort; i++)
		free(row->values[i].text);
	free(row->values);
}

static void hold(struct view *v, const void *object)
{
	struct row *row;

	v->rows = xgrow(v->rows, v->n_rows, &v->room, sizeof(*v->rows));
	row = &v->rows[v->n_rows];
	*row = (struct row){ .serial = v->n_rows++ };
	row->values = xcalloc(v->n_shown + v->n_sort, sizeof(*row->values));
	for (size_t i = 0; i < v->n_shown; i++)
		row->values[i] = keep(v, v->shown[i], object);
	for (size_t i = 0; i < v->n_sort; i++)
		row->values[v->n_shown + i] = keep(v, v->sort[i], object);
	if (v->kind->rank && !v->n_sort)
		v->kind->rank(object, row->rank);
}

static int compare_values(const struct value *a, const struct value *b)
{
	if (a->is_number && b->is_number)
		return (a->number > b->number) - (a->number < b->number);
	return strverscmp(a->text, b->text); /* n2 before n10 */
}

static int compare(const void *left, const void *right, void *arg)
{
	const struct row *a = left, *b = right;
	const struct view *v = arg;
	int c = 0;

	for (size_t i = 0; i < v->n_sort && !c; i++) {
		c = compare_values(&a->values[v->n_shown + i], &b->values[v->n_shown + i]);
		c = v->turned[i] ? -c : c;
	}
	for (size_t i = 0; i < VIEW_RANK && !c; i++)
		c = (a->rank[i] > b->rank[i]) - (a->rank[i] < b->rank[i]);
	return c ? c : (a->serial > b->serial) - (a->serial < b->serial);
}

static void release(struct view *v, bool sorted)
{
	if (sorted && v->n_rows)
		qsort_r(v->rows, v->n_rows, sizeof(*v->rows), compare, v);
	for (size_t i = 0; i < v->n_rows; i++) {
		for (size_t k = 0; k < v->n_shown; k++)
			table_cell(
			        v->table, v->rows[i].values[k].text, v->rows[i].values[k].colour);
		row_clear(v, &v->rows[i]);
	}
	v->n_rows = 0;
}

void view_print_record(const struct view_kind *kind, const void *object, FILE *out)
{
	struct view_cell cell;

	for (size_t i = 0; i < kind->n; i++) {
		char *plain;

		view_show(&kind->columns[i], object, false, &cell);
		plain = text_escape_dup(cell.text);
		if (*plain && strcmp(plain, "-") != 0)
			fprintf(out, "%-16s  %s\n", kind->columns[i].name, plain);
		free(plain);
	}
}

/* --- the view ------------------------------------------------------------------------------- */

static int lay_out_names(struct view *v, const char *columns, struct error *err)
{
	unsigned widths[VIEW_COLUMNS_MAX];

	if (select_columns(v->kind, columns, v->shown, NULL, widths, &v->n_shown, err) < 0)
		return -1;
	for (size_t i = 0; i < v->n_shown; i++) {
		v->layout[i] = v->shown[i]->table;
		if (!widths[i])
			continue;
		v->layout[i].width = v->layout[i].min = widths[i];
		v->layout[i].flags = (v->layout[i].flags & TABLE_RIGHT) | TABLE_FIXED;
	}
	return 0;
}

/* Each column stands behind a name that view_find() knows: test_tables tries all. */
static int lay_out_letters(struct view *v, const char *format, struct error *err)
{
	if (percent_format_parse(&v->letters, format, v->kind->slurm, err) < 0)
		return -1;
	if (v->letters.n > VIEW_COLUMNS_MAX)
		return error_set(err, ERR_USAGE, "more than %d columns", VIEW_COLUMNS_MAX);
	for (; v->n_shown < v->letters.n; v->n_shown++) {
		const struct percent_column *c = &v->letters.v[v->n_shown];
		const struct view_column *column = view_find(v->kind, c->column, strlen(c->column));

		v->shown[v->n_shown] = column;
		v->layout[v->n_shown] = (struct table_column){ .heading = column->table.heading,
			.width = c->width,
			.flags = c->right ? TABLE_RIGHT : 0 };
		v->between[v->n_shown] = c->before;
	}
	v->between[v->n_shown] = v->letters.after;
	return 0;
}

static int lay_out(struct view *v, const char *columns, struct error *err)
{
	if (percent_format_meant(columns, v->kind->slurm))
		return lay_out_letters(v, columns, err);
	return lay_out_names(v, columns, err);
}

static void forget(struct view *v)
{
	percent_format_clear(&v->letters);
	free(v->rows);
	free(v);
}

struct view *view_new(const struct view_kind *kind, const char *columns, const char *sort,
        const struct table_style *style, struct error *err)
{
	struct view *v = xcalloc(1, sizeof(*v));
	struct table_style as = *style;

	v->kind = kind;
	if (lay_out(v, columns ? columns : kind->standard, err) < 0) {
		error_wrap(err, "--format");
		forget(v);
		return NULL;
	}
	if (sort && select_columns(kind, sort, v->sort, v->turned, NULL, &v->n_sort, err) < 0) {
		error_wrap(err, "--sort");
		forget(v);
		return NULL;
	}
	if (!as.csv && v->letters.n)
		as.between = v->between;
	v->holds = v->n_sort || kind->rank;
	v->table = table_new(&as, v->layout, v->n_shown);
	v->csv = style->csv;
	return v;
}

void view_add(struct view *v, const void *object)
{
	struct view_cell cell;

	if (v->holds && !v->n_sort && v->n_rows == VIEW_HOLD) {
		release(v, false);
		v->holds = false;
	}
	if (v->holds) {
		hold(v, object);
		return;
	}
	for (size_t i = 0; i < v->n_shown; i++) {
		view_show(v->shown[i], object, v->csv, &cell);
		table_cell(v->table, cell.text, cell.colour);
	}
}

void view_add_last(struct view *v, const void *object)
{
	release(v, true);
	v->holds = false;
	view_add(v, object);
}

void view_flush(struct view *v)
{
	if (v->holds)
		release(v, true);
	v->holds = false;
	table_flush(v->table);
}

size_t view_end(struct view *v)
{
	size_t rows;

	release(v, true);
	rows = table_end(v->table);
	forget(v);
	return rows;
}

void view_drop(struct view *v)
{
	if (!v)
		return;
	for (size_t i = 0; i < v->n_rows; i++)
		row_clear(v, &v->rows[i]);
	table_drop(v->table);
	forget(v);
}
