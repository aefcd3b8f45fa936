/* service_values.c - option_values.h: the values of the options of services */
#include <string.h>

#include "cmds/options/option_values.h"
#include "common/base/units.h"
#include "common/net/signedservice.h"

#define DAY_S         UINT64_C(86400)
#define TARGET_MAX    1e9
#define PROBE_ITEM    64 /* bytes of one part of --probe */
#define WINDOW_MAX_S  (7 * DAY_S)
#define REQUEST_MAX_S 86400

#define FIELD(o, row, type) ((type *)(void *)((char *)(o) + (row)->offset))
#define SETTER(name)                                                                        \
	int name(struct submit_options *o, const struct option_row *row, const char *value, \
	        struct error *err)

SETTER(option_set_service)
{
	if (signedservice_name_check(value, NULL) < 0)
		return error_set(err, ERR_USAGE,
		        "a name is 1 to %d of a-z, 0-9 and -, with no - at its ends",
		        SIGNEDSERVICE_NAME_MAX);
	return option_keep(o, row, value);
}

/* "2" or "2-8" */
SETTER(option_set_replicas)
{
	const char *dash = strchr(value, '-');
	char first[24];
	uint64_t min, max;
	(void)row;

	snprintf(first, sizeof(first), "%.*s", dash ? (int)(dash - value) : 23, value);
	if (count_parse(first, 0, SERVICE_REPLICAS_MAX, &min, err) < 0 ||
	        count_parse(dash ? dash + 1 : first, 1, SERVICE_REPLICAS_MAX, &max, err) < 0)
		return -1;
	if (min > max)
		return error_set(err, ERR_USAGE, "MIN is above MAX");
	o->service.min = (uint32_t)min;
	o->service.max = (uint32_t)max;
	return 0;
}

static int set_number(struct submit_options *o, const struct option_row *row, const char *value,
        uint64_t min, uint64_t max, struct error *err)
{
	uint64_t n;

	if (count_parse(value, min, max, &n, err) < 0)
		return -1;
	*FIELD(o, row, uint32_t) = (uint32_t)n;
	return 0;
}

SETTER(option_set_kept)
{
	return set_number(o, row, value, 0, SERVICE_REPLICAS_MAX, err);
}

SETTER(option_set_surge)
{
	return set_number(o, row, value, 0, SERVICE_SURGE_MAX, err);
}

SETTER(option_set_ports)
{
	return set_number(o, row, value, 0, SIGNEDSERVICE_PORTS_MAX, err);
}

SETTER(option_set_starts)
{
	return set_number(o, row, value, 1, SIGNEDSERVICE_STARTS_MAX, err);
}

/* --- probes and metrics ---------------------------------------------------------------------- */

/* It becomes a part of an HTTP request. */
static int check_path(const char *path, struct error *err)
{
	size_t len = strlen(path);

	if (*path != '/')
		return error_set(err, ERR_USAGE, "a path begins with /");
	if (len > SIGNEDSERVICE_PATH_MAX)
		return error_set(
		        err, ERR_USAGE, "a path has at most %d bytes", SIGNEDSERVICE_PATH_MAX);
	for (size_t i = 0; i < len; i++)
		if (path[i] <= ' ' || path[i] > '~')
			return error_set(err, ERR_USAGE,
			        "a path has no spaces and only printable ASCII; other characters "
			        "are "
			        "written as %%20");
	return 0;
}

SETTER(option_set_probe_of)
{
	size_t n = strlen(SIGNEDSERVICE_HTTP);

	if (!strncmp(value, SIGNEDSERVICE_HTTP, n)) {
		if (check_path(value + n, err) < 0)
			return -1;
	} else if (*value && strcmp(value, "tcp") && strcmp(value, "file")) {
		return error_set(err, ERR_USAGE, "expected http:/PATH, tcp or file");
	}
	return option_keep(o, row, value);
}

SETTER(option_set_metrics)
{
	if (*value && strcmp(value, "file") && !signedservice_scrapes(value))
		return error_set(
		        err, ERR_USAGE, "expected vllm, sglang, tgi, triton, llamacpp or file");
	return option_keep(o, row, value);
}

SETTER(option_set_metrics_path)
{
	return *value && check_path(value, err) < 0 ? -1 : option_keep(o, row, value);
}

/* One part of --probe: "5s", "timeout=2s", "fail=3". */
static int take_probe_item(struct service_options *s, const char *item, struct error *err)
{
	bool timeout = !strncmp(item, "timeout=", 8), fail = !strncmp(item, "fail=", 5);
	uint64_t n;

	if (fail) {
		if (count_parse(item + 5, 1, SIGNEDSERVICE_FAILS_MAX, &n, err) < 0)
			return error_wrap(err, "fail");
		s->probe_fails = (uint32_t)n;
		return 0;
	}
	if (strchr(item, '=') && !timeout)
		return error_set(err, ERR_USAGE, "expected a time, timeout=TIME and fail=COUNT");
	if (duration_parse_ms(timeout ? item + 8 : item, DURATION_BARE_S, &n, err) < 0)
		return -1;
	if (n > SIGNEDSERVICE_EVERY_MAX_MS || n < (timeout ? 1 : SIGNEDSERVICE_EVERY_MIN_MS))
		return error_set(err, ERR_USAGE, "%s must be %s to 1 hour",
		        timeout ? "timeout" : "the time from probe to probe",
		        timeout ? "1 ms" : "100 ms");
	*(timeout ? &s->probe_timeout_ms : &s->probe_every_ms) = (uint32_t)n;
	return 0;
}

