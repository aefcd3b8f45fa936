/* bpf.h - programs that the kernel runs for the processes of a cgroup [bpf(2)]
 *
 * They are attached with BPF_F_ALLOW_MULTI: programs of cgroups above still count, and one below
 * can only take more away.
 */
#ifndef NODED_BPF_H
#define NODED_BPF_H

#include <linux/bpf.h>
#include <stddef.h>
#include <stdint.h>

struct bpf_code {
	struct bpf_insn *v; /* room for all that is put */
	size_t n;
};

static inline void bpf_put(
        struct bpf_code *p, uint8_t code, uint8_t dst, uint8_t src, int16_t off, int32_t imm)
{
	p->v[p->n++] = (struct bpf_insn){
		.code = code, .dst_reg = dst & 15, .src_reg = src & 15, .off = off, .imm = imm
	};
}

/* return VERDICT */
static inline void bpf_put_verdict(struct bpf_code *p, int32_t verdict)
{
	bpf_put(p, BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, verdict);
	bpf_put(p, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
}

/* Load it, for programs that are attached as `as`, and attach it to the cgroup, whose directory is
 * open as `cgroup` and which holds it from then on. -1 with errno. */
int bpf_attach(
        int cgroup, enum bpf_prog_type type, enum bpf_attach_type as, const struct bpf_code *p);

#endif
