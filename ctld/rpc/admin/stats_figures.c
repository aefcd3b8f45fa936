/* stats_figures.c - see stats_figures.h; to add a figure: a row in FIGURES */
#include "ctld/rpc/admin/stats_figures.h"

#include <assert.h>
#include <stdio.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/net/session.h"
#include "common/net/worker.h"
#include "ctld/core/core.h"
#include "ctld/ctld.h"
#include "ctld/loop/calls.h"
#include "ctld/loop/commit_gate.h"
#include "ctld/loop/inputs.h"
#include "ctld/loop/peers.h"
#include "ctld/loop/script_cache.h"
#include "ctld/loop/tick.h"
#include "ctld/loop/watch.h"
#include "ctld/rpc/acct/acct_walk.h"
#include "ctld/rpc/nodes/streams.h"
#include "ctld/store/store.h"

/* Everything that the rows read, taken at one moment. */
struct snapshot {
	struct tick_stats tick;
	struct commit_gate_stats gate;
	struct script_cache_stats script_cache;
	struct session_stats sessions;
	struct store_stats store;
	struct core_stats core;
	struct acct_stats acct;
	struct worker_stats pool, aside;
	struct streams_stats streams;
	double uptime_s, memory_mb, dirty_bytes, mean_commit_us, mean_batch_rows, busy_percent;
	double free_mb, calls, watchers;
};

/* X(name, unit, help, where it comes from in the snapshot `s`) */
#define FIGURES(X)                                                                                 \
	X("uptime", "s", "since the controller started", s->uptime_s)                              \
	X("epoch", "", "grows each time a controller takes charge", s->core.epoch)                 \
	X("memory", "MiB", "resident memory now", s->memory_mb)                                    \
	X("loop.stall", "ms", "longest stall of the loop in the last minute or two",               \
	        (double)s->tick.stall_us / 1e3)                                                    \
	X("loop.stall_ever", "ms", "longest stall of the loop since the start",                    \
	        (double)s->tick.stall_ever_us / 1e3)                                               \
	X("loop.work_ever", "ms", "the most processor time between two looks at the sockets",      \
	        (double)s->tick.work_ever_us / 1e3)                                                \
	X("loop.busy", "%", "of the time since the start spent in ticks", s->busy_percent)         \
	X("loop.ticks", "", "ticks", s->tick.ticks)                                                \
	X("loop.events", "", "things that happened, taken by ticks", s->tick.events)               \
	X("loop.max_events", "", "the most taken by one tick", s->tick.max_events)                 \
	X("loop.inbox", "", "waiting for a tick now", s->tick.inbox)                               \
	X("loop.pauses", "", "times that reading stopped: too much waited for the disk",           \
	        s->tick.pauses)                                                                    \
	X("store.commits", "", "transactions committed", s->store.commits)                         \
	X("store.rows", "", "rows written", s->store.rows)                                         \
	X("store.bytes", "B", "bytes of batches", s->store.bytes)                                  \
	X("store.batch_rows", "", "mean rows of a batch", s->mean_batch_rows)                      \
	X("store.max_batch_rows", "", "the most rows of one batch", s->tick.max_rows)              \
	X("store.commit_last", "ms", "the last commit took",                                       \
	        (double)s->store.last_commit_us / 1e3)                                             \
	X("store.commit_mean", "ms", "a commit takes on average", s->mean_commit_us / 1e3)         \
	X("store.commit_max", "ms", "the longest commit took",                                     \
	        (double)s->store.max_commit_us / 1e3)                                              \
	X("store.wal_pages", "", "pages in the write-ahead log now", s->store.wal_pages)           \
	X("store.dirty", "B", "changed and not yet committed now", s->dirty_bytes)                 \
	X("store.history_rows", "", "rows moved to history.db", s->store.history_rows)             \
	X("store.history_behind", "", "rows still to be moved now", s->store.history_behind)       \
	X("store.scrubbed", "", "pages of the files read again, with their sums",                  \
	        s->store.scrubbed)                                                                 \
	X("store.damaged", "", "files with a damaged page: see the log", s->store.damaged)         \
	X("store.free", "MiB", "free space for the state directory now", s->free_mb)               \
	X("store.reserve_used", "", "1: the disk was full, the reserve is gone",                   \
	        s->store.reserve_used)                                                             \
	X("blobs.kept", "", "signed jobs at hand now", s->script_cache.kept)                       \
	X("blobs.kept_bytes", "B", "bytes of them now", s->script_cache.kept_bytes)                \
	X("blobs.hits", "", "launches whose signed bytes were at hand", s->script_cache.hits)      \
	X("blobs.reads", "", "launches whose signed bytes the store read", s->script_cache.reads)  \
	X("gate.held", "", "frames that wait for a commit now", s->gate.held)                      \
	X("gate.held_bytes", "B", "bytes of them now", s->gate.held_bytes)                         \
	X("gate.max_held", "", "the most frames ever held", s->gate.max_held)                      \
	X("gate.sent", "", "frames released", s->gate.sent)                                        \
	X("watch.waiting", "", "watchers that know all that has changed", s->watchers)             \
	X("sessions.open", "", "sessions now", s->sessions.open)                                   \
	X("sessions.unauthenticated", "", "connections in their handshake now",                    \
	        s->sessions.unauth)                                                                \
	X("sessions.accepted", "", "connections taken", s->sessions.accepted)                      \
	X("sessions.handshakes", "", "handshakes that succeeded", s->sessions.authenticated)       \
	X("sessions.refused", "", "connections refused", s->sessions.refused)                      \
	X("sessions.timed_out", "", "handshakes that took too long", s->sessions.timed_out)        \
	X("sessions.pushed_out", "", "handshakes that made room for others",                       \
	        s->sessions.pushed_out)                                                            \
	X("sessions.frames_in", "", "frames received", s->sessions.frames_in)                      \
	X("sessions.frames_out", "", "frames sent", s->sessions.frames_out)                        \
	X("sessions.bytes_in", "B", "bytes received", s->sessions.bytes_in)                        \
	X("sessions.bytes_out", "B", "bytes sent", s->sessions.bytes_out)                          \
	X("sessions.input_held", "B", "of large frames in the making now", s->sessions.input_held) \
	X("streams.open", "", "streams between clients and runs now", s->streams.open)             \
	X("streams.opened", "", "streams opened", s->streams.opened)                               \
	X("streams.bytes", "B", "bytes of them passed on", s->streams.bytes)                       \
	X("streams.cut_off", "", "streams cut off: an end did not keep to the rules",              \
	        s->streams.cut_off)                                                                \
	X("calls.open", "", "requests being answered now", s->calls)                               \
	X("workers.done", "", "jobs of the helper threads: munge, keys", s->pool.done)             \
	X("workers.queued", "", "waiting for one now", s->pool.queued)                             \
	X("workers.running", "", "running now", s->pool.running)                                   \
	X("workers.refused", "", "refused: too many waited", s->pool.refused)                      \
	X("workers.names_done", "", "jobs of the threads for names and files", s->aside.done)      \
	X("workers.names_queued", "", "waiting for one now", s->aside.queued)                      \
	X("acct.walks", "", "questions about jobs of all times", s->acct.walks)                    \
	X("acct.jobs", "", "jobs told in answer to them", s->acct.jobs)                            \
	X("acct.open", "", "questions under way now", s->acct.open)                                \
	X("log.lost", "", "records of the log that could not be written", log_lost())              \
	X("record.bytes", "B", "written by --record", inputs_bytes(c->inputs))                     \
	X("core.change", "", "changes of state", s->core.change)                                   \
	X("core.next_job", "", "the next job's id", s->core.next_job)                              \
	X("core.jobs", "", "jobs in memory now", s->core.jobs)                                     \
	X("core.jobs_pending", "", "waiting now", s->core.jobs_pending)                            \
	X("core.jobs_running", "", "running now", s->core.jobs_running)                            \
	X("core.runs", "", "runs in memory now", s->core.runs)                                     \
	X("core.classes", "", "classes of waiting jobs now", s->core.classes)                      \
	X("core.classes_parked", "", "of them blocked now", s->core.classes_parked)                \
	X("core.events", "", "events applied", s->core.events)                                     \
	X("core.passes", "", "passes of the scheduler", s->core.passes)                            \
	X("core.placements_tried", "", "places tried", s->core.placements_tried)                   \
	X("core.started", "", "runs ordered", s->core.started)                                     \
	X("core.ended", "", "runs ended", s->core.ended)                                           \
	X("core.preempted_tier", "", "jobs preempted by a higher tier", s->core.preempted_tier)    \
	X("core.preempted_qos", "", "jobs preempted by a higher QOS", s->core.preempted_qos)       \
	X("core.preempted_reclaim", "", "jobs preempted for another account's guarantee",          \
	        s->core.preempted_reclaim)                                                         \
	X("core.nodes", "", "nodes configured", s->core.nodes)                                     \
	X("core.nodes_up", "", "of them connected and fit for work now", s->core.nodes_up)

