/* prometheus_text.h - sums of samples in the Prometheus text format, read as they stream past
 *
 * A reader knows at most METRICS_MAX names and adds up all samples of each, whatever their labels.
 * One label may mark parts: a sample that has this label is a part of the sample without it, and is
 * not added. The reader keeps one word and no line, so its size does not depend on the text.
 * Comments, other metrics, timestamps and exemplars are skipped; lines end in LF or CR LF.
 *
 * A sample that is no number, is NaN, infinite, negative or above METRICS_VALUE_MAX makes its
 * metric bad, and so does a line that breaks off. The text is never trusted; only its size is the
 * caller's to bound. Pure.
 */
#ifndef CMDS_SERVICES_PROMETHEUS_TEXT_H
#define CMDS_SERVICES_PROMETHEUS_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define METRICS_MAX       8
#define METRICS_WORD_MAX  64
#define METRICS_VALUE_MAX 1e15

struct metric_sum {
	double sum;
	uint32_t samples;
	bool bad;
};

struct metric_name {
	const char *name;
	const char *parts; /* the label of parts; NULL: none */
};

struct metrics {
	const struct metric_name *names;
	size_t n;
	struct metric_sum sums[METRICS_MAX]; /* one a name */

	/* The rest is the reader's own. */
	int state;
	size_t metric; /* of the line being read */
	bool escaped;  /* the next byte of a quoted text is no end of it */
	bool of_parts; /* the quoted text is the value of the label of parts */
	bool part;     /* the sample is one */
	size_t len;    /* of `word` */
	char word[METRICS_WORD_MAX];
};

/* `names` are borrowed. */
void metrics_begin(struct metrics *m, const struct metric_name *names, size_t n);
void metrics_feed(struct metrics *m, const void *data, size_t len);

/* The text has ended. Returns whether it ended with a line; the rest behind the last line is not
 * read. */
bool metrics_end(const struct metrics *m);

#endif
