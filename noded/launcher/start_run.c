/* start_run.c - see start_run.h
 *
 * Nothing of an order is touched before it is proved to be its owner's:
 *
 *   known?        a run that exists is answered with its state, whatever else the order says
 *   epoch         not below the highest seen        incarnation   this one
 *   credential    munge vouches for uid and gid (munge_queries.c); not too old
 *   job           signed by it, for this cluster, the script too (signedjob.h)
 *   run           task and attempt are what the owner allowed; not used up (signature_uses.c);
 *                 ports of a replica (service_ports.c)
 *   GPUs          no process was left on them (gpu_leftovers.c)
 *   user          may be served here, exists with this uid (user_lookup.c)
 *   GPUs          held by no other run, unless both have parts of them, and there
 *
 * If other runs have borrowed from its part of a GPU the start waits until they have given that
 * back (gpu_reclaim.c), and if one run has filled the spool until that run has ended
 * (spool_full.c). If MPS has to hold the run to its part of a GPU the daemon comes next
 * (mps_pool.c). After each wait the user is looked up once more. Then: record, count, RUN_DIR,
 * socket, shepherd. Every refusal is NEVER, final for this attempt.
 */
#include "config.h"

#include "noded/launcher/start_run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/base/arena.h"
#include "common/base/error.h"
#include "common/base/failpoint.h"
#include "common/base/fd_close.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "common/gpusched.pb-c.h"
#include "common/job/run.h"
#include "common/net/msg.h"
#include "common/net/munge.h"
#include "common/net/signedjob.h"
#include "noded/confine/containment_active.h"
#include "noded/confine/effective_limits.h"
#include "noded/confine/mps_pool.h"
#include "noded/confine/spool_full.h"
#include "noded/contain/devfilter.h"
#include "noded/launcher/launch_record.h"
#include "noded/launcher/node_settings.h"
#include "noded/launcher/start_ghold.h"
#include "noded/launcher/start_shepherd.h"
#include "noded/launcher/stream_grants.h"
#include "noded/record/order_socket.h"
#include "noded/record/record.h"
#include "noded/record/rundir.h"
#include "noded/runs/epochs.h"
#include "noded/runs/launcher_dirs.h"
#include "noded/runs/launcher_state.h"
#include "noded/runs/munge_queries.h"
#include "noded/runs/run_life.h"
#include "noded/runs/run_records.h"
#include "noded/runs/run_report.h"
#include "noded/runs/signature_uses.h"
#include "noded/runs/user_lookup.h"
#include "noded/watch/gpu_inventory.h"
#include "noded/watch/gpu_leftovers.h"
#include "noded/watch/gpu_reclaim.h"
#include "noded/watch/usage_sampling.h"

#define ARENA_CAP                                                                      \
	(16 * 1024 * 1024) /* order and spec decoded: some 5 MiB at most, and pointers \
	                    */
#define NAMES_MAX      255
#define NODELIST_BYTES 65536 /* one environment variable has at most 128 KiB */

struct start {
	struct launcher *l;
	struct run *run;
	struct arena *arena, *spec_arena; /* the order, and the job in it; freed with the start */
	Gpusched__StartRun *order;
	Gpusched__SignedSpec *spec;
	int64_t signed_at;
	/* The task under which its start is counted, and since when (signature_uses.h) */
	uint32_t counts_task;
	int64_t counts_from;
	bool asking;                  /* an answer is pending that comes in any case */
	bool mps_asked, memory_asked; /* they are waited for once */
	enum never never;             /* what trouble with the present wait means */
	/* for memory of a GPU, or space in the spool: no callback of ours is pending */
	bool waiting;
	bool dropped;       /* its run is gone; freed when the answer comes */
	struct start *next; /* in starts.dropped */
};

struct starts {
	struct start *dropped;    /* starts whose run is gone while an answer is pending */
	uint64_t signature_age_s; /* set by the controller; 0: it has not */
};

