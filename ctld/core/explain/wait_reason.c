/* wait_reason.c - verdicts as words
 *
 * The scheduler knows that a class is blocked. The reason, in numbers, is counted here when a
 * client asks: once over the nodes of the partition. The text is kept with the class until
 * something is booked or freed, and then for a second more, so that a listing of a million jobs
 * counts only once for each class.
 */
#include "ctld/core/explain/wait_reason.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "common/job/reason.h"
#include "ctld/core/attempts/attempt.h"
#include "ctld/core/attempts/deciding_rank.h"
#include "ctld/core/explain/blockers.h"
#include "ctld/core/explain/missing_resources.h"
#include "ctld/core/intake/start_conditions.h"
#include "ctld/core/place/ledger.h"
#include "ctld/core/records/array.h"
#include "ctld/core/records/run.h"
#include "ctld/core/records/service.h"
#include "ctld/core/rows/state.h"
#include "ctld/core/sched/class.h"
#include "ctld/core/sched/decide.h"
#include "ctld/core/sched/sched.h"

#define TEXT_SIZE 256

/* --- why a class waits ----------------------------------------------------------------------- */

/* How many classes a second are counted that no limit blocks: counting is work, and a listing may
 * have many classes. */
#define COUNTS 4

/* Count all blockers; if there is no time, keep the last count. */
static void count_blockers(
        struct core *core, struct class_link *l, struct class *class, struct clocks now)
{
	if (now.mono - core->counts_since >= USEC_PER_S) {
		core->counts_since = now.mono;
		core->counts = 0;
	}
	/* A class that is to be tried again has to be re-evaluated: what blocked it may be gone. */
	if (!class_ready(class) && core->counts++ < COUNTS)
		l->n_blockers = explain_count(core, class);
	else if (l->text_of != l->last.verdict || !l->n_blockers)
		l->n_blockers = 1;
}

/* The number of things that block the class, and the first of them: limits, then nodes, then the
 * order. */
static void judge(const struct core *core, struct class *class, struct clocks now)
{
	struct class_link *l = class_link(class);
	struct ask ask = class_ask(class);

	switch (l->last.verdict) {
	case VERDICT_NONE:
	case VERDICT_START:
		l->n_blockers = 0;
		l->reason = "";
		break;
	case VERDICT_PARTITION:
		l->reason = reason_word(REASON_BAD_CONSTRAINTS);
		snprintf(l->text, TEXT_SIZE, "its partition is no longer configured");
		l->n_blockers = 1;
		break;
	case VERDICT_TYPE:
		l->reason = reason_word(REASON_BAD_CONSTRAINTS);
		snprintf(l->text, TEXT_SIZE, "its GPU type is no longer configured");
		l->n_blockers = 1;
		break;
	case VERDICT_STATE:
		l->reason = reason_word(REASON_PARTITION_DOWN);
		snprintf(l->text, TEXT_SIZE, "partition %.40s currently starts no jobs",
		        core->conf->partitions[l->partition].name);
		l->n_blockers = 1;
		break;
	case VERDICT_LIMIT:
		l->reason = l->last.limit.reason;
		snprintf(l->text, TEXT_SIZE, "%s", l->last.limit.text);
		l->n_blockers = explain_count((struct core *)(uintptr_t)core, class);
		break;
	case VERDICT_PLANNED:
		l->reason = reason_word(REASON_PRIORITY);
		snprintf(l->text, TEXT_SIZE, "the free resources are planned for jobs ahead of it");
		count_blockers((struct core *)(uintptr_t)core, l, class, now);
		break;
	case VERDICT_CAPACITY:
		l->reason = missing_resources(core, l->partition, &ask, l->text, TEXT_SIZE);
		count_blockers((struct core *)(uintptr_t)core, l, class, now);
		break;
	}
}

/* One text for all jobs of the class. */
static const char *class_why(
        const struct core *core, struct class *class, struct clocks now, const char **text)
{
	struct class_link *l = class_link(class);
	bool old = l->text_made != core->ledger_seen && now.mono - l->text_mono >= USEC_PER_S;

	if (!l->text || old || l->text_of != l->last.verdict) {
		if (!l->text)
			l->text = xcalloc(TEXT_SIZE, 1);
		l->text[0] = '\0';
		judge(core, class, now);
		l->text_made = core->ledger_seen;
		l->text_mono = now.mono;
		l->text_of = l->last.verdict;
	}
	*text = l->text;
	return l->reason;
}

/* --- why a job waits ------------------------------------------------------------------------- */

/* The comment says why it was held; without one it was its owner at the submit. */
static const char *held_why(const struct job *job, char *text, size_t size)
{
	const struct job_info *i = job_info(job);
	const struct run *last = attempt_decisive(job);

	snprintf(text, size, "%.*s", (int)size - 1,
	        *i->comment ? i->comment : "submitted with --hold");
	if (i->hold == HOLD_ADMIN || i->hold == HOLD_COORDINATOR)
		return reason_word(REASON_HELD_ADMIN);
	if (i->hold == HOLD_SIGNATURE)
		return reason_word(REASON_SIGNATURE_REFUSED);
	return i->hold == HOLD_SELF && last && end_is_launch(run_info(last)->end_cause)
	               ? reason_word(REASON_LAUNCH_FAILURE)
	               : reason_word(REASON_HELD_USER);
}

/* What is the job's own comes first (eligible.c), then what blocks its class. */
const char *job_why(
        const struct core *core, const struct job *job, struct clocks now, char *text, size_t size)
{
	struct class *class = sched_class_of(job);
	const struct run *orphan;
	const struct job *head;
	const char *words, *reason;
	char label[JOB_LABEL];

	text[0] = '\0';
	if (job_info(job)->hold)
		return held_why(job, text, size);
	if (core->suspended) {
		snprintf(text, size, "%.*s", (int)size - 1, core->suspended);
		return reason_word(REASON_SUSPENDED);
	}
	if (job_link_of(job)->expired) {
		snprintf(text, size,
		        "its signature is too old; its owner must sign it anew: gctl renew");
		return reason_word(REASON_SIGNATURE_EXPIRED);
	}
	reason = conditions_why(core, job, text, size);
	if (reason)
		return reason;
	orphan = job_orphan(job);
	if (orphan) {
		snprintf(text, size, "attempt %u is still alive on %.80s%s",
		        run_info(orphan)->id.attempt, run_info(orphan)->node,
		        run_info(orphan)->end_wanted ? ", and was told to end" : "");
		return reason_word(REASON_ATTEMPT_ALIVE);
	}
	if (array_full(job) && job_service(job)) {
		snprintf(text, size, "service %.64s wants %u replicas now",
		        service_info(job_service(job))->name,
		        service_info(job_service(job))->wanted);
		return reason_word(REASON_NOT_WANTED);
	}
	if (array_full(job)) {
		snprintf(text, size, "%u tasks of its array run, and no more may run at once",
		        job_array(job)->running);
		return reason_word(REASON_ARRAY_LIMIT);
	}
	if (!class || class_link(class)->last.verdict == VERDICT_NONE)
		return "";
	reason = class_why(core, class, now, &words);
	head = class_head(class);
	/* What blocks the head blocks this job too; --why also begins with this word. */
	if (head != job && !strcmp(reason, reason_word(REASON_RESOURCES)))
		snprintf(text, size, "behind job %s, which asks for the same; %.*s",
		        job_label(head, label), (int)size - 1, words);
	else
		snprintf(text, size, "%.*s", (int)size - 1, words);
	return reason;
}
