/* portfilter.c - see portfilter.h */
#include "noded/contain/portfilter.h"

#include "noded/contain/bpf.h"

#define PORT_INSNS 3 /* for each port of its own */
#define HEAD_INSNS 2
#define TAIL_INSNS 6

/* r2 is the port. */
static void make_program(
        struct bpf_code *p, uint32_t low, uint32_t high, const uint32_t *own, size_t n_own)
{
	bpf_put(p, BPF_LDX | BPF_W | BPF_MEM, 2, 1, offsetof(struct bpf_sock_addr, user_port), 0);
	bpf_put(p, BPF_ALU | BPF_END | BPF_TO_BE, 2, 0, 0, 16); /* from the network's order */
	for (size_t i = 0; i < n_own; i++) {
		bpf_put(p, BPF_JMP32 | BPF_JNE | BPF_K, 2, 0, 2, (int32_t)own[i]);
		bpf_put_verdict(p, 1);
	}
	bpf_put(p, BPF_JMP32 | BPF_JLT | BPF_K, 2, 0, 3, (int32_t)low);
	bpf_put(p, BPF_JMP32 | BPF_JGT | BPF_K, 2, 0, 2, (int32_t)high);
	bpf_put_verdict(p, 0);
	bpf_put_verdict(p, 1);
}

int portfilter_attach(int cgroup, uint32_t low, uint32_t high, const uint32_t *own, size_t n_own)
{
	static const enum bpf_attach_type hooks[] = { BPF_CGROUP_INET4_BIND,
		BPF_CGROUP_INET6_BIND };
	struct bpf_insn room[HEAD_INSNS + PORT_INSNS * PORTFILTER_OWN_MAX + TAIL_INSNS];
	struct bpf_code p = { room, 0 };

	make_program(&p, low, high, own, n_own < PORTFILTER_OWN_MAX ? n_own : PORTFILTER_OWN_MAX);
	for (size_t i = 0; i < sizeof(hooks) / sizeof(hooks[0]); i++)
		if (bpf_attach(cgroup, BPF_PROG_TYPE_CGROUP_SOCK_ADDR, hooks[i], &p) < 0)
			return -1;
	return 0;
}
