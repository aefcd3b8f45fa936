/* output.h - one --FORMAT=TARGET of gfeed: its parts, and how it follows the feed
 *
 *	--nginx=/run/gfeed/up.conf,backup=127.0.0.1:7001,reload=nginx -s reload
 *
 * Behind the target stand KEY=VALUE, with commas between; reload is the last and takes the rest. In
 * a target, and in backend and model, %s stands for the service: then each service has its own file
 * or backend. A failure is logged once and tried again; its end is logged once, too.
 */
#ifndef CMDS_FEED_OUTPUT_H
#define CMDS_FEED_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmds/feed/endpoints.h"
#include "cmds/feed/file_reload.h"
#include "cmds/feed/format.h"
#include "common/base/error.h"

struct output {
	const char *word;            /* "nginx" */
	const struct format *format; /* NULL: haproxy */
	char *text;                  /* owned; the others point into it */
	const char *target;
	const char *service;          /* only that; NULL: all */
	const char *backend, *server; /* haproxy */
	uint32_t slots;               /* haproxy; 0: as many as there are */
	struct format_how how;
	struct reload reload;
	bool failing, skip_logged; /* the failure was logged */
};

/* HAProxy when `word` is "haproxy". ERR_USAGE. */
int output_parse(const char *word, const char *value, struct output *out, struct error *err);
void output_clear(struct output *o);

/* Sets the services that are fed: n names, or 0 if new ones may come. An output for one service
 * must name it, unless only one service is fed. ERR_USAGE. */
int output_settle(struct output *o, char *const *names, size_t n, struct error *err);

/* Is a file or backend made for each service? */
bool output_is_per_service(const struct output *o);

/* Add services that are not in the feed any more, but have a file of this output. */
void output_add_known(const struct output *o, struct feed *f);

/* Write the feed to the target, and run the reload command if needed. To be called now and then,
 * even if the feed has not changed: this replaces lost files and updates restarted HAProxys. */
void output_keep(struct output *o, const struct feed *f, int64_t now_ms);

#endif
