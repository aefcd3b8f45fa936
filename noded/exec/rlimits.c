/* rlimits.c - see rlimits.h */
#include "noded/exec/rlimits.h"

#include <errno.h>
#include <sys/resource.h>

int rlimits_parse(const char *text, Gpusched__RunRlimit *out, struct error *err)
{
	struct rlimit_said said;

	gpusched__run_rlimit__init(out);
	if (rlimit_parse(text, &said, err) < 0)
		return -1;
	out->kind = (uint32_t)said.kind;
	out->soft = said.soft;
	out->hard = said.hard;
	return 0;
}

static int set_one(int kind, rlim_t soft, rlim_t hard)
{
	struct rlimit wanted = { soft, hard }, own;

	if (setrlimit(kind, &wanted) == 0)
		return 0;
	if (errno != EPERM || getrlimit(kind, &own) < 0)
		return -1;
	wanted.rlim_max = hard < own.rlim_max ? hard : own.rlim_max;
	wanted.rlim_cur = soft < wanted.rlim_max ? soft : wanted.rlim_max;
	return setrlimit(kind, &wanted);
}

int rlimits_set(Gpusched__RunRlimit *const *given, size_t n, const char **name)
{
	for (size_t i = 0; i < RLIMITS_MAX; i++) {
		rlim_t soft = rlimit_rows[i].soft, hard = rlimit_rows[i].hard;

		for (size_t k = 0; k < n; k++) {
			if (given[k]->kind != (uint32_t)rlimit_rows[i].kind)
				continue;
			soft = given[k]->soft;
			hard = given[k]->hard;
		}
		*name = rlimit_rows[i].name;
		if (set_one(rlimit_rows[i].kind, soft, hard) < 0)
			return -1;
	}
	return 0;
}
