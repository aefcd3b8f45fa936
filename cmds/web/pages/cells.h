/* cells.h - pieces of pages: times, states, links, bars, tables of a listing's columns
 *
 * Commands show jobs, nodes and accounts by tables of columns (cmds/cli/view.h); pages show the
 * same texts from the same tables, with links in some cells.
 */
#ifndef CMDS_WEB_CELLS_H
#define CMDS_WEB_CELLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmds/cli/view.h"
#include "cmds/web/pages/html.h"

/* "13:05", with the day if it is another one; 0: "-". */
void put_time(struct html *h, int64_t us, int64_t now);
void put_span(struct html *h, uint64_t s); /* "1:02:03" */
void put_state(struct html *h, const char *job_state);
void put_size_mb(struct html *h, uint64_t mb);             /* 0: "-" */
void put_percent(struct html *h, double part, double all); /* all 0: "-" */

/* A link to a job's page, with its id as commands show it. */
void put_job(struct html *h, uint64_t id, const char *tasks, bool several);
/* What is in the path behind /job/: "4812", "4812_7". */
#define JOB_PATH 64
const char *job_path(char buf[JOB_PATH], uint64_t id, const char *tasks, bool several);

/* A bar: `part` of `all`, perhaps with a mark at `mark` of it (< 0: none). What it says stands in
 * words beside it, so it is hidden from readers of the screen. */
void put_bar(struct html *h, double part, double all, double mark);

void put_fact(struct html *h, const char *name, const char *value); /* nothing for "" */

/* --- columns of a listing --------------------------------------------------------------------- */

struct column {
	const char *name;    /* of the kind's */
	const char *heading; /* on the page */
	const char *sort;    /* of the page's ?sort=; NULL: none */
	/* Instead of the text alone; NULL. `now` in us. */
	void (*put)(struct html *h, const void *object, const char *text, int64_t now);
	const char *class; /* of td, a constant; NULL: "n" for numbers, "name" for "NAME" */
};

/* Opens a table: <table> to </thead>. `sort` is what it is sorted by now, "-name" downwards;
 * `query` what else stands in a link that sorts ("user=ana&"), escaped for URLs already; both may
 * be NULL. */
void put_table(struct html *h, const char *caption, const struct view_kind *kind,
        const struct column *columns, size_t n, const char *sort, const char *query);
void put_row(struct html *h, const struct view_kind *kind, const struct column *columns, size_t n,
        const void *object, int64_t now);
void put_table_end(struct html *h);

#endif
