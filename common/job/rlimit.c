/* rlimit.c - see rlimit.h */
#include "common/job/rlimit.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define NONE RLIMIT_NONE
#define MIB  ((uint64_t)1 << 20)

/* Numbers of kinds go into records: they are the kernel's. */
const struct rlimit_row rlimit_rows[RLIMITS_MAX] = {
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
_Static_assert(RLIM_NLIMITS == RLIMITS_MAX, "the kernel has one more");
_Static_assert(RLIM_INFINITY == RLIMIT_NONE, "unlimited is the largest number");

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

const struct rlimit_row *rlimit_row_of(uint64_t kind)
{
	for (size_t i = 0; i < RLIMITS_MAX; i++) {
		if ((uint64_t)rlimit_rows[i].kind == kind)
			return &rlimit_rows[i];
	}
	return NULL;
}

int rlimit_parse(const char *text, struct rlimit_said *out, struct error *err)
{
	size_t len = strcspn(text, "="), i = 0, soft;
	const char *value = text + len + (text[len] == '=');

	while (i < RLIMITS_MAX &&
	        (strlen(rlimit_rows[i].name) != len || memcmp(rlimit_rows[i].name, text, len) != 0))
		i++;
	if (i == RLIMITS_MAX)
		return error_set(err, ERR_USAGE, "there is no limit '%.*s'", (int)len, text);
	out->kind = rlimit_rows[i].kind;
	soft = strcspn(value, ":");
	if (parse_value(value, soft, &out->soft) < 0 ||
	        (value[soft] &&
	                parse_value(value + soft + 1, strlen(value + soft + 1), &out->hard) < 0))
		return error_set(err, ERR_USAGE,
		        "'%s': expected NAME=SOFT or NAME=SOFT:HARD, of numbers or unlimited",
		        text);
	if (!value[soft])
		out->hard = out->soft;
	if (out->soft > out->hard)
		return error_set(
		        err, ERR_USAGE, "'%s': the soft limit is above the hard one", text);
	return 0;
}
