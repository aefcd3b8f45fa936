/* site_program_allowed.c - see site_program_allowed.h */
#include "config.h"

#include "noded/exec/site_program_allowed.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const names[PROGRAM_KINDS] = {
	[PROGRAM_PROLOG] = "prolog",
	[PROGRAM_TASK_PROLOG] = "task prolog",
	[PROGRAM_TASK_EPILOG] = "task epilog",
	[PROGRAM_EPILOG] = "epilog",
	[PROGRAM_SCRUB] = "scrub",
	[PROGRAM_HEALTH] = "health check",
};

const char *program_name(enum program_kind kind)
{
	return names[kind];
}

/* --- which programs may be run ---------------------------------------------------------------- */

/* Can another user replace the file? By writing to it, or to a directory above it that is not
 * sticky. */
static int check_owner(const char *path, const struct stat *st, struct error *err)
{
	bool sticky = S_ISDIR(st->st_mode) && st->st_mode & S_ISVTX;

	if (st->st_uid != 0)
		return error_set(err, ERR_USAGE, "'%s' is not root's", path);
	if (st->st_mode & 022 && !sticky)
		return error_set(err, ERR_USAGE, "'%s' can be changed by others than root", path);
	return 0;
}

static int check_all_above(char *path, struct error *err)
{
	struct stat st;

	for (;;) {
		if (stat(path, &st) < 0)
			return error_set(err, ERR_USAGE, "'%s': %s", path, strerror(errno));
		if (check_owner(path, &st, err) < 0)
			return -1;
		if (strcmp(path, "/") == 0)
			return 0;
		path = dirname(path);
	}
}

int program_place_check(const char *path, struct error *err)
{
	char *real = realpath(path, NULL);
	int rc;

	if (!real)
		return error_set(err, ERR_USAGE, "'%s': %s", path, strerror(errno));
	rc = check_all_above(real, err);
	free(real);
	return rc;
}

int program_check(const char *path, bool root, struct error *err)
{
	struct stat st;

	if (*path != '/')
		return error_set(err, ERR_USAGE, "'%s' is no absolute path", path);
	if (stat(path, &st) < 0 || access(path, X_OK) < 0)
		return error_set(err, ERR_USAGE, "'%s': %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return error_set(err, ERR_USAGE, "'%s' is no program", path);
	return root ? program_place_check(path, err) : 0;
}

int program_recheck(const char *path, struct error *err)
{
	return geteuid() == 0 ? program_check(path, true, err) : 0;
}

/* As written, without following links. */
static bool names_below(const char *path, const char *dir, size_t n)
{
	return n && strncmp(path, dir, n) == 0 && path[n] == '/' && !strstr(path, "/..");
}

/* Paths outside the folder are not even opened: that might hang. */
char *program_told(const char *path, const char *dir, bool root, struct error *err)
{
	size_t n = dir ? strlen(dir) : 0;
	char *real_dir = NULL, *real = NULL;

	while (n && dir[n - 1] == '/')
		n--;
	if (!dir) {
		error_set(err, ERR_USAGE,
		        "'%.80s': gnoded --programs=none takes none of gpusched.conf's", path);
		return NULL;
	}
	if (*path != '/') {
		error_set(err, ERR_USAGE, "'%.80s' is no absolute path", path);
		return NULL;
	}
	if (names_below(path, dir, n)) {
		real = realpath(path, NULL);
		if (!real) {
			error_set(err, ERR_USAGE, "'%.80s': %s", path, strerror(errno));
			return NULL;
		}
		real_dir = realpath(dir, NULL);
	}
	if (!real_dir || !names_below(real, real_dir, strlen(real_dir)))
		error_set(err, ERR_USAGE,
		        "'%.80s' does not lie in %.80s: gpusched.conf names programs of that "
		        "folder, or gnoded --programs another folder",
		        path, dir);
	else if (program_check(real, root, err) == 0) {
		free(real_dir);
		return real;
	}
	free(real_dir);
	free(real);
	return NULL;
}

const Gpusched__RunProgram *program_of(const Gpusched__LaunchRecord *launch, enum program_kind kind)
{
	for (size_t i = 0; i < launch->n_programs; i++)
		if (launch->programs[i]->kind == (uint32_t)kind)
			return launch->programs[i];
	return NULL;
}

bool program_any_after(const Gpusched__LaunchRecord *launch)
{
	return program_of(launch, PROGRAM_EPILOG) || program_of(launch, PROGRAM_SCRUB);
}

/* --- the process ------------------------------------------------------------------------------ */

const char *program_exec_hint(int error)
{
	switch (error) {
	case ENOENT:
		return "; is the interpreter there that its first line names?";
	case ENOEXEC:
		return "; its first line must name its interpreter, as in #!/bin/sh";
	default:
		return "";
	}
}
