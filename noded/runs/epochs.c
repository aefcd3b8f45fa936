/* epochs.c - see epochs.h
 *
 * Both numbers are in two files named `state`, one in RUNDIR and one in SPOOL, and a start takes
 * the larger of each. An epoch changes once in a controller's life, so both files are written at
 * once, SPOOL's with a sync: it must survive the loss of the tmpfs. The highest job id changes with
 * each job. It need not be written while the job's launch record exists, because the record names
 * the job: RUNDIR's file is written when the newest record is about to go, SPOOL's every few
 * seconds.
 */
#include "noded/runs/epochs.h"

#include "common/base/log.h"
#include "common/gpusched.pb-c.h"
#include "noded/record/record.h"
#include "noded/runs/launcher_dirs.h"
#include "noded/runs/launcher_state.h"

#define STATE_FILE "state"

static void load_state(struct launcher *l, int dirfd)
{
	ProtobufCMessage *m;
	struct error err;
	Gpusched__LauncherState *s;
	int r = record_read(dirfd, STATE_FILE, &gpusched__launcher_state__descriptor, &m, &err);

	if (r < 0)
		log_error("what the launcher remembered: %s", err.text);
	if (r <= 0)
		return;
	s = (Gpusched__LauncherState *)m;
	if (s->max_epoch > l->dirs->max_epoch)
		l->dirs->max_epoch = s->max_epoch;
	if (s->max_job > l->dirs->max_job)
		l->dirs->max_job = s->max_job;
	protobuf_c_message_free_unpacked(m, NULL);
}

static void save_state(struct launcher *l, int dirfd, unsigned flags)
{
	Gpusched__LauncherState s = GPUSCHED__LAUNCHER_STATE__INIT;
	struct error err;

	s.max_epoch = l->dirs->max_epoch;
	s.max_job = l->dirs->max_job;
	if (record_write(dirfd, STATE_FILE, &s.base, flags, &err) < 0)
		log_error("highest epoch and job id: %s", err.text);
	else if (dirfd == l->dirs->rundir)
		l->dirs->saved_job = l->dirs->max_job;
}

int epochs_take(struct launcher *l, uint64_t epoch, struct error *err)
{
	if (epoch < l->dirs->max_epoch)
		return error_set(err, ERR_EPOCH,
		        "ordered under epoch %llu, but epoch %llu was seen on this node",
		        (unsigned long long)epoch, (unsigned long long)l->dirs->max_epoch);
	if (epoch == l->dirs->max_epoch)
		return 0;
	l->dirs->max_epoch = epoch;
	save_state(l, l->dirs->rundir, 0);
	save_state(l, l->dirs->spool, RECORD_SYNC); /* happens once in a controller's life */
	return 0;
}

void epochs_saw_job(struct launcher *l, uint64_t job)
{
	if (job <= l->dirs->max_job)
		return;
	l->dirs->max_job = job;
	l->dirs->job_unsaved = true;
}

void epochs_forget_job(struct launcher *l, uint64_t job)
{
	if (job > l->dirs->saved_job && job <= l->dirs->max_job)
		save_state(l, l->dirs->rundir, 0);
}

void epochs_save_job(struct launcher *l)
{
	if (l->dirs->job_unsaved)
		save_state(l, l->dirs->spool, 0);
	l->dirs->job_unsaved = false;
}

void epochs_load(struct launcher *l)
{
	load_state(l, l->dirs->rundir);
	l->dirs->saved_job = l->dirs->max_job;
	load_state(l, l->dirs->spool);
}
