/* depends_why.c - see depends_why.h */
#include "ctld/core/depends/depends_why.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "common/job/reason.h"
#include "ctld/core/depends/depends_open.h"
#include "ctld/core/depends/depends_terms.h"
#include "ctld/core/records/job.h"
#include "ctld/core/records/singletons.h"
#include "ctld/core/rows/state.h"

/* "afterok: 3 tasks of job 12 have yet to end: 5-7" */
static int say_range(const struct depend_term *t, char *text, size_t size)
{
	char *tasks = taskset_text(t->tasks);
	int n;

	n = snprintf(text, size, "%s: %u task%s of job %llu %s%s: %.40s%s",
	        depend_type_name(t->type), t->tasks->count, t->tasks->count == 1 ? "" : "s",
	        (unsigned long long)t->job,
	        t->never               ? "ended otherwise"
	        : t->tasks->count == 1 ? "has yet to "
	                               : "have yet to ",
	        t->never                  ? ""
	        : t->type == DEPEND_AFTER ? "start"
	                                  : "end",
	        tasks, strlen(tasks) > 40 ? "..." : "");
	free(tasks);
	return n;
}

/* "afterok: job 12 is RUNNING" */
static size_t say_term(const struct core *core, const struct job *job, const struct depend_term *t,
        char *text, size_t size)
{
	const struct job *on = t->job ? depend_term_job(core, t) : singletons_first(job);
	uint32_t task = t->tasks ? taskset_first(t->tasks) : t->task;
	unsigned long long id = on ? job_id(on) : t->job;
	char label[JOB_LABEL];
	int n;

	job_ref_label(task == DEPEND_NO_TASK ? id : job_ref_of(id, (uint64_t)task + 1), label);
	if (t->tasks && !t->at)
		n = say_range(t, text, size);
	else if (t->never && !on)
		n = snprintf(
		        text, size, "%s: job %s ended otherwise", depend_type_name(t->type), label);
	else if (t->at)
		n = snprintf(text, size, "%s+%u: job %s has started", depend_type_name(t->type),
		        t->delay, label);
	else if (t->each && !t->never)
		n = snprintf(text, size, "aftercorr: each task waits for the same of job %llu", id);
	else if (!t->job && (!on || on == job))
		n = snprintf(
		        text, size, "%s: another job of this name runs", depend_type_name(t->type));
	else
		n = snprintf(text, size, "%s: job %s is %s", depend_type_name(t->type), label,
		        on ? job_state_name(job_info(on)->state) : "not known");
	return n < 0 || (size_t)n >= size ? size : (size_t)n;
}

/* The terms that are decided task by task, for the first task of the record. */
static const char *say_part(
        const struct core *core, const struct job *part, char *text, size_t size)
{
	uint32_t task = job_tasks(part) ? taskset_first(job_tasks(part)) : job_task(part);
	bool never = depends_never(part);
	size_t used = 0, n;
	struct depend d;

	text[0] = '\0';
	if (depend_parse(job_info(part)->depends, true, &d, NULL) < 0)
		return reason_word(REASON_DEPENDENCY);
	for (n = 0; n < d.n && used + 100 < size; n++) {
		const struct depend_term *t = &d.v[n];
		const struct job *on =
		        jobs_find(core->jobs, job_ref_of(t->job, (uint64_t)task + 1));

		if (!t->each || t->never != never)
			continue;
		if (!on)
			on = jobs_stands_in(core->jobs, t->job, task);
		used += (size_t)snprintf(text + used, size - used, "%saftercorr: %llu_%u %s%s",
		        used ? ", " : "", (unsigned long long)t->job, task,
		        on      ? "is "
		        : never ? "ended otherwise"
		                : "has not ended",
		        on ? job_state_name((enum job_state)job_info(on)->state) : "");
	}
	depend_clear(&d);
	return never ? reason_word(REASON_NEVER_SATISFIED) : reason_word(REASON_DEPENDENCY);
}

const char *depends_why(const struct core *core, const struct job *job, char *text, size_t size)
{
	const struct depends *p = job_link_of(job_own(job))->depends;
	size_t used = 0, said = 0, of = 0;

	if (p->each && job_info(job)->part && strchr(job_info(job)->depends, '*'))
		return say_part(core, job, text, size);
	job = job_own(job);
	text[0] = '\0';
	for (uint32_t n = 0; n < p->n; n++) {
		struct depend_term t;

		if (p->flags[n] & TERM_MET || !(p->flags[n] & TERM_NEVER) == p->never)
			continue;
		of++;
		/* Space for the longest term and for the count of those left out. */
		if (used + 100 > size)
			continue;
		if (said++)
			used += (size_t)snprintf(
			        text + used, size - used, p->any ? " or " : ", ");
		t = depends_term(p, n);
		used += say_term(core, job, &t, text + used, size - used);
	}
	if (of > said)
		snprintf(text + used, size - used, ", and %zu more", of - said);
	return p->never ? reason_word(REASON_NEVER_SATISFIED) : reason_word(REASON_DEPENDENCY);
}

/* Cuts a text as rows keep it to whole terms, enough for so many bytes. */
static char *some_terms(const char *kept, size_t bytes)
{
	size_t n = strlen(kept);

	if (n <= 4 * bytes)
		return xstrdup(kept);
	for (n = 4 * bytes; n && !strchr(":,?", kept[n]); n--)
		continue;
	return xstrndup(kept, n);
}

void depends_say(const struct job *job, char *text, size_t size)
{
	const struct job *own = job_own(job);
	const struct depends *p = job_link_of(own)->depends;
	bool each = p && p->each && job != own;
	struct depend d = { .v = NULL };
	char *all;

	text[0] = '\0';
	if (p && !each) {
		all = depends_text(p, false, size);
	} else {
		char *kept = some_terms(job_info(each ? job : own)->depends, size);
		int rc = depend_parse(kept, true, &d, NULL);

		free(kept);
		if (rc < 0)
			return;
		all = depend_format_some(&d, size);
		depend_clear(&d);
	}
	if ((size_t)snprintf(text, size, "%s", all) >= size)
		memcpy(text + size - 4, "...", 4);
	free(all);
}
