/* options.c - see options.h */
#include "cmds/services/options.h"

#include <getopt.h>
#include <stddef.h>
#include <string.h>

#include "cmds/services/load.h"
#include "cmds/services/server_metrics.h"
#include "common/base/units.h"

#define DAY_S UINT64_C(86400)

static const char usage[] =
        "usage: gprobe [--fd=N] [--name=NAME] [--ready=PROBE] [--live=PROBE] [--every=MS]\n"
        "              [--timeout=MS] [--fails=N] [--load-time=S] [--metrics=PRESET]\n"
        "              [--metrics-path=PATH] [--port=PORT] [--drain=S] [--run-dir=DIR]\n"
        "              -- SCRIPT [ARGUMENT...]\n"
        "PROBE: http:/PATH, tcp, file. Started by gnoded for replicas of services.\n";

const char *options_usage(void)
{
	return usage;
}

/* --- values ----------------------------------------------------------------------------------- */

/* What stands in a request line as it is. */
static int check_path(const char *path, struct error *err)
{
	size_t n = strlen(path);

	if (*path != '/' || n > PROBE_PATH_MAX)
		return error_set(err, ERR_USAGE,
		        "expected a path of at most %d bytes that begins with /", PROBE_PATH_MAX);
	for (size_t i = 0; i < n; i++)
		if (path[i] <= ' ' || path[i] > '~')
			return error_set(err, ERR_USAGE,
			        "a path has no spaces and only ASCII; write other characters as "
			        "%%XX");
	return 0;
}

static int read_probe(struct probe_spec *p, const char *value, struct error *err)
{
	static const struct {
		const char *word;
		enum probe_kind kind;
	} kinds[] = { { "", PROBE_NONE }, { "tcp", PROBE_TCP }, { "file", PROBE_FILE } };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(value, kinds[i].word) == 0) {
			*p = (struct probe_spec){ kinds[i].kind, NULL };
			return 0;
		}
	}
	if (strncmp(value, "http:", 5) != 0)
		return error_set(err, ERR_USAGE, "expected http:/PATH, tcp or file");
	*p = (struct probe_spec){ PROBE_HTTP, value + 5 };
	return check_path(value + 5, err);
}

/* --- the table -------------------------------------------------------------------------------- */

enum value_kind { VALUE_TEXT, VALUE_NUMBER, VALUE_PROBE, VALUE_FD };

static const struct row {
	const char *name;
	enum value_kind kind;
	size_t offset;
	uint64_t min, max; /* VALUE_NUMBER */
} rows[] = {
#define AT(field) offsetof(struct gprobe_options, field)
	{ "fd", VALUE_FD, AT(fd), 3, 1 << 20 },
	{ "name", VALUE_TEXT, AT(name), 0, 0 },
	{ "ready", VALUE_PROBE, AT(ready), 0, 0 },
	{ "live", VALUE_PROBE, AT(live), 0, 0 },
	{ "every", VALUE_NUMBER, AT(every_ms), 100, 3600000 },
	{ "timeout", VALUE_NUMBER, AT(timeout_ms), 1, 3600000 },
	{ "fails", VALUE_NUMBER, AT(fails), 1, 100 },
	{ "load-time", VALUE_NUMBER, AT(load_time_s), 1, 365 * DAY_S },
	{ "metrics", VALUE_TEXT, AT(metrics), 0, 0 },
	{ "metrics-path", VALUE_TEXT, AT(metrics_path), 0, 0 },
	{ "port", VALUE_NUMBER, AT(port), 0, 65535 },
	{ "drain", VALUE_NUMBER, AT(drain_s), 0, 365 * DAY_S },
	{ "run-dir", VALUE_TEXT, AT(run_dir), 0, 0 },
#undef AT
};

#define N_ROWS (sizeof(rows) / sizeof(rows[0]))

static int set_row(
        struct gprobe_options *o, const struct row *r, const char *value, struct error *err)
{
	char *field = (char *)o + r->offset;
	uint64_t n;
	int rc = 0;

	switch (r->kind) {
	case VALUE_TEXT:
		*(const char **)field = value;
		break;
	case VALUE_NUMBER:
		rc = count_parse(value, r->min, r->max, (uint64_t *)field, err);
		break;
	case VALUE_FD:
		if ((rc = count_parse(value, r->min, r->max, &n, err)) == 0)
			*(int *)field = (int)n;
		break;
	case VALUE_PROBE:
		rc = read_probe((struct probe_spec *)field, value, err);
		break;
	}
	return rc < 0 ? error_wrap(err, "--%s=%.80s", r->name, value) : 0;
}

/* --- what joins several ----------------------------------------------------------------------- */

static bool is_file(const struct gprobe_options *o)
{
	return o->ready.kind == PROBE_FILE || o->live.kind == PROBE_FILE ||
	       strcmp(o->metrics, "file") == 0;
}

bool probe_needs_port(const struct probe_spec *p)
{
	return p->kind == PROBE_HTTP || p->kind == PROBE_TCP;
}

static int check(struct gprobe_options *o, bool timeout_given, struct error *err)
{
	if (!timeout_given && o->timeout_ms > o->every_ms)
		o->timeout_ms = o->every_ms;
	if (o->timeout_ms > o->every_ms)
		return error_set(err, ERR_USAGE, "--timeout: expected at most --every");
	if (*o->metrics && strcmp(o->metrics, "file") != 0 && !server_metrics_is_preset(o->metrics))
		return error_set(err, ERR_USAGE, "--metrics=%.80s: expected %s or file", o->metrics,
		        server_metrics_presets());
	if (!*o->metrics_path)
		o->metrics_path = "/metrics";
	if (check_path(o->metrics_path, err) < 0)
		return error_wrap(err, "--metrics-path=%.80s", o->metrics_path);
	if ((probe_needs_port(&o->ready) || probe_needs_port(&o->live) ||
	            server_metrics_is_preset(o->metrics)) &&
	        !o->port)
		return error_set(
		        err, ERR_USAGE, "--port is missing: http, tcp and metrics need one");
	if (is_file(o) && !*o->run_dir)
		return error_set(err, ERR_USAGE, "--run-dir is missing: file needs it");
	return 0;
}

int options_read(struct gprobe_options *o, int argc, char **argv, struct error *err)
{
	struct option longs[N_ROWS + 2] = { 0 };
	bool timeout_given = false;
	int c;

	*o = (struct gprobe_options){ .fd = -1,
		.name = "",
		.every_ms = 5000,
		.timeout_ms = 2000,
		.fails = 3,
		.load_time_s = 1800,
		.drain_s = 60,
		.metrics = "",
		.metrics_path = "",
		.run_dir = "" };
	for (size_t i = 0; i < N_ROWS; i++)
		longs[i] = (struct option){ rows[i].name, required_argument, NULL, (int)i };
	longs[N_ROWS] = (struct option){ "version", no_argument, NULL, N_ROWS };
	optind = 0; /* from the start again, also in tests */
	opterr = 0;
	while ((c = getopt_long(argc, argv, "+", longs, NULL)) != -1) {
		if (c == (int)N_ROWS)
			return 0;
		if (c < 0 || c >= (int)N_ROWS)
			return error_set(err, ERR_USAGE,
			        "%.80s: there is no such option, or its value is missing",
			        argv[optind - 1]);
		if (set_row(o, &rows[c], optarg, err) < 0)
			return -1;
		timeout_given |= strcmp(rows[c].name, "timeout") == 0;
	}
	if (optind >= argc)
		return error_set(err, ERR_USAGE, "the script is missing");
	o->program = argv + optind;
	return check(o, timeout_given, err);
}
