/* explain_ask.h - core_job_why() asked of waiting jobs of random states, and changes tried on them
 *
 * EXPLAIN_SEED=n takes that state alone and all of its jobs, EXPLAIN_CASES=n so many states,
 * EXPLAIN_FROM=n from that one on, EXPLAIN_JOBS=n so many jobs of each; EXPLAIN_SHOW=1 prints what
 * was answered.
 */
#ifndef TESTSUITE_UNIT_EXPLAIN_ASK_H
#define TESTSUITE_UNIT_EXPLAIN_ASK_H

#include "testsuite/unit/lib/explain_states.h"
#include "testsuite/unit/lib/explain_typed.h"

typedef void ask_visit_fn(struct state *s, uint64_t job, const struct job_why *why);

void ask_each_state(void (*visit)(struct state *s));
/* Ask for some waiting jobs of all states. */
void ask_each(ask_visit_fn *visit);
/* The same of one state, which was wrong once, and of all of its jobs. */
void ask_state(uint64_t seed, void (*visit)(struct state *s));
void ask_state_jobs(uint64_t seed, ask_visit_fn *visit);
/* Does no variable above choose the states? */
bool ask_usual(void);
/* Are these the usual states, all of them, of which something can be expected? */
bool ask_all(void);

bool ask_waits(struct state *s, uint64_t job);
/* core_job_why(), which must change nothing. */
bool ask_why_waits(struct state *s, uint64_t job, struct job_why *why);
void ask_describe(struct state *s, uint64_t job, const struct job_why *why);

/* Its owner changes the job, and a pass is made. True: the update was taken. */
bool ask_update(struct state *s, uint64_t job, const struct typed *t);

enum ask_outcome { ASK_REFUSED, ASK_WAITS, ASK_PREEMPTS, ASK_STARTS };
/* What would that update come to? The state stays as it is. */
enum ask_outcome ask_try(struct state *s, uint64_t job, const char *options);
/* And if it were held for a moment before, so that others may take what it gives up: would it start
 * all the same? */
bool ask_left_to_it(struct state *s, uint64_t job, const char *options);

/* Does a waiting job stand before another in the order? False: also if one is in no queue. */
bool ask_stands_before(struct state *s, uint64_t x, uint64_t y);

/* An administrator holds those jobs of the state that wait, by number in it. */
void ask_hold(struct state *s, const bool which[STATE_JOBS]);
/* Would it start within so many seconds if those were held? The state stays as it is. */
bool ask_starts_without(
        struct state *s, uint64_t job, const bool which[STATE_JOBS], unsigned seconds);

#endif
