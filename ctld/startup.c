/* startup.c - the controller's parts put together, connected and taken apart; see ctld.h */
#include "config.h"

#include "ctld/ctld.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <event2/event.h>
#include <sodium.h>

#include "common/base/daemon.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "common/net/event_end.h"
#include "common/net/munge.h"
#include "common/net/session.h"
#include "common/net/worker.h"
#include "ctld/become.h"
#include "ctld/core/core.h"
#include "ctld/core/records/per_user_budget.h"
#include "ctld/effects.h"
#include "ctld/loop/agents.h"
#include "ctld/loop/calls.h"
#include "ctld/loop/commit_gate.h"
#include "ctld/loop/disk_space.h"
#include "ctld/loop/fair_queue.h"
#include "ctld/loop/gpu_count_events.h"
#include "ctld/loop/inputs.h"
#include "ctld/loop/node_names.h"
#include "ctld/loop/peers.h"
#include "ctld/loop/reload.h"
#include "ctld/loop/script_cache.h"
#include "ctld/loop/session_admission.h"
#include "ctld/loop/tick.h"
#include "ctld/loop/user_names.h"
#include "ctld/loop/watch.h"
#include "ctld/rpc/acct/acct_walk.h"
#include "ctld/rpc/jobs/bulk.h"
#include "ctld/rpc/nodes/streams.h"
#include "ctld/rpc/rpc.h"
#include "ctld/site/fence.h"
#include "ctld/site/mail.h"
#include "ctld/store/history_reader.h"
#include "ctld/store/store.h"

#define DISK_EVERY_S    5
#define START_AGAIN_S   2 /* on a full disk */
#define END_EVERY_MS    5
#define END_WITHIN_US   5000000 /* time for clients to take what was sent */
#define ASIDE_THREADS   2
#define QUEUED_MAX      8192
#define QUEUED_KEY_MAX  1024
#define TAKEOVER_EPOCHS 1000
#define TAKEOVER_JOBS   1000000

/* --- signals, the disk, the end ------------------------------------------------------------ */

static void on_term(evutil_socket_t sig, short what, void *arg)
{
	(void)what;
	log_info("signal %d: ending; jobs run on", (int)sig);
	ctld_end(arg);
}

static void on_hup(evutil_socket_t sig, short what, void *arg)
{
	struct ctld *c = arg;
	struct error err;

	(void)sig;
	(void)what;
	if (log_reopen(&err))
		log_error("%s", err.text);
	reload_start(c->reload, NULL, "");
}

static void apply_disk(struct ctld *c, void *arg, struct clocks now)
{
	(void)arg;
	disk_space_report(c, 0, now);
	if (c->conf->controller.keep_scripts_s) /* otherwise scripts are deleted with their jobs */
		script_cache_erase(c->script_cache);
}

static const struct tick_work disk_work = { apply_disk, NULL };

static void log_damage(struct ctld *c)
{
	struct store_stats stats;

	store_stats(c->store, &stats);
	if (stats.damaged > c->damaged)
		log_error("%s; the controller goes on", stats.damage);
	c->damaged = stats.damaged;
}

static void on_disk(evutil_socket_t fd, short what, void *arg)
{
	struct ctld *c = arg;

	(void)fd;
	(void)what;
	log_damage(c);
	admission_end_stuck(c);
	tick_post(c->tick, &disk_work, NULL);
}

static void add_queued(struct session *s, void *arg)
{
	size_t *queued = arg;

	*queued += session_queued(s);
}

static void apply_ending(struct ctld *c, void *arg, struct clocks now)
{
	struct core_event ev = { .kind = EV_ENDING };

	(void)arg;
	inputs_apply(c, &ev, now);
}

static const struct tick_work ending_work = { apply_ending, NULL };

/* Ends the loop once all changes are on disk and all replies are sent, or when the time for that is
 * over. */
static void on_ending(evutil_socket_t fd, short what, void *arg)
{
	struct ctld *c = arg;
	struct commit_gate_stats gate;
	size_t queued = 0;

	(void)fd;
	(void)what;
	commit_gate_stats(c->gate, &gate);
	sessions_each(c->sessions, add_queued, &queued);
	if ((tick_is_settled(c->tick) && gate.held == 0 && queued == 0) ||
	        ctld_mono() - c->ending_since > END_WITHIN_US)
		event_base_loopbreak(c->base);
	else
		tick_wake(c->tick);
}

