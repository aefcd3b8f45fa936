/* lacks.h - a test that a program or a file of another package is missing for
 *
 * It is skipped; in CI (CI is set) it fails, since there nothing may be missing.
 */
#ifndef TESTSUITE_UNIT_LACKS_H
#define TESTSUITE_UNIT_LACKS_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/* Says what is missing. True: that is a failure. */
static inline bool lacks(const char *what, const char *package)
{
	const char *ci = getenv("CI");
	bool fails = ci && *ci;

	fprintf(stderr, "%s: %s is missing (Debian: %s)\n", fails ? "failed" : "skipped", what,
	        package);
	return fails;
}

#endif
