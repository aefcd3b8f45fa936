/* private_mounts.h - what a run does not share with others on its node
 *
 * The site chooses (gnoded --private). Each kind is tried when the launcher starts; all need root:
 *
 *   tmp    /tmp and /var/tmp are directories of the run's own, on the spool's file system; they and
 *          their content are removed after its end. If they have a size (gnoded --private-tmp) they
 *          are a tmpfs instead; the size is for both together, and what they hold counts as memory
 *          of the run
 *   shm    /dev/shm is a tmpfs of the run's own, gone with its last process; its size is at most
 *          the memory booked for the run, if any was booked
 *   ipc    System V IPC and POSIX message queues of the run's own, in /dev/mqueue too
 *   proc   /proc shows the processes of the run's user only
 *
 * Root makes the mounts in a mount namespace of the run's first process, before that becomes the
 * owner, and no mount made there is seen outside. The mount points are fixed here, never named by a
 * user, and the directories lie where only root can reach them: SPOOL/private (0700), with one
 * directory for each ID.
 */
#ifndef NODED_PRIVATE_MOUNTS_H
#define NODED_PRIVATE_MOUNTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/base/error.h"
#include "common/conf/nodewords.h"
#include "common/gpusched.pb-c.h"

enum private_kind { PRIVATE_TMP, PRIVATE_SHM, PRIVATE_IPC, PRIVATE_PROC, PRIVATE_KINDS };

#define PRIVATE_DIR "private" /* in SPOOL */

const char *private_name(enum private_kind kind);

/* Parse a list between commas into bits (1 << kind). -1 with ERR_USAGE. */
int private_parse(const char *words, uint32_t *kinds, struct error *err);

/* The private directories of one run. */
struct private_place {
	uint32_t kinds;  /* bits of enum private_kind */
	char *dir;       /* for `tmp`: SPOOL/private/ID */
	uint64_t tmp_mb; /* 0: on disk */
	uint64_t shm_mb; /* 0: the kernel's default, half of the memory */
	uid_t uid;       /* the owner of the directories */
	gid_t gid;
};

/* From the run's record. place->dir is the caller's to free. */
struct private_place private_place_of(const Gpusched__LaunchRecord *launch);

/* The kinds that work on this node: tried in a child process, with a directory `dir` that only root
 * can change. */
uint32_t private_works(uint32_t kinds, char *dir, uint64_t tmp_mb);

/* Why a kind that does not work is not available, as far as that can be found out. */
const char *private_why(enum private_kind kind, const char *dir);

/* Make what `tmp` needs: `dir`, which must not exist, and its content. A tmpfs, which no mount
 * shows outside, belongs to this process and those that it forks, and is gone with the last of
 * them. To be called once in a process. -1 with ERR_SYSTEM. */
int private_make(const struct private_place *place, struct error *err);

/* Enter that tmpfs, if there is one. To be called before code that closes all descriptors, since it
 * needs the descriptor of the tmpfs. -1 with errno. */
int private_join(void);

/* Is that tmpfs full? */
bool private_is_full(void);

/* In the process that is to be the run's first, still root. -1 with errno and the step that failed.
 * Without an earlier private_make() a tmpfs is this process's own. */
int private_enter(const struct private_place *place, const char **what);

#endif
