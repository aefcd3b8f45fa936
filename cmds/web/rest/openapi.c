/* openapi.c - see openapi.h */
#include "config.h"

#include "cmds/web/rest/openapi.h"

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "cmds/web/rest/rest.h"
#include "cmds/web/rest/rest_query.h"
#include "common/base/xalloc.h"
#include "common/gpusched.pb-c.h"
#include "common/net/msgfield.h"
#include "common/net/msgjson.h"

#define REF "#/components/schemas/"

/* --- schemas ---------------------------------------------------------------------------------- */

static json_t *ref(const char *name)
{
	char *text = xasprintf(REF "%s", name);
	json_t *j = json_pack("{ss}", "$ref", text);

	free(text);
	return j;
}

static json_t *of_type(const char *type)
{
	return json_pack("{ss}", "type", type);
}

static json_t *or_null(json_t *schema)
{
	json_object_set_new(schema, "nullable", json_true());
	return schema;
}

static json_t *value_schema(const ProtobufCFieldDescriptor *f)
{
	switch (f->type) {
	case PROTOBUF_C_TYPE_BOOL:
		return of_type("boolean");
	case PROTOBUF_C_TYPE_STRING:
	case PROTOBUF_C_TYPE_BYTES:
		return ref("Text");
	case PROTOBUF_C_TYPE_ENUM:
		return of_type("string");
	case PROTOBUF_C_TYPE_MESSAGE:
		return or_null(json_pack("{s[o]}", "allOf",
		        ref(((const ProtobufCMessageDescriptor *)f->descriptor)->short_name)));
	case PROTOBUF_C_TYPE_FLOAT:
	case PROTOBUF_C_TYPE_DOUBLE:
		return or_null(of_type("number"));
	case PROTOBUF_C_TYPE_UINT64:
	case PROTOBUF_C_TYPE_FIXED64:
		return ref("Number");
	default:
		return msgjson_is_time(f) ? ref("Time") : of_type("integer");
	}
}

static void add_message(json_t *schemas, const ProtobufCMessageDescriptor *d)
{
	json_t *properties, *schema;

	if (json_object_get(schemas, d->short_name))
		return;
	properties = json_object();
	schema = json_pack("{ssso}", "type", "object", "properties", properties);
	json_object_set_new(schemas, d->short_name, schema);
	for (unsigned i = 0; i < d->n_fields; i++) {
		const ProtobufCFieldDescriptor *f = &d->fields[i];
		json_t *one = value_schema(f);

		if (msgfield_is_list(f))
			one = json_pack("{ssso}", "type", "array", "items", one);
		json_object_set_new(properties, f->name, one);
		if (f->type == PROTOBUF_C_TYPE_MESSAGE)
			add_message(schemas, f->descriptor);
	}
}

static json_t *error_schema(void)
{
	return json_pack("{sss[s]s{s{ss}s{ss}s{sss[sss]s{s{ss}s{ss}s{ss}}}}}", "type", "object",
	        "required", "error", "properties", "version", "type", "integer", "cluster", "type",
	        "string", "error", "type", "object", "required", "code", "text", "hint",
	        "properties", "code", "type", "string", "text", "type", "string", "hint", "type",
	        "string");
}

static json_t *all_schemas(void)
{
	json_t *schemas = json_object();

	json_object_set_new(schemas, "Text",
	        json_pack("{s[{ss}{ss s[s] s{s{ss}}}]ss}", "oneOf", "type", "string", "type",
	                "object", "required", "base64", "properties", "base64", "type", "string",
	                "description", "What is not UTF-8 is an object with base64"));
	json_object_set_new(schemas, "Number",
	        json_pack("{s[{ss}{ssss}]ss}", "oneOf", "type", "integer", "type", "string",
	                "pattern", "^[0-9]+$", "description", "From 2^63 on its digits as text"));
	json_object_set_new(schemas, "Time",
	        json_pack("{sssbss}", "type", "integer", "nullable", 1, "description",
	                "Seconds of UTC; null: there is none"));
	json_object_set_new(schemas, "Error", error_schema());
	add_message(schemas, &gpusched__prio_weights__descriptor);
	for (const struct rest_resource *r = rest_resources; r->method; r++)
		if (r->item)
			add_message(schemas, r->item);
	return schemas;
}

/* --- paths ------------------------------------------------------------------------------------ */

/* What single answers have beside that: a type, or REF and the name of a message. */
static const struct {
	const char *path, *name, *type;
} members[] = {
	{ "/v1/prios", "weights", REF "PrioWeights" },
	{ "/v1/jobs", "warning", "string" },
	{ "/v1/whoami", "known", "boolean" },
	{ "/v1/whoami", "uid", "integer" },
	{ "/v1/whoami", "user", "string" },
	{ "/v1/whoami", "role", "string" },
	{ "/v1/whoami", "proof", "string" },
};

static void add_members(json_t *properties, const char *path)
{
	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		bool is_ref = members[i].type[0] == '#';

		if (!strcmp(members[i].path, path))
			json_object_set_new(properties, members[i].name,
			        is_ref ? json_pack("{ss}", "$ref", members[i].type)
			               : or_null(of_type(members[i].type)));
	}
}

