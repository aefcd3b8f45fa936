/* format.c - see format.h; nginx and LiteLLM, which have languages of their own */
#include "cmds/feed/format.h"

#include <string.h>

#define NOT_BY_HAND "# Written by gfeed(8). What is changed here by hand is lost.\n"

/* The value of an option in which %s stands for the service. */
static void add_for_service(struct strbuf *out, const char *text, const char *service)
{
	const char *mark = strstr(text, "%s");

	if (mark) {
		strbuf_add(out, text, (size_t)(mark - text));
		strbuf_adds(out, service);
		text = mark + 2;
	}
	strbuf_adds(out, text);
}

/* --- nginx ------------------------------------------------------------------------------------ */

/* An upstream without servers is an error for nginx, and so is one with nothing but backups. */
static void nginx_upstream(
        struct strbuf *out, const struct feed_service *s, const struct format_how *how)
{
	char text[ENDPOINT_TEXT];
	size_t n = 0;

	strbuf_addf(out, "upstream %s {\n\tleast_conn;\n", s->name);
	for (size_t i = 0; i < s->n; i++) {
		if (!s->v[i].serves || !endpoint_text(&s->v[i], how->port, text))
			continue;
		strbuf_addf(out, "\tserver %s;\n", text);
		n++;
	}
	if (how->backup)
		strbuf_addf(out, "\tserver %s%s;\n", how->backup, n ? " backup" : "");
	else if (!n)
		strbuf_adds(out, "\tserver 127.0.0.1:9 down; # no replica is ready\n");
	strbuf_adds(out, "}\n");
}

static void nginx(
        struct strbuf *out, const struct feed_service *v, size_t n, const struct format_how *how)
{
	strbuf_adds(out, NOT_BY_HAND);
	for (size_t i = 0; i < n; i++)
		nginx_upstream(out, &v[i], how);
}

/* --- LiteLLM ---------------------------------------------------------------------------------- */

static void litellm_endpoint(struct strbuf *out, const struct feed_service *s,
        const struct endpoint *e, const struct format_how *how)
{
	char text[ENDPOINT_TEXT];

	if (!e->serves || !endpoint_text(e, how->port, text))
		return;
	strbuf_addf(out, "  - model_name: \"%s\"\n    litellm_params:\n      model: \"", s->name);
	add_for_service(out, how->model ? how->model : "hosted_vllm/%s", s->name);
	strbuf_addf(out, "\"\n      api_base: \"http://%s", text);
	add_for_service(out, how->path ? how->path : "/v1", s->name);
	strbuf_adds(out, "\"\n");
}

static void litellm(
        struct strbuf *out, const struct feed_service *v, size_t n, const struct format_how *how)
{
	size_t serving = 0;

	for (size_t i = 0; i < n; i++)
		serving += feed_serving(&v[i]);
	strbuf_adds(out, NOT_BY_HAND);
	strbuf_adds(out, serving ? "model_list:\n" : "model_list: []\n");
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < v[i].n; k++)
			litellm_endpoint(out, &v[i], &v[i].v[k], how);
}

/* --- all -------------------------------------------------------------------------------------- */

static const struct format formats[] = {
	{ "nginx", nginx },
	{ "envoy", format_envoy },
	{ "prometheus", format_prometheus },
	{ "json", format_json },
	{ "litellm", litellm },
};

const struct format *format_find(const char *name)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (!strcmp(formats[i].name, name))
			return &formats[i];
	return NULL;
}
