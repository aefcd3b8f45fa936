/* column_table.h - a table on a screen: the columns of views, laid out as the commands do it
 *
 * Columns are as wide as the widest cell that was on the screen since the list began or the
 * terminal changed: they may grow, and do not jump to and fro while the list scrolls. Only rows
 * that are shown are made.
 */
#ifndef CMDS_TOP_SCREENS_COLUMN_TABLE_H
#define CMDS_TOP_SCREENS_COLUMN_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "cmds/cli/view.h"
#include "cmds/top/grid.h"
#include "cmds/top/model/cursor.h"

#define LIST_COLUMNS_MAX 24
#define LIST_OBJECTS     2

/* A kind of listing, and which object of a row its columns are about. */
struct list_kind {
	const struct view_kind *kind[LIST_OBJECTS];
};

struct list_view {
	const char *names; /* that it was begun with */
	const struct view_column *columns[LIST_COLUMNS_MAX];
	struct table_column layout[LIST_COLUMNS_MAX];
	unsigned object[LIST_COLUMNS_MAX];
	size_t n;
	unsigned needs[LIST_COLUMNS_MAX], cols;
};

/* What there is to list. */
struct list_source {
	size_t n;
	/* What row `i` is about; false: it is not there any more. */
	bool (*row)(size_t i, const void *objects[LIST_OBJECTS], void *arg);
	void (*done)(const void *objects[LIST_OBJECTS], void *arg); /* with the row; may be NULL */
	void *arg;
};

/* Columns by names with commas between, each of the first of the kinds that has it. `columns` is a
 * constant: as long as it is the same one, what there is of the view stays. */
void list_view_use(struct list_view *v, const struct list_kind *kinds, const char *columns);
/* Forget the column widths so far. */
void list_view_reset(struct list_view *v);

/* A heading and as many rows as there is room for. */
void list_draw(struct list_view *v, struct grid *g, struct area a, const struct list_source *source,
        struct cursor *cursor);

#endif
