/* endpoints.h - the addresses of the replicas of services, from the controller
 *
 * This is what gfeed writes for other programs and what gactivate connects to. Names, addresses and
 * ports are checked here, once: they go into the configuration of other programs, so nothing that
 * means something there gets further. A replica that fails the check is left out and named.
 */
#ifndef CMDS_FEED_ENDPOINTS_H
#define CMDS_FEED_ENDPOINTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/gpusched.pb-c.h"

#define ENDPOINT_PORTS   8
#define ENDPOINT_ADDRESS 254 /* with its NUL */
#define ENDPOINT_NAME    64
#define ENDPOINT_TEXT    (ENDPOINT_ADDRESS + 8)
#define SERVICE_UNKNOWN  "UNKNOWN" /* the state of a service that the controller does not have */

struct endpoint {
	uint32_t slot, generation;
	bool serves; /* else it drains: it finishes what is in flight, and gets nothing new */
	char *node;
	char address[ENDPOINT_ADDRESS]; /* a numeric address, or a host's name */
	uint16_t ports[ENDPOINT_PORTS];
	size_t n_ports; /* at least 1 */
};

struct feed_service {
	char name[ENDPOINT_NAME];
	char state[16];
	uint32_t generation, wanted, ready;
	struct endpoint *v; /* by slot, then by generation; those that serve and those that drain */
	size_t n;
};

struct feed {
	struct feed_service *v; /* by name */
	size_t n;
};

/* Begins as { 0 }. */
void feed_clear(struct feed *f);

/* Add a service and its endpoints, unless the feed has it. -1: some endpoints were left out, and
 * `err` names them. */
int feed_add(struct feed *f, const Gpusched__Service *s, struct error *err);

/* Add a service that the controller does not know, without endpoints, unless the feed has it. */
void feed_add_unknown(struct feed *f, const char *name);

/* To be called once, after the last was added. */
void feed_sort(struct feed *f);

const struct feed_service *feed_find(const struct feed *f, const char *name); /* NULL */
size_t feed_serving(const struct feed_service *s);

/* Is `name` a name of a service? */
bool feed_is_name(const char *name);

/* Are both written forms of one address? */
bool feed_same_address(const char *a, const char *b);
bool feed_is_numeric(const char *address);

/* "10.0.0.7:8001", "[fd00::7]:8001". `port` is the number of the port among the replica's ports,
 * from 0; NULL if it has fewer. */
const char *endpoint_text(const struct endpoint *e, size_t port, char buf[ENDPOINT_TEXT]);

#endif
