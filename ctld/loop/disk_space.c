/* disk_space.c - see disk_space.h */
#include "config.h"

#include "ctld/loop/disk_space.h"

#include "common/conf/conf.h"
#include "ctld/core/core.h"
#include "ctld/ctld.h"
#include "ctld/loop/inputs.h"
#include "ctld/loop/script_cache.h"
#include "ctld/store/store.h"

#define MIB       (UINT64_C(1) << 20)
#define PAGE      4096 /* bytes, of the log */
#define WRITTEN   2    /* times: to the log, to the database */
#define UNSURE_MB 1    /* free space is told in whole MiB */

/* MiB that are free once all that is on its way is written, and `bytes` more. */
static uint64_t space_left(const struct ctld *c, uint64_t bytes)
{
	uint64_t free_mb = store_free_mb(c->store), taken;
	struct store_stats stats;

	store_stats(c->store, &stats);
	if (free_mb == UINT64_MAX)
		return free_mb;
	if (stats.waits_for_room || (stats.reserve_used && free_mb < STORE_RESERVE_AGAIN_MB))
		return 0;
	bytes += script_cache_pending_bytes(c->script_cache) + core_dirty_bytes(c->core) +
	         store_busy_bytes(c->store);
	taken = (WRITTEN * bytes + stats.wal_pages * PAGE) / MIB + UNSURE_MB;
	return free_mb > taken ? free_mb - taken : 0;
}

void disk_space_report(struct ctld *c, uint64_t bytes, struct clocks now)
{
	struct core_event ev = { .kind = EV_DISK_FREE, .disk_free_mb = space_left(c, bytes) };

	if (ev.disk_free_mb == c->disk_space_reported)
		return;
	c->disk_space_reported = ev.disk_free_mb;
	inputs_apply(c, &ev, now);
}

int disk_space_check(const struct ctld *c, struct error *err)
{
	struct store_stats stats;

	store_stats(c->store, &stats);
	if (!stats.waits_for_room)
		return 0;
	error_set(err, ERR_NO_SPACE,
	        "the controller's disk is full: what happened last cannot be written, and nothing "
	        "can be answered or taken in before that");
	return error_hint(err, "make room in %s; the controller goes on by itself",
	        c->conf->controller.state_dir);
}
