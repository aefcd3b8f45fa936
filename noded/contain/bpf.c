/* bpf.c - see bpf.h */
#include "noded/contain/bpf.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int call_bpf(enum bpf_cmd cmd, union bpf_attr *attr)
{
	return (int)syscall(SYS_bpf, cmd, attr, sizeof(*attr));
}

int bpf_attach(
        int cgroup, enum bpf_prog_type type, enum bpf_attach_type as, const struct bpf_code *p)
{
	static const char licence[] = "GPL";
	union bpf_attr attr;
	int fd, r, error;

	memset(&attr, 0, sizeof(attr));
	attr.prog_type = type;
	attr.expected_attach_type = type == BPF_PROG_TYPE_CGROUP_SOCK_ADDR ? as : 0;
	attr.insns = (uintptr_t)p->v;
	attr.insn_cnt = (uint32_t)p->n;
	attr.license = (uintptr_t)licence;
	fd = call_bpf(BPF_PROG_LOAD, &attr);
	if (fd < 0)
		return -1;
	memset(&attr, 0, sizeof(attr));
	attr.target_fd = (uint32_t)cgroup;
	attr.attach_bpf_fd = (uint32_t)fd;
	attr.attach_type = as;
	attr.attach_flags = BPF_F_ALLOW_MULTI;
	r = call_bpf(BPF_PROG_ATTACH, &attr);
	error = errno;
	close(fd);
	errno = error;
	return r < 0 ? -1 : 0;
}
