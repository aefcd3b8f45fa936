/* private.h - what a run does not share with others on its node
 *
 * By the site's choice (gnoded --private), each tried when the launcher starts; all need root:
 *
 *   tmp    /tmp and /var/tmp are directories of the run's own, on the spool's file system; removed
 *          after its end, with what is in them. Where they have a size (gnoded --private-tmp) they
 *          are a tmpfs instead, which counts as memory of the run, and both together have it
 *   shm    /dev/shm is a tmpfs of its own, gone with its last process; as large as the memory that
 *          was booked for the run, at most, if any was
 *   ipc    System V IPC and POSIX message queues of its own, by their files in /dev/mqueue too
 *   proc   in /proc it sees the processes of its own user only
 *
 * The mounts are made by root in a mount namespace of the run's first process, before it becomes
 * the owner, and no mount made there is seen outside. What is mounted over is named by us, never by
 * a user, and the directories lie where only root can name them: SPOOL/private (0700), ID in it.
 */
#ifndef NODED_PRIVATE_H
#define NODED_PRIVATE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/error.h"
#include "common/gpusched.pb-c.h"
#include "common/nodewords.h"

enum private_kind { PRIVATE_TMP, PRIVATE_SHM, PRIVATE_IPC, PRIVATE_PROC, PRIVATE_KINDS };

#define PRIVATE_DIR "private" /* in SPOOL */

const char *private_name(enum private_kind kind);

/* A list between commas as bits (1 << kind); -1 with ERR_USAGE. */
int private_parse(const char *words, uint32_t *kinds, struct error *err);

/* What of it one run has. */
struct private_place {
	uint32_t kinds;  /* bits of enum private_kind */
	char *dir;       /* for `tmp`: SPOOL/private/ID */
	uint64_t tmp_mb; /* 0: on disk */
	uint64_t shm_mb; /* 0: as the kernel has it, half of the memory */
	uid_t uid;       /* who is to have the directories */
	gid_t gid;
};

/* As its record says; place->dir is the caller's to free. */
struct private_place private_place_of(const Gpusched__LaunchRecord *launch);

/* Those that work here: tried in a process of its own, with a directory `dir` that only root can
 * change. */
uint32_t private_works(uint32_t kinds, char *dir, uint64_t tmp_mb);

/* Why one of those that do not work cannot be had, as far as that can be told. */
const char *private_why(enum private_kind kind, const char *dir);

/* What `tmp` needs: dir, which must not be there, and what is in it; a tmpfs, which no mount shows
 * outside, belongs to this process and those that it forks, and is gone with the last of them. To
 * be called once in a process. -1 with ERR_SYSTEM. */
int private_make(const struct private_place *place, struct error *err);

/* Be where that tmpfs is, if there is one: before its descriptor is closed by who closes them all.
 * -1 with errno. */
int private_join(void);

/* Nothing more can be written to that tmpfs. */
bool private_is_full(void);

/* In the process that is to be the run's first, still root. -1 with errno, and what failed. Without
 * a private_make() before it a tmpfs is this process's own. */
int private_enter(const struct private_place *place, const char **what);

#endif
