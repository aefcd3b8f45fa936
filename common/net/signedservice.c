/* signedservice.c - see signedservice.h */
#include "common/net/signedservice.h"

#include <stdint.h>
#include <string.h>

#include "common/base/text.h"

#define SHOWN 80 /* bytes of a wrong text in an error */

static const char *const scraped[] = { "vllm", "sglang", "tgi", "triton", "llamacpp" };

bool signedservice_scrapes(const char *metrics)
{
	return text_among(metrics, scraped, sizeof(scraped) / sizeof(scraped[0]));
}

static bool is_alnum(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

int signedservice_name_check(const char *name, struct error *err)
{
	size_t n = strlen(name);
	bool good =
	        n >= 1 && n <= SIGNEDSERVICE_NAME_MAX && is_alnum(name[0]) && is_alnum(name[n - 1]);
	char shown[SHOWN];

	for (size_t i = 0; good && i < n; i++)
		good = is_alnum(name[i]) || name[i] == '-';
	if (good)
		return 0;
	text_escape(shown, sizeof(shown), name, n);
	return error_set(err, ERR_JOB_SPEC,
	        "service: name '%s'; must be 1 to %d of a-z, 0-9 and -, with no - at its ends",
	        shown, SIGNEDSERVICE_NAME_MAX);
}

/* What is in it becomes part of an HTTP request. */
static int path_check(const char *what, const char *path, struct error *err)
{
	size_t n = strlen(path);

	if (path[0] != '/')
		return error_set(
		        err, ERR_JOB_SPEC, "service: %s: its path must begin with '/'", what);
	if (n > SIGNEDSERVICE_PATH_MAX)
		return error_set(err, ERR_JOB_SPEC, "service: %s: a path of %zu bytes; at most %d",
		        what, n, SIGNEDSERVICE_PATH_MAX);
	for (size_t i = 0; i < n; i++)
		if (path[i] <= ' ' || path[i] > '~')
			return error_set(err, ERR_JOB_SPEC,
			        "service: %s: byte %zu of its path is not printable ASCII, or a "
			        "space",
			        what, i + 1);
	return 0;
}

static int probe_check(
        const char *what, const char *probe, const Gpusched__ServiceSpec *spec, struct error *err)
{
	size_t n = strlen(SIGNEDSERVICE_HTTP);
	bool http = strncmp(probe, SIGNEDSERVICE_HTTP, n) == 0;
	char shown[SHOWN];

	if (!*probe || strcmp(probe, "file") == 0)
		return 0;
	if (!http && strcmp(probe, "tcp") != 0) {
		text_escape(shown, sizeof(shown), probe, strlen(probe));
		return error_set(err, ERR_JOB_SPEC,
		        "service: %s: '%s' is none of http:PATH, tcp, file", what, shown);
	}
	if (!spec->ports)
		return error_set(err, ERR_JOB_SPEC,
		        "service: %s: needs a port, and the service has none", what);
	return http ? path_check(what, probe + n, err) : 0;
}

static int metrics_check(const Gpusched__ServiceSpec *spec, struct error *err)
{
	bool scrapes = signedservice_scrapes(spec->metrics);
	char shown[SHOWN];

	if (!scrapes && *spec->metrics && strcmp(spec->metrics, "file") != 0) {
		text_escape(shown, sizeof(shown), spec->metrics, strlen(spec->metrics));
		return error_set(err, ERR_JOB_SPEC,
		        "service: metrics: '%s' is none of vllm, sglang, tgi, triton, llamacpp, "
		        "file",
		        shown);
	}
	if (scrapes && !spec->ports)
		return error_set(err, ERR_JOB_SPEC,
		        "service: metrics: need a port, and the service has none");
	if (!*spec->metrics_path)
		return 0;
	if (!scrapes)
		return error_set(
		        err, ERR_JOB_SPEC, "service: metrics path: nothing is fetched there");
	return path_check("metrics path", spec->metrics_path, err);
}

static int numbers_check(const Gpusched__ServiceSpec *spec, struct error *err)
{
	const struct {
		const char *what;
		uint32_t value, least, most;
	} numbers[] = {
		{ "ports", spec->ports, 0, SIGNEDSERVICE_PORTS_MAX },
		{ "milliseconds from probe to probe", spec->probe_every_ms,
		        SIGNEDSERVICE_EVERY_MIN_MS, SIGNEDSERVICE_EVERY_MAX_MS },
		{ "milliseconds of a probe", spec->probe_timeout_ms, 1, spec->probe_every_ms },
		{ "failed probes in a row", spec->probe_fails, 1, SIGNEDSERVICE_FAILS_MAX },
		{ "seconds to load", spec->load_time_s, 1, SIGNEDSERVICE_LOAD_MAX_S },
		{ "seconds to drain", spec->drain_s, 0, SIGNEDSERVICE_DRAIN_MAX_S },
		{ "starts a day", spec->starts_per_day, 1, SIGNEDSERVICE_STARTS_MAX },
		{ "days of validity", spec->valid_days, 1, SIGNEDSERVICE_DAYS_MAX },
	};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (numbers[i].value < numbers[i].least || numbers[i].value > numbers[i].most)
			return error_set(err, ERR_JOB_SPEC, "service: %s: %u; must be %u to %u",
			        numbers[i].what, numbers[i].value, numbers[i].least,
			        numbers[i].most);
	return 0;
}

int signedservice_check(const Gpusched__ServiceSpec *spec, struct error *err)
{
	if (signedservice_name_check(spec->name, err) || numbers_check(spec, err) ||
	        probe_check("ready", spec->ready, spec, err) ||
	        probe_check("live", spec->live, spec, err))
		return -1;
	return metrics_check(spec, err);
}
