/* health_check.h - the site's health check of the node, and why the node starts nothing */
#ifndef NODED_HEALTH_CHECK_H
#define NODED_HEALTH_CHECK_H

#include <stdbool.h>

struct health;
struct launcher;

/* Check the node now and periodically, if the site has a check. Sets l->health. */
struct health *health_start(struct launcher *l);
void health_free(struct health *h); /* NULL is fine */

/* The limits have changed: if they name another check it replaces the previous one. */
void health_follow(struct launcher *l);

/* Why no run may start here, for the controller: a program that may not be run, a failed check, or
 * a full spool; "": no reason. Good until the next event. */
const char *health_why(const struct launcher *l);

/* Is the first check about to end, so that the hello should wait for it? node_report_send()
 * follows then. NULL: there is no check. */
bool health_awaited(const struct health *h);

/* Is it the cgroup of a check in progress? */
bool health_is_leaf(const struct launcher *l, const char *name);

#endif
