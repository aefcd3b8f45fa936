/* options.h - the command line of gnoded */
#ifndef NODED_OPTIONS_H
#define NODED_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"

struct options {
	const char *node; /* never NULL after options_parse() */
	const char *conf; /* NULL: the usual places (conf.h, conf_client_load()) */
	const char *rundir, *spool;
	const char *user;     /* of the network half; NULL: ours */
	const char *pid_file; /* "": none */
	const char *log, *log_level;
	const char *pretend;        /* NULL: no */
	const char *cgroup;         /* NULL: chosen by the launcher */
	const char *shepherd;       /* NULL: found */
	const char *munge_socket_2; /* NULL: none */
	uint64_t signature_age_s;   /* 0: the launcher's default */
	bool allow_root, daemon, test;
	bool simulate;
	uint64_t simulate_n; /* 0: all of `nodes` */
	const char *nodes;   /* NULL: n1, n2, ... */
};

/* Exits for --help, --usage, --version and for what cannot be understood (EXIT_USAGE). Strings are
 * those of argv. */
void options_parse(struct options *options, int argc, char **argv);

#endif
