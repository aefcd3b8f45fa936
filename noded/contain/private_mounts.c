/* private_mounts.c - see private_mounts.h */
#include "noded/contain/private_mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/xalloc.h"
#include "noded/record/record.h"

#define MODE   01777 /* as the real /tmp; no other user can reach them */
#define QUEUES "/dev/mqueue"

static const char *const names[PRIVATE_KINDS] = {
	[PRIVATE_TMP] = "tmp",
	[PRIVATE_SHM] = "shm",
	[PRIVATE_IPC] = "ipc",
	[PRIVATE_PROC] = "proc",
};

/* The private directories and the places where they are mounted. */
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

struct private_place private_place_of(const Gpusched__LaunchRecord *launch)
{
	return (struct private_place){ .kinds = launch->private_kinds,
		.dir = record_string(&launch->private_dir),
		.tmp_mb = launch->private_tmp_mb,
		.shm_mb = launch->report->mem_mb,
		.uid = launch->switch_user ? launch->report->uid : geteuid(),
		.gid = launch->switch_user ? (gid_t)launch->gid : getegid() };
}

/* --- directories ------------------------------------------------------------------------------ */

/* The mount namespace that has the tmpfs, and the tmpfs; -1: there is none. */
static int room = -1, room_dir = -1;
static bool inside; /* we have joined it */

static int fill_dir(int at, const struct private_place *p)
{
	for (size_t i = 0; i < sizeof(dirs) / sizeof(*dirs); i++) {
		int fd = -1, r;

		if (mkdirat(at, dirs[i].dir, 0700) == 0)
			fd = openat(
			        at, dirs[i].dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0)
			return -1;
		r = fchown(fd, p->uid, p->gid) < 0 || fchmod(fd, MODE) < 0 ? -1 : 0;
		close(fd);
		if (r < 0)
			return -1;
	}
	return 0;
}

static int own_mounts(void)
{
	return unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0 ? -1
	                                                                                       : 0;
}

static int mount_tmpfs(const char *at, uint64_t mb, unsigned mode)
{
	char *options =
	        mb ? xasprintf("mode=%o,size=%" PRIu64 "m", mode, mb) : xasprintf("mode=%o", mode);
	int r = mount("gpusched", at, "tmpfs", MS_NOSUID | MS_NODEV, options);

	free(options);
	return r;
}

