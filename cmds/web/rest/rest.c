/* rest.c - see rest.h: the table of resources, and what all answers have */
#include "cmds/web/rest/rest.h"

#include <stdlib.h>
#include <string.h>

#include "cmds/web/auth/identify.h"
#include "cmds/web/rest/events.h"
#include "cmds/web/rest/openapi.h"
#include "cmds/web/rest/rest_query.h"
#include "cmds/web/snapshot.h"
#include "common/base/xalloc.h"
#include "common/gpusched.pb-c.h"
#include "common/net/msg.h"

static http_handler rest_openapi, rest_whoami;

#define SEEN  HTTP_LOGGED_IN
#define OPEN  HTTP_NOBODY
#define OF(m) &gpusched__##m##__descriptor

const struct rest_resource rest_resources[] = {
	{ "GET", "/v1/jobs", SEEN, HTTP_ASKS, rest_jobs, REST_JOBS | REST_PAGE, "jobs", OF(job),
	        "Jobs that wait, run or ended a short while ago" },
	{ "GET", "/v1/job/{}", SEEN, HTTP_ASKS, rest_job, 0, "jobs", OF(job),
	        "A job; of an array all of its records" },
	{ "GET", "/v1/job/{}/why", SEEN, HTTP_ASKS, rest_why, 0, "jobs", OF(why_result),
	        "Why a job waits, and what would start it" },
	{ "GET", "/v1/job/{}/output", SEEN, HTTP_ASKS, rest_output, REST_TAIL | REST_FILE,
	        "outputs", OF(job_output), "The end of what a job has written, for its owner" },
	{ "GET", "/v1/acct", SEEN, HTTP_ASKS, rest_acct,
	        REST_JOBS | REST_SINCE | REST_UNTIL | REST_LIMIT, "jobs", OF(acct),
	        "What jobs of the past and of now used" },
	{ "GET", "/v1/nodes", SEEN, HTTP_ASKS, rest_nodes, REST_NODE | REST_PARTITION, "nodes",
	        OF(node), "Nodes, with their GPUs" },
	{ "GET", "/v1/node/{}", SEEN, HTTP_ASKS, rest_node, 0, "nodes", OF(node), "A node" },
	{ "GET", "/v1/partitions", SEEN, HTTP_ASKS, rest_partitions, 0, "partitions", OF(partition),
	        "Partitions" },
	{ "GET", "/v1/partition/{}", SEEN, HTTP_ASKS, rest_partition, 0, "partitions",
	        OF(partition), "A partition" },
	{ "GET", "/v1/shares", SEEN, HTTP_ASKS, rest_shares, REST_ACCOUNT | REST_USER, "shares",
	        OF(share), "Accounts and users, with their shares and usage" },
	{ "GET", "/v1/services", SEEN, HTTP_ASKS, rest_services, REST_USER, "services", OF(service),
	        "Services, with their replicas" },
	{ "GET", "/v1/service/{}", SEEN, HTTP_ASKS, rest_service, 0, "services", OF(service),
	        "A service" },
	{ "GET", "/v1/prios", SEEN, HTTP_ASKS, rest_prios, REST_JOBS | REST_LIMIT, "prios",
	        OF(prio), "What the priorities of waiting jobs are made of" },
	{ "GET", "/v1/events", SEEN, HTTP_ASKS, rest_events,
	        REST_JOB | REST_KIND | REST_NODE | REST_SINCE | REST_UNTIL | REST_PAGE, "events",
	        OF(event), "The audit trail: of a job, or of oneself; for operators all of it" },
	{ "GET", "/v1/stats", SEEN, HTTP_ASKS, rest_stats, 0, "stats", OF(stat),
	        "Figures about the controller itself" },
	{ "GET", "/v1/whoami", OPEN, HTTP_FAST, rest_whoami, 0, NULL, NULL,
	        "The user that the request proves" },
	{ "POST", "/v1/jobs", SEEN, HTTP_ASKS, rest_submit, 0, "jobs", NULL,
	        "Submit what gsubmit --sign-only prints" },
	{ "GET", "/v1/watch", SEEN, HTTP_STREAM, rest_watch, REST_JOBS | REST_CURSOR, NULL, NULL,
	        "Changes as server-sent events" },
	{ "GET", "/v1/openapi.json", OPEN, HTTP_FAST, rest_openapi, 0, NULL, NULL,
	        "This description" },
	{ .method = NULL },
};

/* --- the routes ------------------------------------------------------------------------------- */

#define N_RESOURCES (sizeof(rest_resources) / sizeof(rest_resources[0]))
#define POST_MAX    HTTP_BODY_MAX

struct http_routes rest_routes(struct rest *rest)
{
	static struct http_route v[N_RESOURCES];

	for (size_t i = 0; i < N_RESOURCES; i++) {
		const struct rest_resource *from = &rest_resources[i];
		bool post = from->method && !strcmp(from->method, "POST");

		v[i] = (struct http_route){ .method = from->method,
			.path = from->path,
			.needs = from->needs,
			.kind = from->kind,
			.body_max = post ? POST_MAX : 0,
			.handler = from->handler,
			.about = from->about };
	}
	return (struct http_routes){ v, rest };
}

