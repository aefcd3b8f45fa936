/* history.h - the jobs of the past, in the order in which they were submitted
 *
 * A history is one or more files; each has a reader that knows its kind, and they are merged by
 * time of submission. Nothing is kept but the present row of each file.
 *
 * A broken row is told to `bad`, counted and passed over if `skip_bad`; else it ends the history.
 * A job that is older than the one above it in its file is a broken row too: what streams cannot be
 * sorted.
 *
 * To add a kind: a struct history_reader, and its row in formats (history.c).
 */
#ifndef GSIM_HISTORY_H
#define GSIM_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/command_line.h"
#include "common/base/error.h"
#include "common/job/run.h"

/* How the job fared, where its file says so. What is not known is "" or 0. */
struct history_past {
	bool known;              /* false: nothing of this is known */
	uint32_t part;           /* with `line`, the id, it names the job (core/records/job.h) */
	const char *state;       /* "COMPLETED": the core's word */
	const char *qos, *asked; /* "h100:2|l40s:4" */
	const char *gpu_type;    /* of the GPUs that it had */
	const char *labels;      /* "k=v" lines */
	usec_t eligible;         /* since then only room and limits kept it */
	bool eligible_known;     /* else it is only what the job itself asked for */
	usec_t start, end;       /* the first start; the end of all */
	uint32_t max_wait_s;     /* requested by the job itself */
	uint32_t charge;         /* as what part of a GPU each of its GPUs counts, in thousandths */
	bool held, replica;      /* a user's hold was on it at its end; it served requests */
	usec_t cold_start;       /* of a replica: from its start until it was ready, the mean */
	/* of all attempts: GPU time held; known, busy and idle of its compute use; MiB x seconds of
	 * GPU memory; the cost in millionths */
	uint64_t gpu_us, gpu_seen_us, gpu_busy_us, gpu_idle_us, gpu_mem_mbs;
	int64_t cost_u;
};

/* What is not known is "" or 0; the texts are borrowed until the next call. */
struct history_job {
	const char *name, *user, *group;
	const char *account, *partition; /* as the options say */
	const char *gpu_type;            /* alternatives: "V100M16|V100M32" */
	usec_t submit;                   /* since any point, the same for all files */
	usec_t duration;                 /* of its work; -1: not known */
	usec_t time_limit;               /* that its user asked for; 0: not known */
	uint32_t gpus;                   /* of the whole job */
	uint32_t gpu_milli;              /* of each GPU; 1000: all of it */
	uint32_t nodes;                  /* 0: any number */
	uint32_t cpus;                   /* of the whole job, rounded up */
	uint64_t mem_mb;                 /* the same */
	uint64_t gpu_mem_mb;             /* of each GPU; 0: what gpu_milli is of it */
	uint64_t gpu_mem_burst_mb;       /* how much it may borrow; 0: nothing */
	unsigned long line;              /* of its file, for messages */
	struct history_past past;
};

/* Does the job ask for a share of each of its GPUs? Else it has whole GPUs. */
static inline bool history_job_shares(const struct history_job *job)
{
	return job->gpu_milli < 1000 || job->gpu_mem_mb;
}
static inline void history_job_round(struct history_job *job)
{
	job->gpu_milli = 1000;
	job->gpu_mem_mb = job->gpu_mem_burst_mb = 0;
}

struct history_reader;

struct history_options {
	const struct history_reader *reader;           /* NULL: history_csv */
	const char *account_column, *partition_column; /* NULL: none */
	bool skip_bad;
	/* A broken row; the text begins "FILE:LINE: ", or the number of the job there. May be
	 * NULL. */
	void (*bad)(void *arg, const struct error *err);
	void *arg; /* argument of bad(), and of a reader that needs one */
};

enum history_result { HISTORY_END, HISTORY_JOB, HISTORY_BAD, HISTORY_FAILED };

/* One kind of file. BAD: the row, the next call goes on; FAILED: the file, for good. */
struct history_reader {
	void *(*open)(const char *path, const struct history_options *o, struct error *err);
	enum history_result (*next)(void *reader, struct history_job *job, struct error *err);
	void (*close)(void *reader);
};

extern const struct history_reader history_csv;        /* csvjobs.c */
extern const struct history_reader history_accounting; /* acctjobs.c */
extern const struct history_reader history_record;     /* recordjobs.c */
extern const struct history_reader history_json;       /* jsonjobs.c */

CMD_SETTER(history_set_column); /* one of history_options; "none": NULL */
/* ERR_USAGE: a file is named twice. */
int history_check_files(const char *const *files, size_t n, struct error *err);

/* By the name that people use; NULL: there is none. */
const struct history_reader *history_format(const char *name);

struct history_files;

/* `paths` and what `o` points to are borrowed. "-" is standard input. */
struct history_files *history_files_open(
        const char *const *paths, size_t n, const struct history_options *o, struct error *err);
void history_files_close(struct history_files *h); /* NULL is fine */

/* 1: *job is the next; 0: that was all; -1: a file, or a broken row that is not to be skipped. */
int history_next(struct history_files *h, struct history_job *job, struct error *err);

uint64_t history_bad(const struct history_files *h); /* broken rows so far */

#endif