void ctld_end(struct ctld *c)
{
	struct timeval tv = { 0, END_EVERY_MS * 1000 };

	if (c->ending_since) { /* asked a second time */
		event_base_loopbreak(c->base);
		return;
	}
	c->ending_since = ctld_mono();
	daemon_notify("STOPPING=1");
	sessions_pause_reading(c->sessions, true);
	tick_post(c->tick, &ending_work, NULL);
	event_add(c->events[CTLD_ENDING], &tv);
}

static int add_event(struct ctld *c, enum ctld_event which, int signal, event_callback_fn fn,
        unsigned every_s, struct error *err)
{
	struct timeval tv = { .tv_sec = every_s };
	short what = EV_PERSIST | (signal ? EV_SIGNAL : 0);

	c->events[which] = event_new(c->base, signal ? signal : -1, what, fn, c);
	if (!c->events[which] ||
	        ((signal || every_s) && event_add(c->events[which], every_s ? &tv : NULL)))
		return error_set(err, ERR_SYSTEM, "event loop: out of memory");
	return 0;
}

static int add_events(struct ctld *c, struct error *err)
{
	signal(SIGPIPE, SIG_IGN);
	signal(SIGCHLD, SIG_DFL); /* else the exit status of programs would be lost (programs.h) */
	if (add_event(c, CTLD_TERM, SIGTERM, on_term, 0, err) ||
	        add_event(c, CTLD_INT, SIGINT, on_term, 0, err) ||
	        add_event(c, CTLD_HUP, SIGHUP, on_hup, 0, err) ||
	        add_event(c, CTLD_DISK, 0, on_disk, DISK_EVERY_S, err) ||
	        add_event(c, CTLD_ENDING, 0, on_ending, 0, err))
		return -1;
	on_disk(-1, 0, c);
	return 0;
}

/* --- what is on disk ------------------------------------------------------------------------ */

static int load_row(void *arg, const struct row *row, struct error *err)
{
	struct ctld *c = arg;

	return inputs_load(c, row, err);
}

static void charge_stored(void *arg, const struct store_stored *stored)
{
	struct ctld *c = arg;

	budget_add(core_budget(c->core), stored->uid, BUDGET_SCRIPTS, stored->bytes);
}

static void log_files(const struct ctld *c)
{
	struct store_stats stats;

	store_stats(c->store, &stats);
	if (stats.log_cut_short)
		log_error("the last transaction in the log of state.db or history.db has a wrong "
		          "bit: the controller goes on without it. After a power cut nothing was "
		          "lost; else check the disk");
	if (stats.no_sums)
		log_warning("state.db or history.db has no sums in its pages: the disk is too full "
		            "to write it anew. The next start tries again");
}

static int load(struct ctld *c, struct error *err)
{
	struct store_options options = {
		.dir = c->conf->controller.state_dir,
		.cluster = c->conf->cluster,
	};
	struct core_stats stats;
	uint64_t seed;

	while (!(c->store = store_open(&options, c->base, err))) {
		if (err->code != ERR_NO_SPACE)
			return -1;
		log_error("%s; trying again until there is room", err->text);
		sleep(START_AGAIN_S);
	}
	log_files(c);
	randombytes_buf(&seed, sizeof(seed));
	inputs_core_new(c, seed);
	if (store_load(c->store, load_row, c, err) || inputs_start(c, ctld_now(), err) ||
	        store_load_stored(c->store, charge_stored, c, err) < 0)
		return -1;
	core_stats(c->core, &stats);
	c->epoch = stats.epoch;
	return 0;
}

/* history.db has no later job or event than state.db, unless state.db is a restored backup. */
static int check_history(struct ctld *c, bool takeover, uint64_t *job, struct error *err)
{
	struct past *past = past_open(c->conf->controller.state_dir, err);
	uint64_t event, last = core_last_event(c->core);
	struct core_stats stats;
	int rc = past ? past_highest(past, job, &event, err) : -1;

	past_close(past);
	if (rc < 0 || takeover)
		return rc;
	core_stats(c->core, &stats);
	if (*job < stats.next_job && event <= last)
		return 0;
	error_set(err, ERR_EPOCH,
	        "state.db is older than history.db, which has job %llu and event %llu; of here the "
	        "next job is %llu, and the last event %llu",
	        (unsigned long long)*job, (unsigned long long)event,
	        (unsigned long long)stats.next_job, (unsigned long long)last);
	return error_hint(err, "after a backup was restored: gctld --takeover");
}

