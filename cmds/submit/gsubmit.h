/* gsubmit.h - what the files of gsubmit share */
#ifndef CMDS_GSUBMIT_H
#define CMDS_GSUBMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmds/api/gpusched.h"
#include "cmds/cli/cmd.h"
#include "cmds/options/options.h"
#include "cmds/options/script.h"
#include "common/base/error.h"
#include "common/gpusched.pb-c.h"

#define GSUBMIT_TOKEN     40
#define GSUBMIT_GIVEN_MAX 512

extern struct cmd gsubmit_cmd;

struct given {
	const struct option_row *row;
	const char *value;
	char *made; /* what `value` points to, where it is not what was given; owned */
};

/* The command line; of a bulk, with a line's own behind it. */
struct gsubmit {
	struct given given[GSUBMIT_GIVEN_MAX]; /* in order: applied after weaker sources */
	size_t n_given;
	struct submit_options checked; /* all of it at once, to refuse what is wrong at once */
	struct mistakes mistakes;      /* of the command line, and then of all other sources */
	const char *script;            /* NULL: --wrap or standard input */
	const char *const *args;       /* of the script, NULL-terminated */
	bool quiet;                    /* a warning about its script was printed */
	const char *update;            /* the service whose next generation it is; NULL: none */
	Gpusched__Service *present;    /* that service, owned; NULL: none */
	const struct gsubmit_manner *manner;
	/* Of many jobs, once for all; NULL: ours, the present one. */
	char *const *environment; /* our variables that can be options */
	const char *here;
};

/* The manner of its messages: that of gsubmit, or that of sbatch (cmds/slurm_commands/sbatch.c). */
struct gsubmit_manner {
	const char *name, *version;
	bool slurm;  /* jobs see SLURM_* variables, and warnings are for people */
	bool update; /* gserve update: the first argument names a service */
	/* Of an answer to --test-only; NULL: as gsubmit says it. */
	void (*verdict)(const Gpusched__SubmitResult *r, const struct submit_options *o);
	/* Rewords the error of a submit; NULL: it stays as it is. */
	void (*refused)(struct error *err);
	bool failed; /* out: the status reports a failure, not the end of a job */
};

/* Runs the whole command. Returns the exit status. */
int gsubmit_main(struct gsubmit_manner *manner, int argc, char **argv);

/* The data of one job, from which its spec borrows. */
struct job {
	struct gpusched_spec spec;
	char **env; /* borrowed if `bulk` */
	char **slurm_env;
	char *cwd, *name;
	struct service_job service; /* spec.name NULL: it is none */
	char token[GSUBMIT_TOKEN];
	bool bulk; /* gets its token with the others */
};

/* All sources of options, the weakest first. */
int gsubmit_gather(const struct gsubmit *g, const struct script *script, struct submit_options *o,
        struct error *err);

int gsubmit_make_job(const struct gsubmit *g, struct submit_options *o, const struct script *script,
        struct job *job, struct error *err);
void gsubmit_clear_job(struct job *job);

/* Of a service what it submits of it; NULL: the job is none. */
const struct spec_service *gsubmit_job_service(const struct job *job);
/* --test-only: what the controller would make of the job, printed. The exit status, or -1. */
int gsubmit_test_only(const struct gsubmit_manner *manner, const struct submit_options *o,
        const struct job *job, struct error *err);
/* For people, of a job that waits: when it is planned to start and what holds it. */
void gsubmit_advise_waiting(struct gpusched *g, const struct submit_options *o, uint64_t id);

/* --sign-only. The exit status, or -1. */
int gsubmit_sign(const struct submit_options *o, const struct job *job, struct error *err);

int gsubmit_make_token(char token[GSUBMIT_TOKEN], struct error *err);
void gsubmit_take_error(const struct gpusched_error *from, struct error *to);
void gsubmit_tell(const struct gpusched_error *why, void *arg); /* for gpusched_on_retry() */
void gsubmit_warn(const char *text, void *arg);                 /* for gpusched_on_warning() */

/* --bulk. The exit status, or -1 with `err`; `token` is what names it, once it is known. */
int gsubmit_bulk(const struct gsubmit *g, char token[GSUBMIT_TOKEN], struct error *err);

/* gsubmit_service.c. What is wrong with its options, also with those of a job that is no service,
 * is told as service_job_make() does. */
int gsubmit_check_service(
        const struct gsubmit *g, const struct submit_options *o, struct error *err);
int gsubmit_make_service(
        const struct gsubmit *g, struct submit_options *o, struct job *job, struct error *err);
/* The service g->update, and what its present generation asks for, as the weakest options. */
int gsubmit_find_present(struct gsubmit *g, struct submit_options *o, struct error *err);
int gsubmit_take_present(struct submit_options *o, const Gpusched__Job *job, struct error *err);
/* Submit it, and say so. The exit status, or -1. */
int gsubmit_service(const struct gsubmit *g, const struct submit_options *o, const struct job *job,
        struct error *err);
void gsubmit_print_service_test(const struct job *job, const Gpusched__SubmitResult *r);

#endif
