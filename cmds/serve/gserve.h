/* gserve.h - what the subcommands of gserve share */
#ifndef CMDS_SERVE_GSERVE_H
#define CMDS_SERVE_GSERVE_H

#include "cmds/api/client.h"
#include "cmds/api/service.h"
#include "cmds/cli/cmd.h"
#include "cmds/cli/listing.h"

#define SERVE_WORDS_MAX 1000

/* Which options a subcommand takes: of its row, and of the option's. */
enum takes {
	TAKES_LISTING = 1 << 0, /* --format and so on */
	TAKES_JSON = 1 << 1,
	TAKES_SHOW = 1 << 2, /* --me, --watch, --why */
	TAKES_KEPT = 1 << 3,
	TAKES_REASON = 1 << 4,
};

struct gserve;

struct verb {
	const char *word, *arguments;
	size_t min, max;                                 /* number of arguments */
	unsigned takes;                                  /* enum takes */
	int (*run)(struct gserve *g, struct error *err); /* -1, or the exit status */
	int (*main)(int argc, char **argv);              /* instead: has options of its own */
	const char *help, *examples;
};

/* The command line, and what the functions work on. */
struct gserve {
	struct listing listing;
	const char *kept, *reason;
	bool me, watch, why;
	unsigned given; /* bits: rows of the table of options */
	char *words[SERVE_WORDS_MAX];
	size_t n_words;
	const struct verb *verb;
	char **names; /* the words behind the verb's own */
	size_t n;
	bool details; /* show: all details of the named services */
	struct client *client;
};

extern const struct cmd serve_cmd;

/* gserve_show.c */
int serve_show(struct gserve *g, struct error *err);
int serve_endpoints(struct gserve *g, struct error *err);
/* All that is shown of the services, once. `c` stays open. */
int serve_print(struct gserve *g, struct client *c, struct error *err);
struct service_query serve_query(const struct gserve *g);
/* gserve_watch.c: until it is interrupted; -1 */
int serve_watch(struct gserve *g, struct error *err);
/* gserve_control.c */
int serve_scale(struct gserve *g, struct error *err);
int serve_control(struct gserve *g, struct error *err); /* the verb is the subcommand's word */
int serve_update(int argc, char **argv);

#endif