/* Jobs submitted after the backup are not in this state. Their ids may live on in people's notes,
 * in history.db and on nodes that have not registered yet: leave a wide gap. */
static void take_over(struct ctld *c, uint64_t history_job)
{
	struct core_stats stats;
	uint64_t job;

	core_stats(c->core, &stats);
	job = stats.next_job > history_job ? stats.next_job : history_job;
	inputs_takeover(c, stats.epoch + TAKEOVER_EPOCHS, job + TAKEOVER_JOBS);
	core_stats(c->core, &stats);
	c->epoch = stats.epoch;
	c->takeover = true;
	log_warning("takeover: epoch and job ids are raised above all that agents report");
}

/* --- how parts below call parts above ------------------------------------------------------- */

static void on_durable(struct ctld *c)
{
	mail_committed(c->mail);
}

static void on_tick_over(struct ctld *c)
{
	acct_tick(c->acct);
}

static const struct tick_hooks tick_hooks = {
	.decided = effects_carry_out,
	.durable = on_durable,
	.sent = calls_output_sent,
	.over = on_tick_over,
};

static void drop_peer(struct ctld *c, struct peer *peer, struct clocks now)
{
	calls_drop(c, peer, now);
	streams_drop(c, peer);
	rpc_submits_orphan(peer);
	bulk_drop(c, peer);
}

static const struct peers_hooks peers_hooks = {
	.frame = rpc_dispatch,
	.agent_gone = agents_gone,
	.drop = drop_peer,
	.sent = calls_output_sent,
};

static const struct admission_hooks admission_hooks = {
	.end = peer_end,
	.go_on = peer_update_pause,
	.sent = calls_output_sent,
};

/* --- parts ---------------------------------------------------------------------------------- */

static struct worker_pool *pool_new(struct ctld *c, unsigned threads, struct error *err)
{
	struct worker_limits limits = {
		.threads = threads,
		.max_queued = QUEUED_MAX,
		.max_per_key = QUEUED_KEY_MAX,
	};

	return worker_pool_new(c->base, &limits, err);
}

static int make_parts(struct ctld *c, struct error *err)
{
	c->pool = pool_new(c, c->conf->controller.workers, err);
	if (!c->pool)
		return -1;
	c->aside = pool_new(c, ASIDE_THREADS, err);
	if (!c->aside)
		return -1;
	c->mcred = mcred_munge_new(
	        c->conf->controller.munge_socket, c->conf->controller.munge_socket_2);
	c->in = arena_new(0);
	c->out = arena_new(0);
	if (!c->mcred || !c->in || !c->out)
		return error_set(err, ERR_SYSTEM, "out of memory");
	c->gate = commit_gate_new(peers_commit_gate_send, c);
	c->script_cache = script_cache_new(core_budget(c->core));
	c->bulks = bulks_new(c);
	c->calls = calls_new();
	c->streams = streams_new();
	c->admission = admission_new(&admission_hooks);
	c->peers = peers_new(c, &peers_hooks);
	c->node_names = node_names_new(c->conf);
	c->users = users_new(c->aside, peers_user_known, c);
	c->fence = fence_new(c);
	c->mail = mail_new(c);
	c->reload = reload_new(c, rpc_reconfigured);
	c->watch = watch_new(c, err);
	c->fair_queue = fair_queue_new(c);
	c->tick = tick_new(c, &tick_hooks, err);
	if (c->tick)
		c->acct = acct_new(c, err);
	if (c->acct)
		c->gpu_counts = gpu_count_events_new(c, err);
	return c->acct && c->gpu_counts && c->watch ? 0 : -1;
}

static int listen_for_peers(struct ctld *c, struct error *err)
{
	struct session_config config = {
		.base = c->base,
		.pool = c->pool,
		.mcred = c->mcred,
		.ops = &peers_ops,
		.arg = c,
	};
	struct hello_rules rules = {
		.role = "controller",
		.cluster = c->conf->cluster,
		.self = c->self,
	};

	c->sessions = sessions_new(&config, err);
	if (!c->sessions)
		return -1;
	return sessions_listen(
	        c->sessions, c->conf->controller.listen, c->conf->controller.port, &rules, err);
}