/* In mounts of our own: the tmpfs with its directories. */
static int mount_room(const struct private_place *p)
{
	int at = -1, r;

	if (mount_tmpfs(p->dir, p->tmp_mb, 0700) == 0)
		at = open(p->dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (at < 0)
		return -1;
	r = fill_dir(at, p);
	close(at);
	return r;
}

static int open_of(pid_t pid, const char *what, int flags)
{
	char *path = xasprintf("/proc/%d/%s", (int)pid, what);
	int fd = open(path, flags | O_CLOEXEC);

	free(path);
	return fd;
}

/* A namespace is kept by a descriptor; only to make it takes a process. */
static int make_room(const struct private_place *p)
{
	char *root = xasprintf("root%s", p->dir), done = 0;
	int fds[2], r = -1;
	pid_t pid = -1;

	if (pipe2(fds, O_CLOEXEC) == 0) {
		pid = fork();
		if (pid == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			if (own_mounts() < 0 || mount_room(p) < 0)
				done = errno ? (char)errno : EIO;
			if (write(fds[1], &done, 1) == 1)
				pause();
			_exit(1);
		}
		close(fds[1]);
		if (pid > 0 && read(fds[0], &done, 1) == 1 && !done) {
			room = open_of(pid, "ns/mnt", O_RDONLY);
			room_dir = open_of(pid, root, O_RDONLY | O_DIRECTORY);
			r = room < 0 || room_dir < 0 ? -1 : 0;
		} else if (pid > 0) {
			errno = done ? done : EIO;
		}
		close(fds[0]);
	}
	if (pid > 0) {
		int saved = errno;

		kill(pid, SIGKILL);
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
		errno = saved;
	}
	free(root);
	return r;
}

int private_make(const struct private_place *p, struct error *err)
{
	int at = -1, r = -1;

	if (mkdir(p->dir, 0700) == 0)
		at = open(p->dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (at >= 0) {
		r = p->tmp_mb ? make_room(p) : fill_dir(at, p);
		close(at);
	}
	return r == 0 ? 0
	              : error_set(err, ERR_SYSTEM, "cannot make private directories in '%s': %s",
	                        p->dir, strerror(errno));
}

bool private_is_full(void)
{
	struct statvfs v;

	return room_dir >= 0 && fstatvfs(room_dir, &v) == 0 && (!v.f_bavail || !v.f_favail);
}

int private_join(void)
{
	if (room < 0 || inside)
		return 0;
	if (setns(room, CLONE_NEWNS) < 0)
		return -1;
	inside = true;
	return 0;
}

/* --- namespaces ------------------------------------------------------------------------------- */

static int mount_tmp(const struct private_place *p)
{
	if (p->tmp_mb && !inside && mount_room(p) < 0)
		return -1;
	for (size_t i = 0; i < sizeof(dirs) / sizeof(*dirs); i++) {
		char *from = xasprintf("%s/%s", p->dir, dirs[i].dir);
		int r = mount(from, dirs[i].at, NULL, MS_BIND, NULL);

		free(from);
		/* A bind mount takes its flags on a second call [mount(2)]. */
		if (r < 0 || mount(NULL, dirs[i].at, NULL,
		                     MS_REMOUNT | MS_BIND | MS_NOSUID | MS_NODEV, NULL) < 0)
			return -1;
	}
	return 0;
}

static int mount_shm(const struct private_place *p)
{
	return mount_tmpfs("/dev/shm", p->shm_mb, MODE);
}

/* A mount at /dev/mqueue shows the queues of the process that mounted it to every reader, so it
 * must be mounted anew. */
static int enter_ipc(const struct private_place *p)
{
	(void)p;
	if (unshare(CLONE_NEWIPC) < 0)
		return -1;
	if (access(QUEUES, F_OK) < 0 && errno == ENOENT)
		return 0;
	return mount("mqueue", QUEUES, "mqueue", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0 &&
	                       errno != ENODEV
	               ? -1
	               : 0;
}

static int mount_proc(const struct private_place *p)
{
	(void)p;
	return mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, "hidepid=2");
}

int private_enter(const struct private_place *p, const char **what)
{
	static int (*const enter[PRIVATE_KINDS])(const struct private_place *p) = {
		[PRIVATE_TMP] = mount_tmp,
		[PRIVATE_SHM] = mount_shm,
		[PRIVATE_IPC] = enter_ipc,
		[PRIVATE_PROC] = mount_proc,
	};

	*what = "mounts";
	if (p->kinds && (private_join() < 0 || own_mounts() < 0))
		return -1;
	for (int k = 0; k < PRIVATE_KINDS; k++) {
		*what = names[k];
		if (p->kinds & 1u << k && enter[k](p) < 0)
			return -1;
	}
	return 0;
}

static bool works(const struct private_place *p)
{
	const char *what;
	int status = 0;
	pid_t pid = fork();

	if (pid == 0)
		_exit(private_enter(p, &what) < 0);
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

uint32_t private_works(uint32_t kinds, char *dir, uint64_t tmp_mb)
{
	struct private_place place = { .dir = dir };
	uint32_t good = 0;
	struct error err;

	if (geteuid() != 0 || !kinds)
		return 0;
	remove_probe(dir); /* of a launcher that was killed here */
	if (private_make(&place, &err) < 0)
		return 0;
	place.tmp_mb = tmp_mb; /* to be mounted over these */
	for (int k = 0; k < PRIVATE_KINDS; k++) {
		place.kinds = kinds & 1u << k;
		if (place.kinds && works(&place))
			good |= 1u << k;
	}
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
