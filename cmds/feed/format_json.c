/* format_json.c - see format.h; the formats that are JSON: envoy, Prometheus, and our own */
#include <stdio.h>
#include <stdlib.h>

#include <jansson.h>

#include "cmds/feed/format.h"

/* Takes over the reference. */
static void add_json(struct strbuf *out, json_t *object)
{
	char *text = json_dumps(object, JSON_INDENT(2));

	strbuf_adds(out, text ? text : "");
	strbuf_adds(out, "\n");
	free(text);
	json_decref(object);
}

/* --- envoy: what a file-based endpoint discovery (EDS) answers -------------------------------- */

static json_t *envoy_endpoint(const struct endpoint *e, size_t port)
{
	return json_pack("{s:{s:{s:{s:s,s:i}}}}", "endpoint", "address", "socket_address",
	        "address", e->address, "port_value", e->ports[port]);
}

static json_t *envoy_cluster(const struct feed_service *s, size_t port)
{
	json_t *endpoints = json_array();

	for (size_t i = 0; i < s->n; i++)
		if (s->v[i].serves && port < s->v[i].n_ports)
			json_array_append_new(endpoints, envoy_endpoint(&s->v[i], port));
	return json_pack("{s:s,s:s,s:[{s:o}]}", "@type",
	        "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment",
	        "cluster_name", s->name, "endpoints", "lb_endpoints", endpoints);
}

void format_envoy(
        struct strbuf *out, const struct feed_service *v, size_t n, const struct format_how *how)
{
	json_t *clusters = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(clusters, envoy_cluster(&v[i], how->port));
	add_json(out, json_pack("{s:o}", "resources", clusters));
}

/* --- Prometheus: file_sd ---------------------------------------------------------------------- */

static json_t *prometheus_target(
        const struct feed_service *s, const struct endpoint *e, const char *text)
{
	char slot[16], generation[16];

	snprintf(slot, sizeof(slot), "%u", e->slot);
	snprintf(generation, sizeof(generation), "%u", e->generation);
	return json_pack("{s:[s],s:{s:s,s:s,s:s,s:s}}", "targets", text, "labels", "service",
	        s->name, "node", e->node, "slot", slot, "generation", generation);
}

void format_prometheus(
        struct strbuf *out, const struct feed_service *v, size_t n, const struct format_how *how)
{
	json_t *targets = json_array();
	char text[ENDPOINT_TEXT];

	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < v[i].n; k++)
			if (v[i].v[k].serves && endpoint_text(&v[i].v[k], how->port, text))
				json_array_append_new(
				        targets, prometheus_target(&v[i], &v[i].v[k], text));
	add_json(out, targets);
}

/* --- ours ------------------------------------------------------------------------------------- */

static json_t *json_endpoint(const struct endpoint *e)
{
	json_t *ports = json_array();

	for (size_t i = 0; i < e->n_ports; i++)
		json_array_append_new(ports, json_integer(e->ports[i]));
	return json_pack("{s:I,s:I,s:s,s:s,s:o}", "slot", (json_int_t)e->slot, "generation",
	        (json_int_t)e->generation, "node", e->node, "address", e->address, "ports", ports);
}

static json_t *json_service(const struct feed_service *s)
{
	json_t *serving = json_array(), *draining = json_array();

	for (size_t i = 0; i < s->n; i++)
		json_array_append_new(s->v[i].serves ? serving : draining, json_endpoint(&s->v[i]));
	return json_pack("{s:s,s:s,s:I,s:I,s:I,s:o,s:o}", "name", s->name, "state", s->state,
	        "generation", (json_int_t)s->generation, "wanted", (json_int_t)s->wanted, "ready",
	        (json_int_t)s->ready, "endpoints", serving, "draining", draining);
}

void format_json(
        struct strbuf *out, const struct feed_service *v, size_t n, const struct format_how *how)
{
	json_t *services = json_array(), *controller;

	for (size_t i = 0; i < n; i++)
		json_array_append_new(services, json_service(&v[i]));
	controller = json_pack("{s:b}", "answers", !how->silent_since);
	if (how->silent_since) {
		json_object_set_new(controller, "since", json_integer(how->silent_since));
		json_object_set_new(
		        controller, "error", json_string(how->silent_text ? how->silent_text : ""));
	}
	add_json(out, json_pack("{s:i,s:s,s:o,s:o}", "version", 1, "cluster",
	                      how->cluster ? how->cluster : "", "controller", controller,
	                      "services", services));
}