/* Each session needs a descriptor: raises the limit as far as the system allows. */
static unsigned raise_descriptors(void)
{
	uint64_t files = daemon_raise_files();

	return !files ? 1024 : files < UINT_MAX ? (unsigned)files : UINT_MAX;
}

struct ctld *ctld_new(struct conf *conf, const struct ctld_options *o, struct error *err)
{
	struct ctld *c = xcalloc(1, sizeof(*c));
	uint64_t history_job = 0;
	gid_t gid;

	c->conf = conf;
	c->conf_text = inputs_conf_text(conf);
	c->conf_path = xstrdup(o->conf_path);
	c->self = geteuid();
	c->disk_space_reported = UINT64_MAX;
	c->start_mono = ctld_mono();
	if (gethostname(c->host, sizeof(c->host) - 1))
		snprintf(c->host, sizeof(c->host), "?");
	c->descriptors = raise_descriptors();
	c->base = event_base_new();
	if (!c->base) {
		error_set(err, ERR_SYSTEM, "event loop: out of memory");
		goto error;
	}
	if (become_lookup(conf->controller.agent_user, &c->agent_uid, &gid, err)) {
		error_wrap(err, "controller.agent_user");
		goto error;
	}
	c->inputs = inputs_new(o->record, o->record_marks, err);
	if (!c->inputs || load(c, err) || make_parts(c, err) || listen_for_peers(c, err) ||
	        add_events(c, err))
		goto error;
	if (check_history(c, o->takeover, &history_job, err) < 0)
		goto error;
	if (o->takeover)
		take_over(c, history_job);
	return c;
error:
	ctld_free(c);
	return NULL;
}

/* From here on events are those of this controller. */
static void note_start(struct ctld *c)
{
	struct core_event ev = { .kind = EV_NOTE };
	char text[100];

	snprintf(text, sizeof(text), "gctld %s, epoch %llu%s", PACKAGE_VERSION,
	        (unsigned long long)c->epoch, c->takeover ? ", takeover" : "");
	ev.note.kind = "controller.start";
	ev.note.text = text;
	ev.note.nobody = true;
	inputs_apply(c, &ev, ctld_now());
}

void ctld_run(struct ctld *c)
{
	struct core_stats stats;

	note_start(c);
	core_stats(c->core, &stats);
	log_info(
	        "gctld %s: cluster %s, epoch %llu, state in %s, %llu jobs, listening on %s port %u",
	        PACKAGE_VERSION, c->conf->cluster, (unsigned long long)c->epoch,
	        c->conf->controller.state_dir, (unsigned long long)stats.jobs,
	        c->conf->controller.listen[0] ? c->conf->controller.listen : "all addresses",
	        sessions_port(c->sessions));
	tick_wake(c->tick);
	event_base_dispatch(c->base);
}

/* In the order in which they are freed: threads first, since they pass things back to the parts.
 * Each is NULL from then on: bulks that go with their peers look for the users. */
#define PARTS(X)                                  \
	X(sessions, sessions_free)                \
	X(reload, reload_free)                    \
	X(users, users_free)                      \
	X(fence, fence_free)                      \
	X(mail, mail_free)                        \
	X(pool, worker_pool_free)                 \
	X(aside, worker_pool_free)                \
	X(peers, peers_free)                      \
	X(admission, admission_free)              \
	X(bulks, bulks_free)                      \
	X(gpu_counts, gpu_count_events_free)      \
	X(acct, acct_free)                        \
	X(tick, tick_free)                        \
	X(fair_queue, fair_queue_free)            \
	X(store, store_close)                     \
	X(script_cache, script_cache_free)        \
	X(calls, calls_free)                      \
	X(watch, watch_free)                      \
	X(streams, streams_free)                  \
	X(node_names, node_names_free)            \
	X(gate, commit_gate_free)                 \
	X(inputs, inputs_free) /* and the core */ \
	X(mcred, mcred_ops_free)                  \
	X(in, arena_free)                         \
	X(out, arena_free)                        \
	X(conf, conf_free)                        \
	X(conf_text, free)                        \
	X(conf_path, free)

void ctld_free(struct ctld *c)
{
	if (!c)
		return;
	for (int i = 0; i < CTLD_EVENTS; i++)
		event_end(c->events[i]);
#define X(part, free_part)  \
	free_part(c->part); \
	c->part = NULL;
	PARTS(X)
#undef X
	if (c->base)
		event_base_free(c->base);
	free(c);
}
