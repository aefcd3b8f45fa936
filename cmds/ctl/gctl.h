/* gctl.h - what the subcommands of gctl share */
#ifndef CMDS_GCTL_H
#define CMDS_GCTL_H

#include "cmds/api/client.h"
#include "cmds/cli/cmd.h"
#include "cmds/cli/jsonout.h"
#include "cmds/views/filter.h"

#define GCTL_WORDS_MAX 4096

/* The command line. */
struct gctl {
	struct filter filter;
	const char *reason;
	const char *before, *older_than, *by;
	bool json, confirmed_off, script, env, remove, hold, unchecked, dry_run;
	unsigned given; /* which rows of the table of options */
	const char *words[GCTL_WORDS_MAX];
	size_t n_words;
};

/* What the functions work on: the words behind the subcommand's own, and a client. */
struct run {
	struct gctl *g;
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
typedef int gctl_on_chunk(unsigned type, const ProtobufCMessage *m, void *arg, struct error *err);
int gctl_ask(struct run *r, unsigned type, const ProtobufCMessage *request, bool repeatable,
        gctl_on_chunk *on_chunk, struct error *err);
int gctl_wrong_answer(struct error *err);
/* The end of what was asked: in JSON with the error, if there is one. EXIT_DONE, or -1. */
int gctl_end(struct run *r, int rc, struct error *err);
/* --reason; "" without one. For the field of a request. */
char *gctl_reason(const struct run *r);

/* The node lists of the words, as names. */
int gctl_take_nodes(const char *const *words, size_t n, struct cmd_list *out, struct error *err);
int gctl_list_nodes(
        struct run *r, const struct cmd_list *names, gctl_on_chunk *on_chunk, struct error *err);

/* Subcommands (gctl_show.c): -1 with `err`, or the exit status. */
int gctl_show_job(struct run *r, struct error *err);
int gctl_show_node(struct run *r, struct error *err);
int gctl_show_partition(struct run *r, struct error *err);
int gctl_show_config(struct run *r, struct error *err);
int gctl_show_hostnames(struct run *r, struct error *err);
int gctl_show_hostlist(struct run *r, struct error *err);
int gctl_stats(struct run *r, struct error *err);   /* gctl_stats.c */
int gctl_wait(struct run *r, struct error *err);    /* gctl_wait.c */
int gctl_resign(struct run *r, struct error *err);  /* gctl_resign.c */
int gctl_archive(struct run *r, struct error *err); /* gctl_archive.c */
int gctl_verify(struct run *r, struct error *err);  /* gctl_verify.c */
/* gctl_nodes.c. `no_reason`: what is said where no reason is given; NULL: one is needed, but to
 * resume. */
int gctl_control_nodes(struct run *r, Gpusched__NodeControl__Verb verb, const char *no_reason,
        struct error *err);
int gctl_drain(struct run *r, struct error *err);
int gctl_node_down(struct run *r, struct error *err);
int gctl_node_clear(struct run *r, struct error *err);
/* gctl_lists.c */
int gctl_list_errors(struct run *r, struct error *err);
int gctl_list_reasons(struct run *r, struct error *err);

#endif
