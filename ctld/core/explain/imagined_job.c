/* imagined_job.c - see imagined_job.h
 *
 * The candidate has everything that decide() reads, and is in no class. Its assoc is only asked for
 * its fair-share factor; one that was made for the question is freed with the next ranking.
 */
#include "ctld/core/explain/imagined_job.h"

#include "ctld/core/intake/intake_job.h"
#include "ctld/core/rows/state.h"
#include "ctld/core/sched/sched.h"

/* The key is that of a job with this id and submit time, so that it stands where the job would
 * stand. */
void imagine(struct core *core, const struct intake *t, const char *user, uint64_t id,
        usec_t submit_time, struct imagined *im)
{
	const struct job_info *i = &t->info;
	struct assoc *assoc = accounts_want(core->accounts, i->account, i->uid, user);

	im->info = (struct class_info){ .uid = i->uid,
		.cpus = i->cpus,
		.max_wait_s = i->max_wait_s,
		.length_s = class_length(i->time_limit_s),
		.gpus = i->gpus,
		.mem_mb = i->mem_mb,
		.nice = i->nice };
	im->who = (struct candidate){ .ask = { i->gpus, i->cpus, i->mem_mb,
		                              sched_user(
		                                      core->sched, t->partition, i->gpus, i->uid) },
		.partition = t->partition,
		.account = sched_account(core->sched, i->account),
		.qos = sched_qos(core->sched, i->qos),
		.length = class_length_us(im->info.length_s,
		        t->partition == CONF_NONE ? NULL : &core->conf->partitions[t->partition]) };
	im->chain =
	        limits_chain(core->limits, im->who.account, i->uid, im->who.qos, im->who.partition);
	im->who.chain = im->chain;
	im->who.key = sched_key(core->sched, &im->who, assoc, &im->info, id, submit_time);
	assoc_drop(core->accounts, assoc);
}

void imagined_clear(struct core *core, struct imagined *im)
{
	limit_chain_free(core->limits, im->chain);
}