struct rest *rest_new(const struct identify *identify)
{
	struct rest *rest = xcalloc(1, sizeof(*rest));

	rest->identify = identify;
	rest->events = events_new();
	rest->openapi_text = openapi_text();
	return rest;
}

void rest_free(struct rest *rest)
{
	if (!rest)
		return;
	events_free(rest->events);
	free(rest->openapi_text);
	free(rest);
}

static void rest_openapi(const struct http_request *r, struct http_answer *a)
{
	const struct rest *rest = r->arg;

	a->type = "application/json";
	a->cache = "max-age=300";
	strbuf_adds(&a->body, rest->openapi_text);
}

/* `proof` is what forms and scripts of our pages send with a POST; pages of other sites cannot read
 * it. */
static void rest_whoami(const struct http_request *r, struct http_answer *a)
{
	static const char *const roles[] = { "user", "operator", "administrator" };
	const struct rest *rest = r->arg;
	const struct viewer *v = r->viewer;
	char proof[AUTH_SECRET] = "";

	if (v->known)
		identify_proof(rest->identify, r, proof);
	rest_begin(r, a);
	strbuf_addf(&a->body, ",\"known\":%s,\"uid\":", v->known ? "true" : "false");
	if (v->known)
		strbuf_addf(&a->body, "%u", (unsigned)v->uid);
	else
		strbuf_adds(&a->body, "null");
	strbuf_adds(&a->body, ",\"user\":");
	rest_text(&a->body, v->name);
	strbuf_addf(&a->body, ",\"role\":\"%s\",\"proof\":\"%s\"", v->known ? roles[v->role] : "",
	        proof);
	rest_end(a);
}

/* --- answers ---------------------------------------------------------------------------------- */

static int add(const char *text, size_t n, void *out)
{
	strbuf_add(out, text, n);
	return 0;
}

void rest_json(struct strbuf *out, const json_t *value)
{
	if (!value || json_dump_callback(value, add, out, JSON_COMPACT | JSON_ENCODE_ANY) < 0)
		strbuf_adds(out, "null");
}

void rest_text(struct strbuf *out, const char *text)
{
	json_t *value = json_string(text);

	if (value)
		rest_json(out, value);
	else /* not UTF-8 */
		strbuf_adds(out, "\"\"");
	json_decref(value);
}

static void begin(const struct http_request *r, struct http_answer *a)
{
	strbuf_free(&a->body);
	a->type = "application/json";
	strbuf_adds(&a->body, "{\"version\":1,\"cluster\":");
	rest_text(&a->body, r->snap ? r->snap->cluster : "");
}

void rest_begin(const struct http_request *r, struct http_answer *a)
{
	begin(r, a);
	if (r->snap)
		strbuf_addf(&a->body, ",\"taken\":%lld,\"cursor\":%llu",
		        (long long)(r->snap->taken_us / 1000000),
		        (unsigned long long)r->snap->cursor);
}

void rest_list(struct http_answer *a, const char *name)
{
	strbuf_addf(&a->body, ",\"%s\":[", name);
}

void rest_item(struct http_answer *a, json_t *item, bool *first)
{
	strbuf_adds(&a->body, *first ? "\n" : ",\n");
	*first = false;
	rest_json(&a->body, item);
	json_decref(item);
}

void rest_end(struct http_answer *a)
{
	strbuf_adds(&a->body, "}\n");
}

void rest_error_status(
        const struct http_request *r, struct http_answer *a, int status, const struct error *err)
{
	begin(r, a);
	strbuf_adds(&a->body, ",\"error\":{\"code\":");
	rest_text(&a->body, error_name(err->code));
	strbuf_adds(&a->body, ",\"text\":");
	rest_text(&a->body, err->text);
	strbuf_adds(&a->body, ",\"hint\":");
	rest_text(&a->body, err->hint);
	strbuf_adds(&a->body, "}}\n");
	a->status = status;
}

void rest_error(const struct http_request *r, struct http_answer *a, const struct error *err)
{
	rest_error_status(r, a, http_status_of(err), err);
}

static const struct {
	int status, code;
} of_statuses[] = {
	{ 400, ERR_USAGE },
	{ 401, ERR_AUTH },
	{ 403, ERR_NOT_PERMITTED },
	{ 413, ERR_USAGE },
	{ 421, ERR_USAGE },
	{ 404, ERR_USAGE },
	{ 405, ERR_USAGE },
	{ 502, ERR_UNREACHABLE },
	{ 504, ERR_TIMEOUT },
};

/* "401 not logged in: TEXT" */
void rest_failed(const struct http_request *r, struct http_answer *a)
{
	struct error err = { .code = ERR_BUSY };
	const char *text = a->body.s ? a->body.s : "";
	int status = a->status;

	if (strncmp(r->path, "/v1/", 4) != 0)
		return;
	text += strspn(text, "0123456789 ");
	for (size_t i = 0; i < sizeof(of_statuses) / sizeof(of_statuses[0]); i++)
		if (of_statuses[i].status == status)
			err.code = of_statuses[i].code;
	error_set(&err, err.code, "%.*s", (int)strcspn(text, "\n"), text);
	if (status == 401)
		error_hint(&err, "gweb login, gweb sign or a token: gweb-http(7)");
	rest_error_status(r, a, status, &err);
}