static void start_free(struct start *s)
{
	struct start **at = &s->l->starts->dropped;

	while (s->dropped && *at != s)
		at = &(*at)->next;
	if (s->dropped)
		*at = s->next;
	arena_free(s->arena);
	arena_free(s->spec_arena);
	free(s);
}

void start_cancel(struct start *s)
{
	if (!s)
		return;
	if (s->waiting) {
		gpu_reclaim_leave(s->l, s->run);
		spool_full_leave(s->l, s->run);
	}
	s->run = NULL;
	if (!s->asking || s->l->closing) {
		start_free(s);
		return;
	}
	s->dropped = true;
	s->next = s->l->starts->dropped;
	s->l->starts->dropped = s;
}

struct starts *starts_new(void)
{
	return xcalloc(1, sizeof(struct starts));
}

void starts_free(struct starts *s)
{
	while (s && s->dropped)
		start_free(s->dropped);
	free(s);
}

void starts_limit_age(struct starts *s, uint64_t age_s)
{
	s->signature_age_s = age_s;
}

static void refuse_start(struct start *s, const char *why)
{
	run_never(s->run, why, NEVER_RUN); /* frees s */
}

/* Its credential was refused, or could not be decoded: a munge daemon that is down says nothing of
 * the signature. */
static void refuse_credential(struct start *s, const struct error *why)
{
	bool signature =
	        why->code == ERR_SIGNATURE || why->code == ERR_MUNGE_KEY || why->code == ERR_AUTH;

	run_never(s->run, why->text, signature ? NEVER_SIGNATURE : NEVER_RUN); /* frees s */
}

/* --- the shepherd ----------------------------------------------------------------------------- */

static int spawn_shepherd(const struct start *s, const int fds[3], pid_t *pid, struct error *err)
{
	char *path = xasprintf("%s/%s", s->l->dirs->runs_path, s->run->name);
	int r = template_client_spawn(s->l->template_client, s->run->id, path, fds, pid, err);

	free(path);
	return r;
}

static struct launch launch_of(const struct start *s, const struct node_user *user)
{
	return (struct launch){ s->l, s->run, s->order, s->spec, s->counts_from, user };
}

static int count_start(const struct start *s, int change, struct error *err)
{
	return signature_uses_add(s->l->signature_uses, s->spec->uid, s->spec->nonce.data,
	        s->counts_task, s->counts_from, change, err);
}

/* The steps that leave something behind; after a failure the caller removes it. `node`: the failure
 * has nothing to do with this run, and any other run would fail too. */
static int launch_in_dir(struct start *s, const struct node_user *user,
        const struct launch_parts *p, int dir, pid_t *pid, bool *node, struct error *err)
{
	struct launcher *l = s->l;
	struct rundir_owner owner = { .change = l->root, .uid = user->uid, .gid = user->gid };
	int fds[3] = { -1, -1, -1 }, r = -1; /* inherit.h */
	struct launch launch = launch_of(s, user);
	Gpusched__LaunchRecord record;

	launch_record_fill(&launch, p, &record);
	FAILPOINT(launcher_before_record);
	streams_remember(l, s->run->name, &record);
	fds[0] = record_write(dir, RECORD_LAUNCH, &record.base, RECORD_LOCK, err);
	if (fds[0] < 0) {
		*node = true;
		return -1;
	}
	FAILPOINT(launcher_after_record);
	if (count_start(s, 1, err) < 0)
		goto out;
	if (rundir_make(l->dirs->spool_runs, s->run->name, &owner, s->order->script.data,
	            s->order->script.len, err) < 0 ||
	        (fds[1] = order_socket_open(dir, ORDER_SOCKET_NAME, err)) < 0) {
		*node = true;
		goto take_back;
	}
	if (record.interactive &&
	        (fds[2] = ghold_start(l, s->run->name, &record, s->spec->interactive, err)) < 0)
		goto take_back;
	FAILPOINT(launcher_before_spawn);
	r = spawn_shepherd(s, fds, pid, err);
	*node = r < 0;
	FAILPOINT(launcher_after_spawn);
take_back:
	if (r < 0)
		count_start(s, -1, NULL);
out:
	for (size_t i = 0; i < 3; i++)
		fd_close(fds[i]);
	return r;
}

