/* rest.h - /v1/: the cluster as JSON, in the words of gpusched-json(5)
 *
 * One table of resources: from it come the routes, what a query may say (rest_query.h), and the
 * OpenAPI document (openapi.h). An answer is one object:
 *
 *	{"version":1,"cluster":"atlas","taken":1790000000,"cursor":812,"jobs":[...],"next":4813}
 *
 * `taken` is the moment of the data, `next` the id where the next page begins. An error has the
 * status that fits its code, and {"version":1,"cluster":...,"error":{"code":,"text":,"hint":}}.
 *
 * Objects that the viewer may not see are left out as the controller would do it (viewer.h);
 * requests to the controller are made as that user (ask_as_user.h).
 */
#ifndef CMDS_REST_H
#define CMDS_REST_H

#include <jansson.h>
#include <protobuf-c/protobuf-c.h>

#include "cmds/web/http.h"
#include "common/base/error.h"

struct events;
struct identify;

/* What all handlers of /v1/ share: r->arg. */
struct rest {
	const struct identify *identify;
	struct events *events;
	char *openapi_text;
};

struct rest_resource {
	const char *method, *path;
	enum http_needs needs;
	enum http_kind kind;
	http_handler *handler;
	unsigned params; /* bits of rest_query.h */
	const char
	        *list; /* "jobs": its name in the answer; NULL: the answer is described elsewhere */
	const ProtobufCMessageDescriptor *item;
	const char *about;
};
extern const struct rest_resource rest_resources[]; /* ends with a row without a method */

/* The table of routes for http_new(). */
struct rest *rest_new(const struct identify *identify);
void rest_free(struct rest *rest); /* NULL is fine */
struct http_routes rest_routes(struct rest *rest);

/* --- for the files of REST alone -------------------------------------------------------------- */

/* Begin an answer; what follows are members of its object, each with a comma before it. */
void rest_begin(const struct http_request *r, struct http_answer *a);
void rest_list(struct http_answer *a, const char *name);
/* One more element of the list; `first` is kept by the caller. Takes `item` over. */
void rest_item(struct http_answer *a, json_t *item, bool *first);
void rest_end(struct http_answer *a);

/* Replaces all that was written by the error, with its status. */
void rest_error(const struct http_request *r, struct http_answer *a, const struct error *err);
void rest_error_status(
        const struct http_request *r, struct http_answer *a, int status, const struct error *err);

/* For http_config.failed: errors of paths of /v1/ as JSON, also those that the server itself
 * made. */
void rest_failed(const struct http_request *r, struct http_answer *a);

/* Write JSON behind what is there. */
void rest_json(struct strbuf *out, const json_t *value);
void rest_text(struct strbuf *out, const char *text);

http_handler rest_jobs, rest_job, rest_why, rest_acct, rest_nodes, rest_node, rest_partitions,
        rest_partition, rest_shares, rest_services, rest_service, rest_prios, rest_events,
        rest_output, rest_stats, rest_submit, rest_watch;

#endif
