/* requests.h - what jobs ask of GPUs, each such request kept once
 *
 * A request is a list of alternatives, best liked first: "h100:2|l40s:4", "any:2", "" (none). Kept
 * like strings are (strings.h): equal requests are equal pointers, counted. Types are kept by name,
 * so that a request outlives a configuration; requests_resolve() finds their numbers in another
 * one.
 */
#ifndef CTLD_CORE_REQUESTS_H
#define CTLD_CORE_REQUESTS_H

#include "ctld/core/event.h"
#include "ctld/core/strings.h"

#define TYPE_ANY  UINT16_MAX       /* any one type */
#define TYPE_GONE (UINT16_MAX - 1) /* no such type in this configuration */
#define TYPE_NONE (UINT16_MAX - 2) /* no GPU at all (placements) */

struct alternative {
	const char *type; /* kept; "" any */
	uint32_t count;   /* 1 or more */
	uint16_t number;  /* of the type in the configuration, or TYPE_ANY, TYPE_GONE */
};

struct request {
	uint32_t refs;
	uint32_t n;       /* 0: no GPU */
	const char *text; /* kept */
	struct alternative v[MAX_GPU_ALTERNATIVES];
};

/* Some of a licence: index into conf.licences. */
struct licence_need {
	uint16_t licence;
	uint32_t count;
};

struct requests;

struct requests *requests_new(struct strings *strings, const struct conf *conf, uint64_t seed);
void requests_free(struct requests *rs); /* NULL is fine */

/* ERR_JOB_SPEC: too many alternatives, a count of 0 or beyond 9999, a type that is no plain word.
 */
const struct request *requests_keep(
        struct requests *rs, const struct gpu_request *v, size_t n, struct error *err);
/* The same from a row's text; ERR_INTERNAL. */
const struct request *requests_parse(struct requests *rs, const char *text, struct error *err);
const struct request *requests_again(const struct request *r);
void requests_drop(struct requests *rs, const struct request *r); /* NULL is fine */

void requests_resolve(struct requests *rs, const struct conf *conf);

#endif
