/* load.h - the load of a replica, as its server says it
 *
 * A server is known by a preset: the names of its metrics, in one table (load.c). Samples of one
 * name are added up; shares of the KV cache are averaged. A server without metrics may have a
 * script that writes words into RUN_DIR/load: "running=3 waiting=7 kv=0.4 requests=12 tokens=300".
 *
 * A load is known when all gauges of its preset are (the KV cache's may miss); a load that is not
 * known has no numbers. Pure.
 */
#ifndef CMDS_SERVICES_LOAD_H
#define CMDS_SERVICES_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmds/services/prometheus_text.h"
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

bool load_is_preset(const char *name); /* of a server; "file" is none */
const char *load_presets(void);        /* for people: "vllm, sglang, ..." */

struct load_reader {
	struct metrics metrics;
	struct metric_name names[METRICS_MAX];
	enum load_field fields[METRICS_MAX];
};

/* Read the metrics of a server of that preset; what is fed goes to `metrics`. */
void load_begin(struct load_reader *r, const char *preset);
/* Of a text that is whole. -1 with `err`, which names what is missing or wrong; then the load is
 * not known. */
int load_end(const struct load_reader *r, struct load *out, struct error *err);

/* The same of RUN_DIR/load. Words that it does not know are left alone. */
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
