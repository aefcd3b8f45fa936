/* options.h - the command line of gnoded */
#ifndef NODED_OPTIONS_H
#define NODED_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"
#include "noded/exec/private.h"
#include "noded/exec/rlimits.h"
#include "noded/launcher/grants.h"
#include "noded/shepherd/program.h"
#include "noded/usage/overmem.h"

struct options {
	char *node, *rundir, *spool; /* owned; paths are absolute */
	char *pid_file;              /* owned, absolute; "": none */
	char *log;                   /* owned: stderr, syslog or an absolute path */
	const char *conf;            /* NULL: the usual places (conf.h, conf_client_load()) */
	const char *user;            /* of the network half; NULL: as privilege.h says */
	const char *log_level;
	const char *pretend;        /* NULL: no */
	const char *cgroup;         /* NULL: chosen by the launcher */
	const char *shepherd;       /* NULL: found */
	const char *munge_socket_2; /* NULL: none */
	uint64_t signature_age_s;   /* 0: the launcher's default */
	uint64_t kill_wait_ms;      /* what was killed hangs after so long */
	uint64_t launch_timeout_ms; /* until a run's program is executed */
	uint64_t gpu_timeout_ms;    /* for one look at the GPUs */
	uint64_t spool_min_free_mb; /* who leaves less is ended; 0: nobody is */
	uint64_t max_processes;     /* 0: the launcher's default */
	struct grants_wish devices;
	const char *containment;             /* NULL: whatever there is */
	uint64_t gpu_recheck_ms;             /* between two; 0: never again */
	const char *programs[PROGRAM_KINDS]; /* of the site; NULL: none */
	const char *programs_of;             /* gpusched.conf may name those of it; NULL: none */
	uint64_t program_timeout_ms, health_interval_s;
	uint64_t sample_ms; /* between two looks at what runs use; 0: never */
	enum overmem_policy over_memory;
	bool over_memory_said, share_users_one;
	const char *mps;         /* NULL: the launcher's default */
	uint32_t private_kinds;  /* bits of enum private_kind */
	uint64_t private_tmp_mb; /* 0: on disk */
	Gpusched__RunRlimit rlimits[RLIMITS_MAX];
	size_t n_rlimits;
	bool allow_root, daemon, test;
	bool inventory, json;
	bool simulate;
	uint64_t simulate_n; /* 0: all of `nodes` */
	const char *nodes;   /* NULL: n1, n2, ... */
};

/* Exits for --help, --usage, --version and for what cannot be understood (EXIT_USAGE). Strings that
 * are not owned are those of argv. */
void options_parse(struct options *options, int argc, char **argv);
void options_clear(struct options *options);

#endif
