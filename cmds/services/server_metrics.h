/* server_metrics.h - what the inference servers call their metrics, and the load that these say
 *
 * A server is known by a preset ("vllm"): the names of its metrics, in one table. Samples of one
 * name are added up; shares of the KV cache are averaged. A load is known when all gauges of its
 * preset are (the KV cache's may miss). Pure.
 */
#ifndef CMDS_SERVER_METRICS_H
#define CMDS_SERVER_METRICS_H

#include <stdbool.h>

#include "cmds/services/load.h"
#include "cmds/services/prometheus_text.h"
#include "common/base/error.h"

bool server_metrics_is_preset(const char *name); /* of a server; "file" is none */
const char *server_metrics_presets(void);        /* for people: "vllm, sglang, ..." */

struct server_metrics {
	struct metrics metrics;
	struct metric_name names[METRICS_MAX];
	enum load_field fields[METRICS_MAX];
};

/* Read the metrics of a server of that preset; what is fed goes to `metrics`. */
void server_metrics_begin(struct server_metrics *r, const char *preset);
/* Of a text that is whole. -1 with `err`, which names what is missing or wrong; then the load is
 * not known. */
int server_metrics_end(const struct server_metrics *r, struct load *out, struct error *err);

#endif
