/* listing.h - commands that list: the options of their table, and the table or the JSON
 *
 * The common part of gqueue, ginfo and the like: -o, -l, -h, --sort and --json, the style of the
 * table, which depends on them and on where it goes, and one function that takes each item.
 *
 * In order: listing_open() once the options are read, listing_add() for each object,
 * listing_close().
 */
#ifndef CMDS_LISTING_H
#define CMDS_LISTING_H

#include <stddef.h>

#include "cmds/api/client.h"
#include "cmds/cli/cmd.h"
#include "cmds/cli/jsonout.h"
#include "cmds/cli/view.h"

/* Rows of a command's table; `member` is the struct listing in its input. */
#define LISTING_TEXT(type, member, name, letter, arg, help) \
	{ name, letter, arg, help, cmd_set_text, offsetof(type, member), 0, 0 }
#define LISTING_FLAG(type, member, name, letter, help) \
	{ name, letter, NULL, help, cmd_set_flag, offsetof(type, member), 0, 0 }
#define LISTING_OPTIONS(type, listing)                                                     \
	CMD_HEADING("What is shown:"),                                                     \
	        LISTING_TEXT(type, listing.columns, "format", 'o', "COLUMNS",              \
	                "These columns, with commas between; NAME%20 is 20 wide"),         \
	        LISTING_FLAG(type, listing.longer, "long", 'l', "More columns"),           \
	        LISTING_TEXT(type, listing.sort, "sort", 0, "COLUMNS",                     \
	                "In the order of these columns; -COLUMN the other way round"),     \
	        LISTING_FLAG(type, listing.no_heading, "noheader", 'h', "No heading"),     \
	        LISTING_FLAG(type, listing.csv, "csv", 0,                                  \
	                "Values with commas between, nothing cut"),                        \
	        LISTING_FLAG(type, listing.json, "json", 0, "All there is to know, as JSON")

/* Besides, where what is listed has texts of any length. */
#define LISTING_WHOLE(type, listing)                    \
	LISTING_FLAG(type, listing.whole, "whole", 0, \
	        "Also texts of more than 4 KiB, which end in ... else")

/* Begins as { 0 }. */
struct listing {
	const char *columns, *sort;         /* the user's, borrowed of the command line; or NULL */
	const char *own_columns, *own_sort; /* the command's, where the user names none; or NULL */
	bool longer, no_heading, json, csv, whole;
	bool fitted; /* where `own_columns` are shown: into a pipe the table is cut as usual */
	bool stream; /* listing_part() will be called */
	struct view *view;
	struct jsonout out;
};

/* Begin a listing of `kind`, as the list `name` in JSON, and connect to where it comes from: the
 * controller, or a `file` of the past if it is not NULL. Columns and options are checked before.
 * With -o nothing is cut in a pipe, because another program reads the columns. NULL with `err`. */
struct client *listing_open(struct listing *l, const struct cmd *cmd, const struct view_kind *kind,
        const char *name, const char *file, struct error *err);

/* The table alone, of a listing that has its client: another one, once view_end() was called for
 * the one before. */
int listing_begin(struct listing *l, const struct view_kind *kind, struct error *err);

/* One line of the table, or `message` in JSON; NULL: an object of several lines, this is not its
 * first. */
void listing_add(struct listing *l, const void *object, const ProtobufCMessage *message);

/* A line of sums below the table; only listing_close() may follow. There is none where -h, --csv or
 * --json say that a program reads it. */
void listing_add_total(struct listing *l, const void *object);

/* A stream that may go on for days: what was added until here is printed now. In JSON each such
 * part is an object of its own on one line, with `cursor` (0: left out) and `fresh` as in JobChunk.
 */
void listing_part(struct listing *l, uint64_t cursor, bool fresh);

/* The end of the answer, which was `rc` with its error, of a client that is freed. On a failure
 * JSON ends with the error, and the table is shown only if what there is of it is `whole`. Returns
 * `rc`. */
int listing_close(struct listing *l, struct client *c, int rc, bool whole, const struct error *err);

#endif
