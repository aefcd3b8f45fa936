/* grun.h - what the files of grun share */
#ifndef CMDS_GRUN_H
#define CMDS_GRUN_H

#include <stdbool.h>
#include <stdint.h>

#include "cmds/cli/cmd.h"
#include "cmds/options/options.h"
#include "cmds/run/runio.h"
#include "cmds/run/runlink.h"

#define GRUN_PATIENCE_S 30
#define GRUN_RETRY_MS   (15 * 60 * 1000) /* grun waits so long for an absent controller */

#define GRUN_GIVEN_MAX 128

struct grun_given {
	const struct option_row *row;
	const char *value;
};

struct grun {
	/* the command line */
	struct grun_given given[GRUN_GIVEN_MAX]; /* in order: applied after variables */
	size_t n_given;
	struct submit_options checked; /* all of it at once, to refuse what is wrong at once */
	struct submit_options o;
	const char *const *command; /* NULL-terminated */
	uint64_t attach;            /* 0: run a command */
	bool pty, quiet, disable_status, detach_on_loss;
	uint32_t patience_s;  /* 0: not given */
	int64_t immediate_ms; /* -1: as long as it takes */
	/* the run */
	struct runlink link;
	struct runio io;
	int signals;      /* signalfd(2) */
	int64_t began_ms; /* waiting for the start */
	bool told_waits, told_lost, asked_why;
	int64_t int_ms;    /* the last ^C that did not cancel */
	int64_t cancel_ms; /* when it is to be cancelled, 0: not */
	int ints;          /* the ^C that count for a cancel */
	int ended_by;      /* a signal that ended us rather than the job; 0: none */
	bool too_late;     /* --immediate */
};

extern struct cmd grun_cmd;

/* --- grun_signals.c: ^C and other signals ----------------------------------------------------- */

/* Signals come through a descriptor from here on. -1 with `err`. */
int grun_catch_signals(struct grun *g, struct error *err);
void grun_take_signals(struct grun *g); /* those that have come */
/* Cancel the job that two ^C were to end, if it has not ended by itself in time. */
void grun_end_after_interrupt(struct grun *g);
/* A line for people, on a terminal that may be lent to the program. */
void grun_notice(const struct grun *g, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* --- grun.c ----------------------------------------------------------------------------------- */

/* The job's name: of the command where nothing is said. The caller frees it. */
char *grun_make_name(const struct grun *g);

/* The folder that it runs in; the caller frees it. */
int grun_make_cwd(const struct grun *g, char **cwd, struct error *err);

/* --- grun_tasks.c ----------------------------------------------------------------------------- */

/* Several processes, as the tasks of one step: all of it. Our exit status; -1 with `err`. */
int grun_tasks(struct grun *g, struct error *err);

/* --- grun_attached.c -------------------------------------------------------------------------- */

/* From a job that has been submitted to our exit status; -1 with `err`. */
int grun_attached(struct grun *g, struct error *err);

#endif
