/* file_checks.c - see file_checks.h */
#include "config.h"

#include "cmds/options/file_checks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/text.h"
#include "common/base/xalloc.h"

enum need { NEED_FOLDER, NEED_READABLE, NEED_WRITABLE };

/* Why the file could not be used; NULL: it could, or this is not known yet. `path` may be cut to
 * the folder that is to blame. */
static const char *trouble(char *path, enum need need)
{
	char *slash;
	struct stat st;

	if (need == NEED_FOLDER)
		return access(path, X_OK) < 0                            ? strerror(errno)
		       : stat(path, &st) == 0 && !S_ISDIR(st.st_mode) ? strerror(ENOTDIR)
		                                                      : NULL;
	if (need == NEED_READABLE)
		return strchr(path, '%') || access(path, R_OK) == 0 ? NULL : strerror(errno);
	slash = strrchr(path, '/');
	if (!strchr(slash, '%') && stat(path, &st) == 0)
		return S_ISDIR(st.st_mode)       ? strerror(EISDIR)
		       : access(path, W_OK) < 0 ? strerror(errno)
		                                : NULL;
	slash[slash == path] = '\0';
	return strchr(path, '%') || access(path, W_OK | X_OK) == 0 ? NULL : strerror(errno);
}

void files_check(
        const struct gpusched_spec *spec, void (*warn)(const char *text, void *arg), void *arg)
{
	const struct {
		const char *option, *path;
		enum need need;
	} files[] = {
		{ "--chdir", spec->cwd, NEED_FOLDER },
		{ "--input", spec->input, NEED_READABLE },
		{ "--output", spec->output, NEED_WRITABLE },
		{ "--error", spec->error, NEED_WRITABLE },
	};
	bool same = spec->output && spec->error && !strcmp(spec->output, spec->error);
	char text[512], shown[300];

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]) - same; i++) {
		const char *path = files[i].path, *why;
		char *whole;

		if (!path || !*path)
			continue;
		whole = path[0] == '/' ? xstrdup(path) : xasprintf("%s/%s", spec->cwd, path);
		why = trouble(whole, files[i].need);
		text_escape(shown, sizeof(shown), whole, strlen(whole));
		if (why)
			snprintf(text, sizeof(text),
			        "%s: '%s' here: %s; the job fails if its node sees the same",
			        files[i].option, shown, why);
		free(whole);
		if (why)
			warn(text, arg);
		if (why && files[i].need == NEED_FOLDER)
			break; /* what lies in it is missing too */
	}
}
