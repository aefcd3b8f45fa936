/* view.h - listings: which columns, in which order, from what
 *
 * A kind of listing is a table of columns (struct view_kind; views/jobview.c). Each column
 * knows its heading and layout, one line of help, and how to show one object. A view is one listing
 * being made: some of the columns, perhaps sorted. The values are taken when an object is added, so
 * objects need not outlive that call.
 *
 * Without an order of its own a view prints the first VIEW_HOLD objects in the kind's own order
 * (rank), and if there are more, all in the order in which they come: the controller's, by id.
 */
#ifndef CMDS_VIEW_H
#define CMDS_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmds/cli/percent_format.h"
#include "cmds/cli/table.h"
#include "common/base/error.h"

#define VIEW_HOLD        4096
#define VIEW_RANK        4
#define VIEW_COLUMNS_MAX 64

/* What a column says of one object. `text` starts as "", and may point to `buf`, to constants or
 * into the object. A number (or a time) sorts by `number`, everything else by its text. `csv` is
 * the view's: for programs. */
struct view_cell {
	bool csv;
	const char *text;
	enum table_colour colour;
	bool is_number;
	int64_t number;
	char buf[1024];
};

/* A field of the object, or of what of() finds there. Of `text`, `number` and `digits` one says how
 * it is shown: VIEW_*. */
struct view_field {
	const void *(*of)(const void *object); /* NULL: the object; returning NULL: nothing */
	size_t offset;
	enum view_type { VIEW_OTHER, VIEW_U32, VIEW_I32, VIEW_64 } type;
	void (*text)(struct view_cell *cell, const char *text);
	void (*number)(struct view_cell *cell, int64_t number);
	int digits; /* of a double */
};
/* A field of another type than `how` shows does not compile. */
#define VIEW_STRING(field)  _Generic((field), char *: VIEW_OTHER, const char *: VIEW_OTHER)
#define VIEW_REAL(field)    _Generic((field), double: VIEW_OTHER)
#define VIEW_INTEGER(field)                                                                       \
	_Generic((field), uint32_t: VIEW_U32, int32_t: VIEW_I32, uint64_t: VIEW_64,               \
		int64_t: VIEW_64)
#define VIEW_TEXT             STRING, .text = view_text
#define VIEW_TEXT_OR_DASH     STRING, .text = view_text_or_dash
#define VIEW_NUMBER           INTEGER, .number = view_number
#define VIEW_NUMBER_OR_DASH   INTEGER, .number = view_number_or_dash
#define VIEW_NUMBER_OR_NONE   INTEGER, .number = view_number_or_none
#define VIEW_TIME             INTEGER, .number = view_time
#define VIEW_DURATION         INTEGER, .number = view_duration
#define VIEW_DURATION_OR_DASH INTEGER, .number = view_duration_or_dash
#define VIEW_LIMIT            INTEGER, .number = view_limit
#define VIEW_US               INTEGER, .number = view_us
#define VIEW_HOURS            INTEGER, .number = view_hours
#define VIEW_SIZE_MB          INTEGER, .number = view_size_mb
#define VIEW_SIZE_KB          INTEGER, .number = view_size_kb
#define VIEW_DIGITS_2         REAL, .digits = 2
#define VIEW_DIGITS_3         REAL, .digits = 3
#define VIEW_DIGITS_4         REAL, .digits = 4

struct view_column {
	const char *name; /* for -o and --sort */
	struct table_column table;
	const char *help;
	void (*show)(const void *object, struct view_cell *cell); /* NULL: `field` is shown */
	struct view_field field;
};

/* One line of code a column: CELL(tasks, JOB, view_text(cell, j->tasks)) is its show_tasks(), where
 * JOB declares what the code looks at of `object`. SHOW() begins a longer one. */
#define SHOW(name) static void show_##name(const void *object, struct view_cell *cell)
#define CELL(name, declarations, ...) \
	SHOW(name)                    \
	{                             \
		declarations;         \
		__VA_ARGS__;          \
	}
