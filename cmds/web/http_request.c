/* http_request.c - one request: checked, handed to its handler, answered */
#include <stdlib.h>
#include <string.h>

#include "cmds/web/http_answer.h"
#include "cmds/web/http_impl.h"
#include "cmds/web/snapshot.h"
#include "common/base/xalloc.h"

#define ANSWER_BYTES_MS 32 /* so many bytes a millisecond a client takes at least */

void *http_call_begin(void *http, const char *uri, struct MHD_Connection *c)
{
	struct http_call *call = xcalloc(1, sizeof(*call));

	call->http = http;
	call->c = c;
	call->raw = xstrdup(uri);
	call->conn = MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
	return call;
}

static void drop_snapshot(struct http_call *call)
{
	snapshot_put((struct snapshot *)(uintptr_t)call->r.snap);
	call->r.snap = NULL;
}

void http_call_end(void *http, struct MHD_Connection *c, void **con_cls,
        enum MHD_RequestTerminationCode how)
{
	struct http_call *call = *con_cls;

	(void)http, (void)c, (void)how;
	if (!call)
		return;
	*con_cls = NULL;
	if (call->conn) {
		http_phase(call->conn, PHASE_REQUEST);
		http_drop_answer(call->conn);
	}
	call->http->bodies -= call->body.len;
	strbuf_free(&call->body);
	http_answer_clear(&call->a);
	http_query_free(&call->query);
	drop_snapshot(call);
	viewer_put(call->viewer);
	free(call->raw);
	free(call);
}

/* --- what a handler asks of its request ------------------------------------------------------- */

const char *http_query(const struct http_request *r, const char *name)
{
	const struct http_query *q = &r->call->query;

	for (size_t i = 0; i < q->n; i++)
		if (!strcmp(q->v[i].name, name))
			return q->v[i].value;
	return NULL;
}

void http_each_query(const struct http_request *r,
        void (*each)(const char *name, const char *value, void *arg), void *arg)
{
	const struct http_query *q = &r->call->query;

	for (size_t i = 0; i < q->n; i++)
		each(q->v[i].name, q->v[i].value, arg);
}

const char *http_header(const struct http_request *r, const char *name)
{
	return MHD_lookup_connection_value(r->call->c, MHD_HEADER_KIND, name);
}

const char *http_cookie(const struct http_request *r, const char *name)
{
	return MHD_lookup_connection_value(r->call->c, MHD_COOKIE_KIND, name);
}

/* --- checking it ------------------------------------------------------------------------------ */

/* The route; NULL with the answer set. `any`: a path that is there with another method. */
static const struct http_route *find_route(struct http_call *call, const char *method)
{
	struct http *h = call->http;
	struct strbuf allowed = { 0 };

	for (size_t t = 0; t < h->n_tables; t++)
		for (const struct http_route *route = h->tables[t].v; route->method; route++) {
			if (!http_path_fits(
			            route->path, call->path, call->name, sizeof(call->name)))
				continue;
			if (!strcmp(route->method, method)) {
				call->r.arg = h->tables[t].arg;
				strbuf_free(&allowed);
				return route;
			}
			strbuf_addf(&allowed, "%s%s", allowed.len ? ", " : "", route->method);
		}
	if (!allowed.len) {
		http_answer_error(&call->a, 404, "there is no such page");
		return NULL;
	}
	http_answer_error(&call->a, 405, "here is only %s", allowed.s);
	http_answer_header(&call->a, "Allow", allowed.s);
	strbuf_free(&allowed);
	return NULL;
}

static bool check_host(struct http_call *call)
{
	const char *host = http_header(&call->r, "Host");

	if (call->r.trusted ? host && http_host_is_plain(host)
	                    : http_host_fits(host, call->http->names))
		return true;
	http_answer_error(&call->a, 421, "a name that this server does not go by; gweb --host=NAME");
	return false;
}

static bool check_body(struct http_call *call)
{
	const char *length = http_header(&call->r, "Content-Length");
	unsigned long long n = length ? strtoull(length, NULL, 10) : 0;
	bool any = n || http_header(&call->r, "Transfer-Encoding");

	if (!any || (call->route->body_max && n <= call->route->body_max))
		return true;
	http_answer_error(&call->a, 413, "%s",
	        call->route->body_max ? "the body is too large" : "a body is not taken here");
	return false;
}

static void check_viewer(struct http_call *call)
{
	if (call->route->needs == HTTP_LOGGED_IN && !call->viewer)
		http_answer_error(
		        &call->a, 401, HTTP_NO_PROOF);
}

void http_call_identify(struct http_call *call)
{
	const struct http_config *config = call->http->config;
	struct error err;

	call->identify = false;
	if (config->identify_ask(&call->r, &call->viewer, config->identify_arg, &err) < 0) {
		http_answer_error(&call->a, err.code == ERR_AUTH ? 401 : http_status_of(&err), "%s",
		        err.text);
		return;
	}
	if (call->viewer)
		call->r.viewer = call->viewer;
	check_viewer(call);
}

