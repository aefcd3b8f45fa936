/* options.h - the command line of gnoded */
#ifndef NODED_OPTIONS_H
#define NODED_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/error.h"
#include "noded/contain/device_grants.h"
#include "noded/contain/private.h"
#include "noded/exec/program.h"
#include "noded/exec/rlimits.h"
#include "noded/usage/overmem.h"

struct options {
	char *node, *rundir, *spool; /* owned; paths are absolute */
	char *pid_file;              /* owned, absolute; "": none */
	char *log;                   /* owned: stderr, syslog or an absolute path */
	const char *conf;            /* NULL: the usual places (conf.h, conf_client_load()) */
	const char *user;            /* of the network half; NULL: as privilege.h says */
	const char *log_level;
	const char *pretend;        /* NULL: the node reports what it really has */
	const char *cgroup;         /* NULL: the launcher chooses */
	const char *shepherd;       /* NULL: gnoded finds it */
	const char *munge_socket_2; /* NULL: none */
	uint64_t signature_age_s;   /* 0: the launcher's default */
	uint64_t kill_wait_ms;      /* a killed process counts as stuck after this time */
	uint64_t launch_timeout_ms; /* until a run's program must be executed */
	uint64_t gpu_timeout_ms;    /* for one probe of the GPUs */
	uint64_t spool_min_free_mb; /* a run that leaves less free is ended; 0: none is */
	uint64_t max_processes;     /* 0: the launcher's default */
	struct device_grants_wish devices;
	const char *containment;             /* NULL: whatever this node offers */
	uint64_t gpu_recheck_ms;             /* between two probes; 0: the GPUs are probed once */
	const char *programs[PROGRAM_KINDS]; /* the site's programs; NULL: none */
	/* folder of programs that gpusched.conf may name; NULL: none */
	const char *programs_of;
	uint64_t program_timeout_ms, health_interval_s;
	uint64_t sample_ms; /* between two samples of what runs use; 0: never */
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

/* Exits for --help, --usage, --version and for arguments that it does not understand (EXIT_USAGE).
 * Strings that are not owned point into argv. */
void options_parse(struct options *options, int argc, char **argv);
void options_clear(struct options *options);

#endif
