/* srun_connect.c - the way to the job's manager of steps; see srun.h */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmds/api/client.h"
#include "cmds/srun/srun.h"
#include "cmds/steps/bridge.h"
#include "common/base/hostlist.h"
#include "common/base/xalloc.h"
#include "common/gpusched.pb-c.h"

#define TRIES  100
#define TRY_MS 20

extern char **environ;

static uint64_t number_of(const char *name)
{
	const char *v = getenv(name);

	return v ? strtoull(v, NULL, 10) : 0;
}

/* True: --jobid says nothing else than the job that srun is in. */
static bool is_own(const struct srun_options *o, uint64_t own)
{
	uint64_t id = number_of("SLURM_JOB_ID"); /* of an array's task its own */

	if (o->job_of_array)
		return own && o->jobid == own && getenv("GPUSCHED_ARRAY_TASK_ID") &&
		       o->job_task == number_of("GPUSCHED_ARRAY_TASK_ID");
	return !o->jobid || o->jobid == own || o->jobid == id;
}

/* As its user has named it. */
static void name_job(const struct srun_options *o, struct srun_job *job, uint64_t own)
{
	const char *id = getenv("SLURM_JOB_ID");

	if (o->job_of_array)
		snprintf(job->name, sizeof(job->name), "%" PRIu64 "_%" PRIu32, o->jobid,
		        o->job_task);
	else if (job->id == own && id)
		snprintf(job->name, sizeof(job->name), "%s", id);
	else
		snprintf(job->name, sizeof(job->name), "%" PRIu64, job->id);
}

int srun_find_job(const struct srun_options *o, struct srun_job *job, struct error *err)
{
	const char *list = getenv("GPUSCHED_NODELIST"), *dir = getenv("GPUSCHED_RUN_DIR");
	uint64_t own = number_of("GPUSCHED_JOB_ID");
	bool has_steps = getenv("GPUSCHED_STEPD") && dir, mine = is_own(o, own);

	*job = (struct srun_job){ .id = o->jobid, .of_array = o->job_of_array, .task = o->job_task };
	if (mine) {
		job->id = own ? own : number_of("SLURM_JOB_ID");
		job->of_array = own && getenv("GPUSCHED_ARRAY_TASK_ID");
		job->task = (uint32_t)number_of("GPUSCHED_ARRAY_TASK_ID");
	}
	if (!job->id)
		return 0;
	name_job(o, job, own);
	/* The variables may be those of a run that is over, or on another host. */
	if (!mine || job->id != own || (has_steps && access(dir, F_OK) < 0 && errno == ENOENT))
		return srun_ask_job(job, err);
	if (!has_steps) {
		error_set(err, ERR_JOB_STATE, "job %s was submitted without steps", job->name);
		return error_hint(
		        err, "a script with #SBATCH lines, or gsubmit --ntasks, has them");
	}
	job->attempt = (uint32_t)number_of("GPUSCHED_ATTEMPT");
	job->here = number_of("GPUSCHED_NODE_RANK") == 0;
	snprintf(job->node, sizeof(job->node), "%s", list ? list : "");
	if (!job->here && list) {
		char **names;
		size_t n;

		if (hostlist_expand(list, HOSTLIST_MAX, &names, &n, err) < 0)
			return -1;
		snprintf(job->node, sizeof(job->node), "%s", names[0]);
		free(names);
	}
	return 0;
}

/* --- a job elsewhere -------------------------------------------------------------------------- */

struct asking {
	struct srun_job *job;
	bool found;
	char state[32];
};

static int take_job(const ProtobufCMessage *m, void *arg, struct error *err)
{
	struct asking *a = arg;
	const Gpusched__JobChunk *chunk = (const Gpusched__JobChunk *)m;

	(void)err;
	for (size_t i = 0; i < chunk->n_jobs; i++) {
		const Gpusched__Job *j = chunk->jobs[i];

		if (j->id != a->job->id && j->raw_id != a->job->id)
			continue;
		a->job->id = j->id; /* an array's task may be named by its own id */
		a->job->task = (uint32_t)strtoul(j->tasks, NULL, 10);
		a->found = true;
		snprintf(a->state, sizeof(a->state), "%s", j->state);
		a->job->attempt = j->attempt;
		snprintf(a->job->node, sizeof(a->job->node), "%s", j->node);
	}
	return 0;
}