static void launch_run(struct start *s, const struct node_user *user)
{
	struct launch launch = launch_of(s, user);
	struct launch_parts *p;
	struct run *run = s->run;
	struct error err;
	bool node = false;
	pid_t pid = 0;
	int dir = -1, r = -1;

	p = launch_parts_new(&launch, &err);
	if (p) {
		dir = run_dir(run, true);
		node = dir < 0;
		if (dir < 0)
			error_set(&err, ERR_SYSTEM, "cannot make the run's record directory: %s",
			        strerror(errno));
		else
			r = launch_in_dir(s, user, p, dir, &pid, &node, &err);
	}
	fd_close(dir);
	if (r < 0) {
		run_remove_rundir(s->l, run->name);
		run->gpus = 0;
		run_never(run, err.text, node ? NEVER_NODE : NEVER_RUN); /* frees s */
	} else {
		epochs_saw_job(s->l, run->id.job);
		run->start = NULL;
		run->order = NULL;
		run_started(run, launch_parts_take_report(p), pid);
		start_free(s);
		run_send_report(run);
	}
	launch_parts_free(p);
}

/* --- the checks ------------------------------------------------------------------------------- */

struct gpu_search {
	uint64_t wanted;
	const struct run *run;
	const struct run *holder, *stranger;
};

static void find_holder(struct run *r, void *arg)
{
	struct gpu_search *g = arg;

	if (r == g->run || !(r->gpus & g->wanted)) /* it has them already if it had to wait */
		return;
	if (!r->has_parts || !g->run->has_parts)
		g->holder = r;
	else if (r->uid != g->run->uid)
		g->stranger = r;
}

static int check_gpus(struct start *s, struct error *err)
{
	struct gpu_search g = { .run = s->run };

	s->run->has_parts = s->order->share_charge;
	s->run->share_mb = s->order->share_mb;
	s->run->uid = s->spec->uid;

	for (size_t i = 0; i < s->order->n_gpus; i++) {
		uint64_t bit;

		if (s->order->gpus[i] >= GPU_INDEX_MAX)
			return error_set(err, ERR_LAUNCH, "GPU index %u; the largest is %d",
			        s->order->gpus[i], GPU_INDEX_MAX - 1);
		bit = (uint64_t)1 << s->order->gpus[i];
		if (g.wanted & bit)
			return error_set(err, ERR_LAUNCH, "GPU %u is given twice in one order",
			        s->order->gpus[i]);
		g.wanted |= bit;
	}
	if (g.wanted)
		runs_each(s->l, find_holder, &g);
	if (g.holder)
		return error_set(
		        err, ERR_LAUNCH, "a GPU of this order is held by run %s", g.holder->name);
	if (g.stranger && s->l->limits->share_users_one)
		return error_set(err, ERR_LAUNCH,
		        "a GPU of this order is shared by run %s of another user, and here one "
		        "user's runs share a GPU",
		        g.stranger->name);
	usage_sampling_allocated(s->l, g.wanted & ~s->run->gpus);
	s->run->gpus = g.wanted;
	return 0;
}

/* Has the signature been used as often as its owner allowed? Starts are counted, not attempt
 * numbers: orders may have been lost. Each task of an array has its own count; a service has one a
 * day. */
static int check_uses(struct start *s, struct error *err)
{
	const Gpusched__ServiceSpec *service = s->spec->service;
	uint64_t allowed = service ? service->starts_per_day : s->spec->max_attempts;
	int64_t now = (int64_t)time(NULL);
	uint32_t used;

	s->counts_task = service ? signature_uses_day(now) : s->run->id.task;
	s->counts_from = service ? signature_uses_day_began(now) : s->signed_at;
	used = signature_uses_of(
	        s->l->signature_uses, s->spec->uid, s->spec->nonce.data, s->counts_task);
	if (used < allowed)
		return 0;
	if (service)
		return error_set(err, ERR_SIGNATURE,
		        "replicas of the service were started %u times on this node today (UTC); "
		        "its owner signed for %llu a day",
		        used, (unsigned long long)allowed);
	return error_set(err, ERR_SIGNATURE,
	        "the job was started %u times on this node; its owner signed for %llu", used,
	        (unsigned long long)allowed);
}

