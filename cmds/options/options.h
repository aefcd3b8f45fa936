/* options.h - gsubmit's options: one table
 *
 * A row is everything there is to say about an option. From the rows come the command line and its
 * --help (gsubmit.c), the GSUBMIT_* variables, what #GPUSCHED directives may hold, and the check
 * that the manual names every option.
 *
 * Sources, the strongest last, are applied one after another to one struct submit_options:
 *
 *	built in  ->  #SBATCH (sbatch_options.h)  ->  #GPUSCHED  ->  SBATCH_* variables
 *	          ->  GSUBMIT_* variables  ->  command line
 *
 * A later one replaces what an earlier one set; labels are replaced key by key. Every value is
 * checked where it stands, also if a stronger source replaces it. Options that exclude each other
 * (--mem and --mem-per-cpu) are an error in one source; of two sources the stronger one counts.
 * When all are in, tasks.h makes of tasks and of what is given for each GPU what a node is asked
 * for.
 *
 * To add an option: see option_table.c.
 */
#ifndef CMDS_OPTIONS_H
#define CMDS_OPTIONS_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmds/api/gpusched.h"
#include "cmds/options/mistakes.h"
#include "cmds/options/service_options.h"
#include "common/base/error.h"
#include "common/base/label.h"
#include "common/gpu/gpu_topology.h"

#define OPTIONS_ENV_PREFIX    "GSUBMIT_"
#define OPTIONS_TEXT_MAX      255 /* bytes of a name, a label's key or value, a token */
#define OPTIONS_REMARK_MAX    1024
#define OPTIONS_ATTEMPTS_MAX  1000
#define REQUEUE_DELAY_DEFAULT UINT32_MAX
#define REQUEUE_DELAY_S       10 /* with --requeue-on: no tight loop of failing runs */
#define OPTIONS_PATH_MAX      4095 /* PATH_MAX without its NUL */

/* Values that several options can set: one source may give only one of these options. */
enum options_one { OPTIONS_ONE_CPUS, OPTIONS_ONE_MEM, OPTIONS_ONE_AGAIN, OPTIONS_ONES };

/* What a number of GPUs is of. In one source they may stand together and must agree
 * (tasks_settle()); of two sources the stronger one counts. */
enum options_gpus { OPTIONS_GPUS, OPTIONS_GPUS_PER_TASK, OPTIONS_GPUS_PER_NODE, OPTIONS_GRES,
	OPTIONS_GPUS_WAYS };

/* The value of each option; texts are owned, NULL: not given. */
struct submit_options {
	struct mistakes *mistakes; /* borrowed; NULL: the first one ends the reading */
	char *name, *partition, *account, *qos, *gpus, *input, *output, *error, *chdir, *export,
	        *token, *wrap, *bulk, *array, *clusters;
	char *constraint, *prefer, *nodelist, *exclude, *licences; /* "": given, and none */
	uint64_t mem_mb;                                           /* 0: not given */
	uint64_t gpu_mem_min_mb;                                   /* 0: any */
	uint64_t tmp_mb;                                           /* 0: any */
	enum near_link gpu_link;
	uint64_t gpu_mem_mb;                                       /* 0: not given */
	uint64_t gpu_mem_burst_mb;                                 /* 0: not given */
	bool share_of_gres;       /* gpu_share_milli is what --gres=mps says */
	uint32_t gpu_share_milli; /* 0: not given */
	uint32_t cpus;            /* of a task, of a node; 0: not given */
	uint32_t cpus_per_gpu;    /* 0: not given, as all of these */
	uint64_t mem_per_cpu_mb, mem_per_gpu_mb;
	uint32_t ntasks, ntasks_per_node, ntasks_per_gpu;
	bool steps; /* tasks_settle(): it has steps */
	uint32_t nodes_min, nodes_max;     /* 0: not given */
	bool nodes_ours;                   /* --nodes is an option of ours, not of sbatch */
	bool as_sbatch; /* sbatch was called: its script runs once, whatever says so */
	bool of_sbatch;                    /* what is set now comes from #SBATCH lines, SBATCH_* */
	uint32_t time_limit_s;             /* 0: not given; UINT32_MAX: none */
	uint32_t max_wait_s;               /* 0: none */
	bool gpus_per_node;                /* `gpus` are a node's, else the whole job's */
	bool gpus_per_task;                /* they are a task's */
	bool gres;                         /* a node's, in the words of --gres */
	bool slurm_env;                    /* the job sees SLURM_* variables too */
	int64_t begin_time, deadline_time; /* us UTC; 0: whenever */
	char *remark, *mail_user, *mail_type, *requeue_on; /* NULL: not given */
	uint32_t requeue_delay_s;                          /* REQUEUE_DELAY_DEFAULT: not given */
	uint32_t max_attempts;                             /* 0: not given */
	char *dependency;                                  /* "": given, and none */
	uint32_t kill_invalid;                             /* Gpusched__KillInvalid */
	bool exclusive;
	bool all_mem; /* --mem=0: all of the node's, which goes with `exclusive` alone */
	uint32_t warn_signal, warn_before_s;
	int32_t nice;
	bool hold, no_requeue, append, no_summary, show_output, wait, parsable, json, test_only, sign_only,
	        quiet;
	char *labels[LABELS_MAX + 1]; /* "key=value", NULL behind the last */
	size_t n_labels;
	/* The components behind `#SBATCH hetjob` lines, in order, each the next one's owner
	 * (het.h). */
	struct submit_options *component;
	struct service_options service;
	bool components_differ; /* tasks_settle(): in what they ask of a node */
	unsigned source; /* incremented by the code that applies an option */
	struct {
		const char *option; /* that said it last; NULL: none */
		unsigned source;
	} said[OPTIONS_ONES];
	struct {
		char *text; /* NULL: not said by the source that said `gpus` */
		unsigned source;
	} gpus_said[OPTIONS_GPUS_WAYS];
};

