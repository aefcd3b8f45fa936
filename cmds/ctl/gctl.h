/* gctl.h - what the subcommands of gctl share */
#ifndef CMDS_GCTL_H
#define CMDS_GCTL_H

#include "cmds/api/client.h"
#include "cmds/cli/cmd.h"
#include "cmds/cli/jsonout.h"
#include "cmds/views/filter.h"

#define GCTL_WORDS_MAX       4096
#define GCTL_SUBCOMMANDS_MAX 64

/* Which options a subcommand takes: of its row, and of the option's (struct cmd_option's `own`). */
enum takes {
	TAKES_JSON = 1 << 0,
	TAKES_JOBS = 1 << 1, /* --user and so on */
	TAKES_REASON = 1 << 2,
	TAKES_CONFIRMED_OFF = 1 << 3,
	TAKES_SCRIPT = 1 << 4, /* --script, --env */
	TAKES_AGE = 1 << 5,    /* --before, --older-than, --delete */
	TAKES_HOLD = 1 << 6,
	TAKES_UNCHECKED = 1 << 7,
	TAKES_BY = 1 << 8,
	TAKES_DRY_RUN = 1 << 9,
	TAKES_QUIET = 1 << 10,
};

struct run;

struct subcommand {
	const char *heading;  /* of the rows below, in the list: a row of nothing else; or NULL */
	const char *words[2]; /* "show", "job" */
	const char *arguments;
	size_t min, max; /* number of arguments */
	unsigned takes;  /* enum takes */
	bool offline;    /* needs no controller */
	int (*run)(struct run *r, struct error *err); /* -1, or the exit status */
	int (*main)(int argc, char **argv);           /* instead: has options of its own */
	const char *help, *examples;
};

extern const struct subcommand gctl_subcommands[]; /* ends with a row of nothing */

/* "show job". Returns `buf`. */
const char *gctl_subcommand_name(const struct subcommand *s, char *buf, size_t size);
void gctl_list_subcommands(FILE *out);

/* The command line. */
struct gctl {
	struct filter filter;
	const char *reason;
	const char *before, *older_than, *by;
	bool json, confirmed_off, script, env, remove, hold, unchecked, dry_run, quiet;
	unsigned given; /* bits: rows of the table of options */
	const char *words[GCTL_WORDS_MAX];
	size_t n_words;
};

/* The input of the functions: the words behind the subcommand's own, and a client. */
struct run {
	struct gctl *g;
	const struct cmd *cmd;
	const char *word; /* the subcommand's own first one */
	const char *const *words;
	size_t n;
	struct client *client;
	struct jsonout out;
	size_t seen;
	bool past;       /* a job was shown of the history */
	bool inside;     /* a section that was asked for */
	const char *gpu; /* of a node, that was changed */
};

/* Each part of an answer; `arg` is the struct run. */
typedef int gctl_on_chunk(const ProtobufCMessage *m, void *arg, struct error *err);
/* Parts of type `answer`; on_chunk NULL: there are none. */
int gctl_ask(struct run *r, unsigned type, const ProtobufCMessage *request, bool repeatable,
        unsigned answer, gctl_on_chunk *on_chunk, struct error *err);
/* End the output of a request: in JSON with the error, if there is one. EXIT_DONE, or -1. */
int gctl_end(struct run *r, int rc, struct error *err);
/* --reason; "" without one. For the field of a request. */
char *gctl_reason(const struct run *r);

/* The node lists of the words, as names. */
int gctl_take_nodes(const char *const *words, size_t n, struct cmd_list *out, struct error *err);
int gctl_list_nodes(
        struct run *r, const struct cmd_list *names, gctl_on_chunk *on_chunk, struct error *err);

/* gctl help [SUBCOMMAND]: a command line of its own, argv[0] being "help" */
int help_main(int argc, char **argv);

/* Subcommands: -1 with `err`, or the exit status. */
/* gctl_show.c */
int gctl_show_job(struct run *r, struct error *err);
int gctl_show_node(struct run *r, struct error *err);
int gctl_show_partition(struct run *r, struct error *err);
int gctl_show_config(struct run *r, struct error *err);
int gctl_show_hostnames(struct run *r, struct error *err);
int gctl_show_hostlist(struct run *r, struct error *err);
/* gctl_jobs.c: the verb is the subcommand's word */
int gctl_control_jobs(struct run *r, struct error *err);
int gctl_resume(struct run *r, struct error *err);
/* gctl_admin.c */
int gctl_ping(struct run *r, struct error *err);
int gctl_partition(struct run *r, struct error *err);
int gctl_reconfigure(struct run *r, struct error *err);
int gctl_backup(struct run *r, struct error *err);
int gctl_shutdown(struct run *r, struct error *err);
int gctl_stats(struct run *r, struct error *err);   /* gctl_stats.c */
int gctl_wait(struct run *r, struct error *err);    /* gctl_wait.c */
int gctl_renew(struct run *r, struct error *err);   /* gctl_renew.c */
int gctl_archive(struct run *r, struct error *err); /* gctl_archive.c */
int gctl_verify(struct run *r, struct error *err);  /* gctl_verify.c */
/* gctl_nodes.c. `no_reason`: what is said where no reason is given; NULL: one is needed, but to
 * resume. */
int gctl_control_nodes(struct run *r, Gpusched__NodeControl__Verb verb, const char *no_reason,
        struct error *err);
int gctl_drain(struct run *r, struct error *err);
int gctl_node_down(struct run *r, struct error *err);
int gctl_node_clear(struct run *r, struct error *err);
/* gctl_reasons.c */
int gctl_list_errors(struct run *r, struct error *err);
int gctl_list_reasons(struct run *r, struct error *err);

#endif
