/* owner_grant.c - see owner_grant.h */
#include "config.h"

#include "noded/stream/owner_grant.h"

#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/base/xalloc.h"
#include "noded/exec/become_user.h"

#define GRANT_MAX (1024 * 1024)

ProtobufCMessage *owner_grant_read(int fd, const ProtobufCMessageDescriptor *desc)
{
	uint8_t *b = xcalloc(1, GRANT_MAX);
	size_t n = 0;
	ssize_t got;
	ProtobufCMessage *m;

	while ((got = read(fd, b + n, GRANT_MAX - n)) > 0)
		n += (size_t)got;
	close(fd);
	m = got < 0 ? NULL : protobuf_c_message_unpack(desc, NULL, n, b);
	explicit_bzero(b, n);
	free(b);
	return m;
}

int owner_grant_become_owner(const Gpusched__OutputRecord *r, unsigned keep_below)
{
	struct become_user_to to = {
		.uid = r->uid, .gid = r->gid, .groups = r->groups, .n_groups = r->n_groups
	};
	struct error err;

	syscall(SYS_close_range, keep_below, ~0U, 0);
	if ((r->switch_user ? become_user_for_good(&become_user_system_calls, &to, &err)
	                    : become_user_prove(&become_user_system_calls, &to, &err)) < 0 ||
	        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
#ifndef __SANITIZE_ADDRESS__ /* the leak checker looks into its own process by ptrace(2) */
	/* Hides a client's keys from the owner's other processes. */
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
#endif
	return 0;
}
