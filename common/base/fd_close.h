/* fd_close.h - closing a descriptor that may never have been opened */
#ifndef COMMON_FD_CLOSE_H
#define COMMON_FD_CLOSE_H

#include <unistd.h>

/* A negative `fd` is fine: errno stays as it is then. */
static inline void fd_close(int fd)
{
	if (fd >= 0)
		close(fd);
}

/* And forget it: -1 afterwards. */
static inline void fd_drop(int *fd)
{
	fd_close(*fd);
	*fd = -1;
}

#endif
