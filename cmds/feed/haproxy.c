/* haproxy.c - see haproxy.h; what is pure */
#include "cmds/feed/haproxy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"
#include "common/base/units.h"
#include "common/base/xalloc.h"

/* Of `show servers state`, whose first line is its version, 1. */
enum column { BACKEND = 1, SERVER = 3, ADDRESS = 4, ADMIN = 6, PORT = 18, COLUMNS };

/* Bits of the column srv_admin_state. */
#define IN_MAINT (0x01U | 0x02U | 0x20U | 0x40U) /* forced, inherited, by DNS (two kinds) */
#define IN_DRAIN (0x08U | 0x10U)                 /* forced, inherited */

void haproxy_servers_free(struct haproxy_servers *servers)
{
	free(servers->v);
	*servers = (struct haproxy_servers){ .n = 0 };
}

/* --- how the servers are ---------------------------------------------------------------------- */

/* Cuts the line at its spaces. */
static size_t split(char *line, char *columns[COLUMNS])
{
	char *rest = NULL;
	size_t n = 0;

	for (char *s = strtok_r(line, " ", &rest); s && n < COLUMNS; s = strtok_r(NULL, " ", &rest))
		columns[n++] = s;
	return n;
}

/* -1: malformed; 0: another server; 1 */
static int parse_line(char *line, const char *backend, const char *prefix, uint32_t max,
        struct haproxy_server *out)
{
	uint64_t number, admin, port;
	char *c[COLUMNS];

	if (split(line, c) < COLUMNS)
		return -1;
	if (strcmp(c[BACKEND], backend) != 0 || strncmp(c[SERVER], prefix, strlen(prefix)) != 0 ||
	        count_parse(c[SERVER] + strlen(prefix), 1, max ? max : UINT32_MAX, &number, NULL) <
	                0)
		return 0;
	if (strlen(c[ADDRESS]) >= sizeof(out->address) ||
	        count_parse(c[ADMIN], 0, UINT32_MAX, &admin, NULL) < 0 ||
	        count_parse(c[PORT], 0, UINT16_MAX, &port, NULL) < 0)
		return -1;
	*out = (struct haproxy_server){ .number = (uint32_t)number,
		.port = (uint16_t)port,
		.maint = admin & IN_MAINT,
		.drain = admin & IN_DRAIN };
	snprintf(out->address, sizeof(out->address), "%s", c[ADDRESS]);
	return 1;
}

static int by_number(const void *a, const void *b)
{
	const struct haproxy_server *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

int haproxy_parse(const char *text, const char *backend, const char *prefix, uint32_t max,
        struct haproxy_servers *out, struct error *err)
{
	char *copy = xstrdup(text), *rest = NULL, shown[80];
	int rc = strncmp(text, "1\n", 2) == 0 ? 0 : -1;

	*out = (struct haproxy_servers){ .n = 0 };
	for (char *l = strtok_r(copy, "\n", &rest); rc >= 0 && l; l = strtok_r(NULL, "\n", &rest)) {
		if (l == copy || *l == '#')
			continue;
		out->v = xrealloc(out->v, out->n + 1, sizeof(*out->v));
		rc = parse_line(l, backend, prefix, max, &out->v[out->n]);
		out->n += rc > 0;
	}
	free(copy);
	if (rc >= 0 && out->n) {
		qsort(out->v, out->n, sizeof(*out->v), by_number);
		return 0;
	}
	haproxy_servers_free(out);
	text_escape(shown, sizeof(shown), text, strcspn(text, "\n"));
	if (rc < 0)
		return error_set(err, ERR_PROTOCOL, "show servers state: unexpected '%s'", shown);
	error_set(err, ERR_CONFIG, "backend %s has no server %s1", backend, prefix);
	return error_hint(
	        err, "in haproxy.cfg: server-template %s 64 127.0.0.1:9 check disabled", prefix);
}

/* --- what each is to be ----------------------------------------------------------------------- */

static bool is_at(const struct haproxy_server *h, const struct endpoint *e, size_t port)
{
	return h->port == e->ports[port] && feed_same_address(h->address, e->address);
}

/* The one that has the endpoint already; better one that works than one in maintenance. */
static struct haproxy_server *server_of(
        struct haproxy_servers *servers, const struct endpoint *e, size_t port)
{
	struct haproxy_server *found = NULL;

	for (size_t i = 0; i < servers->n; i++) {
		struct haproxy_server *h = &servers->v[i];

		if (!h->endpoint && is_at(h, e, port) && (!found || (found->maint && !h->maint)))
			found = h;
	}
	return found;
}

static struct haproxy_server *free_server(struct haproxy_servers *servers)
{
	struct haproxy_server *found = NULL;

	for (size_t i = 0; i < servers->n; i++) {
		struct haproxy_server *h = &servers->v[i];

		if (!h->endpoint && (!found || (!found->maint && h->maint)))
			found = h;
	}
	return found;
}

struct commands {
	struct strbuf *out;
	const char *backend, *prefix;
	size_t port;
};

static void add(const struct commands *c, const struct haproxy_server *h, const char *what)
{
	strbuf_addf(c->out, "set server %s/%s%u %s\n", c->backend, c->prefix, h->number, what);
}

static void make_serve(const struct commands *c, const struct haproxy_server *h)
{
	char what[ENDPOINT_ADDRESS + 32];

	if (!is_at(h, h->endpoint, c->port)) {
		if (!h->maint)
			add(c, h, "state maint");
		snprintf(what, sizeof(what), "addr %s port %u", h->endpoint->address,
		        h->endpoint->ports[c->port]);
		add(c, h, what);
		add(c, h, "state ready");
	} else if (h->maint || h->drain) {
		add(c, h, "state ready");
	}
}

static void make_rest(const struct commands *c, const struct haproxy_server *h)
{
	if (!h->endpoint && !h->maint)
		add(c, h, "state maint");
	else if (h->endpoint && !h->endpoint->serves && !h->maint && !h->drain)
		add(c, h, "state drain");
}

size_t haproxy_commands(struct haproxy_servers *servers, const char *backend, const char *prefix,
        const struct feed_service *s, size_t port, struct strbuf *commands)
{
	const struct commands c = { commands, backend, prefix, port };
	bool *has = xcalloc(s->n + 1, sizeof(*has));
	struct haproxy_server *h;
	size_t without = 0;

	for (size_t i = 0; i < s->n; i++) {
		h = port < s->v[i].n_ports ? server_of(servers, &s->v[i], port) : NULL;
		if (h)
			h->endpoint = &s->v[i];
		has[i] = h;
	}
	for (size_t i = 0; i < s->n; i++) {
		if (has[i] || !s->v[i].serves)
			continue;
		h = port < s->v[i].n_ports && feed_is_numeric(s->v[i].address)
		            ? free_server(servers)
		            : NULL;
		if (h)
			h->endpoint = &s->v[i];
		without += !h;
	}
	/* The new ones first: the backend is never without a server in between. */
	for (size_t i = 0; i < servers->n; i++)
		if (servers->v[i].endpoint && servers->v[i].endpoint->serves)
			make_serve(&c, &servers->v[i]);
	for (size_t i = 0; i < servers->n; i++)
		make_rest(&c, &servers->v[i]);
	free(has);
	return without;
}
