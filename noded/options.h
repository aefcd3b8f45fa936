/* options.h - the command line of gnoded */
#ifndef NODED_OPTIONS_H
#define NODED_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/error.h"
#include "noded/exec/rlimits.h"
#include "noded/runs/launcher_options.h"

struct options {
	char *node, *rundir, *spool; /* owned; paths are absolute */
	char *pid_file;              /* owned, absolute; "": none */
	char *log;                   /* owned: stderr, syslog or an absolute path */
	const char *conf;            /* NULL: the usual places (conf.h, conf_client_load()) */
	const char *user;            /* of the network half; NULL: as privilege.h says */
	const char *log_level;
	const char *tmp_dir;         /* NULL: the host's */
	const char *service_address; /* NULL: that of the connection to the controller */
	const char *pretend; /* NULL: the node reports what it really has */
	/* the options of the launcher, without node, cluster and directories, which main.c adds.
	 * NULL or 0: the launcher's default */
	struct launcher_options launcher;
	Gpusched__RunRlimit rlimits[RLIMITS_MAX]; /* launcher.n_rlimits of them */
	bool daemon, test;
	bool inventory, json;
	bool simulate;
	uint64_t simulate_n; /* 0: all of `nodes` */
	const char *nodes;   /* NULL: n1, n2, ... */
};

/* Exits for --help, --usage, --version and for arguments that it does not understand (EXIT_USAGE).
 * Strings that are not owned point into argv. */
void options_parse(struct options *options, int argc, char **argv);
void options_clear(struct options *options);

#endif