/* A list: its items, and what stands around it. */
static json_t *answer_schema(const struct rest_resource *r)
{
	json_t *properties = json_pack("{s{ss}s{ss}s{ss}s{ss}s{ss}s{ss}s{ss}}", "version", "type",
	        "integer", "cluster", "type", "string", "taken", "type", "integer", "cursor",
	        "type", "integer", "next", "type", "integer", "more", "type", "boolean", "currency",
	        "type", "string");

	add_members(properties, r->path);
	if (r->list)
		json_object_set_new(properties, r->list,
		        json_pack("{ssso}", "type", "array", "items",
		                r->item ? ref(r->item->short_name) : of_type("object")));
	return json_pack("{sss[ss]so}", "type", "object", "required", "version",
	        r->list ? r->list : "cluster", "properties", properties);
}

static json_t *param_schema(const char *kind)
{
	if (!strcmp(kind, "count"))
		return json_pack(
		        "{sssisi}", "type", "integer", "minimum", 1, "maximum", REST_LIMIT_MAX);
	if (!strcmp(kind, "number"))
		return json_pack("{sssi}", "type", "integer", "minimum", 0);
	return of_type("string");
}

static json_t *query_params(const struct rest_resource *r)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < REST_N_PARAMS; i++)
		if (r->params & 1U << i)
			json_array_append_new(list,
			        json_pack("{sssssssoso}", "name", rest_params[i].name, "in",
			                "query", "description", rest_params[i].about, "required",
			                json_false(), "schema", param_schema(rest_params[i].kind)));
	return list;
}

static json_t *response(const char *description, const char *type, json_t *schema)
{
	return json_pack(
	        "{sss{s{so}}}", "description", description, "content", type, "schema", schema);
}

static const struct {
	const char *status, *description;
} failures[] = {
	{ "400", "The request cannot be understood" },
	{ "401", "No user is proved" },
	{ "403", "Not permitted" },
	{ "404", "There is no such thing" },
	{ "405", "No such method here" },
	{ "409", "The controller refuses it" },
	{ "413", "The body is too large" },
	{ "502", "The controller does not answer" },
	{ "503", "Too much at once" },
	{ "504", "No answer in time" },
};

static json_t *responses(const struct rest_resource *r)
{
	bool events = r->kind == HTTP_STREAM;
	json_t *all = json_object();

	json_object_set_new(all, "200",
	        response(events ? "Events, for as long as the client reads" : "The answer",
	                events ? "text/event-stream" : "application/json",
	                events                              ? of_type("string")
	                : r->list || strstr(r->path, "who") ? answer_schema(r)
	                                                    : of_type("object")));
	if (!strcmp(r->method, "GET"))
		json_object_set_new(
		        all, "304", json_pack("{ss}", "description", "As If-None-Match has it"));
	for (size_t i = 0; i < sizeof(failures) / sizeof(failures[0]); i++)
		json_object_set_new(all, failures[i].status,
		        response(failures[i].description, "application/json", ref("Error")));
	return all;
}

/* "/v1/job/{}/why" as OpenAPI has it: the part is called `name`. */
static char *path_of(const struct rest_resource *r)
{
	const char *part = strstr(r->path, "{}");

	return part ? xasprintf("%.*s{name}%s", (int)(part - r->path), r->path, part + 2)
	            : xstrdup(r->path);
}

static json_t *operation(const struct rest_resource *r)
{
	json_t *params = query_params(r), *op;
	const char *of =
	        strstr(r->path, "/job/") ? "The job's id; 40_7: a task of an array" : "Its name";

	if (strstr(r->path, "{}"))
		json_array_append_new(params,
		        json_pack("{sssssssos{ss}}", "name", "name", "in", "path", "description",
		                of, "required", json_true(), "schema", "type", "string"));
	op = json_pack(
	        "{sssoso}", "summary", r->about, "parameters", params, "responses", responses(r));
	if (!strcmp(r->method, "POST"))
		json_object_set_new(op, "requestBody",
		        json_pack("{sos{s{s{sss[s]s{s{ss}s{ss}s{ss}}}}}}", "required", json_true(),
		                "content", "application/json", "schema", "type", "object",
		                "required", "submit", "properties", "submit", "type", "string",
		                "cluster", "type", "string", "uid", "type", "integer"));
	if (r->needs == HTTP_NOBODY)
		json_object_set_new(op, "security", json_array());
	return op;
}

static json_t *all_paths(void)
{
	json_t *paths = json_object();

	for (const struct rest_resource *r = rest_resources; r->method; r++) {
		char *path = path_of(r);
		json_t *item = json_object_get(paths, path);

		if (!item) {
			item = json_object();
			json_object_set_new(paths, path, item);
		}
		json_object_set_new(item, !strcmp(r->method, "GET") ? "get" : "post", operation(r));
		free(path);
	}
	return paths;
}

char *openapi_text(void)
{
	json_t *doc = json_pack("{sss{ssssss}sosos[{s[]}{s[]}{s[]}]}", "openapi", "3.0.3", "info",
	        "title", "gpusched", "version", PACKAGE_VERSION, "description",
	        "The cluster as gpusched-json(5) says it; gweb-http(7)", "paths", all_paths(),
	        "components",
	        json_pack("{sos{s{ssssss}s{ssss}s{ssssss}}}", "schemas", all_schemas(),
	                "securitySchemes", "session", "type", "apiKey", "in", "cookie", "name",
	                "gweb", "token", "type", "http", "scheme", "bearer", "munge", "type",
	                "apiKey", "in", "header", "name", "Authorization"),
	        "security", "session", "token", "munge");
	char *text = doc ? json_dumps(doc, JSON_COMPACT) : NULL;
	char *copy = xstrdup(text ? text : "{}");

	free(text);
	json_decref(doc);
	return copy;
}
