/* srun.h - what the files of srun share */
#ifndef CMDS_SRUN_H
#define CMDS_SRUN_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "cmds/options/options.h"
#include "cmds/srun/srun_options.h"
#include "common/base/error.h"
#include "common/gpusched.pb-c.h"
#include "common/net/steplink.h"

#define SRUN_VERSION \
	"slurm 22.05.8" /* whose options and texts these are; clients read the number */
#define SRUN_PARTS_MAX 64
#define SRUN_KILL_S    30 /* from SIGTERM to SIGKILL */
#define SRUN_ABORT_S   32 /* that Slurm speaks of */
#define SRUN_FAILED    256 /* no task's exit status: srun itself failed, and has said why */

/* One line on stderr, "srun: TEXT"; srun_fail(): "srun: error: TEXT". A program's name: srun_name.
 */
extern const char *srun_name;
void srun_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void srun_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* --- srun_connect.c: the way to the job's manager of steps ------------------------------------ */

struct srun_job {
	uint64_t id; /* 0: none, one is to be made */
	uint32_t task, attempt;
	bool of_array;  /* srun_ask_job(): `task` says which one is asked for */
	char node[256]; /* its first */
	char name[64];  /* as people see it: SLURM_JOB_ID */
	bool here;      /* its first run is this one: its socket is at hand */
};

/* The job that srun is in, or --jobid names. -1 with `err`. */
int srun_find_job(const struct srun_options *o, struct srun_job *job, struct error *err);

/* Which run it is: of a job that runs, by asking the controller. */
int srun_ask_job(struct srun_job *job, struct error *err);

/* A connected descriptor, non-blocking. */
int srun_connect(const struct srun_job *job, struct error *err);
void srun_hang_up(void); /* when its descriptor is closed, or was not there */

/* --- srun_output.c: output of tasks to where it goes ------------------------------------------ */

enum srun_where { SRUN_ALL, SRUN_NONE, SRUN_TASK, SRUN_FILE, SRUN_NODE };

struct srun_dest {
	enum srun_where where;
	uint32_t task; /* SRUN_TASK */
	int fd;
	const char *pattern; /* SRUN_NODE: the nodes open it */
	bool closed;         /* nothing reads it any more */
};

struct srun_stream { /* a line of a task that has not ended yet */
	char *part;
	size_t n;
};

struct srun_out {
	uint32_t tasks;
	bool label, by_line;
	int width;                   /* of a label's number */
	struct srun_dest *dest;      /* two for each part of A : B */
	uint32_t *part_of;           /* of each task */
	struct srun_stream *streams; /* two for each task */
	uint64_t taken;
	bool broken; /* a reader has gone */
	/* Called while a reader keeps us waiting. */
	void (*meanwhile)(void *arg);
	int meanwhile_fd;
	void *arg;
};

void srun_out_begin(struct srun_out *o, uint32_t tasks, const uint32_t *part_tasks, size_t n_parts);
void srun_out_put(struct srun_out *o, uint32_t task, bool error, const uint8_t *p, size_t n);
void srun_out_end(struct srun_out *o); /* lines without an end too */

/* What --output or --error says: "all", "none", a task's number, a file. `fd` is 1 or 2. */
void srun_dest_read(struct srun_dest *d, const char *text, int fd);

/* --- srun_request.c: from options to a request ------------------------------------------------ */

struct srun_part {
	struct srun_options o;
	struct srun_dest dest[2];
	Gpusched__StepRequest request;
	char **env; /* of the tasks: entries are ours or of its block; NULL: as --export says */
	char cwd[4096];
	char host[256];
};

/* Everything of a request; the parts keep what it borrows. */
int srun_request_make(struct srun_part *part, size_t follow, struct error *err);
void srun_request_clear(struct srun_part *part);

/* --- srun_step.c: the step from its request to its end ---------------------------------------- */

/* Runs it over `fd`; returns the exit status, or SRUN_FAILED. */
int srun_step(struct srun_part *parts, size_t n, const struct srun_job *job, int fd);

/* --- srun_allocate.c: a job that is made for a step, or for salloc ---------------------------- */

struct srun_allocation {
	struct srun_job job;
	char *nodelist;
	uint32_t nodes, cpus_per_node, tasks;
	char *partition;
	int stopped; /* the signal that ended the waiting; 0: none */
};

/* What the command line and the variables say of the job that is to be made; for
 * options_clear(). */
int srun_job_options(
        const struct srun_options *o, struct submit_options *job, struct error *err);

/* Submit `job` as an allocation, and wait until it runs. Says what Slurm's command says.
 * `patience_s` as of an allocation. */
int srun_allocate(const struct srun_options *o, struct submit_options *job, uint32_t patience_s,
        struct srun_allocation *a, struct error *err);
void srun_allocation_clear(struct srun_allocation *a);
int srun_test_only(const struct srun_options *o, struct error *err);
/* Ask the manager for something, and close the connection. -1 with `err`: its refusal, or it is
 * gone. */
int srun_control(int fd, const Gpusched__StepControl *control, struct error *err);
/* Its end: with the exit status that it is to have. */
void srun_quit(int fd, int status);
/* Cancel it where there is no way to quit it. */
void srun_cancel(uint64_t job);

/* --- srun_outside_job.c: a step in a job that is made for it, which ends with it -------------- */

/* Returns what srun_step() returns; -1 with `err`. *stopped: the signal that ended the wait, or
 * 0. */
int srun_alone(struct srun_part *parts, size_t n, struct submit_options *job, uint32_t patience_s,
        int *stopped, struct error *err);

#endif