/* Fill `call->r`, and the answer where it is not to reach its handler. */
static void check(struct http_call *call, const char *method)
{
	struct http *h = call->http;
	struct http_request *r = &call->r;

	*r = (struct http_request){ .method = !strcmp(method, "HEAD") ? "GET" : method,
		.head = !strcmp(method, "HEAD"),
		.path = call->path,
		.raw = call->raw,
		.name = call->name,
		.viewer = viewer_nobody(true, true),
		.trouble = call->trouble,
		.body = "",
		.trusted = call->conn && call->conn->listener->path,
		.call = call };
	call->a.status = 200;
	call->a.type = "text/plain; charset=utf-8";
	if (!http_path_read(call->raw, call->path, sizeof(call->path)) ||
	        !http_query_read(call->raw, &call->query)) {
		http_answer_error(&call->a, 400, "the path or query cannot be understood");
		return;
	}
	if (!check_host(call))
		return;
	call->route = find_route(call, r->method);
	if (!call->route || !check_body(call))
		return;
	r->snap = snapshot_get(h->snapshots);
	snapshots_health(h->snapshots, call->trouble, sizeof(call->trouble));
	if (h->config->identify)
		call->identify = h->config->identify(r, &call->viewer, h->config->identify_arg);
	if (call->viewer)
		r->viewer = call->viewer;
	if (!call->identify)
		check_viewer(call);
}

/* --- answering -------------------------------------------------------------------------------- */

static void count(struct http *h, int status)
{
	h->figures.requests++;
	h->figures.answers[status >= 100 && status < 600 ? status / 100 : 0]++;
}

static void tell_failure(struct http_call *call)
{
	if (call->a.failed && call->http->config->failed)
		call->http->config->failed(&call->r, &call->a);
}

/* Why the server cannot keep that answer for the client; NULL: it can. */
static const char *no_room(struct http_call *call)
{
	if (call->a.stream)
		return call->http->figures.streams < STREAMS_MAX ? NULL : "too many streams";
	if (!call->conn || http_hold_answer(call->conn, &call->a))
		return NULL;
	return "too large beside answers that clients have not taken";
}

static enum MHD_Result answer(struct http_call *call)
{
	const char *accepts = http_header(&call->r, "Accept-Encoding"), *why;
	struct MHD_Response *response;
	enum MHD_Result rc;
	size_t len;

	tell_failure(call);
	why = no_room(call);
	if (why) {
		http_answer_clear(&call->a);
		http_answer_error(&call->a, 503, "%s", why);
		http_answer_header(&call->a, "Retry-After", "1");
		tell_failure(call);
	}
	len = http_answer_size(&call->a);
	call->answered = true;
	count(call->http, call->a.status);
	/* A stream goes on for minutes, and no job that was replaced is freed while a snapshot has
	 * it. */
	drop_snapshot(call);
	if (call->a.stream)
		return stream_begin(call);
	response = http_answer_response(&call->a, http_accepts(accepts, "gzip"));
	if (call->conn) {
		http_phase(call->conn, PHASE_ANSWER);
		call->conn->limit_ms = HTTP_ANSWER_S * 1000 + (int64_t)(len / ANSWER_BYTES_MS);
	}
	rc = MHD_queue_response(call->c, (unsigned)call->a.status, response);
	MHD_destroy_response(response);
	return rc;
}

static enum MHD_Result handle(struct http_call *call)
{
	struct error err;

	call->r.body = call->body.s ? call->body.s : "";
	call->r.body_len = call->body.len;
	if (call->route->kind != HTTP_ASKS && !call->identify) {
		call->route->handler(&call->r, &call->a);
		return answer(call);
	}
	call->asked = true;
	if (asks_submit(call, &err) < 0) {
		http_answer_error(&call->a, 503, "%s", err.text);
		http_answer_header(&call->a, "Retry-After", "1");
		return answer(call);
	}
	if (call->conn)
		http_phase(call->conn, PHASE_WORK);
	return MHD_YES;
}

/* More of the body. */
static void take(struct http_call *call, const char *data, size_t n)
{
	if (call->a.status != 200)
		return;
	if (call->body.len + n > call->route->body_max) {
		http_answer_error(&call->a, 413, "the body is too large");
		return;
	}
	if (call->http->bodies + n > HTTP_BODIES_MAX) {
		http_answer_error(&call->a, 503, "too many large requests at once");
		return;
	}
	strbuf_add(&call->body, data, n);
	call->http->bodies += n;
}

enum MHD_Result http_call_go_on(void *http, struct MHD_Connection *c, const char *url,
        const char *method, const char *version, const char *data, size_t *n, void **con_cls)
{
	struct http_call *call = *con_cls;

	(void)http, (void)c, (void)url, (void)version;
	if (!call)
		return MHD_NO;
	if (!call->checked) {
		call->checked = true;
		check(call, method);
		return call->a.status != 200 ? answer(call) : MHD_YES;
	}
	if (call->answered)
		return MHD_YES;
	if (*n) {
		take(call, data, *n);
		*n = 0;
		return MHD_YES;
	}
	if (call->retry) {
		call->retry = false;
		return handle(call);
	}
	if (call->asked || call->a.status != 200)
		return answer(call);
	return handle(call);
}
