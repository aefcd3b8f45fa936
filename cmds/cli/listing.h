/* listing.h - commands that list: the options of their table, and the table or the JSON
 *
 * The common part of ginfo and gqueue: -o, -l, -h, --sort and --json, the style of the table,
 * which depends on them and on where it goes, and one function that takes each item.
 *
 * In order: listing_take() for each option, listing_check(), listing_begin() once the controller
 * is known, listing_add() for each object, listing_end(). listing_drop() at any time instead.
 */
#ifndef CMDS_LISTING_H
#define CMDS_LISTING_H

#include "cmds/cli/cmd.h"
#include "cmds/cli/jsonout.h"
#include "cmds/cli/view.h"

enum { LISTING_KEY_SORT = 0x6000, LISTING_KEY_JSON, LISTING_KEY_CSV, LISTING_KEY_WHOLE };

#define LISTING_ROW(name, key, value, help, group) \
	{                                          \
		name, key, value, 0, help, group   \
	}

/* Rows of a command's argp_option table; `group` as there. */
#define LISTING_OPTIONS(g)                                                                \
	LISTING_ROW(NULL, 0, NULL, "What is shown:", g),                                  \
	        LISTING_ROW("format", 'o', "COLUMNS",                                     \
	                "These columns, with commas between; NAME%20 is 20 wide", g),     \
	        LISTING_ROW("long", 'l', NULL, "More columns", g),                        \
	        LISTING_ROW("sort", LISTING_KEY_SORT, "COLUMNS",                          \
	                "In the order of these columns; -COLUMN the other way round", g), \
	        LISTING_ROW("noheader", 'h', NULL, "No heading", g),                      \
	        LISTING_ROW("csv", LISTING_KEY_CSV, NULL,                                 \
	                "Values with commas between, nothing cut", g),                    \
	        LISTING_ROW("json", LISTING_KEY_JSON, NULL, "All there is to know, as JSON", g)

/* Besides, where what is listed has texts of any length. */
#define LISTING_WHOLE(g)                          \
	LISTING_ROW("whole", LISTING_KEY_WHOLE, NULL, \
	        "Also texts of more than 4 KiB, which end in ... else", g)

/* Begins as { 0 }. */
struct listing {
	const char *columns, *sort; /* borrowed of the command line */
	bool chosen, sorted;        /* they are the user's; else the command's own */
	bool longer, no_heading, json, csv, whole;
	bool fitted; /* `columns` are the command's own: into a pipe the table is cut as usual */
	bool stream; /* listing_part() will be called */
	struct view *view;
	struct jsonout out;
};

/* For cmd->take: false if it is none of these options. */
bool listing_take(struct listing *l, int key, const char *value);

/* Do the columns exist, and do the options go together? -1 with ERR_USAGE. To be called before any
 * request is sent. With -o nothing is cut in a pipe, because another program reads the columns. */
int listing_check(struct listing *l, const struct view_kind *kind, struct error *err);

void listing_begin(struct listing *l, const char *cluster, const char *name);

/* One line of the table, or `message` in JSON; NULL: an object of several lines, this is not its
 * first. */
void listing_add(struct listing *l, const void *object, const ProtobufCMessage *message);

/* A line of sums below the table; only listing_end() may follow. There is none where -h, --csv or
 * --json say that a program reads it. */
void listing_add_total(struct listing *l, const void *object);

/* A stream that may go on for days: what was added until here is printed now. In JSON each such
 * part is an object of its own on one line, with `cursor` (0: left out) and `fresh` as in JobChunk.
 */
void listing_part(struct listing *l, uint64_t cursor, bool fresh);

/* `err` NULL: all is well. Otherwise JSON ends with it, and the table is shown only if what there
 * is of it is whole. */
void listing_end(struct listing *l, const struct error *err, bool whole);
void listing_drop(struct listing *l); /* print nothing more */

#endif