SETTER(option_set_probe)
{
	struct service_options s = { .probe_every_ms = SERVICE_NOT_SAID,
		.probe_timeout_ms = SERVICE_NOT_SAID,
		.probe_fails = SERVICE_NOT_SAID };
	const char *p = value;
	char item[PROBE_ITEM];
	(void)row;

	do {
		size_t n = strcspn(p, ",");

		if (!n || n >= sizeof(item))
			return error_set(
			        err, ERR_USAGE, "expected a time, timeout=TIME and fail=COUNT");
		memcpy(item, p, n);
		item[n] = '\0';
		if (take_probe_item(&s, item, err) < 0)
			return -1;
		p += n;
	} while (*p && *++p);
	if (p > value && p[-1] == ',')
		return error_set(err, ERR_USAGE, "expected a time, timeout=TIME and fail=COUNT");
	if (s.probe_every_ms != SERVICE_NOT_SAID)
		o->service.probe_every_ms = s.probe_every_ms;
	if (s.probe_timeout_ms != SERVICE_NOT_SAID)
		o->service.probe_timeout_ms = s.probe_timeout_ms;
	if (s.probe_fails != SERVICE_NOT_SAID)
		o->service.probe_fails = s.probe_fails;
	return 0;
}

/* --- times ----------------------------------------------------------------------------------- */

static int parse_s(const char *value, uint64_t min, uint64_t max, uint32_t *out, struct error *err)
{
	char least[UNITS_TEXT], most[UNITS_TEXT];
	uint64_t s;

	if (duration_parse(value, DURATION_BARE_S, &s, err) < 0)
		return -1;
	if (s < min || s > max)
		return error_set(err, ERR_USAGE, "must be %s to %s",
		        duration_format_exact(least, min * 1000),
		        duration_format_exact(most, max * 1000));
	*out = (uint32_t)s;
	return 0;
}

SETTER(option_set_load_time)
{
	return parse_s(value, 1, SIGNEDSERVICE_LOAD_MAX_S, FIELD(o, row, uint32_t), err);
}

SETTER(option_set_drain)
{
	return parse_s(value, 0, SIGNEDSERVICE_DRAIN_MAX_S, FIELD(o, row, uint32_t), err);
}

/* --settle */
SETTER(option_set_settle)
{
	return parse_s(value, 0, WINDOW_MAX_S, FIELD(o, row, uint32_t), err);
}

/* --scale-down, --to-zero */
SETTER(option_set_scale_time)
{
	return parse_s(value, 1, WINDOW_MAX_S, FIELD(o, row, uint32_t), err);
}

/* "60s,6s" */
SETTER(option_set_scale_window)
{
	const char *comma = strchr(value, ',');
	uint32_t window, burst = o->service.burst_window_s;
	char first[24];
	(void)row;

	snprintf(first, sizeof(first), "%.*s", comma ? (int)(comma - value) : 23, value);
	if (parse_s(first, 1, WINDOW_MAX_S, &window, err) < 0 ||
	        (comma && parse_s(comma + 1, 1, WINDOW_MAX_S, &burst, err) < 0))
		return -1;
	o->service.window_s = window;
	o->service.burst_window_s = burst;
	return 0;
}

SETTER(option_set_request_wait)
{
	uint64_t ms;

	if (duration_parse_ms(value, DURATION_BARE_S, &ms, err) < 0)
		return -1;
	if (ms > REQUEST_MAX_S * 1000)
		return error_set(err, ERR_USAGE, "must be at most one day");
	*FIELD(o, row, uint32_t) = (uint32_t)ms;
	return 0;
}

SETTER(option_set_valid)
{
	uint64_t s;

	if (duration_parse(value, DURATION_BARE_REFUSED, &s, NULL) < 0 || s % DAY_S || !s ||
	        s > SIGNEDSERVICE_DAYS_MAX * DAY_S)
		return error_set(
		        err, ERR_USAGE, "expected whole days, 1d to %dd", SIGNEDSERVICE_DAYS_MAX);
	*FIELD(o, row, uint32_t) = (uint32_t)(s / DAY_S);
	return 0;
}

/* --- load ------------------------------------------------------------------------------------ */

/* Requests in flight: "64", "0.5"; 0: none is given. */
SETTER(option_set_target)
{
	size_t digits = strspn(value, "0123456789"), more = 0;
	double n = 0, unit = 1, target;

	if (value[digits] == '.')
		more = strspn(value + digits + 1, "0123456789") + 1;
	if (!digits || more == 1 || value[digits + more] || digits + more > 20)
		return error_set(err, ERR_USAGE, "expected a number of requests, as 64 or 0.5");
	/* By hand: the decimal point of a locale may be another one. */
	for (size_t i = 0; i < digits + more; i++) {
		if (i == digits)
			continue;
		n = n * 10 + (value[i] - '0');
		unit *= i > digits ? 10 : 1;
	}
	target = n / unit;
	if (target > TARGET_MAX || (target > 0 && target < 0.001))
		return error_set(err, ERR_USAGE, "must be 0.001 to 1000000000");
	*FIELD(o, row, double) = target;
	return 0;
}

SETTER(option_set_kv_target)
{
	uint32_t percent;

	if (percent_parse(value, &percent, err) < 0)
		return -1;
	if (!percent)
		return error_set(err, ERR_USAGE, "must be 1%% to 100%%");
	*FIELD(o, row, uint32_t) = percent * 10;
	return 0;
}
