/* private.h - what a run does not share with others on its node
 *
 * By the site's choice (gnoded --private), each tried when the launcher starts; all need root:
 *
 *   tmp    /tmp and /var/tmp are directories of the run's own, on the spool's file system; removed
 *          after its end, with what is in them
 *   shm    /dev/shm is a tmpfs of its own, gone with its last process
 *   ipc    System V IPC and POSIX message queues of its own, by their files in /dev/mqueue too
 *   proc   in /proc it sees the processes of its own user only
 *
 * The mounts are made by root in a mount namespace of the run's first process, before it becomes
 * the owner, and no mount made there is seen outside. What is mounted over is named by us, never by
 * a user, and the directories lie where only root can name them: SPOOL/private (0700), ID in it.
 */
#ifndef NODED_PRIVATE_H
#define NODED_PRIVATE_H

#include <stdint.h>
#include <sys/types.h>

#include "common/error.h"
#include "common/nodewords.h"

enum private_kind { PRIVATE_TMP, PRIVATE_SHM, PRIVATE_IPC, PRIVATE_PROC, PRIVATE_KINDS };

#define PRIVATE_DIR   "private" /* in SPOOL */

const char *private_name(enum private_kind kind);

/* A list between commas as bits (1 << kind); -1 with ERR_USAGE. */
int private_parse(const char *words, uint32_t *kinds, struct error *err);

/* Those that work here: tried in a process of its own, with a directory `dir` that only root can
 * change. */
uint32_t private_works(uint32_t kinds, const char *dir);

/* Why one of those that do not work cannot be had, as far as that can be told. */
const char *private_why(enum private_kind kind, const char *dir);

/* The directories for `tmp` below `dir`, which must not be there; they become uid's. -1 with
 * ERR_SYSTEM. */
int private_make(const char *dir, uid_t uid, gid_t gid, struct error *err);

/* In the process that is to be the run's first, still root. -1 with errno, and what failed. */
int private_enter(uint32_t kinds, const char *dir, const char **what);

#endif
