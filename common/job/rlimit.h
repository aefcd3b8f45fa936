/* rlimit.h - resource limits of a job's processes, by name [setrlimit(2)]
 *
 * One row for each limit, with its default: gnoded sets all of them (noded/exec/rlimits.h), and
 * gpusched.conf and gnoded's options can set some.
 */
#ifndef COMMON_RLIMIT_H
#define COMMON_RLIMIT_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

#define RLIMITS_MAX 16 /* limits that there are */

#define RLIMIT_NONE UINT64_MAX /* as a value: unlimited */

struct rlimit_row {
	const char *name;
	int kind; /* the kernel's number: kept in records */
	uint64_t soft, hard;
};
extern const struct rlimit_row rlimit_rows[RLIMITS_MAX];

const struct rlimit_row *rlimit_row_of(uint64_t kind); /* NULL: there is no such limit */

/* One that was named. */
struct rlimit_said {
	int kind;
	uint64_t soft, hard;
};

/* NAME=SOFT[:HARD], of numbers or "unlimited" (as in nofile=1024:524288, memlock=unlimited). -1
 * with ERR_USAGE. */
int rlimit_parse(const char *text, struct rlimit_said *out, struct error *err);

#endif
