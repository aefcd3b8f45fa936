/* spawn.h - starts the programs of the launcher: shepherds, gtap, ghold */
#ifndef NODED_LAUNCHER_SPAWN_H
#define NODED_LAUNCHER_SPAWN_H

#include <stddef.h>
#include <sys/types.h>

#include <protobuf-c/protobuf-c.h>

#include "common/base/error.h"

#define SPAWN_FDS 4 /* that a program may inherit */

struct launcher;

/* Start a program with the descriptors as 3, 4, ... (-1: none in that place), 0 to 2 on /dev/null,
 * no signals blocked, in a session of its own. The descriptors stay the caller's. -1 with
 * ERR_LAUNCH. */
int spawn_program(const char *path, char *const argv[], const int *fds, size_t n, pid_t *pid,
        struct error *err);

/* The same for a program in the shepherd's directory that has no arguments. */
int spawn_helper(
        const struct launcher *l, const char *name, const int *fds, size_t n, struct error *err);

/* The path of a program in the shepherd's directory; the caller's to free. */
char *spawn_path(const struct launcher *l, const char *name);

/* A message as a descriptor, for one process that will inherit it. -1 with ERR_SYSTEM. */
int spawn_grant(const ProtobufCMessage *m, struct error *err);

#endif
