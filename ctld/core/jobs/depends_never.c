/* depends_never.c - see depends_never.h */
#include "ctld/core/jobs/depends_never.h"

#include <stdio.h>

#include "common/conf/conf.h"
#include "common/job/mail_types.h"
#include "ctld/core/depends/depends_terms.h"
#include "ctld/core/depends/depends_why.h"
#include "ctld/core/jobs/array_split.h"
#include "ctld/core/jobs/life.h"
#include "ctld/core/jobs/notifications.h"
#include "ctld/core/records/audit_note.h"
#include "ctld/core/records/job.h"
#include "ctld/core/rows/state.h"

void depends_end_never(struct core *core, struct job *job, bool rest_only)
{
	char text[300], why[200];
	const char *reason = depends_why(core, job, why, sizeof(why));

	if (rest_only && job_link(job)->array) {
		if (!job_weight(job))
			return;
		job = array_split(core, job, job_tasks(job), false);
	}
	snprintf(text, sizeof(text), "%s: %s", reason, why);
	job_set_comment(core->jobs, job, text);
	audit_note(core, "job.cancel", NULL, job_ref(job), "", text);
	job_cancel_pending(core, job);
}

bool depends_kills(const struct core *core, const struct job *job)
{
	uint8_t choice = job_info(job_own(job))->kill_invalid;

	return choice == KILL_AS_CONFIGURED ? core->conf->controller.kill_invalid_dep
	                                    : choice == KILL_YES;
}

void depends_note_never(struct core *core, struct job *job)
{
	struct depends *p = job_link(job)->depends;
	bool was_never = p->never;

	p->never = p->any ? !p->open : p->never_n;
	if (p->never && !was_never)
		job_mail(core, job, MAIL_INVALID_DEPEND);
}

void depends_kill_never(struct core *core, struct job *job, bool each_only)
{
	const struct depends *p = job_link(job)->depends;

	if (!depends_kills(core, job) || job_info(job)->state != JOB_PENDING)
		return;
	depends_end_never(core, job, p->each && (p->any || each_only));
}
