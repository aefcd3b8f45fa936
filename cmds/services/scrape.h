/* scrape.h - the load of a replica, asked for again and again
 *
 * Over HTTP with the metrics of a preset, or of RUN_DIR/load (load.h). It is asked for while it is
 * wanted, as often as scrape_interval.h says. A server that never ends its answer, sends more than
 * SCRAPE_BODY_MAX bytes of it or no metrics costs one line of stderr, and its load is not known.
 */
#ifndef CMDS_SERVICES_SCRAPE_H
#define CMDS_SERVICES_SCRAPE_H

#include <stdbool.h>
#include <stdint.h>

#include "cmds/services/fetch.h"
#include "cmds/services/load.h"

#define SCRAPE_BODY_MAX (4 << 20)
#define SCRAPE_FILE     "file" /* the preset of RUN_DIR/load */
#define SCRAPE_HURRY_MS 500    /* while something waits for the load to be 0 */

struct scrape;

struct scrape_ops {
	const char *preset, *path, *run_dir; /* borrowed */
	int64_t timeout_ms;
	/* The load has been asked for at `began_ms`, and is that, perhaps unknown. */
	void (*load)(void *arg, const struct load *load, int64_t began_ms);
	void *arg;
};

struct scrape *scrape_new(
        struct loop *loop, struct server_address *target, const struct scrape_ops *ops);

/* Begin at once, or stop. Nothing if it is so already. */
void scrape_want(struct scrape *s, bool wanted);
/* From now on more often. */
void scrape_hurry(struct scrape *s);

int64_t scrape_wake_ms(const struct scrape *s); /* NULL: INT64_MAX */
void scrape_tick(struct scrape *s, int64_t now_ms);

#endif