/* A row of `columns`. */
#define COLUMN(name, width, min, flags, help, show) \
	{ name, { name, width, min, flags }, help, show_##show, { .of = NULL } }
/* A row of a column that is a `member` of a `type`; `how` without its VIEW_. */
#define VIEW_FIELD(name, width, min, flags, help, how, of, type, member)                    \
	VIEW_HEADED(name, name, width, min, flags, help, how, of, type, member)
#define VIEW_HEADED(name, heading, width, min, flags, help, how, of, type, member)          \
	{ name, { heading, width, min, flags }, help, NULL,                                       \
		{ of, offsetof(type, member),                                                     \
		        VIEW_SHOWN(((const type *)0)->member, VIEW_##how) } }
#define VIEW_SHOWN(field, ...)          VIEW_SHOWN_AS(field, __VA_ARGS__)
#define VIEW_SHOWN_AS(field, kind, how) VIEW_##kind(field), how
/* The flags of numbers. */
#define NUM TABLE_RIGHT | TABLE_WHOLE
/* What a kind begins with. */
#define VIEW_COLUMNS(table) .columns = (table), .n = sizeof(table) / sizeof((table)[0])

struct view_kind {
	const struct view_column *columns;
	size_t n;
	const char *standard,
	        *longer; /* names of the columns that are shown by default, with --long */
	void (*rank)(
	        const void *object, int64_t key[VIEW_RANK]); /* ascending; NULL: as they come */
	const struct slurm_name *slurm; /* NULL: none */
};

struct view;

/* Columns by their names, with commas between, in either case; NAME%20 is 20 wide. Several columns
 * may be named twice. NULL: the standard ones. Or a format of letters, where the kind has some.
 * `sort`: names with commas between, "-" before one turns it round; NULL: as above. NULL with
 * ERR_USAGE. `kind` is borrowed. */
struct view *view_new(const struct view_kind *kind, const char *columns, const char *sort,
        const struct table_style *style, struct error *err);

void view_add(struct view *v, const void *object);
/* The same, below all others whatever their order: a sum. Only view_end() may follow. */
void view_add_last(struct view *v, const void *object);

/* Print what was kept back, and everything from now on at once. */
void view_flush(struct view *v);

/* Print what is left and free the view. Returns the number of objects. */
size_t view_end(struct view *v);

/* Free the view and print nothing more. NULL is fine. */
void view_drop(struct view *v);

/* For callers that lay out the cells themselves: a column by its name, of which `len` bytes count
 * (NULL: there is no such column), and its text for one object. */
const struct view_column *view_find(const struct view_kind *kind, const char *name, size_t len);
void view_show(
        const struct view_column *column, const void *object, bool csv, struct view_cell *cell);

/* The columns with their help, as lines for --help. */
void view_print_columns(const struct view_kind *kind, FILE *out);

/* One object with all that its columns say, a line each; what is empty is left out. */
void view_print_record(const struct view_kind *kind, const void *object, FILE *out);

/* Values of cells. */
void view_text(struct view_cell *cell, const char *text);
void view_text_or_dash(struct view_cell *cell, const char *text); /* "-" for "" */
void view_number(struct view_cell *cell, int64_t number);
void view_number_or_dash(struct view_cell *cell, int64_t number); /* "-" for 0 */
void view_number_or_none(struct view_cell *cell, int64_t number); /* "" for 0 */
/* "42%", with so many decimals; "-" where `all` is 0: what nothing has measured is not 0. */
void view_percent(struct view_cell *cell, double part, double all, int digits);
/* A job's or node's state with its colour. */
struct view_colour {
	const char *state;
	enum table_colour colour;
};
void view_state(
        struct view_cell *cell, const char *state, const struct view_colour *colours, size_t n);
#define VIEW_COLOURS(colours) (colours), sizeof(colours) / sizeof((colours)[0])
/* One more text, with `between` in front of it unless it is the first; what does not fit is cut.
 * Before the first `text` is what an empty list says. */
void view_item(struct view_cell *cell, const char *between, const char *fmt, ...)
        __attribute__((format(printf, 3, 4)));
/* `n` texts one after another with commas between, from print(buf, size, i, arg); "-" for none. */
void view_list(struct view_cell *cell, size_t n, const void *arg,
        int (*print)(char *buf, size_t size, size_t i, const void *arg));
/* A job's id: "4812", "4812_7", and of several tasks "4812_[3-9,12]", cut to a readable length. */
void view_job(struct view_cell *cell, uint64_t id, const char *tasks, bool several);
#define VIEW_JOB_TEXT 40
const char *view_job_text(char buf[VIEW_JOB_TEXT], uint64_t id, const char *tasks, bool several);
void view_printf(struct view_cell *cell, const char *fmt, ...)
        __attribute__((format(printf, 2, 3)));
/* A figure with so many decimals, in CSV with six, so that sums come out; it sorts by its value. */
void view_real(struct view_cell *cell, double value, int digits);
#define VIEW_CSV_DIGITS 6
void view_real_if(struct view_cell *cell, bool known, double value, int digits); /* else "-" */
void view_time(struct view_cell *cell, int64_t us); /* local; 0: "-" */
void view_duration(struct view_cell *cell, int64_t s); /* DURATION_FOREVER too */
void view_duration_or_dash(struct view_cell *cell, int64_t s); /* "-" for 0 */
void view_duration_if(struct view_cell *cell, bool known, int64_t s); /* else "-" */
/* Seconds in full: for sums that must agree. */
void view_seconds(struct view_cell *cell, uint64_t us);
/* Of a whole second or more; what ended at once used something too, and sorts by that. */
void view_us(struct view_cell *cell, int64_t us);
void view_limit(struct view_cell *cell, int64_t s); /* 0, UINT32_MAX: "unlimited" */
void view_hours(struct view_cell *cell, int64_t us); /* with two decimals */
void view_size_mb(struct view_cell *cell, int64_t mb); /* 0: "-" */
void view_size_kb(struct view_cell *cell, int64_t kb); /* in whole MiB, rounded up */

#endif
