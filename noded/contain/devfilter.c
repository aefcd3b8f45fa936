/* devfilter.c - see devfilter.h */
#include "noded/contain/devfilter.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "common/base/xalloc.h"
#include "noded/contain/bpf.h"

#define RULE_INSNS 5 /* at most, for one device */
#define HEAD_INSNS 10
#define TAIL_INSNS 2

static const struct device for_all[] = {
	{ 'c', 1, 3 },                 /* null */
	{ 'c', 1, 5 },                 /* zero */
	{ 'c', 1, 7 },                 /* full */
	{ 'c', 1, 8 },                 /* random */
	{ 'c', 1, 9 },                 /* urandom */
	{ 'c', 5, 0 },                 /* tty */
	{ 'c', 5, 2 },                 /* ptmx */
	{ 'c', 136, DEVFILTER_MINOR }, /* pts */
};
#define N_FOR_ALL (sizeof(for_all) / sizeof(*for_all))

int device_at(const char *path, struct device *out, struct error *err)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return error_set(err, ERR_SYSTEM, "device '%s': %s", path, strerror(errno));
	if (!S_ISCHR(st.st_mode) && !S_ISBLK(st.st_mode))
		return error_set(err, ERR_USAGE, "'%s' is no device file", path);
	*out = (struct device){ .type = S_ISCHR(st.st_mode) ? 'c' : 'b',
		.major = major(st.st_rdev),
		.minor = minor(st.st_rdev) };
	return 0;
}

int device_major(const char *driver)
{
	FILE *f = fopen("/proc/devices", "re");
	char line[128], name[64];
	int found = -1, number;

	while (f && found < 0 && fgets(line, sizeof(line), f) && strncmp(line, "Block", 5) != 0)
		if (sscanf(line, "%d %63s", &number, name) == 2 && strcmp(name, driver) == 0)
			found = number;
	if (f)
		fclose(f);
	return found;
}

/* --- the program ------------------------------------------------------------------------------ */

#define INSNS_MAX (HEAD_INSNS + RULE_INSNS * (N_FOR_ALL + DEVFILTER_MAX) + TAIL_INSNS)

/* r2 is the kind of device, r3 the access, r4 major, r5 minor. Making devices is never allowed. */
static void put_head(struct bpf_code *p)
{
	bpf_put(p, BPF_LDX | BPF_W | BPF_MEM, 2, 1,
	        offsetof(struct bpf_cgroup_dev_ctx, access_type), 0);
	bpf_put(p, BPF_LDX | BPF_W | BPF_MEM, 4, 1, offsetof(struct bpf_cgroup_dev_ctx, major), 0);
	bpf_put(p, BPF_LDX | BPF_W | BPF_MEM, 5, 1, offsetof(struct bpf_cgroup_dev_ctx, minor), 0);
	bpf_put(p, BPF_ALU64 | BPF_MOV | BPF_X, 3, 2, 0, 0);
	bpf_put(p, BPF_ALU64 | BPF_RSH | BPF_K, 3, 0, 0, 16);
	bpf_put(p, BPF_ALU64 | BPF_AND | BPF_K, 2, 0, 0, 0xffff);
}

/* An immediate operand is extended by its sign, in 64 bits: compare in 32. */
static void put_rule(struct bpf_code *p, const struct device *d)
{
	const uint8_t unlike = BPF_JMP32 | BPF_JNE | BPF_K;
	bool any = d->minor == DEVFILTER_MINOR;
	int16_t rest = any ? 3 : 4;

	bpf_put(p, unlike, 2, 0, rest--, d->type == 'c' ? BPF_DEVCG_DEV_CHAR : BPF_DEVCG_DEV_BLOCK);
	bpf_put(p, unlike, 4, 0, rest--, (int32_t)d->major);
	if (!any)
		bpf_put(p, unlike, 5, 0, rest--, (int32_t)d->minor);
	bpf_put_verdict(p, 1);
}

static void make_program(struct bpf_code *p, const struct device *granted, size_t n)
{
	put_head(p);
	/* if (access & MKNOD) return 0 */
	bpf_put(p, BPF_JMP | BPF_JSET | BPF_K, 3, 0, 1, BPF_DEVCG_ACC_MKNOD);
	bpf_put(p, BPF_JMP | BPF_JA, 0, 0, 2, 0);
	bpf_put_verdict(p, 0);
	for (size_t i = 0; i < N_FOR_ALL; i++)
		put_rule(p, &for_all[i]);
	for (size_t i = 0; i < n; i++)
		put_rule(p, &granted[i]);
	bpf_put_verdict(p, 0);
}

int devfilter_attach(int cgroup, const struct device *granted, size_t n, struct error *err)
{
	struct bpf_code p = { 0 };
	int r;

	if (n > DEVFILTER_MAX)
		return error_set(err, ERR_SYSTEM, "%zu devices for one run; at most %d can be", n,
		        DEVFILTER_MAX);
	p.v = xcalloc(INSNS_MAX, sizeof(*p.v));
	make_program(&p, granted, n);
	r = bpf_attach(cgroup, BPF_PROG_TYPE_CGROUP_DEVICE, BPF_CGROUP_DEVICE, &p);
	if (r < 0)
		error_set(err, ERR_SYSTEM, "device filter: %s", strerror(errno));
	free(p.v);
	return r;
}
