/* srun_options.h - srun's options: one table
 *
 * A row is one option of srun(1) of Slurm 22.05: the value of the step that it sets, the variable
 * that sets the same, and its kind (below). An option that is not in the table, but is one of
 * sbatch (cmds/slurm/sbatch_options.h), concerns a job: it counts if srun makes one. All other
 * options are unknown, and refused.
 *
 *	SRUN_STEP     it sets something of the step (and of a job that srun makes, as in sbatch)
 *	SRUN_JOB      it is about the job alone: inside of one it says nothing
 *	SRUN_NOTHING  it changes nothing that a task could notice
 *	SRUN_REFUSED  a step cannot do without it: `text` says why it is not there
 *
 * The strongest last: SLURM_* variables, the command line.
 */
#ifndef CMDS_SRUN_OPTIONS_H
#define CMDS_SRUN_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/base/error.h"

#include "config.h"

#define SRUN_GIVEN_MAX 256

#ifdef HAVE_PMIX
#define SRUN_HAS_PMIX true /* the nodes' gstepd are of the same build */
#else
#define SRUN_HAS_PMIX false
#endif

struct srun_options {
	uint32_t ntasks, nodes_min, nodes_max, ntasks_per_node, cpus_per_task; /* 0: not said */
	uint32_t gpus, gpus_per_node, gpus_per_task, relative;
	bool ntasks_said, nodes_said, cpus_said; /* on the command line */
	bool no_gpus, gres;
	bool exact, overlap, overcommit, immediate, forward, label, unbuffered, pty, multi_prog, append;
	bool cyclic, test_only, quiet, disable_status, quit_on_interrupt;
	bool kill_on_bad_exit; /* forward: signals go to the tasks, as grun says */
	uint32_t verbose, wait_s, time_s, het_group;
	uint32_t immediate_s; /* for a job that is made */
	uint64_t mem_mb, jobid;
	uint32_t job_task; /* of the array `jobid` */
	bool job_of_array;
	char *nodelist, *exclude, *rule, *output, *error, *input, *cpu_bind, *mpi, *name, *chdir;
	char *bcast; /* "": where srun says */
	bool mpi_list, version, help;
	char **command; /* NULL-terminated, of argv */
	struct {
		const char *name, *value; /* sbatch's options, in order: for a job that is made */
	} given[SRUN_GIVEN_MAX];
	size_t n_given;
};

enum srun_kind { SRUN_STEP, SRUN_JOB, SRUN_NOTHING, SRUN_REFUSED };
enum srun_arg { SRUN_NO_ARG, SRUN_ARG, SRUN_ARG_MAY_MISS };

struct srun_row {
	const char *name;
	char letter; /* or 0 */
	enum srun_arg arg;
	enum srun_kind kind;
	const char *variable; /* NULL: none */
	/* NULL: there is nothing to set. */
	int (*set)(struct srun_options *o, const struct srun_row *row, const char *value,
	        struct error *err);
	size_t offset;
	const char *text; /* for --help; why it is refused */
};

const struct srun_row *srun_rows(size_t *n);

/* Does an option of sbatch concern the step alone, as files do? Then a job that is made does not
 * get it. */
bool srun_is_of_step(const char *name);

void srun_options_init(struct srun_options *o);
void srun_options_clear(struct srun_options *o);

int srun_options_from_environment(
        struct srun_options *o, char *const *environment, struct error *err);

/* One part of a command line (without ':'): its first word is the program's name. ERR_USAGE;
 * *unknown: getopt(3) has said what is wrong. */
int srun_options_from_words(
        struct srun_options *o, int argc, char **argv, bool *unknown, struct error *err);

/* Checks, once all options are read, which of them exclude each other. */
int srun_options_check(struct srun_options *o, struct error *err);

void srun_options_help(FILE *out, const char *program);

#endif
