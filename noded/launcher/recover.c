/* recover.c - see recover.h
 *
 *   exit record                      over: reported until forgotten
 *   launch record, locked            alive: followed
 *   launch record, not locked        its shepherd is gone: what is left is killed, then LOST, or
 *                                    NEVER if nothing was forked
 *   launch record that is torn       lost, and only its name is known
 *   no record at all                 nothing was started or reported: removed
 *   a copy on disk alone             over (tmpfs was lost)
 *   cgroup leaf without a live run   killed and removed
 *   RUN_DIR without a live run       removed
 *
 * In a new incarnation nothing may survive: shepherds and leaves are killed before anything else,
 * and runs without an exit record are reported with NODE_FAIL.
 *
 * All this waits at most CLEAR_S for processes to die. Some do not (they hang in the kernel), and
 * new ones may be forked meanwhile. The launcher goes on then. A run of which a process lives is
 * followed or LOST, with its GPUs, until no process of it does; a leaf without a run is checked
 * again and again.
 */
#include "noded/launcher/recover.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/fd_close.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "common/gpusched.pb-c.h"
#include "common/job/run.h"
#include "noded/confine/containment_active.h"
#include "noded/confine/mps_pool.h"
#include "noded/contain/cgroup_limits.h"
#include "noded/contain/process_tracking.h"
#include "noded/contain/procs.h"
#include "noded/contain/signals.h"
#include "noded/exec/site_program_allowed.h"
#include "noded/record/record.h"
#include "noded/runs/epochs.h"
#include "noded/runs/launcher_dirs.h"
#include "noded/runs/launcher_state.h"
#include "noded/runs/run_life.h"
#include "noded/runs/run_records.h"
#include "noded/runs/run_report.h"
#include "noded/watch/health_check.h"

#define CLEAR_S  10
#define PAUSE_MS 5

/* The state of the whole scan. A step that cannot read a record now must not go on as if there were
 * none. */
struct scan {
	struct launcher *l;
	struct error *err;
	usec_t until; /* mono: waits until then for processes to die; 0: it does not wait */
	bool left;    /* a leaf without a run was not cleared */
};

/* Wait a moment for killed processes; false: the time is up. */
static bool wait_moment(const struct scan *s)
{
	struct timespec t = { .tv_nsec = PAUSE_MS * 1000000L };

	if (clock_us(CLOCK_MONOTONIC) >= s->until)
		return false;
	nanosleep(&t, NULL);
	return true;
}

/* --- killing ---------------------------------------------------------------------------------- */

enum cleared { CLEARED_NOTHING, CLEARED, NOT_CLEARED };

/* Kill the processes in a leaf, and remove it once it is empty. */
static enum cleared clear_leaf(const struct scan *s, const char *name)
{
	char *path = contain_root_leaf(s->l->containment->root, name);
	struct contain *c = contain_open(path, NULL);
	bool had = c && !contain_is_empty(c), empty = !had;

	while (!empty) {
		contain_kill(c);
		if (!wait_moment(s))
			break;
		empty = contain_is_empty(c);
	}
	if (c && empty) {
		cgroup_limits_root_remove(contain_root_limits(s->l->containment->root), path);
		contain_remove(c);
	}
	contain_free(c);
	free(path);
	return !empty ? NOT_CLEARED : had ? CLEARED : CLEARED_NOTHING;
}

enum { TORN = 2 };

/* Like record_read(); a torn record is logged. */
static int read_record(const struct scan *s, int dir, const char *run, const char *name,
        const ProtobufCMessageDescriptor *desc, ProtobufCMessage **m)
{
	int r = record_read(dir, name, desc, m, s->err);

	if (r >= 0)
		return r;
	if (s->err->code != ERR_PROTOCOL)
		return error_wrap(s->err, "run %s", run);
	log_error("run %s: %s", run, s->err->text);
	return TORN;
}

/* Open its record directory; -1 with the scan's error, or with `*gone`: there is none. */
static int open_dir(const struct scan *s, const char *run, bool *gone)
{
	int dir = openat(s->l->dirs->runs, run, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	*gone = dir < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP);
	if (dir < 0 && !*gone)
		error_set(s->err, ERR_SYSTEM, "run %s: its records: %s", run, strerror(errno));
	return dir;
}

