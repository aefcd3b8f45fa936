/* fdpass.h - descriptors in a message, from one process to another (SCM_RIGHTS) */
#ifndef NODED_FDPASS_H
#define NODED_FDPASS_H

#include <stddef.h>
#include <sys/types.h>

#define FDPASS_MAX 4 /* descriptors in one message */

/* One message with n descriptors, 0 to FDPASS_MAX, which stay the caller's. `flags` as for send(2);
 * SIGPIPE is never raised. 0; -1 with errno. */
int fdpass_send(int sock, const void *bytes, size_t len, const int *fds, size_t n, int flags);

/* The next message, at most `len` bytes of it, and its descriptors, close-on-exec. `flags` as for
 * recv(2). Returns as recv(2) does; *n is 0 without descriptors. */
ssize_t fdpass_receive(
        int sock, void *bytes, size_t len, int fds[FDPASS_MAX], size_t *n, int flags);

#endif
