/* notifications.h - optional requests of a job's owner: a comment, mail, a requeue after certain
 * ends
 *
 * The scheduler uses none of it, so it may be changed until the job has ended.
 */
#ifndef CTLD_CORE_NOTIFICATIONS_H
#define CTLD_CORE_NOTIFICATIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "ctld/core/records/job.h"

struct core;
struct error;
struct job;
struct submit_job;

#define UPDATE_NOTIFICATIONS                                                       \
	(UPDATE_REMARK | UPDATE_MAIL_TYPE | UPDATE_MAIL_USER | UPDATE_REQUEUE_ON | \
	        UPDATE_REQUEUE_DELAY | UPDATE_NO_REQUEUE)

/* Checks these fields and copies them into `info` (borrowed). */
int notifications_take(const struct submit_job *in, struct job_info *info, struct error *err);

/* Sends mail about an event of the job: job_mail() if the job requests this type, job_mail_always()
 * in any case. */
void job_mail(struct core *core, const struct job *job, uint32_t mail_type);
void job_mail_always(struct core *core, const struct job *job, uint32_t mail_type);
/* The job has moved to its present state from another one: send the mail that this requests. */
void job_mail_moved(struct core *core, struct job *job, enum job_state from);

#endif
