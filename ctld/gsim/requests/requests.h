/* requests.h - requests to an inference service: from a history, or made by a seed
 *
 * A history is CSV (csv.h). Its columns are known by their names: those of Azure's
 * AzureLLMInferenceTrace files, those of BurstGPT, or time_s, input_tokens, output_tokens. A time
 * is a number of seconds or "2023-11-16 18:15:46.6805900".
 */
#ifndef GSIM_REQUESTS_H
#define GSIM_REQUESTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/job/run.h"

struct request {
	usec_t at;              /* since the first */
	uint32_t input, output; /* tokens */
};

/* In the order of `at`. */
struct requests {
	struct request *v; /* owned */
	size_t n, size;
	uint64_t bad; /* rows that were left out */
};

struct requests_options {
	bool skip_bad;      /* leave broken rows out */
	double scale_load;  /* times between requests are divided by it */
	usec_t from, until; /* what lies between these times after the first is kept, scaled */
};

/* Several files are merged. -1: nothing is left in `r`. */
int requests_read(struct requests *r, const char *const *paths, size_t n,
        const struct requests_options *o, struct error *err);

/* `kind` is "bursts" (four hours of a steady load with bursts) or "day" (a day and its night). */
int requests_make(struct requests *r, const char *kind, uint64_t seed,
        const struct requests_options *o, struct error *err);

void requests_clear(struct requests *r);

/* For requests_make(): at the end, in any order. */
void requests_add(struct requests *r, struct request request);
/* Sorts the requests and keeps those that the options select. */
void requests_finish(struct requests *r, const struct requests_options *o);

/* Microseconds since any point that is the same for all times of its kind. -1: it is no time. */
int request_time(const char *text, usec_t *at);

#endif
