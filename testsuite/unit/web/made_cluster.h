/* made_cluster.h - a snapshot with something of everything, and a controller that answers about it
 *
 * 16 nodes of three types with GPUs in every state, jobs that run, wait and have ended, accounts,
 * services; one job, user, account, node and reason have names that would be markup: HOSTILE.
 */
#ifndef UNIT_WEB_MADE_CLUSTER_H
#define UNIT_WEB_MADE_CLUSTER_H

#include "cmds/web/pages/page.h"
#include "cmds/web/snapshot_make.h"

#define HOSTILE "<script>alert(1)</script>\"'&"

#define MADE_WAITS   4812 /* a job that waits */
#define MADE_RUNS    4690
#define MADE_PAST    4001 /* one that only the controller knows */
#define MADE_HOSTILE 4900

struct made {
	struct snapshots *snapshots;
	struct snapshot_texts *texts;
	struct snapshot *snap;
};

/* With so many waiting jobs more. */
void made_begin(struct made *m, size_t more);
void made_end(struct made *m);

/* What a request says, for http_query() and http_header(), which stand in for the server's. */
struct made_query {
	const char *name, *value;
};
extern const struct made_query *made_query; /* ends with a row of nothing; NULL: none */
extern const char *made_part;               /* X-Part; NULL */
extern bool made_silent;                    /* the controller does not answer */

#endif
