/* endpoints.c - see endpoints.h */
#include "cmds/feed/endpoints.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/each.h"
#include "common/base/text.h"
#include "common/base/xalloc.h"
#include "common/net/signedservice.h"

void feed_clear(struct feed *f)
{
	for (size_t i = 0; i < f->n; i++) {
		for (size_t k = 0; k < f->v[i].n; k++)
			free(f->v[i].v[k].node);
		free(f->v[i].v);
	}
	free(f->v);
	*f = (struct feed){ .n = 0 };
}

/* --- what may be written ---------------------------------------------------------------------- */

bool feed_is_name(const char *name)
{
	return strlen(name) < ENDPOINT_NAME && signedservice_name_check(name, NULL) == 0;
}

static int parse_address(const char *text, unsigned char bytes[16])
{
	if (inet_pton(AF_INET, text, bytes) == 1)
		return AF_INET;
	return inet_pton(AF_INET6, text, bytes) == 1 ? AF_INET6 : 0;
}

bool feed_is_numeric(const char *address)
{
	unsigned char bytes[16];

	return parse_address(address, bytes) != 0;
}

bool feed_same_address(const char *a, const char *b)
{
	unsigned char x[16] = { 0 }, y[16] = { 0 };
	int family = parse_address(a, x);

	if (family != parse_address(b, y))
		return false;
	return family ? !memcmp(x, y, sizeof(x)) : !strcmp(a, b);
}

/* A host's name: letters, digits, dots and dashes, none of them at its beginning or end. */
static bool is_host_name(const char *s)
{
	static const char inner[] =
	        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.";
	size_t n = strlen(s);

	return n && strspn(s, inner) == n && !strchr("-.", s[0]) && !strchr("-.", s[n - 1]);
}

static int check_replica(const Gpusched__ServiceReplica *r, struct error *err)
{
	char shown[80];

	text_escape(shown, sizeof(shown), r->address, strlen(r->address));
	if (strlen(r->address) >= ENDPOINT_ADDRESS ||
	        (!feed_is_numeric(r->address) && !is_host_name(r->address)))
		return error_set(err, ERR_PROTOCOL, "'%s' is no address", shown);
	if (!r->n_ports || r->n_ports > ENDPOINT_PORTS)
		return error_set(err, ERR_PROTOCOL, "%zu ports", r->n_ports);
	for (size_t i = 0; i < r->n_ports; i++)
		if (!r->ports[i] || r->ports[i] > UINT16_MAX)
			return error_set(err, ERR_PROTOCOL, "%u is no port", r->ports[i]);
	return 0;
}

/* --- making ----------------------------------------------------------------------------------- */

static struct feed_service *add_service(struct feed *f, const char *name, const char *state)
{
	struct feed_service *s;

	f->v = xrealloc(f->v, f->n + 1, sizeof(*f->v));
	s = &f->v[f->n++];
	*s = (struct feed_service){ .n = 0 };
	snprintf(s->name, sizeof(s->name), "%s", name);
	snprintf(s->state, sizeof(s->state), "%s", state);
	return s;
}

static void add_endpoint(struct feed_service *s, const Gpusched__ServiceReplica *r)
{
	struct endpoint *e;

	s->v = xrealloc(s->v, s->n + 1, sizeof(*s->v));
	e = &s->v[s->n++];
	*e = (struct endpoint){ .slot = r->slot,
		.generation = r->generation,
		.serves = r->serves,
		.node = text_escape_dup(r->node),
		.n_ports = r->n_ports };
	snprintf(e->address, sizeof(e->address), "%s", r->address);
	for (size_t i = 0; i < r->n_ports; i++)
		e->ports[i] = (uint16_t)r->ports[i];
}

static int by_slot(const void *a, const void *b)
{
	const struct endpoint *x = a, *y = b;

	if (x->slot != y->slot)
		return x->slot < y->slot ? -1 : 1;
	return (x->generation > y->generation) - (x->generation < y->generation);
}

int feed_add(struct feed *f, const Gpusched__Service *s, struct error *err)
{
	struct feed_service *to;
	int rc = 0;

	if (!feed_is_name(s->name))
		return error_set(err, ERR_PROTOCOL, "a service whose name is none");
	if (feed_find(f, s->name))
		return 0; /* asked for twice */
	to = add_service(f, s->name, s->state);
	COPY_FIELDS(to, s, generation, wanted, ready);
	for (size_t i = 0; i < s->n_replicas; i++) {
		const Gpusched__ServiceReplica *r = s->replicas[i];

		if (!r->serves && (strcmp(r->state, "DRAINING") != 0 || !*r->address))
			continue;
		if (!r->n_ports && s->spec && !s->spec->ports)
			continue; /* a service without ports has no endpoints */
		if (check_replica(r, err) < 0)
			rc = error_wrap(err, "service %s, slot %u", s->name, r->slot);
		else
			add_endpoint(to, r);
	}
	if (to->n)
		qsort(to->v, to->n, sizeof(*to->v), by_slot);
	return rc;
}

void feed_add_unknown(struct feed *f, const char *name)
{
	if (feed_is_name(name) && !feed_find(f, name))
		add_service(f, name, SERVICE_UNKNOWN);
}

static int by_name(const void *a, const void *b)
{
	const struct feed_service *x = a, *y = b;

	return strcmp(x->name, y->name);
}

void feed_sort(struct feed *f)
{
	if (f->n)
		qsort(f->v, f->n, sizeof(*f->v), by_name);
}

/* --- looking ---------------------------------------------------------------------------------- */

const struct feed_service *feed_find(const struct feed *f, const char *name)
{
	for (size_t i = 0; i < f->n; i++)
		if (!strcmp(f->v[i].name, name))
			return &f->v[i];
	return NULL;
}

size_t feed_serving(const struct feed_service *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++)
		n += s->v[i].serves;
	return n;
}

const char *endpoint_text(const struct endpoint *e, size_t port, char buf[ENDPOINT_TEXT])
{
	if (port >= e->n_ports)
		return NULL;
	snprintf(buf, ENDPOINT_TEXT, strchr(e->address, ':') ? "[%s]:%u" : "%s:%u", e->address,
	        e->ports[port]);
	return buf;
}
