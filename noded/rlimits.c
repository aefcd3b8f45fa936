/* rlimits.c - see rlimits.h */
#include "noded/rlimits.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define NONE RLIM_INFINITY
#define MIB  ((rlim_t)1 << 20)

/* Numbers of kinds go into records: they are the kernel's. */
static const struct {
	const char *name;
	int kind;
	rlim_t soft, hard;
} rows[] = {
	{ "as", RLIMIT_AS, NONE, NONE },
	{ "core", RLIMIT_CORE, 0, NONE },
	{ "cpu", RLIMIT_CPU, NONE, NONE },
	{ "data", RLIMIT_DATA, NONE, NONE },
	{ "fsize", RLIMIT_FSIZE, NONE, NONE },
	{ "locks", RLIMIT_LOCKS, NONE, NONE },
	{ "memlock", RLIMIT_MEMLOCK, NONE, NONE }, /* pinned for GPUs and networks; it is booked */
	{ "msgqueue", RLIMIT_MSGQUEUE, 819200, 819200 },
	{ "nice", RLIMIT_NICE, 0, 0 },
	{ "nofile", RLIMIT_NOFILE, 1024, 524288 },
	{ "nproc", RLIMIT_NPROC, NONE, NONE }, /* of all the user's: --max-processes is of a run */
	{ "rss", RLIMIT_RSS, NONE, NONE },
	{ "rtprio", RLIMIT_RTPRIO, 0, 0 },
	{ "rttime", RLIMIT_RTTIME, NONE, NONE },
	{ "sigpending", RLIMIT_SIGPENDING, 65536, 65536 },
	{ "stack", RLIMIT_STACK, 8 * MIB, NONE },
};
#define N_ROWS (sizeof(rows) / sizeof(*rows))
_Static_assert(N_ROWS == RLIMITS_MAX, "one row for each");
_Static_assert(RLIM_NLIMITS == RLIMITS_MAX, "the kernel has one more");

static int parse_value(const char *text, size_t len, uint64_t *value)
{
	char *end;

	if (len == strlen("unlimited") && memcmp(text, "unlimited", len) == 0) {
		*value = NONE;
		return 0;
	}
	if (len == 0 || *text < '0' || *text > '9')
		return -1;
	errno = 0;
	*value = strtoull(text, &end, 10);
	return errno || end != text + len ? -1 : 0;
}

int rlimits_parse(const char *text, Gpusched__RunRlimit *out, struct error *err)
{
	size_t len = strcspn(text, "="), i = 0, soft;
	const char *value = text + len + (text[len] == '=');

	gpusched__run_rlimit__init(out);
	while (i < N_ROWS && (strlen(rows[i].name) != len || memcmp(rows[i].name, text, len) != 0))
		i++;
	if (i == N_ROWS)
		return error_set(err, ERR_USAGE, "there is no limit '%.*s'", (int)len, text);
	out->kind = (uint32_t)rows[i].kind;
	soft = strcspn(value, ":");
	if (parse_value(value, soft, &out->soft) < 0 ||
	        (value[soft] &&
	                parse_value(value + soft + 1, strlen(value + soft + 1), &out->hard) < 0))
		return error_set(err, ERR_USAGE,
		        "'%s': want NAME=SOFT or NAME=SOFT:HARD, of numbers or unlimited", text);
	if (!value[soft])
		out->hard = out->soft;
	if (out->soft > out->hard)
		return error_set(
		        err, ERR_USAGE, "'%s': the soft limit is above the hard one", text);
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
	for (size_t i = 0; i < N_ROWS; i++) {
		rlim_t soft = rows[i].soft, hard = rows[i].hard;

		for (size_t k = 0; k < n; k++) {
			if (given[k]->kind != (uint32_t)rows[i].kind)
				continue;
			soft = given[k]->soft;
			hard = given[k]->hard;
		}
		*name = rows[i].name;
		if (set_one(rows[i].kind, soft, hard) < 0)
			return -1;
	}
	return 0;
}
