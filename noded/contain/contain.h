/* contain.h - everything that a run starts, and nothing else
 *
 * Two ways, tried in this order when the launcher starts; LauncherHello says which is active:
 *
 *   cgroup2    Each run has a leaf of its own in the unified hierarchy (cgroup v2, also where it is
 *              mounted beside v1). Its processes are born in it (clone3(2)), an ordinary user's
 *              processes cannot leave it, cgroup.kill ends them all at once and cgroup.events tells
 *              when none is left [kernel: admin-guide/cgroup-v2]. No controllers are needed.
 *   subreaper  The shepherd is the subreaper of all that it starts [prctl(2)], kills descendants
 *              until there are none, and is the only one who can: should it be killed itself, only
 *              processes that still carry their GPUSCHED_RUN_DIR in the environment are found.
 *
 * The shepherd is always subreaper too, so that it knows what its run used.
 */
#ifndef NODED_CONTAIN_H
#define NODED_CONTAIN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/error.h"
#include "common/nodewords.h"
#include "noded/exec/private.h"

/* --- the launcher's side: the root below which leaves are made -------------------------------- */

/* What a site may demand (CONTAIN_WORDS): the kind, the filter of devices (devfilter.h), limits.h,
 * private.h. */

bool contain_words_have(const char *words, const char *word); /* in a list between commas */
/* Those of the words of `want` that are not in `have`, with ", " between; NULL: all are. Good until
 * the next call. */
const char *contain_words_lack(const char *want, const char *have);

struct contain_root;
struct limits_root;

/* `demanded`: CONTAIN_WORDS of the site (limits.h). `want`: "" or NULL: below our own cgroup's
 * mount, a root named after `tag`; "none": subreaper; else a path below the cgroup2 mount. That
 * cgroups really work is tried with a process, not guessed. If `want` names a path and it does not
 * work, or if descriptors or memory are too short to try: NULL with ERR_SYSTEM. */
struct contain_root *contain_root_new(
        const char *want, const char *tag, const char *demanded, struct error *err);
void contain_root_free(struct contain_root *root); /* NULL is fine */

/* Where the root was named: this process, and so all that it starts, leaves the cgroup that it was
 * started in for one beside the leaves. A service manager that ends what is in the agent's own then
 * leaves alone what runs need. 0 also where there is nothing to do; -1 with ERR_SYSTEM. */
int contain_root_enter(const struct contain_root *root, struct error *err);

const char *contain_root_kind(const struct contain_root *root); /* "cgroup2", "subreaper" */
const char *contain_root_why(const struct contain_root *root);  /* "": else why not cgroup2 */

bool contain_root_filters_devices(const struct contain_root *root); /* it could */
/* What holds a run here: the kind, and with cgroups which of CONTAIN_WORDS, between commas. Each
 * was tried. `filter`: that of devices is in use. */
void contain_root_active(const struct contain_root *root, bool filter, char *out, size_t size);
/* More of CONTAIN_WORDS are demanded now: what was not looked for before may be had. */
void contain_root_demand(struct contain_root *root, const char *demanded);
const struct limits_root *contain_root_limits(const struct contain_root *root);

/* Path of the leaf for a run; "" with a subreaper. The caller frees it. */
char *contain_root_leaf(const struct contain_root *root, const char *id);

/* Call fn with the name of each leaf below the root. fn may kill and remove it. */
void contain_root_each(
        const struct contain_root *root, void (*fn)(const char *id, void *arg), void *arg);

/* --- one leaf --------------------------------------------------------------------------------- */

struct contain;

/* Make the leaf `path`, which must not exist or be empty; "" for a subreaper, which is then this
 * very process. NULL with ERR_SYSTEM. */
struct contain *contain_new(const char *path, struct error *err);

/* A leaf that may be there: NULL with ERR_NO_JOB and errno, ENOENT if there is none. */
struct contain *contain_open(const char *path, struct error *err);
void contain_free(struct contain *c); /* does not remove the leaf; NULL is fine */

int contain_dir(const struct contain *c); /* the leaf's directory; -1: there is none */

/* fork(2) into it. Returns as fork does. For processes with one thread only. */
pid_t contain_fork(const struct contain *c);

/* Kill all that is in it. Repeat until contain_is_empty(). */
void contain_kill(struct contain *c);

/* Send a signal to what is in it, by the rule of procs.h (signal_is_for_all). Returns how many
 * processes got it. */
size_t contain_signal(struct contain *c, int sig);

/* The same, only to processes that await it, whichever it is: a warning that kills nobody. */
size_t contain_warn(struct contain *c, int sig);

/* Stop all that is in it, what is forked meanwhile too: with the cgroup's freezer, or with STOP to
 * every process. True when all of it is stopped. Call it again until then; and, where
 * contain_events_fd() has none, now and then afterwards, since anybody may continue a process of
 * his. KILL works all the same. */
bool contain_suspend(struct contain *c);
void contain_resume(struct contain *c);

/* Is no process in it? With a subreaper: has this process no living descendants? False also when
 * that cannot be said now. */
bool contain_is_empty(struct contain *c);

/* This child of ours was killed, waits in the kernel and has executed nothing: it counts as gone, in
 * every leaf. One at a time; 0: none. */
void contain_disown(pid_t child);

/* Say which process is in it, or which thread of it where the first has gone: "1234 (dd), state D"
 * [proc_pid_stat(5)]. Returns how many there are that live. */
size_t contain_name_one(struct contain *c, char *text, size_t size);

/* A descriptor that polls POLLPRI when contain_is_empty() or contain_suspend() may have changed;
 * -1: there is none, look after each SIGCHLD. */
int contain_events_fd(const struct contain *c);

uint64_t contain_cpu_time_us(const struct contain *c); /* 0: not known */

/* Remove the empty leaf. 0, or -1 with errno. */
int contain_remove(struct contain *c);

#endif
