/* gpu_job_files.c - see gpu_job_files.h */
#include "config.h"

#include "noded/watch/gpu_job_files.h"

#include <dirent.h>
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/fd_close.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "noded/gpu/gpus.h"
#include "noded/runs/launcher_options.h"
#include "noded/runs/launcher_state.h"
#include "noded/runs/runs.h"
#include "noded/watch/gpu_inventory.h"
#include "noded/watch/run_usage.h"

#define NAME_MAX_BYTES 32

struct file {
	char name[NAME_MAX_BYTES];
	char *ids; /* owned; NULL: not written */
};

struct files {
	struct file *v; /* owned */
	size_t n;
};

struct gpu_job_files {
	struct launcher *l;
	struct event *soon;
	bool all;
	struct files written;
	struct error trouble; /* the last that was logged; text "": none */
};

static void free_files(struct files *f)
{
	for (size_t i = 0; i < f->n; i++)
		free(f->v[i].ids);
	free(f->v);
	*f = (struct files){ 0 };
}

static struct file *find_file(const struct files *f, const char *name)
{
	for (size_t i = 0; i < f->n; i++) {
		if (!strcmp(f->v[i].name, name))
			return &f->v[i];
	}
	return NULL;
}

static void name_file(const struct gpu *gpu, char name[NAME_MAX_BYTES])
{
	if (gpu->kind == GPU_MIG)
		snprintf(name, NAME_MAX_BYTES, "%" PRIu32 ".%" PRIu32, gpu->nvml, gpu->instance);
	else
		snprintf(name, NAME_MAX_BYTES, "%" PRIu32, gpu->nvml);
}

/* --- what is to be in them -------------------------------------------------------------------- */

/* The compute instances of one GPU instance have one file. */
static void list_slots(const struct gpus *now, struct files *out)
{
	out->v = xcalloc(now->n + 1, sizeof(*out->v));
	for (uint32_t i = 0; i < now->n; i++) {
		char name[NAME_MAX_BYTES];

		if (!gpu_is_slot(&now->v[i]))
			continue;
		name_file(&now->v[i], name);
		if (find_file(out, name))
			continue;
		memcpy(out->v[out->n].name, name, sizeof(name));
		out->v[out->n++].ids = xstrdup("");
	}
}

/* A job may have several runs there, as tasks of an array have. */
static void add_id(struct file *f, const char *line)
{
	char *at = f->ids, *more;

	for (; *at; at += strcspn(at, "\n") + 1) {
		if (!strncmp(at, line, strlen(line)))
			return;
	}
	more = xasprintf("%s%s", f->ids, line);
	free(f->ids);
	f->ids = more;
}

struct listing {
	const struct gpus *now;
	struct files *files;
};

static void add_run(struct run *r, void *arg)
{
	struct listing *l = arg;
	char line[48], name[NAME_MAX_BYTES], task[16] = "";

	if (!r->gpus || (r->state != RUN_RUNNING && r->state != RUN_LOST))
		return;
	if (!r->used)
		r->used = run_usage_new(r);
	if (r->id.task)
		snprintf(task, sizeof(task), "_%" PRIu32, r->id.task);
	snprintf(line, sizeof(line), "%" PRIu64 "%s\n", r->id.job, task);
	for (size_t i = 0; i < r->used->n_gpus; i++) {
		const struct gpu *gpu = gpus_find(l->now, r->used->gpus[i].uuid);
		struct file *f;

		if (!gpu)
			continue;
		name_file(gpu, name);
		f = find_file(l->files, name);
		if (f)
			add_id(f, line);
	}
}

/* --- the folder ------------------------------------------------------------------------------- */

static int open_folder(const char *path, struct error *err)
{
	struct stat st;
	int fd;

	if (mkdir(path, 0755) == 0 && chmod(path, 0755) < 0) /* whatever the umask */
		return error_set(err, ERR_SYSTEM, "%s: %s", path, strerror(errno));
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0) {
		error_set(err, ERR_SYSTEM, "%s: %s", path,
		        errno == ELOOP || errno == ENOTDIR
		                ? "it is a link or a file, not a directory"
		                : strerror(errno));
	} else if (st.st_uid != geteuid() || st.st_mode & 022) {
		error_set(err, ERR_USAGE,
		        "%s belongs to user %u and has mode %03o; it must be the agent's own and "
		        "writable for no other",
		        path, (unsigned)st.st_uid, st.st_mode & 0777);
	} else {
		return fd;
	}
	fd_close(fd);
	return -1;
}

