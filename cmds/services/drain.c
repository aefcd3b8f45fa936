/* drain.c - see drain.h */
#include "cmds/services/drain.h"

#include <string.h>

#define WORD  "deadline="
#define FAR_S (INT64_C(1) << 40) /* further numbers are no time */

void drain_begin(struct drain *d, int64_t now_ms, uint32_t drain_s, bool was_ready, bool metrics)
{
	*d = (struct drain){ .quiet_ms = now_ms + DRAIN_LEAST_MS,
		.until_ms = now_ms + (was_ready ? (int64_t)drain_s * 1000 : 0),
		.deadline_ms = INT64_MAX,
		.metrics = metrics };
}

void drain_interrupted(
        struct drain *d, int64_t now_ms, int64_t wall_s, const char *text, size_t len)
{
	const char *end = text + len;

	for (const char *line = text, *next; line < end; line = next) {
		const char *lf = memchr(line, '\n', (size_t)(end - line));
		int64_t s = 0;

		next = lf ? lf + 1 : end;
		if (!lf || lf - line <= (ptrdiff_t)strlen(WORD) ||
		        memcmp(line, WORD, strlen(WORD)) != 0)
			continue;
		for (line += strlen(WORD); line < lf && *line >= '0' && *line <= '9' && s < FAR_S;
		        line++)
			s = s * 10 + (*line - '0');
		if (line == lf && s < FAR_S)
			d->deadline_ms = now_ms + (s - wall_s) * 1000 - DRAIN_SPARE_MS;
	}
}

void drain_scraped(struct drain *d, int64_t began_ms, bool idle)
{
	if (!idle)
		d->idle = 0;
	else if (began_ms >= d->quiet_ms && d->idle < DRAIN_IDLE)
		d->idle++;
}

int64_t drain_over_ms(const struct drain *d)
{
	int64_t limit = d->until_ms < d->deadline_ms ? d->until_ms : d->deadline_ms;
	bool waits = d->metrics && d->idle < DRAIN_IDLE;

	return waits || limit < d->quiet_ms ? limit : d->quiet_ms;
}