static void user_known(const struct node_user *user, const struct error *why, void *arg);

static void ask_user(struct start *s)
{
	s->asking = true;
	user_lookup_find(
	        s->l->user_lookup, s->order->user, s->spec->uid, s->spec->gid, user_known, s);
}

/* The resource that the start waited for is available, or has failed. */
static void wait_over(const char *trouble, void *arg)
{
	struct start *s = arg;

	s->asking = s->waiting = false;
	if (s->dropped)
		start_free(s);
	else if (trouble)
		run_never(s->run, trouble, s->never); /* frees s */
	else
		ask_user(s);
}

static bool must_wait(struct start *s)
{
	if (s->order->share_charge && !s->memory_asked) {
		s->waiting = gpu_reclaim_wait(s->l, s->run, wait_over, s);
		s->memory_asked = s->waiting;
	}
	if (!s->waiting) {
		s->waiting = spool_full_wait(s->l, s->run, wait_over, s);
		s->never = s->waiting ? NEVER_NODE : NEVER_RUN;
	}
	return s->waiting;
}

static void want_mps(struct start *s, const struct node_user *user)
{
	const Gpusched__StartRun *o = s->order;
	struct device granted[DEVFILTER_MAX];
	struct mps_pool_wish wish = { .user = user, .devices = granted };
	struct error err;
	int r = 0;

	if (o->n_gpus != 1 || o->n_gpu_uuids != 1) {
		refuse_start(s,
		        "MPS holds runs to a part of one GPU, of those that were found on the "
		        "node");
		return;
	}
	s->run->mps = s->asking = s->mps_asked = true;
	wish.gpu = o->gpus[0];
	wish.gpu_uuid = o->gpu_uuids[0];
	if (s->l->containment->filter)
		r = gpu_inventory_grants(s->l->gpu_inventory, o, granted, &wish.n_devices, &err);
	if (r == 0)
		r = mps_pool_want(s->l, &wish, wait_over, s, &err);
	if (r < 0) {
		s->asking = false;
		refuse_start(s, err.text);
	}
}

static void user_known(const struct node_user *user, const struct error *why, void *arg)
{
	struct start *s = arg;
	struct error err;

	s->asking = false;
	if (s->dropped) {
		start_free(s);
		return;
	}
	if (!user)
		refuse_start(s, why->text);
	/* another controller may have taken charge meanwhile */
	else if (epochs_take(s->l, s->order->epoch, &err) < 0 ||
	         settings_allow(s->l, &err) < 0 || check_uses(s, &err) < 0 ||
	         check_gpus(s, &err) < 0)
		refuse_start(s, err.text);
	else if (must_wait(s))
		return;
	else if (s->order->share_charge && s->order->share_mps && !s->mps_asked)
		want_mps(s, user);
	else
		launch_run(s, user);
}

static int check_user(const struct start *s, struct error *err)
{
	uid_t uid = s->spec->uid;

	if (!s->l->root && uid != geteuid())
		return error_set(err, ERR_NOT_PERMITTED,
		        "this node's agent runs as uid %u and starts no jobs of uid %u",
		        (unsigned)geteuid(), (unsigned)uid);
	if (!s->l->root && s->spec->gid != getegid())
		return error_set(err, ERR_NOT_PERMITTED,
		        "this node's agent runs with gid %u and cannot start a job with gid %u",
		        (unsigned)getegid(), (unsigned)s->spec->gid);
	if (uid == 0 && !s->l->options->allow_root)
		return error_set(
		        err, ERR_NOT_PERMITTED, "this node's agent starts no jobs of root");
	return 0;
}

/* The smaller of the node's own limit and the controller's; of a service, and its owner's. */
static uint64_t age_allowed(const struct launcher *l, const Gpusched__ServiceSpec *service)
{
	uint64_t own = service ? l->options->service_age_s : l->options->signature_age_s;
	uint64_t told = service ? (uint64_t)service->valid_days * SIGNATURE_DAY_S
	                        : l->starts->signature_age_s;

	return told && told < own ? told : own;
}

