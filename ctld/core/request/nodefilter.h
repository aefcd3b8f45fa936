/* nodefilter.h - sets of nodes by name and by feature
 *
 * A set of nodes is a bit set by index in conf.nodes, of nodefilter_words() words. An expression
 * of features is words joined by & (and), | (or), ! (not) and parentheses; & binds closer than |.
 * A word that is a feature of no node is false for each.
 */
#ifndef CTLD_CORE_NODEFILTER_H
#define CTLD_CORE_NODEFILTER_H

#include "common/base/error.h"
#include "common/conf/conf.h"

struct nodefilter;

/* For the nodes of one configuration: borrowed. */
struct nodefilter *nodefilter_new(const struct conf *conf, uint64_t seed);
void nodefilter_free(struct nodefilter *f); /* NULL is fine */

size_t nodefilter_words(const struct nodefilter *f);

/* The expression without its white space; the caller frees it. NULL: ERR_JOB_SPEC, "OPTION=TEXT:
 * what". */
char *nodefilter_expression(const char *option, const char *text, struct error *err);

/* The nodes for which an expression (as above) is true. Caller frees. */
uint64_t *nodefilter_features(const struct nodefilter *f, const char *expression);

/* The nodes of a hostlist that exist; *n: the number of its names, existing or not. Caller
 * frees. */
uint64_t *nodefilter_nodes(const struct nodefilter *f, const char *hostlist, uint32_t *n);

/* Refuses a feature that no node has, and suggests the nearest one; and a node that does not
 * exist. */
int nodefilter_check_features(
        const struct nodefilter *f, const char *option, const char *expression, struct error *err);
int nodefilter_check_nodes(
        const struct nodefilter *f, const char *option, const char *hostlist, struct error *err);

#endif
