/* options.h - the command line of gprobe, which the launcher makes of a ServiceSpec */
#ifndef CMDS_SERVICES_OPTIONS_H
#define CMDS_SERVICES_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/error.h"

#define PROBE_PATH_MAX 1024

enum probe_kind { PROBE_NONE, PROBE_HTTP, PROBE_TCP, PROBE_FILE };

struct probe_spec {
	enum probe_kind kind;
	const char *path; /* PROBE_HTTP */
};

bool probe_needs_port(const struct probe_spec *p);

/* All texts are borrowed of the command line. */
struct gprobe_options {
	int fd; /* -1: nothing is told */
	const char *name;
	struct probe_spec ready, live;
	uint64_t every_ms, timeout_ms;
	uint64_t fails;
	uint64_t load_time_s, drain_s;
	const char *metrics; /* a preset, "file", or "": none */
	const char *metrics_path;
	uint64_t port; /* 0: none */
	const char *run_dir;
	char **program; /* NULL: the version was asked for */
};

int options_read(struct gprobe_options *o, int argc, char **argv, struct error *err);

const char *options_usage(void);

#endif
