/* filter_and_order.h - which jobs a list shows, and in which order
 *
 * Pure. A filter and an order look only at what struct top_job has at hand, so that a hundred
 * thousand jobs are filtered and ordered in some ten milliseconds; what is on the screen is made of
 * the rows that fit.
 */
#ifndef CMDS_TOP_MODEL_FILTER_AND_ORDER_H
#define CMDS_TOP_MODEL_FILTER_AND_ORDER_H

#include <stdbool.h>
#include <stddef.h>

#include "cmds/top/model/model.h"

#define ROWS_WORD_MAX 64

/* What the user wants to see; "" is no restriction. */
struct row_filter {
	char text[ROWS_WORD_MAX]; /* in id, name, user, account, partition, state, reason or nodes,
	                             in either case */
	char user[ROWS_WORD_MAX], account[ROWS_WORD_MAX], partition[ROWS_WORD_MAX];
};

enum rows_kind { ROWS_QUEUE, ROWS_RUNNING }; /* all of them; those that have started */

/* An order, by the name of the column that it follows; the first one is gqueue's. */
struct row_order {
	const char *name;
	int64_t (*number)(const struct top_job *job);
	const char *(*text)(const struct top_job *job); /* or this */
	bool falling; /* the largest first, unless it is turned round */
};
extern const struct row_order row_orders[];
extern const size_t n_row_orders;

/* Keys, since a job may be gone by the time that its row is shown. */
struct rows {
	struct job_key *v;
	size_t n, room;
};

bool row_filter_is_empty(const struct row_filter *f);
bool row_fits(const struct top_job *job, const struct row_filter *f);

/* Make them anew. `order` is one of row_orders, by its place. */
void rows_make(struct rows *rows, const struct model *m, enum rows_kind kind,
        const struct row_filter *filter, size_t order, bool turned);
void rows_clear(struct rows *rows);

#endif