#define X(name, unit, help, from) +1
static_assert(0 FIGURES(X) <= FIGURES_MAX, "room for all figures");
#undef X

static double memory_mb(void)
{
	unsigned long pages = 0, resident = 0;
	FILE *f = fopen("/proc/self/statm", "re");

	if (!f)
		return 0;
	if (fscanf(f, "%lu %lu", &pages, &resident) != 2)
		resident = 0;
	fclose(f);
	return (double)resident * (double)sysconf(_SC_PAGESIZE) / (1024.0 * 1024.0);
}

static void take_snapshot(struct ctld *c, struct snapshot *s)
{
	usec_t age = ctld_mono() - c->start_mono;

	tick_stats(c->tick, &s->tick);
	commit_gate_stats(c->gate, &s->gate);
	script_cache_stats(c->script_cache, &s->script_cache);
	sessions_stats(c->sessions, &s->sessions);
	store_stats(c->store, &s->store);
	streams_stats(c->streams, &s->streams);
	core_stats(c->core, &s->core);
	worker_pool_stats(c->pool, &s->pool);
	worker_pool_stats(c->aside, &s->aside);
	s->uptime_s = (double)(age / 1000000);
	s->memory_mb = memory_mb();
	s->dirty_bytes =
	        (double)(core_dirty_bytes(c->core) + script_cache_pending_bytes(c->script_cache));
	s->mean_commit_us =
	        s->store.commits ? (double)s->store.sum_commit_us / (double)s->store.commits : 0;
	s->mean_batch_rows = s->tick.commits ? (double)s->tick.rows / (double)s->tick.commits : 0;
	s->busy_percent = age > 0 ? 100.0 * (double)s->tick.busy_us / (double)age : 0;
	s->free_mb = (double)store_free_mb(c->store);
	acct_stats(c->acct, &s->acct);
	s->calls = (double)calls_count(c->calls);
	s->watchers = (double)watch_count(c->watch);
}

size_t figures_take(struct ctld *c, struct figure out[FIGURES_MAX])
{
	struct snapshot snap, *s = &snap;
	size_t n = 0;

	take_snapshot(c, s);
#define X(name, unit, help, from) \
	out[n++] = (struct figure){ name, unit, help, (double)(from) };
	FIGURES(X)
#undef X
	return n;
}