static int check_job(struct start *s, const struct mcred *cred, struct error *err)
{
	const Gpusched__StartRun *o = s->order;
	struct signedjob job = { .spec = o->spec.data,
		.spec_len = o->spec.len,
		.script = o->script.data,
		.script_len = o->script.len };
	struct signedjob_hash hash;

	if (signedjob_cred_check(cred, err) < 0 ||
	        signedjob_check(cred, s->l->options->cluster, &job, s->spec_arena, &s->spec, &hash,
	                err) < 0 ||
	        signedjob_cred_age(
	                cred, (int64_t)time(NULL), age_allowed(s->l, s->spec->service), err) < 0 ||
	        signedjob_run_check(s->spec, o->run->task, o->run->attempt, err) < 0 ||
	        signedjob_script_check(o->script.data, o->script.len, MSG_SCRIPT_MAX, err) < 0)
		return -1;
	s->signed_at = cred->encode_time;
	if ((s->spec->interactive || s->spec->service) && o->nnodes > 1)
		return error_set(err, ERR_LAUNCH, "%s on %u nodes",
		        s->spec->service ? "a replica of a service" : "an interactive job",
		        o->nnodes);
	return check_user(s, err);
}

static void cred_known(const struct mcred *cred, const struct error *why, void *arg)
{
	struct start *s = arg;
	struct error err;

	s->asking = false;
	if (s->dropped) {
		start_free(s);
	} else if (!cred) {
		refuse_credential(s, why);
	} else if (check_job(s, cred, &err) < 0) {
		refuse_credential(s, &err);
	} else {
		s->asking = true;
		gpu_leftovers_wait(s->l, s->order, wait_over, s);
	}
}

static int check_order(struct launcher *l, const Gpusched__StartRun *o, struct error *err)
{
	if (epochs_take(l, o->epoch, err) < 0)
		return -1;
	if (strcmp(o->incarnation, l->dirs->incarnation) != 0)
		return error_set(err, ERR_LAUNCH,
		        "ordered for another incarnation of the node: it was restarted");
	if (strlen(o->user) > NAMES_MAX || strlen(o->nodelist) > NODELIST_BYTES)
		return error_set(err, ERR_PROTOCOL, "a name in the order is too long");
	if (o->run->rank >= (o->nnodes ? o->nnodes : 1))
		return error_set(err, ERR_LAUNCH, "rank %u of a job on %u nodes", o->run->rank,
		        o->nnodes ? o->nnodes : 1);
	return 0;
}

void start_order(struct launcher *l, const void *body, size_t len)
{
	struct start *s = xcalloc(1, sizeof(*s));
	struct run_id id;
	struct error err;

	s->l = l;
	s->arena = arena_new(ARENA_CAP);
	s->spec_arena = arena_new(ARENA_CAP);
	if (!s->arena || !s->spec_arena)
		abort();
	s->order = (Gpusched__StartRun *)msg_unpack(
	        GPUSCHED__MSG_TYPE__MSG_START_RUN, body, len, s->arena, &err);
	if (!s->order || !s->order->run || s->order->run->job == 0 || s->order->run->attempt == 0) {
		log_error("a start that makes no sense: %s", s->order ? "no run" : err.text);
		start_free(s);
		return;
	}
	id = run_id_of(s->order->run);
	s->run = run_find(l, id);
	if (s->run) {
		run_send_report(s->run); /* ASKED: the answer is on its way */
		start_free(s);
		return;
	}
	s->run = run_add(l, id);
	if (!s->run) {
		start_free(s);
		return;
	}
	s->run->start = s;
	s->run->order = s->order;
	if (check_order(l, s->order, &err) < 0) {
		refuse_start(s, err.text);
		return;
	}
	s->asking = true;
	munge_query_decode(l->munge_queries, s->order->credential.data, s->order->credential.len,
	        cred_known, s);
}
