/* load.h - the load of a replica, as its server says it
 *
 * The server's metrics say it (server_metrics.h), or a script that writes words into RUN_DIR/load:
 * "running=3 waiting=7 kv=0.4 requests=12 tokens=300". A load that is not known has no numbers.
 * Pure.
 */
#ifndef CMDS_SERVICES_LOAD_H
#define CMDS_SERVICES_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

enum load_field {
	LOAD_RUNNING,  /* requests that are being answered */
	LOAD_WAITING,  /* in the server's queue */
	LOAD_KV,       /* of the KV cache in use, 0 to 1 */
	LOAD_REQUESTS, /* answered since the server's start */
	LOAD_TOKENS,   /* generated since then */
	LOAD_FIELDS
};

struct load {
	bool known;
	bool has[LOAD_FIELDS];
	double v[LOAD_FIELDS];
};

#define LOAD_LINE_MAX   128
#define LOAD_FILE_MAX   1024 /* bytes of RUN_DIR/load */
#define LOAD_FILE_AGE_S 30   /* an older one says nothing */

/* The load of the text of RUN_DIR/load. Words that it does not know are left alone. -1 with `err`;
 * then the load is not known. */
int load_from_text(const char *text, size_t len, struct load *out, struct error *err);

/* Counters that go on when the server behind them starts again and counts from 0. */
struct load_counters {
	uint64_t before[LOAD_FIELDS], last[LOAD_FIELDS];
};

/* The line for the shepherd, with its LF: "load 3 7 400 12 300". Returns its length. */
size_t load_line(struct load_counters *c, const struct load *l, char out[LOAD_LINE_MAX]);

static inline bool load_is_idle(const struct load *l)
{
	return l->known && l->v[LOAD_RUNNING] + l->v[LOAD_WAITING] <= 0;
}

#endif
