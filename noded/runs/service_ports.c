/* service_ports.c - see service_ports.h */
#include "noded/runs/service_ports.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/fd_close.h"
#include "common/base/xalloc.h"
#include "noded/runs/launcher_options.h"
#include "noded/runs/launcher_state.h"
#include "noded/runs/runs.h"

struct service_ports {
	uint32_t next; /* where the search begins; 0: at the lowest */
};

/* Which of the node's ports runs hold. */
struct held {
	uint32_t low, high;
	bool *ports;
};

static void mark_run(struct run *r, void *arg)
{
	struct held *h = arg;
	const Gpusched__Replica *replica = r->report ? r->report->replica : NULL;

	if (!replica || r->state == RUN_OVER)
		return;
	for (size_t i = 0; i < replica->n_ports; i++)
		if (replica->ports[i] >= h->low && replica->ports[i] <= h->high)
			h->ports[replica->ports[i] - h->low] = true;
}

static bool binds(int family, const struct sockaddr *address, socklen_t len)
{
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
	bool good = fd >= 0;

	if (good) { /* what is left of closed connections holds no port */
		(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
		if (family == AF_INET6)
			(void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
		good = bind(fd, address, len) == 0;
	}
	fd_close(fd);
	return good;
}

/* Could a program listen there, on every address? A host without IPv6 has IPv4 alone. */
static bool is_free(uint32_t port)
{
	const struct sockaddr_in any = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	const struct sockaddr_in6 any6 = { .sin6_family = AF_INET6,
		.sin6_port = htons((uint16_t)port) };
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool has6 = fd >= 0;

	fd_close(fd);
	return binds(AF_INET, (const struct sockaddr *)&any, sizeof(any)) &&
	       (!has6 || binds(AF_INET6, (const struct sockaddr *)&any6, sizeof(any6)));
}

int service_ports_choose(struct launcher *l, size_t n, uint32_t *ports, struct error *err)
{
	struct service_ports *s = l->service_ports;
	struct held h = { .low = l->options->service_port_low,
		.high = l->options->service_port_high };
	uint32_t all = h.low ? h.high - h.low + 1 : 0;
	size_t found = 0;

	if (!all && n)
		return error_set(err, ERR_LAUNCH,
		        "this node has no ports for services (gnoded --service-ports)");
	h.ports = xcalloc(all + 1, sizeof(*h.ports));
	runs_each(l, mark_run, &h);
	if (s->next < h.low || s->next > h.high)
		s->next = h.low;
	for (uint32_t i = 0; i < all && found < n; i++) {
		uint32_t port = h.low + (s->next - h.low + i) % all;

		if (!h.ports[port - h.low] && is_free(port))
			ports[found++] = port;
	}
	free(h.ports);
	if (found < n)
		return error_set(err, ERR_LAUNCH,
		        "too few ports for services are free here (of %u-%u): it needs %zu, and "
		        "there are %zu",
		        h.low, h.high, n, found);
	if (n)
		s->next = ports[n - 1] + 1;
	return 0;
}

struct service_ports *service_ports_new(void)
{
	return xcalloc(1, sizeof(struct service_ports));
}

void service_ports_free(struct service_ports *s)
{
	free(s);
}
