/* format.h - the files that gfeed writes, as text
 *
 * Pure. Each format is a row of one table. The same feed always makes the same text, so that a file
 * is only written when something has changed in it.
 */
#ifndef CMDS_FEED_FORMAT_H
#define CMDS_FEED_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#include "cmds/feed/endpoints.h"
#include "common/base/strbuf.h"

/* What stands behind an output's file, and whether the controller answers. */
struct format_how {
	size_t port;             /* of each replica: the number of its port, from 0 */
	const char *backup;      /* nginx: HOST:PORT of a gactivate; NULL: none */
	const char *model;       /* litellm: %s is the service; NULL: "hosted_vllm/%s" */
	const char *path;        /* litellm: behind host and port; NULL: "/v1" */
	const char *cluster;     /* json */
	int64_t silent_since;    /* json: the controller does not answer since; 0: it does */
	const char *silent_text; /* json: the error */
};

struct format {
	const char *name;
	void (*write)(struct strbuf *out, const struct feed_service *v, size_t n,
	        const struct format_how *how);
};

const struct format *format_find(const char *name); /* NULL: there is none */

/* In format_json.c. */
void format_envoy(
        struct strbuf *out, const struct feed_service *v, size_t n, const struct format_how *how);
void format_prometheus(
        struct strbuf *out, const struct feed_service *v, size_t n, const struct format_how *how);
void format_json(
        struct strbuf *out, const struct feed_service *v, size_t n, const struct format_how *how);

#endif