static bool is_locked(int dir)
{
	int fd = openat(dir, RECORD_LAUNCH, O_RDONLY | O_CLOEXEC);
	bool locked = fd < 0 ? errno != ENOENT : flock(fd, LOCK_EX | LOCK_NB) < 0;

	fd_close(fd);
	return locked;
}

/* Kill a shepherd of an older incarnation: it must not write an exit record any more. */
static void kill_shepherd(const struct scan *s, int dir, const char *run)
{
	char *path = xasprintf("%s/%s", s->l->dirs->runs_path, run);
	struct proc *list;
	ssize_t n;

	while (is_locked(dir)) {
		n = procs_called("gshepherd", path, &list);
		if (n > 0)
			procs_signal(list, (size_t)n, SIGKILL, false, NULL, NULL);
		free(list);
		/* The shepherd's child holds the lock too until it executes the program. */
		clear_leaf(s, run);
		if (!wait_moment(s))
			break;
	}
	free(path);
}

/* The owner from its record; else from its RUN_DIR, which no user can make; else no owner. */
static uid_t owner_of(const struct launcher *l, const Gpusched__LaunchRecord *rec, const char *run)
{
	struct stat st;

	if (rec && rec->report)
		return rec->report->uid;
	if (fstatat(l->dirs->spool_runs, run, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISDIR(st.st_mode))
		return (uid_t)-1;
	return st.st_uid;
}

/* Without cgroups: kill the processes that carry this run's directory in their environment. */
static void clear_marked(const struct scan *s, int dir, const char *run)
{
	char *mark = xasprintf("GPUSCHED_RUN_DIR=%s/%s", s->l->dirs->spool_runs_path, run);
	ProtobufCMessage *m = NULL;
	uid_t owner;

	if (record_read(dir, RECORD_LAUNCH, &gpusched__launch_record__descriptor, &m, NULL) != 1)
		m = NULL;
	owner = owner_of(s->l, (Gpusched__LaunchRecord *)m, run);
	while (!procs_kill_marked(mark, owner) && wait_moment(s))
		;
	if (m)
		protobuf_c_message_free_unpacked(m, NULL);
	free(mark);
}

static int kill_old(struct run_id id, const char *name, void *arg)
{
	const struct scan *s = arg;
	bool gone;
	int dir = open_dir(s, name, &gone);

	(void)id;
	if (dir < 0)
		return gone ? 0 : -1;
	kill_shepherd(s, dir, name);
	if (strcmp(contain_root_kind(s->l->containment->root), "subreaper") == 0)
		clear_marked(s, dir, name);
	close(dir);
	return 0;
}

static void kill_leaf(const char *name, void *arg)
{
	enum cleared what = clear_leaf(arg, name);

	if (what == CLEARED)
		log_warning("run %s: killed, it is of an older incarnation of the node", name);
	else if (what == NOT_CLEARED)
		log_error("run %s is of an older incarnation of the node, and something of it "
		          "does not die",
		        name);
}

/* --- records ---------------------------------------------------------------------------------- */

/* From its launch record: is the run alive or lost? */
static void take_launched(struct launcher *l, struct run_id id, ProtobufCMessage *launch)
{
	Gpusched__LaunchRecord *rec = (Gpusched__LaunchRecord *)launch;
	struct run *r = run_add(l, id);
	struct proc nobody = { 0 };

	if (!r)
		return;
	r->state = RUN_STARTING;
	r->report = rec && rec->report && rec->report->run ? run_report_copy(rec->report)
	                                                   : run_report_new(id);
	r->report->state = GPUSCHED__RUN_REPORT__STATE__STARTING;
	r->has_parts = r->report->share_charge;
	r->uid = owner_of(l, rec, r->name);
	r->share_mb = r->report->share_mb;
	r->mps = rec && rec->mps_dir.len;
	for (size_t i = 0; i < r->report->n_gpus; i++)
		if (r->report->gpus[i] < GPU_INDEX_MAX)
			r->gpus |= (uint64_t)1 << r->report->gpus[i];
	run_poll(r); /* was it executed, has it ended just now? */
	if (r->pidfd < 0 && (r->state == RUN_STARTING || r->state == RUN_RUNNING))
		run_follow(r, &nobody);
}

static int take_run(struct run_id id, const char *name, void *arg)
{
	const struct scan *s = arg;
	struct launcher *l = s->l;
	bool gone;
	int dir = open_dir(s, name, &gone), got;
	ProtobufCMessage *m = NULL;
	struct run *r;

	if (dir < 0)
		return gone ? 0 : -1;
	if (faccessat(dir, RECORD_LAUNCH, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		epochs_saw_job(l, id.job);
	got = read_record(s, dir, name, RECORD_EXIT, &gpusched__run_report__descriptor, &m);
	if (got == 1) {
		r = run_add(l, id);
		if (r)
			run_over(r, (Gpusched__RunReport *)m,
			        faccessat(l->dirs->exits, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0);
		else
			protobuf_c_message_free_unpacked(m, NULL);
		close(dir);
		return 0;
	}
	if (got >= 0)
		got = read_record(
		        s, dir, name, RECORD_LAUNCH, &gpusched__launch_record__descriptor, &m);
	if (got > 0) {
		take_launched(l, id, got == 1 ? m : NULL);
	} else if (got == 0 && (unlinkat(dir, RECORD_LAUNCH ".tmp", 0) == 0 || errno == ENOENT)) {
		unlinkat(dir, RECORD_EXIT ".tmp", 0);
		unlinkat(l->dirs->runs, name, AT_REMOVEDIR);
	}
	if (m)
		protobuf_c_message_free_unpacked(m, NULL);
	close(dir);
	return got < 0 ? -1 : 0;
}

static int take_copy(struct run_id id, const char *name, void *arg)
{
	const struct scan *s = arg;
	struct launcher *l = s->l;
	ProtobufCMessage *m;
	struct run *r = run_find(l, id);
	int got;

	if (r)
		return 0;
	got = read_record(s, l->dirs->exits, name, name, &gpusched__run_report__descriptor, &m);
	if (got != 1)
		return got < 0 ? -1 : 0;
	r = run_add(l, id);
	if (r)
		run_over(r, (Gpusched__RunReport *)m, true);
	else
		protobuf_c_message_free_unpacked(m, NULL);
	return 0;
}

/* --- leftovers without a run ------------------------------------------------------------------ */

static bool run_lives(struct launcher *l, const char *name)
{
	char base[RECORD_ID_MAX] = "";
	const char *site = strstr(name, PROGRAM_LEAF); /* a leaf of the site's programs */
	struct run_id id;
	struct run *r;

	if (strlen(name) >= sizeof(base))
		return false;
	memcpy(base, name, site ? (size_t)(site - name) : strlen(name));
	if (record_id_parse(base, &id) < 0)
		return false;
	r = run_find(l, id);
	return r && r->state != RUN_OVER;
}

static void clear_orphan(const char *name, void *arg)
{
	struct scan *s = arg;
	enum cleared what = CLEARED_NOTHING;

	if (!run_lives(s->l, name) && !mps_pool_is_leaf(s->l, name) && !health_is_leaf(s->l, name))
		what = clear_leaf(s, name);
	if (what == CLEARED)
		log_error("cgroup of run %s had processes and no record: killed", name);
	s->left |= what == NOT_CLEARED;
}

static int remove_orphan_dir(struct run_id id, const char *name, void *arg)
{
	(void)id;
	if (!run_lives(arg, name))
		run_remove_rundir(arg, name);
	return 0;
}

int recover_runs(struct launcher *l, struct error *err)
{
	struct scan s = {
		.l = l, .err = err, .until = clock_us(CLOCK_MONOTONIC) + CLEAR_S * (usec_t)1000000
	};

	if (l->dirs->fresh) {
		if (record_scan(l->dirs->runs, kill_old, &s, err) < 0)
			return -1;
		contain_root_each(l->containment->root, kill_leaf, &s);
	}
	if (record_scan(l->dirs->runs, take_run, &s, err) < 0 ||
	        record_scan(l->dirs->exits, take_copy, &s, err) < 0)
		return -1;
	contain_root_each(l->containment->root, clear_orphan, &s);
	if (s.left)
		log_error("processes of runs that are not known do not die; they are killed again "
		          "and again");
	if (s.left)
		launcher_sweep_later(l);
	return recover_leftovers(l, err) < 0 ? -1 : 0;
}

int recover_leftovers(struct launcher *l, struct error *err)
{
	struct scan s = { .l = l, .err = err };

	contain_root_each(l->containment->root, clear_orphan, &s);
	if (record_scan(l->dirs->private_dir, remove_orphan_dir, l, err) < 0 ||
	        record_scan(l->dirs->spool_runs, remove_orphan_dir, l, err) < 0)
		return -1;
	return s.left;
}
