/* notifications.c - see notifications.h
 *
 * Mail is an effect (EFFECT_MAIL): the world writes and sends it after the commit. An array is one
 * job to its owner unless the owner asked for mail about each task; so a change of a task's state
 * is mailed only if is_heard(), and the begin of an array once (MAIL_BEGUN, in the row of its
 * parent).
 */
#include "ctld/core/jobs/notifications.h"

#include <string.h>

#include "common/base/text.h"
#include "common/job/mail_types.h"
#include "common/job/requeue_on.h"
#include "ctld/core/records/job.h"
#include "ctld/core/rows/effects.h"
#include "ctld/core/rows/state.h"

#define REMARK_MAX  1024
#define DELAY_MAX_S (7 * 86400u) /* the longest delay that may be requested */

int notifications_take(const struct submit_job *in, struct job_info *info, struct error *err)
{
	const char *remark = in->remark ? in->remark : "";
	const char *on = in->requeue_on ? in->requeue_on : "";
	const char *to = in->mail_user ? in->mail_user : "";

	if (text_check("--comment", remark, REMARK_MAX, err) < 0) {
		err->code = ERR_JOB_SPEC;
		return -1;
	}
	if (in->mail_types & ~(uint32_t)MAIL_ALL_BITS)
		return error_set(err, ERR_JOB_SPEC, "--mail-type: a type that is not known here");
	if (mail_address_check(to, err) < 0) {
		err->code = ERR_JOB_SPEC;
		return error_wrap(err, "--mail-user");
	}
	if (requeue_on_check(on, err) < 0) {
		err->code = ERR_JOB_SPEC;
		return error_wrap(err, "--requeue-on");
	}
	if (in->requeue_delay_s > DELAY_MAX_S)
		return error_set(err, ERR_JOB_SPEC, "--requeue-delay: at most 7 days");
	info->remark = remark;
	info->mail_types = (uint8_t)in->mail_types;
	info->mail_user = to;
	info->requeue_on = on;
	info->requeue_delay_s = in->requeue_delay_s;
	info->requeue = in->requeue;
	return 0;
}

/* --- mail ------------------------------------------------------------------------------------ */

void job_mail_always(struct core *core, const struct job *job, uint32_t mail_type)
{
	struct effect *e = effects_add(core->effects, EFFECT_MAIL);

	e->mail.job = job_ref(job);
	e->mail.type = mail_type;
}

/* For an array, mail is sent either for the array as a whole or for each task. */
static bool is_heard(const struct job *job)
{
	bool each = job_info(job)->mail_types & MAIL_ARRAY_TASKS;

	return !job_array(job_own((struct job *)(uintptr_t)job)) || !job_info(job)->part == !each;
}

void job_mail(struct core *core, const struct job *job, uint32_t mail_type)
{
	if (job_info(job)->mail_types & mail_type && is_heard(job))
		job_mail_always(core, job, mail_type);
}

/* The begin of an array is that of its first task. */
static void tell_begin(struct core *core, struct job *job)
{
	struct job *own = job_own(job);
	uint32_t types = job_info(own)->mail_types;

	if (!job_array(own) || types & MAIL_ARRAY_TASKS) {
		job_mail(core, job, MAIL_BEGIN);
	} else if (types & MAIL_BEGIN && !(types & MAIL_BEGUN)) {
		job_set_mail_begun(core->jobs, own);
		job_mail_always(core, own, MAIL_BEGIN);
	}
}

void job_mail_moved(struct core *core, struct job *job, enum job_state from)
{
	enum job_state to = (enum job_state)job_info(job)->state;
	uint32_t types = job_info(job)->mail_types;

	if (to == JOB_RUNNING && from == JOB_CONFIGURING) {
		tell_begin(core, job);
		return;
	}
	if (!job_state_ended(to))
		return;
	/* At most one mail about an end. */
	if (types & MAIL_END)
		job_mail(core, job, MAIL_END);
	else if (to == JOB_TIMEOUT && (types & MAIL_TIME_LIMIT))
		job_mail(core, job, MAIL_TIME_LIMIT);
	else if (to != JOB_COMPLETED && to != JOB_CANCELLED)
		job_mail(core, job, MAIL_FAIL);
}
