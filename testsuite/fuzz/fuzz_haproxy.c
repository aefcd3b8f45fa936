/* fuzz_haproxy.c - any bytes in place of HAProxy's answer to `show servers state`
 *
 * The commands that follow are well formed, no two servers get one endpoint, and once they are done
 * there is nothing left to do.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmds/feed/haproxy.h"
#include "testsuite/fuzz/fuzz.h"

#define BEFORE "set server chat/chat"

static struct endpoint endpoints[] = {
	{ .slot = 0, .serves = true, .address = "10.0.0.7", .ports = { 8001 }, .n_ports = 1 },
	{ .slot = 1, .serves = false, .address = "10.0.0.8", .ports = { 8001 }, .n_ports = 1 },
	{ .slot = 2, .serves = true, .address = "fd00::7", .ports = { 8001 }, .n_ports = 1 },
};
static const struct feed_service chat = { .name = "chat", .v = endpoints, .n = 3 };

/* As HAProxy would do it. */
static void obey(struct haproxy_servers *servers, const char *line)
{
	struct haproxy_server *h = NULL;
	char address[64];
	unsigned number, port;
	int at = 0;

	FUZZ_CHECK(sscanf(line, BEFORE "%u %n", &number, &at) == 1 && at);
	for (size_t i = 0; i < servers->n; i++)
		if (servers->v[i].number == number)
			h = &servers->v[i];
	FUZZ_CHECK(h != NULL);
	line += at;
	if (sscanf(line, "addr %63s port %u", address, &port) == 2) {
		snprintf(h->address, sizeof(h->address), "%s", address);
		h->port = (uint16_t)port;
	} else if (!strcmp(line, "state ready")) {
		h->maint = h->drain = false;
	} else if (!strcmp(line, "state maint")) {
		h->maint = true;
	} else {
		FUZZ_CHECK(!strcmp(line, "state drain"));
		h->drain = true;
	}
}

static bool has_double(const struct haproxy_servers *servers)
{
	for (size_t i = 1; i < servers->n; i++)
		if (servers->v[i].number == servers->v[i - 1].number)
			return true;
	return false;
}

static void check_endpoints(struct haproxy_servers *servers, size_t without)
{
	size_t serve = 0;

	for (size_t i = 0; i < servers->n; i++) {
		serve += servers->v[i].endpoint && servers->v[i].endpoint->serves;
		for (size_t k = 0; k < i; k++)
			FUZZ_CHECK(!servers->v[i].endpoint ||
			           servers->v[i].endpoint != servers->v[k].endpoint);
	}
	FUZZ_CHECK(serve + without == 2);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct haproxy_servers servers;
	struct strbuf text = { 0 }, commands = { 0 };
	size_t without;

	strbuf_add(&text, data, n);
	strbuf_adds(&commands, "");
	if (haproxy_parse(text.s, "chat", "chat", 0, &servers, NULL) < 0 || has_double(&servers))
		goto out;
	without = haproxy_commands(&servers, "chat", "chat", &chat, 0, &commands);
	check_endpoints(&servers, without);
	for (char *rest = NULL, *l = strtok_r(commands.s, "\n", &rest); l;
	        l = strtok_r(NULL, "\n", &rest))
		obey(&servers, l);
	for (size_t i = 0; i < servers.n; i++)
		servers.v[i].endpoint = NULL;
	commands.len = 0;
	FUZZ_CHECK(haproxy_commands(&servers, "chat", "chat", &chat, 0, &commands) == without);
	FUZZ_CHECK(!commands.len);
out:
	haproxy_servers_free(&servers);
	strbuf_free(&text);
	strbuf_free(&commands);
	return 0;
}
