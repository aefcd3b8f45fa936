/* output.h - one --FORMAT=TARGET of gfeed: what it is, and keeping it as the feed is
 *
 *	--nginx=/run/gfeed/up.conf,backup=127.0.0.1:7001,reload=nginx -s reload
 *
 * Behind the target stand KEY=VALUE, with commas between; reload is the last and takes the rest. In
 * a target, and in backend and model, %s stands for the service: then each service has its own file
 * or backend. What fails is said once, tried again, and said once when it works again.
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
	bool failing, crowded; /* it was said */
};

/* HAProxy when `word` is "haproxy". ERR_USAGE. */
int output_parse(const char *word, const char *value, struct output *out, struct error *err);
void output_clear(struct output *o);

/* Which services are fed: n names, or 0 if new ones may come. What is for one service alone must say
 * which, unless it goes without saying. ERR_USAGE. */
int output_settle(struct output *o, char *const *names, size_t n, struct error *err);

/* Is a file or backend made for each service? */
bool output_is_per_service(const struct output *o);

/* Add services that are not in the feed any more, but have a file of this output. */
void output_add_known(const struct output *o, struct feed *f);

/* Make it so, and run what is to be run. For now and then, even if the feed is as it was: files that
 * went away and HAProxys that restarted are made whole. */
void output_keep(struct output *o, const struct feed *f, int64_t now_ms);

#endif
