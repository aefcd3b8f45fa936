/* node_names.h - the configuration's nodes by name: one of many thousands in a few comparisons */
#ifndef CTLD_NODE_NAMES_H
#define CTLD_NODE_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "common/conf/conf.h"

struct node_names;

/* Borrows the names of `conf`. */
struct node_names *node_names_new(const struct conf *conf);
void node_names_free(struct node_names *n); /* NULL is fine */

/* There is another configuration: nodes have other numbers. */
void node_names_set(struct node_names *n, const struct conf *conf);

bool node_names_find(const struct node_names *n, const char *name, uint32_t *node);

#endif
