/* unknown_names.h - names in a request that neither the configuration nor any job has
 *
 * A job keeps the names of its account, partition, QOS and nodes when they leave the configuration.
 * So a name that is not configured is an error only if no job that the request finds has it either.
 * Then the answer ends with that error.
 */
#ifndef CTLD_RPC_UNKNOWN_NAMES_H
#define CTLD_RPC_UNKNOWN_NAMES_H

#include "common/base/error.h"
#include "common/conf/conf.h"

/* So many names of one kind are looked at; a request with more of them is made by a program. */
#define UNKNOWN_NAMES_MAX 64

enum unknown_kind {
	UNKNOWN_ACCOUNT,
	UNKNOWN_PARTITION,
	UNKNOWN_QOS,
	UNKNOWN_NODE, /* host lists */
	UNKNOWN_KINDS
};

/* What a request names of one kind. */
struct unknown_given {
	char *const *v;
	size_t n;
};

struct unknown;

/* NULL: the configuration has all that is named. */
struct unknown *unknown_new(
        const struct unknown_given given[UNKNOWN_KINDS], const struct conf *conf);
void unknown_free(struct unknown *u); /* NULL is fine */

/* A job that was found has these names; `nodes` is a host list. NULL is fine. */
struct unknown_met {
	const char *account, *partition, *qos, *nodes;
};
void unknown_meet(struct unknown *u, const struct unknown_met *job);

/* All jobs were looked at. -1: nothing has this name. NULL is fine. */
int unknown_check(const struct unknown *u, struct error *err);

#endif
