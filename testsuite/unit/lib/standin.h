/* standin.h - unit tests over NVML's stand-in (testsuite/nvml)
 *
 * The library is found as the real one is, so the test starts itself again with LD_LIBRARY_PATH.
 * The machine is the file `standin_facts` in the folder `standin_root`, which is gone with all that
 * is in it afterwards. STANDINS is where the library was built (local.am).
 */
#ifndef TESTSUITE_UNIT_STANDIN_H
#define TESTSUITE_UNIT_STANDIN_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static char standin_root[] = "/tmp/gpusched-standin.XXXXXX";
static char standin_facts[sizeof(standin_root) + 16];

/* The first thing in main(): in what it returns from the library is there. False: it cannot be. */
static bool standin_begin(char **argv)
{
	if (!getenv("NVML_STANDIN")) {
		setenv("NVML_STANDIN", "/nonexistent", 1);
		setenv("LD_LIBRARY_PATH", STANDINS, 1);
		execv("/proc/self/exe", argv);
		return false;
	}
	if (!mkdtemp(standin_root))
		return false;
	snprintf(standin_facts, sizeof(standin_facts), "%s/machine", standin_root);
	setenv("NVML_STANDIN", standin_facts, 1);
	return true;
}

static void standin_end(void)
{
	char command[sizeof(standin_root) + 16];

	snprintf(command, sizeof(command), "rm -rf %s", standin_root);
	if (system(command) != 0)
		fprintf(stderr, "%s is left\n", standin_root);
}

#endif