enum option_where {
	OPTION_IN_SCRIPT = 1 << 0,
	OPTION_IN_ENV = 1 << 1,
	OPTION_ARG_MAY_MISS = 1 << 2, /* the argument is optional: --nice, --nice=5 */
	OPTION_IS_ALIAS = 1 << 3,     /* another name of the option before it */
};

/* The headings of --help, by what an option is for. */
enum option_group {
	OPTION_WHAT,
	OPTION_FOR, /* the job's name, and what it counts for */
	OPTION_GPUS,
	OPTION_CPUS, /* and memory */
	OPTION_NODES,
	OPTION_TIME,
	OPTION_ORDER, /* before and after other jobs, and again */
	OPTION_FILES,
	OPTION_SERVICE,
	OPTION_ANSWER
};

struct option_row {
	const char *name; /* "cpus-per-task": --cpus-per-task, GSUBMIT_CPUS_PER_TASK */
	char letter;      /* or 0 */
	enum option_group group;
	unsigned where;  /* besides the command line: enum option_where */
	const char *arg; /* its name in the help; NULL: the option has none */
	int (*set)(struct submit_options *o, const struct option_row *row, const char *value,
	        struct error *err);
	size_t offset; /* of its field */
	const char *help;
};

const struct option_row *option_rows(size_t *n);

/* NULL: no such option. */
const struct option_row *option_by_name(const char *name, size_t len);
const struct option_row *option_by_letter(char letter);

/* The rows (of `has`, NULL: all) as argp wants them, under a heading for each enum option_group, in
 * a table that the caller frees. *count of them; may be NULL. */
struct argp_option *options_for_argp(bool (*has)(const struct option_row *row), size_t *count);
const struct option_row *options_by_key(int key); /* argp's key, of such a table */

void options_init(struct submit_options *o);
void options_clear(struct submit_options *o);

/* Set one. `value` NULL: the option stood without one. ERR_USAGE; the text begins "--NAME=VALUE: ".
 * On failure *o is as before. */
int options_set(struct submit_options *o, const struct option_row *row, const char *value,
        struct error *err);

/* What they ask of the scheduler, into a spec that borrows from them: all but what is signed. */
void options_ask(const struct submit_options *o, struct gpusched_spec *spec);

/* The name that a job of the program or script at `path` has by itself: the file's, as far as its
 * characters may stand in a job's name. Caller frees. */
char *options_name(const char *path);

/* --clusters is for scripts that name their cluster: there is one. ERR_USAGE: it is another. */
int options_check_cluster(const struct submit_options *o, const char *cluster, struct error *err);

/* The words of a directive: "--gpus=2", "--gpus 2", "-G2", "-G 2", "-HW". ERR_USAGE also for what
 * is no option and for one that a script cannot have. */
int options_from_words(struct submit_options *o, size_t n, char **words, struct error *err);
/* How many words to leave out behind a mistake: the word, and what is likely its value. */
size_t options_skip(size_t n, char **words);

/* The GSUBMIT_* variables. A variable of an option without an argument is "yes" or "no" (1, true,
 * 0, false). An unknown GSUBMIT_ name is an error: it was meant to do something. */
int options_from_environment(struct submit_options *o, char *const *environment, struct error *err);

/* All that the head of a script says. ERR_USAGE; the text begins with the line's number. *late as
 * in directives.h. */
int options_from_script(struct submit_options *o, const char *script, size_t len, unsigned *late,
        struct error *err);

#endif
