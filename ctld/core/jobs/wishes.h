/* wishes.h - what a job's owner wishes besides: a remark, mail, to be run again after some ends
 *
 * None of it concerns the scheduler, so it may be changed as long as the job has not ended.
 */
#ifndef CTLD_CORE_WISHES_H
#define CTLD_CORE_WISHES_H

#include "ctld/core/internal.h"

#define UPDATE_WISHES                                                              \
	(UPDATE_REMARK | UPDATE_MAIL_TYPE | UPDATE_MAIL_USER | UPDATE_REQUEUE_ON | \
	        UPDATE_REQUEUE_DELAY | UPDATE_NO_REQUEUE)

/* Check them, and put them into `info` (borrowed). */
int wishes_take(const struct submit_job *in, struct job_info *info, struct error *err);

/* Something became of the job: mail, if that is wished; or whatever is wished. */
void wish_mail(struct core *core, const struct job *job, uint32_t mail_type);
void mail_always(struct core *core, const struct job *job, uint32_t mail_type);
/* It has moved to that state, from another. */
void wish_mail_moved(struct core *core, struct job *job, enum job_state from);

/* Is this end one after which it wishes to be run again? */
bool wish_again(const struct job *job, const struct run *decisive);
/* Its attempt failed and it waits again: not before so long has passed, twice as long each time. */
void wish_delay(struct core *core, struct job *job);

#endif
