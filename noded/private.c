/* private.c - see private.h */
#include "noded/private.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/xalloc.h"

#define MODE   01777 /* as where they stand for; nobody else can reach them */
#define QUEUES "/dev/mqueue"

static const char *const names[PRIVATE_KINDS] = {
	[PRIVATE_TMP] = "tmp",
	[PRIVATE_SHM] = "shm",
	[PRIVATE_IPC] = "ipc",
	[PRIVATE_PROC] = "proc",
};

/* What stands for what. */
static const struct {
	const char *dir, *at;
} dirs[] = { { "tmp", "/tmp" }, { "var_tmp", "/var/tmp" } };

const char *private_name(enum private_kind kind)
{
	return names[kind];
}

int private_parse(const char *words, uint32_t *kinds, struct error *err)
{
	*kinds = 0;
	while (*words) {
		size_t len = strcspn(words, ",");
		int k = 0;

		while (k < PRIVATE_KINDS &&
		        (strlen(names[k]) != len || memcmp(names[k], words, len) != 0))
			k++;
		if (k == PRIVATE_KINDS)
			return error_set(err, ERR_USAGE, "no '%.*s'; there are " PRIVATE_WORDS,
			        (int)len, words);
		*kinds |= 1u << k;
		words += len + (words[len] == ',');
	}
	return 0;
}

/* --- directories ------------------------------------------------------------------------------ */

int private_make(const char *dir, uid_t uid, gid_t gid, struct error *err)
{
	int at = -1;

	if (mkdir(dir, 0700) == 0)
		at = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	for (size_t i = 0; at >= 0 && i < sizeof(dirs) / sizeof(*dirs); i++) {
		int fd = -1;

		if (mkdirat(at, dirs[i].dir, 0700) == 0)
			fd = openat(
			        at, dirs[i].dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0 || fchown(fd, uid, gid) < 0 || fchmod(fd, MODE) < 0) {
			close(at);
			at = -1;
		}
		if (fd >= 0)
			close(fd);
	}
	if (at < 0)
		return error_set(err, ERR_SYSTEM, "cannot make private directories in '%s': %s",
		        dir, strerror(errno));
	close(at);
	return 0;
}

/* --- namespaces ------------------------------------------------------------------------------- */

static int mount_tmp(const char *dir)
{
	for (size_t i = 0; i < sizeof(dirs) / sizeof(*dirs); i++) {
		char *from = xasprintf("%s/%s", dir, dirs[i].dir);
		int r = mount(from, dirs[i].at, NULL, MS_BIND, NULL);

		free(from);
		/* A bind mount takes its flags on a second call [mount(2)]. */
		if (r < 0 || mount(NULL, dirs[i].at, NULL,
		                     MS_REMOUNT | MS_BIND | MS_NOSUID | MS_NODEV, NULL) < 0)
			return -1;
	}
	return 0;
}

static int mount_shm(const char *dir)
{
	(void)dir;
	return mount("shm", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777");
}

/* What is mounted at /dev/mqueue shows the queues of who mounted it, whoever looks. */
static int enter_ipc(const char *dir)
{
	(void)dir;
	if (unshare(CLONE_NEWIPC) < 0)
		return -1;
	if (access(QUEUES, F_OK) < 0 && errno == ENOENT)
		return 0;
	return mount("mqueue", QUEUES, "mqueue", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0 &&
	                       errno != ENODEV
	               ? -1
	               : 0;
}

static int mount_proc(const char *dir)
{
	(void)dir;
	return mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, "hidepid=2");
}

int private_enter(uint32_t kinds, const char *dir, const char **what)
{
	static int (*const enter[PRIVATE_KINDS])(const char *dir) = {
		[PRIVATE_TMP] = mount_tmp,
		[PRIVATE_SHM] = mount_shm,
		[PRIVATE_IPC] = enter_ipc,
		[PRIVATE_PROC] = mount_proc,
	};

	*what = "mounts";
	if (kinds &&
	        (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0))
		return -1;
	for (int k = 0; k < PRIVATE_KINDS; k++) {
		*what = names[k];
		if (kinds & 1u << k && enter[k](dir) < 0)
			return -1;
	}
	return 0;
}

static bool works(uint32_t kind, const char *dir)
{
	const char *what;
	int status = 0;
	pid_t pid = fork();

	if (pid == 0)
		_exit(private_enter(kind, dir, &what) < 0);
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

static void remove_probe(const char *dir)
{
	for (size_t i = 0; i < sizeof(dirs) / sizeof(*dirs); i++) {
		char *path = xasprintf("%s/%s", dir, dirs[i].dir);

		rmdir(path);
		free(path);
	}
	rmdir(dir);
}

uint32_t private_works(uint32_t kinds, const char *dir)
{
	uint32_t good = 0;
	struct error err;

	if (geteuid() != 0 || !kinds)
		return 0;
	remove_probe(dir); /* of a launcher that was killed here */
	if (private_make(dir, 0, 0, &err) < 0)
		return 0;
	for (int k = 0; k < PRIVATE_KINDS; k++)
		if (kinds & 1u << k && works(1u << k, dir))
			good |= 1u << k;
	remove_probe(dir);
	return good;
}

const char *private_why(enum private_kind kind, const char *dir)
{
	if (geteuid() != 0)
		return "that needs root";
	for (size_t i = 0; i < sizeof(dirs) / sizeof(*dirs) && kind == PRIVATE_TMP; i++) {
		size_t n = strlen(dirs[i].at);

		if (strncmp(dir, dirs[i].at, n) == 0 && dir[n] == '/')
			return "--spool lies in it, and would be hidden";
	}
	return "a private one cannot be had here";
}
