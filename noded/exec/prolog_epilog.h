/* prolog_epilog.h - runs one of the site's programs (site_program_allowed.h) to its end */
#ifndef NODED_PROLOG_EPILOG_H
#define NODED_PROLOG_EPILOG_H

#include <stdbool.h>
#include <stdint.h>

#include "common/gpusched.pb-c.h"
#include "noded/exec/site_program_allowed.h"

struct program_run {
	enum program_kind kind;
	const char *path;
	uint64_t timeout_ms;
	const Gpusched__LaunchRecord *launch; /* NULL: it belongs to no run */
	const char *node;
	const char *leaf; /* its own cgroup, which is made and removed; "": none */
	/* Called at least every 100 ms; false: kill the program now. NULL: never. */
	bool (*go_on)(void *arg);
	void *arg;
};

enum program_end { PROGRAM_DONE, PROGRAM_STOPPED, PROGRAM_FAILED };

/* Run the program to its end, and kill whatever it leaves running. The calling process must be a
 * subreaper without other children, with SIGCHLD blocked. FAILED: `trouble` says why in one line;
 * else it is empty. */
enum program_end program_run(const struct program_run *what, char trouble[PROGRAM_TROUBLE_MAX]);

/* A run's program of this kind; DONE where it has none. */
enum program_end program_run_of(const Gpusched__LaunchRecord *launch, enum program_kind kind,
        bool (*go_on)(void *arg), void *arg, char trouble[PROGRAM_TROUBLE_MAX]);

/* Run all of root's programs that come after a run, even if an earlier one failed; `trouble` is of
 * the first that failed. */
enum program_end program_run_after(const Gpusched__LaunchRecord *launch, bool (*go_on)(void *arg),
        void *arg, char trouble[PROGRAM_TROUBLE_MAX]);

#endif
