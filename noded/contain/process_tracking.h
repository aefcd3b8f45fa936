/* process_tracking.h - the set of all processes that a run starts, and no others
 *
 * Two ways, tried in this order when the launcher starts; LauncherHello says which is active:
 *
 *   cgroup2    Each run has a leaf of its own in the unified hierarchy (cgroup v2, also where it is
 *              mounted beside v1). Its processes are created in it (clone3(2)), an ordinary user's
 *              processes cannot leave it, cgroup.kill ends them all at once and cgroup.events says
 *              when none is left [kernel: admin-guide/cgroup-v2]. No controllers are needed.
 *   subreaper  The shepherd is the subreaper of all that it starts [prctl(2)] and kills descendants
 *              until none is left; no other process can do that. If the shepherd itself is killed,
 *              only processes that still carry their GPUSCHED_RUN_DIR in the environment are found.
 *
 * The shepherd is always a subreaper too, so that it knows what its run used.
 */
#ifndef NODED_PROCESS_TRACKING_H
#define NODED_PROCESS_TRACKING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/base/error.h"
#include "common/conf/nodewords.h"
#include "noded/contain/private_mounts.h"

/* --- the launcher's side: the root below which leaves are made -------------------------------- */

/* What a site may demand (CONTAIN_WORDS): the kind, the device filter (devfilter.h),
 * cgroup_limits.h, private_mounts.h. */
struct contain_root;
struct cgroup_limits_root;

/* `demanded`: CONTAIN_WORDS of the site (cgroup_limits.h). `want`: "" or NULL: below our own
 * cgroup's mount, a root named after `tag`; "none": subreaper; else a path below the cgroup2 mount.
 * Whether cgroups really work is tested with a process, not guessed. NULL with ERR_SYSTEM: `want`
 * names a path and it does not work, or descriptors or memory are too short for the test. */
struct contain_root *contain_root_new(
        const char *want, const char *tag, const char *demanded, struct error *err);
void contain_root_free(struct contain_root *root); /* NULL is fine */

/* If the root was named: this process, and so all that it starts, leaves the cgroup that it was
 * started in for one beside the leaves. A service manager that ends everything in the agent's own
 * cgroup then spares what runs need. 0 also if there is nothing to do; -1 with ERR_SYSTEM. */
int contain_root_enter(const struct contain_root *root, struct error *err);

const char *contain_root_kind(const struct contain_root *root); /* "cgroup2", "subreaper" */
const char *contain_root_why(const struct contain_root *root);  /* why not "cgroup2"; "": it is */

bool contain_root_filters_devices(const struct contain_root *root); /* it is able to */
/* What confines a run here: the kind, and with cgroups which of CONTAIN_WORDS, between commas. Each
 * was tested. `filter`: the device filter is in use. */
void contain_root_active(const struct contain_root *root, bool filter, char *out, size_t size);
/* The site demands more of CONTAIN_WORDS now: look for those that were not looked for earlier. */
void contain_root_demand(struct contain_root *root, const char *demanded);
const struct cgroup_limits_root *contain_root_limits(const struct contain_root *root);

/* Path of the leaf for a run; "" with a subreaper. The caller frees it. */
char *contain_root_leaf(const struct contain_root *root, const char *id);

/* Call fn with the name of each leaf below the root. fn may kill and remove it. */
void contain_root_each(
        const struct contain_root *root, void (*fn)(const char *id, void *arg), void *arg);

/* --- one leaf --------------------------------------------------------------------------------- */

struct contain;

/* Make the leaf `path`, which must be empty or not exist; "" for a subreaper, which is then the
 * calling process. NULL with ERR_SYSTEM. */
struct contain *contain_new(const char *path, struct error *err);

/* Open a leaf that may exist. NULL with ERR_NO_JOB and errno, ENOENT if there is none. */
struct contain *contain_open(const char *path, struct error *err);
void contain_free(struct contain *c); /* does not remove the leaf; NULL is fine */

int contain_dir(const struct contain *c); /* the leaf's directory; -1: there is none */

/* fork(2) into it. Returns as fork does. For processes with one thread only. */
pid_t contain_fork(const struct contain *c);

/* Kill all that is in it. Repeat until contain_is_empty(). */
void contain_kill(struct contain *c);

/* Send a signal to its processes, by the rule of signals.h (signal_is_for_all). Returns how many
 * processes got it. */
size_t contain_signal(struct contain *c, int sig);

/* The same, but not to the processes of this session, or not to this process. */
size_t contain_signal_beyond(struct contain *c, int sig, pid_t session);
size_t contain_signal_except(struct contain *c, int sig, pid_t pid);

/* Send it to the children of this process, whether they await it or not. */
size_t contain_signal_children(struct contain *c, int sig, pid_t parent);

/* The same, only to processes that await the signal, for every signal: a warning kills nothing. */
size_t contain_warn(struct contain *c, int sig);
size_t contain_warn_except(struct contain *c, int sig, pid_t pid);

/* Stop all of its processes, those forked meanwhile too: with the cgroup's freezer, or with STOP to
 * every process. True: all of them are stopped. Repeat the call until then. Where
 * contain_events_fd() has no descriptor, also repeat it now and then afterwards, since a user may
 * continue his own processes. KILL works on stopped processes too. */
bool contain_suspend(struct contain *c);
void contain_resume(struct contain *c);

/* Is no process in it? With a subreaper: has this process no living descendants? False also if that
 * cannot be determined now. */
bool contain_is_empty(struct contain *c);

/* This child of ours was killed, hangs in the kernel and has executed nothing: it counts as gone,
 * in every leaf. One at a time; 0: none. */
void contain_disown(pid_t child);

/* Name one process in it, or one of its threads if the first thread has ended: "1234 (dd), state D"
 * [proc_pid_stat(5)]. Returns how many processes in it are alive. */
size_t contain_name_one(struct contain *c, char *text, size_t size);

/* A descriptor that polls POLLPRI when contain_is_empty() or contain_suspend() may have changed;
 * -1: there is none, check after each SIGCHLD. */
int contain_events_fd(const struct contain *c);

uint64_t contain_cpu_time_us(const struct contain *c); /* 0: not known */

/* Remove the empty leaf. 0, or -1 with errno. */
int contain_remove(struct contain *c);

#endif