/* The exporter may be any user. A name that is no number is none of its files. */
static int write_file(int folder, const struct file *f, struct error *err)
{
	const char *text = *f->ids ? f->ids : "\n";
	char temporary[NAME_MAX_BYTES + 8];
	size_t len = strlen(text);
	int fd, rc;

	snprintf(temporary, sizeof(temporary), ".%s.new", f->name);
	unlinkat(folder, temporary, 0);
	fd = openat(folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	rc = fd < 0 || write(fd, text, len) != (ssize_t)len || fchmod(fd, 0644) < 0 ? -1 : 0;
	if (fd >= 0 && close(fd) < 0)
		rc = -1;
	if (rc == 0 && renameat(folder, temporary, folder, f->name) == 0)
		return 0;
	error_set(err, ERR_SYSTEM, "cannot write %s of GPU %s: %s", f->name, f->name,
	        strerror(errno));
	unlinkat(folder, temporary, 0);
	return -1;
}

/* "0", "0.3" */
static bool is_named_like_gpu(const char *name)
{
	size_t digits = strspn(name, "0123456789"), more;

	if (!digits || !name[digits])
		return digits;
	more = strspn(name + digits + 1, "0123456789");
	return name[digits] == '.' && more && !name[digits + 1 + more];
}

/* Files of GPUs that the node does not have any more. */
static void remove_others(int folder, const struct files *files)
{
	int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (!dir) {
		fd_close(fd);
		return;
	}
	while ((e = readdir(dir))) {
		if (is_named_like_gpu(e->d_name) && !find_file(files, e->d_name))
			unlinkat(folder, e->d_name, 0);
	}
	closedir(dir);
}

static bool is_written(const struct gpu_job_files *f, const struct file *file)
{
	const struct file *was = f->all ? NULL : find_file(&f->written, file->name);

	return was && was->ids && !strcmp(was->ids, file->ids);
}

/* What cannot be written is tried again with the next change. */
static int write_files(struct gpu_job_files *f, struct files *files, struct error *err)
{
	int folder = open_folder(f->l->options->gpu_jobs, err), rc = 0;

	if (folder < 0)
		return -1;
	for (size_t i = 0; i < files->n; i++) {
		if (is_written(f, &files->v[i]) || write_file(folder, &files->v[i], err) == 0)
			continue;
		rc = -1;
		free(files->v[i].ids);
		files->v[i].ids = NULL;
	}
	if (f->all)
		remove_others(folder, files);
	close(folder);
	return rc;
}

static void update(evutil_socket_t fd, short what, void *arg)
{
	struct gpu_job_files *f = arg;
	struct listing listing = { .files = &(struct files){ 0 } };
	struct error err;

	(void)fd;
	(void)what;
	if (!gpu_inventory_found(f->l->gpu_inventory))
		return;
	listing.now = gpu_inventory_now(f->l->gpu_inventory);
	list_slots(listing.now, listing.files);
	runs_each(f->l, add_run, &listing);
	if (write_files(f, listing.files, &err) == 0) {
		f->trouble.text[0] = '\0';
		f->all = false;
	} else if (strcmp(f->trouble.text, err.text) != 0) {
		f->trouble = err;
		log_error("jobs of GPUs (--gpu-jobs): %s", err.text);
	}
	free_files(&f->written);
	f->written = *listing.files;
}

/* --- the part --------------------------------------------------------------------------------- */

struct gpu_job_files *gpu_job_files_new(struct launcher *l)
{
	struct gpu_job_files *f;

	if (!l->options->gpu_jobs || !*l->options->gpu_jobs)
		return NULL;
	f = xcalloc(1, sizeof(*f));
	f->l = l;
	f->soon = event_new(l->base, -1, 0, update, f);
	if (!f->soon)
		abort();
	return f;
}

void gpu_job_files_free(struct gpu_job_files *f)
{
	if (!f)
		return;
	event_free(f->soon);
	free_files(&f->written);
	free(f);
}

void gpu_job_files_changed(struct launcher *l, bool all)
{
	if (!l->gpu_job_files)
		return;
	l->gpu_job_files->all |= all;
	event_active(l->gpu_job_files->soon, 0, 0);
}
