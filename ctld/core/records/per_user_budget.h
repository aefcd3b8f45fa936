/* per_user_budget.h - the controller's resources that each user occupies, and the limits on them
 *
 * There is one account for each uid. The part of the controller that keeps something for a user
 * charges the user's account, and releases the charge when that is gone:
 *
 *	kind      charged by                    when it is used up
 *	sessions  session_admission.c           the user's longest idle session ends, for the new one
 *	streams   streams.c                     no further stream is opened
 *	requests  peers.c                       nothing is read from the user until some are done
 *	waits     calls.c, jobs/bulk.c          a request that would stay open is refused
 *	unread    peers.c                       no answer is made, nothing is read from the user
 *	memory    job_budget.c                  a request for more jobs, or larger ones, is refused
 *	scripts   submit_read.c, script_cache.c a request that would store more is refused
 *	time      fair_queue.c                  never; the user's next turn comes later
 *
 * The accounts belong to the core. The core itself charges only memory, and only memory influences
 * its decisions. So a replay, which has no sessions, decides the same.
 *
 * Limits are the keys *_per_user of gpusched.conf, the same for all users. `gctl stats --by=user`
 * shows how much of them is used.
 */
#ifndef CTLD_CORE_PER_USER_BUDGET_H
#define CTLD_CORE_PER_USER_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/error.h"

struct budget;
struct conf_controller;

/* X(symbol, word, key of gpusched.conf, unit, error, what it is, what to do when it is used up).
 * Unit "": a number; "B": bytes; "us": microseconds. A kind without a key has no limit. */
#define BUDGETS(X)                                                                                \
	X(BUDGET_SESSIONS, "sessions", sessions_per_user, "", ERR_BUSY, "open connections",       \
	        "end commands that wait or watch")                                                \
	X(BUDGET_STREAMS, "streams", streams_per_user, "", ERR_BUSY,                              \
	        "connections to runs (glog, grun)", "end some of them")                           \
	X(BUDGET_REQUESTS, "requests", requests_per_user, "B", ERR_BUSY,                          \
	        "requests that are being worked on", "try again when some of them are done")      \
	X(BUDGET_WAITS, "waits", waits_per_user, "B", ERR_BUSY,                                   \
	        "requests that stay open, and parts of bulks",                                    \
	        "end commands that wait or watch, or submit less at once")                        \
	X(BUDGET_UNREAD, "unread", unread_per_user, "B", ERR_BUSY, "answers that were not read",  \
	        "end programs that ask and do not read")                                          \
	X(BUDGET_MEMORY, "memory", memory_per_user, "B", ERR_BUDGET,                              \
	        "memory of jobs with their dependencies",                                         \
	        "wait until some have ended, or cancel some")                                     \
	X(BUDGET_SCRIPTS, "scripts", scripts_per_user, "B", ERR_BUDGET,                           \
	        "scripts and environments on disk",                                               \
	        "cancel some jobs, or wait until what has ended is erased (keep_ended, "          \
	        "keep_scripts)")                                                                  \
	X(BUDGET_TIME, "time", , "us", ERR_NONE, "processor time of the controller's loop", "")

#define X(sym, word, key, unit, code, what, advice) sym,
enum budget_kind { BUDGETS(X) BUDGET_COUNT };
#undef X

struct budget_kind_info {
	const char *word, *key; /* key "": no limit */
	const char *unit, *what;
};
const struct budget_kind_info *budget_kind(enum budget_kind kind);

struct budget *budget_new(void);
void budget_free(struct budget *b); /* NULL is fine */

/* Use these limits from now on. What is charged already stays. */
void budget_configure(struct budget *b, const struct conf_controller *conf);

/* Charge more or, if negative, release what was charged before. */
void budget_add(struct budget *b, uint32_t uid, enum budget_kind kind, int64_t change);

uint64_t budget_used(const struct budget *b, uint32_t uid, enum budget_kind kind);
uint64_t budget_limit(const struct budget *b, enum budget_kind kind); /* UINT64_MAX: none */

/* Has the user reached the limit? One answer or frame may exceed it. */
bool budget_full(const struct budget *b, uint32_t uid, enum budget_kind kind);

/* May `more` be charged to the user? -1 with `err`: which budget, how much of it is used, and what
 * to do. */
int budget_check(const struct budget *b, uint32_t uid, enum budget_kind kind, uint64_t more,
        struct error *err);

/* The accounts in the order of uids: the first one at or above `uid` with any charge. False: no
 * more. */
struct budget_account {
	uint32_t uid;
	uint64_t used[BUDGET_COUNT];
};
bool budget_next(const struct budget *b, uint64_t uid, struct budget_account *out);

#endif