/* The node of a job on several is a list, of which the first runs the script. */
static int keep_first(char *node, size_t size, struct error *err)
{
	char **names;
	size_t n;

	if (hostlist_expand(node, HOSTLIST_MAX, &names, &n, err) < 0)
		return -1;
	snprintf(node, size, "%s", names[0]);
	free(names);
	return 0;
}

int srun_ask_job(struct srun_job *job, struct error *err)
{
	struct client *c = client_new(NULL, err);
	Gpusched__ListJobs list = GPUSCHED__LIST_JOBS__INIT;
	Gpusched__JobFilter filter = GPUSCHED__JOB_FILTER__INIT;
	Gpusched__JobTasks tasks = GPUSCHED__JOB_TASKS__INIT, *one = &tasks;
	char number[16];
	struct asking a = { .job = job };
	struct client_call call = CLIENT_ASK(LIST_JOBS, &list.base, JOB_CHUNK, take_job, &a);
	int rc;

	if (!c)
		return -1;
	if (job->of_array) {
		snprintf(number, sizeof(number), "%" PRIu32, job->task);
		tasks.job = job->id;
		tasks.tasks = number;
		filter.n_tasks = 1;
		filter.tasks = &one;
	} else {
		filter.n_ids = 1;
		filter.ids = &job->id;
	}
	filter.include_ended = true;
	list.filter = &filter;
	rc = client_call(c, &call, err);
	client_free(c);
	if (rc < 0 && err->code != ERR_NO_JOB)
		return -1;
	if (!a.found)
		return error_set(err, ERR_NO_JOB,
		        "Unable to confirm allocation for job %s: Invalid job id specified",
		        job->name);
	if (strcmp(a.state, "RUNNING") != 0)
		return error_set(err, ERR_JOB_STATE,
		        "Unable to confirm allocation for job %s: Job/step already completing or "
		        "completed",
		        job->name);
	return keep_first(job->node, sizeof(job->node), err);
}

static struct step_bridge *bridge; /* NULL: the manager is on this node */

static int connect_far(const struct srun_job *job, struct error *err)
{
	struct step_bridge_of of = { job->id, job->task, job->attempt };

	bridge = step_bridge_new(&of);
	return step_bridge_open(bridge, 0, job->node, err);
}

void srun_hang_up(void)
{
	step_bridge_free(bridge);
	bridge = NULL;
}

/* --- the job's first node --------------------------------------------------------------------- */

static int try_socket(const char *path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || strlen(path) >= sizeof(a.sun_path))
		return fd < 0 ? -1 : (close(fd), errno = ENAMETOOLONG, -1);
	strcpy(a.sun_path, path);
	if (connect(fd, (const struct sockaddr *)&a, sizeof(a)) == 0)
		return fd;
	close(fd);
	return -1;
}

/* It is there when this returns, or another srun has just started it. */
static int start_gstepd(struct error *err)
{
	char program[4096], daemon[] = "--daemon", *argv[] = { program, daemon, NULL };
	const char *path = getenv("GPUSCHED_STEPD");
	pid_t pid;
	int status, rc;

	if (!path)
		return error_set(
		        err, ERR_JOB_STATE, "GPUSCHED_STEPD is not set: this job has no steps");
	snprintf(program, sizeof(program), "%s", path);
	rc = posix_spawn(&pid, program, NULL, NULL, argv, environ);
	if (rc != 0)
		return error_set(err, ERR_SYSTEM, "%s: %s", program, strerror(rc));
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return 0;
}

static int connect_here(struct error *err)
{
	char *path = xasprintf("%s/%s", getenv("GPUSCHED_RUN_DIR"), STEP_SOCKET);
	int fd = try_socket(path);
	bool started = false;

	for (int i = 0; fd < 0 && i < TRIES; i++) {
		if (!started && (errno == ENOENT || errno == ECONNREFUSED)) {
			started = true;
			if (start_gstepd(err) < 0)
				break;
		} else {
			poll(NULL, 0, TRY_MS);
		}
		fd = try_socket(path);
		if (fd < 0)
			error_set(err, ERR_SYSTEM, "%s: %s", path, strerror(errno));
	}
	free(path);
	return fd;
}

int srun_connect(const struct srun_job *job, struct error *err)
{
	int fd = job->here ? connect_here(err) : connect_far(job, err);

	if (fd >= 0)
		fcntl(fd, F_SETFL, O_NONBLOCK);
	return fd;
}
