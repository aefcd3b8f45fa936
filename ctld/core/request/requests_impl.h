/* requests_impl.h - the inside of the requests, for requests.c and request_check.c */
#ifndef CTLD_CORE_REQUESTS_IMPL_H
#define CTLD_CORE_REQUESTS_IMPL_H

#include "ctld/core/request/requests.h"
#include "ctld/core/request/shape.h"

struct nodefilter;
struct table;

#define LICENCE_GONE UINT16_MAX

struct requests {
	struct strings *strings;
	const struct conf *conf;
	struct nodefilter *filter;
	struct table *table;
	uint64_t seed;
	struct shape_memo memo;
};

uint16_t licence_number(const struct conf *conf, const char *name); /* LICENCE_GONE */

/* Of a set of nodes (nodefilter.h); NULL has none. */
bool request_set_has(const uint64_t *set, uint32_t node);
uint32_t request_set_count(const uint64_t *set, size_t words);

/* request_check.c: -1 with `err`: it names what the configuration does not have. */
int request_check(const struct requests *rs, const struct request *r, struct error *err);

#endif
