/* gctl_verify.c - gctl verify: would a controller start from this copy of its state? */
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmds/ctl/gctl.h"
#include "common/base/xalloc.h"

/* Where it is installed, or in a build tree. Caller frees. */
static char *find_gctld(void)
{
	char self[PATH_MAX + 1] = "", *path = xstrdup(SBINDIR "/gctld");

	if (access(path, X_OK) == 0 || readlink("/proc/self/exe", self, PATH_MAX) <= 0)
		return path;
	free(path);
	return xasprintf("%s/../ctld/gctld", dirname(self));
}

/* gctld does it, which alone knows the state: it takes this process over, and its exit status. */
int gctl_verify(struct run *r, struct error *err)
{
	const char *conf = getenv("GPUSCHED_CONF");
	char *file = xasprintf("--verify=%s", r->words[0]), *path = find_gctld();
	char *config = xasprintf("--config=%s", conf ? conf : "");
	char *argv[] = { (char *)"gctld", file, conf && *conf ? config : NULL, NULL };

	/* A terminal that is dumb gets no progress. */
	if (r->g->quiet)
		setenv("TERM", "dumb", 1);
	execv(path, argv);
	error_set(err, ERR_SYSTEM, "%s: %s", path, strerror(errno));
	error_hint(err, "the controller's host has it");
	free(file);
	free(config);
	free(path);
	return -1;
}
