/* spawn.h - programs of the site, started by the controller: fence, mail */
#ifndef CTLD_SPAWN_H
#define CTLD_SPAWN_H

#include <sys/types.h>

/* Start it with nothing of ours but stderr: that environment, no signals held, a process group of
 * its own. 0, or an errno. */
int program_spawn(const char *program, char *const argv[], char *const env[], pid_t *pid);

#endif
