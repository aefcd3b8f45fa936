/* rest_query.h - what the query of a request to /v1/ may say
 *
 * Each resource names its parameters (rest.h) from one table of all parameters; any other parameter
 * is refused, with the name that was probably meant. Lists have commas between.
 */
#ifndef CMDS_REST_QUERY_H
#define CMDS_REST_QUERY_H

#include <stdbool.h>
#include <stdint.h>

#include "cmds/views/filter.h"
#include "cmds/web/http.h"
#include "cmds/web/output_tail.h"
#include "cmds/web/snapshot.h"
#include "common/base/error.h"

#define REST_LIMIT_DEFAULT 100 /* items of an answer, unless the query says more */
#define REST_LIMIT_MAX     1000

/* X(bit, name, the value's kind in OpenAPI, what it is) */
#define REST_PARAMS(X)                                                                         \
	X(IDS, "ids", "text", "jobs, as in gqueue -j: 12,40_3")                                \
	X(USER, "user", "text", "of these users")                                              \
	X(ACCOUNT, "account", "text", "of these accounts, and all below them")                 \
	X(PARTITION, "partition", "text", "in these partitions")                               \
	X(QOS, "qos", "text", "with these qualities of service")                               \
	X(STATE, "state", "text", "in these states; all: also those that have ended")          \
	X(NAME, "name", "text", "with these names")                                            \
	X(NODE, "node", "text", "on these nodes: n[01-04],m1")                                 \
	X(LIMIT, "limit", "count", "so many items, 1 to 1000")                                 \
	X(AFTER, "after", "number", "go on behind this item: the `next` of the answer before") \
	X(SINCE, "since", "time", "not before: seconds of UTC, or as gacct -S takes it")       \
	X(UNTIL, "until", "time", "not after")                                                 \
	X(KIND, "kind", "text", "events of these kinds: job.cancel, or job for all of them")   \
	X(JOB, "job", "number", "events of this job")                                          \
	X(CURSOR, "cursor", "number", "what has changed since the answer that had this cursor") \
	X(TAIL, "tail", "count", "so many of the last lines, 1 to 1000")                       \
	X(FILE, "file", "text", "stdout (default), or stderr if that is another file")

enum rest_param_number {
#define X(bit, name, kind, about) REST_NR_##bit,
	REST_PARAMS(X)
#undef X
	        REST_N_PARAMS
};
enum rest_param_bit {
#define X(bit, name, kind, about) REST_##bit = 1 << REST_NR_##bit,
	REST_PARAMS(X)
#undef X
};
#define REST_JOBS                                                                       \
	(REST_IDS | REST_USER | REST_ACCOUNT | REST_PARTITION | REST_QOS | REST_STATE | \
	        REST_NAME | REST_NODE)
#define REST_PAGE (REST_LIMIT | REST_AFTER)

struct rest_param {
	const char *name, *kind, *about;
};
extern const struct rest_param rest_params[REST_N_PARAMS];

struct rest_query {
	struct filter filter;
	unsigned given; /* bits */
	unsigned limit;
	uint64_t after, job, cursor;
	uint64_t tail; /* TAIL_LINES */
	enum tail_which file;
	int64_t since_us, until_us; /* 0: not said */
	struct cmd_list kinds;
	struct cmd_list accounts; /* sorted: those of the filter, and all below them */
};

/* `allowed`: bits. ERR_USAGE. On success end with rest_query_clear(). */
int rest_query_read(
        const struct http_request *r, unsigned allowed, struct rest_query *q, struct error *err);
void rest_query_clear(struct rest_query *q);

/* A text that is the same for queries that choose the same jobs; the caller frees it. */
char *rest_query_key(const struct rest_query *q);

/* Before rest_query_has(): `snap` says which accounts are below others. */
void rest_query_bind(struct rest_query *q, const struct snapshot *snap);
/* Is it one of the chosen jobs? */
bool rest_query_has(const struct rest_query *q, const struct snapshot_job *job);

#endif
