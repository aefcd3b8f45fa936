/* nodefilter.h - sets of nodes by name and by feature
 *
 * A set of nodes is a bit set by index in conf.nodes, of nodefilter_words() words. An expression of
 * features is words joined by & (and), | (or), ! (not) and parentheses; & binds closer than |. A
 * word that no node has as a feature is true of none.
 */
#ifndef CTLD_CORE_NODEFILTER_H
#define CTLD_CORE_NODEFILTER_H

#include "common/conf.h"
#include "common/error.h"

struct nodefilter;

/* What one configuration says: borrowed. */
struct nodefilter *nodefilter_new(const struct conf *conf, uint64_t seed);
void nodefilter_free(struct nodefilter *f); /* NULL is fine */

size_t nodefilter_words(const struct nodefilter *f);

/* The expression without its white space; the caller frees it. NULL: ERR_JOB_SPEC, "OPTION=TEXT:
 * what". */
char *nodefilter_expression(const char *option, const char *text, struct error *err);

/* The nodes of which an expression (as above) is true. Caller frees. */
uint64_t *nodefilter_features(const struct nodefilter *f, const char *expression);

/* The nodes of a hostlist that there are; *n: how many names it has, there or not. Caller frees. */
uint64_t *nodefilter_nodes(const struct nodefilter *f, const char *hostlist, uint32_t *n);

/* Refuse a feature that no node has, with the nearest that one has; a node that is not there. */
int nodefilter_check_features(
        const struct nodefilter *f, const char *option, const char *expression, struct error *err);
int nodefilter_check_nodes(
        const struct nodefilter *f, const char *option, const char *hostlist, struct error *err);

#endif
