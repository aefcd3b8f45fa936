/* requeue_on.c - see requeue_on.h */
#include "common/job/requeue_on.h"

#include <string.h>

#include "common/base/text.h"

struct reader {
	const char *p;
	uint32_t low, high;
	bool signal;
};

static bool number(const char **p, uint32_t max, uint32_t *n)
{
	const char *start = *p;

	for (*n = 0; **p >= '0' && **p <= '9' && *n <= max; (*p)++)
		*n = *n * 10 + (uint32_t)(**p - '0');
	return *p > start && *n >= 1 && *n <= max;
}

/* The next part, and the comma behind it. */
static bool read_part(struct reader *r)
{
	uint32_t max = 255;

	r->signal = !strncmp(r->p, "signal:", 7);
	if (r->signal)
		max = 64;
	else if (strncmp(r->p, "exit:", 5) != 0)
		return false;
	r->p += r->signal ? 7 : 5;
	if (!number(&r->p, max, &r->low))
		return false;
	r->high = r->low;
	if (*r->p == '-' && !r->signal) {
		r->p++;
		if (!number(&r->p, max, &r->high) || r->high < r->low)
			return false;
	}
	if (*r->p == ',')
		return *++r->p != '\0';
	return !*r->p;
}

int requeue_on_check(const char *text, struct error *err)
{
	struct reader r = { .p = text };
	char shown[40];

	if (strlen(text) > REQUEUE_ON_TEXT_MAX)
		return error_set(err, ERR_USAGE, "at most %d bytes", REQUEUE_ON_TEXT_MAX);
	while (*r.p) {
		const char *part = r.p;

		if (read_part(&r))
			continue;
		text_escape(shown, sizeof(shown), part, strnlen(part, 16));
		return error_set(err, ERR_USAGE,
		        "'%s': expected exit:CODE or exit:CODE-CODE (1 to 255) or signal:NAME or "
		        "signal:NUMBER (1 to "
		        "64)",
		        shown);
	}
	return 0;
}

bool requeue_on_wanted(const char *text, uint32_t exit_code, uint32_t exit_signal)
{
	struct reader r = { .p = text };

	while (*r.p && read_part(&r)) {
		uint32_t n = r.signal ? exit_signal : exit_signal ? 0 : exit_code;

		if (n && n >= r.low && n <= r.high)
			return true;
	}
	return false;
}
