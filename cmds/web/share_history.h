/* share_history.h - what fair-share was in the last week: the controller keeps only what it is now
 *
 * Every five minutes one sample of each line of gshare: of a user the fair-share factor, of an
 * account the part that it has of the use of its siblings, with old use forgotten; both 0 to 1. So
 * SHARE_SLOTS samples of 2 bytes for each of at most SHARE_LINES lines: 2 MiB and the names. It
 * begins with gweb; while the controller does not answer there is a gap.
 *
 * Lines are kept as long as one of their samples is. Those beyond the limit, in gshare's order, are
 * not kept.
 */
#ifndef CMDS_WEB_SHARE_HISTORY_H
#define CMDS_WEB_SHARE_HISTORY_H

#include <stddef.h>
#include <stdint.h>

#define SHARE_STEP_S 300
#define SHARE_SLOTS  2016 /* a week */
#define SHARE_LINES  512

struct snapshot;
struct share_history;

struct share_history *share_history_new(void);
void share_history_free(struct share_history *h); /* NULL is fine */

/* The watcher, with each snapshot: the first one in five minutes is the sample. A clock that was
 * set back begins it anew. */
void share_history_note(struct share_history *h, const struct snapshot *snap);

struct share_samples {
	double at[SHARE_SLOTS], v[SHARE_SLOTS]; /* seconds of UTC; NAN: not known */
	size_t n;
};

/* From any thread. The samples of a line from its first known one on, "" for the account itself; n
 * 0: there are none. Returns the moment of the first sample of all, in seconds of UTC; 0: none. */
int64_t share_history_get(struct share_history *h, const char *account, const char *user,
        struct share_samples *out);

#endif
