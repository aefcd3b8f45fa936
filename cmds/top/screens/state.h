/* state.h - the whole state of gtop: its data, and how the screens show them
 *
 * Screens (screen.h) draw it, keys (keys.h) change it, updates (model.h) feed it. There is no
 * terminal and no clock in it: `now_us` is set before each of these.
 */
#ifndef CMDS_TOP_SCREENS_STATE_H
#define CMDS_TOP_SCREENS_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cmds/top/model/accounts.h"
#include "cmds/top/model/command.h"
#include "cmds/top/model/cursor.h"
#include "cmds/top/model/filter_and_order.h"
#include "cmds/top/model/model.h"
#include "cmds/top/screens/column_table.h"

enum screen_id {
	SCREEN_MAP,
	SCREEN_QUEUE,
	SCREEN_RUNNING,
	SCREEN_ACCOUNTS,
	SCREEN_SERVICES,
	SCREEN_NODE,
	SCREENS
};

/* One screen's list. */
struct list_state {
	struct list_view view;
	struct cursor cursor;
	size_t page; /* rows that were shown last */
	size_t n;    /* of all of it */
};

/* The two lists of jobs have more: an order, and the rows in it. */
struct job_list {
	size_t order;
	bool turned;
	struct rows rows;
	struct job_key on; /* the cursor is there; id 0: nowhere */
	uint64_t made_of;  /* model.changes */
	int64_t made_us, cost_us;
	bool stale; /* the user wants others, now */
};

/* Text over the screen's body, that scrolls. */
struct popup {
	enum popup_kind { POPUP_NONE, POPUP_HELP, POPUP_WHY, POPUP_SORT, POPUP_TEXT } kind;
	char title[80];
	char **lines;
	size_t n, top;
	unsigned cols;      /* that the lines were made for */
	struct cursor pick; /* POPUP_SORT */
	struct job_key key; /* POPUP_WHY */
	bool waits;         /* its answer has not come yet */
};

/* A line that is typed, or a question that y answers. */
struct prompt {
	enum prompt_kind {
		PROMPT_NONE,
		PROMPT_TEXT,
		PROMPT_USER,
		PROMPT_ACCOUNT,
		PROMPT_PARTITION,
		PROMPT_QUESTION
	} kind;
	char text[ROWS_WORD_MAX];
	char question[160];
	struct command command; /* that the question is about */
};

enum zoom { ZOOM_AUTO, ZOOM_GPUS, ZOOM_NODES, ZOOMS };

struct state {
	struct model model;
	int64_t now_us; /* UTC */
	uid_t uid;
	char cluster[64];

	enum screen_id at;
	struct row_filter filter;
	struct list_state lists[SCREENS];
	struct job_list jobs[SCREENS]; /* of SCREEN_QUEUE and SCREEN_RUNNING */
	struct job_sums sums;
	uint64_t sums_of;
	int64_t sums_us;
	struct account_line *accounts;
	size_t n_accounts;
	uint64_t accounts_of, accounts_shares; /* model.changes, share_changes */
	int64_t accounts_us;
	char node[256]; /* that SCREEN_NODE is about; "": the first */
	enum zoom zoom;
	size_t map_columns; /* nodes side by side, as drawn last */

	struct popup popup;
	struct prompt prompt;
	char note[256]; /* what was done, or why not */
	bool note_bad;
	int64_t note_until_us;
	bool paused, quit;
	int64_t paused_us;

	void (*send)(const struct command *command, void *arg);
	void *send_arg;
};

/* `send` gets the commands; NULL: nothing does. */
void state_begin(struct state *s, uid_t uid, const char *cluster);
void state_clear(struct state *s);

/* Apply an update, and show its result of an action that the user asked for. */
void state_apply(struct state *s, struct update *u);

/* The time of the data on the screen: now, or when it was paused. */
int64_t state_shown_us(const struct state *s);

void state_send(struct state *s, const struct command *command);
void state_note(struct state *s, bool bad, const char *fmt, ...)
        __attribute__((format(printf, 3, 4)));

/* The popup. Lines are taken over. */
void state_popup(struct state *s, enum popup_kind kind, const char *title);
void state_popup_lines(struct state *s, char *text);
void state_popup_close(struct state *s);

#endif
