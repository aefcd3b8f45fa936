/* start.c - see start.h
 *
 * Nothing of an order is touched before it is proved to be its owner's:
 *
 *   known?        a run that exists is answered with its state, whatever else the order says
 *   epoch         not below the highest seen        incarnation   this one
 *   credential    munge vouches for uid and gid (lookup.c); not too old
 *   job           signed by it, for this cluster, the script too (signedjob.h)
 *   run           task and attempt are what the owner allowed; not used up (sigcount.c)
 *   GPUs          no process was left on them (gpu_occupants.c)
 *   user          may be served here, exists with this uid (lookup.c)
 *   GPUs          held by no other run, unless both have parts of them, and there
 *
 * If other runs have borrowed from its part of a GPU the start waits until they have given that
 * back (gpu_reclaim.c), and if one run has filled the spool until that run has ended
 * (spool_guard.c). If MPS has to hold the run to its part of a GPU the daemon comes next
 * (mps_pool.c). After each wait the user is looked up once more. Then: record, count, RUN_DIR,
 * socket, shepherd. Every refusal is NEVER, final for this attempt.
 */
#include "config.h"

#include "noded/launcher/start.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/base/arena.h"
#include "common/base/error.h"
#include "common/base/failpoint.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "common/conf/nodewords.h"
#include "common/gpusched.pb-c.h"
#include "common/job/pattern.h"
#include "common/job/rlimit.h"
#include "common/job/run.h"
#include "common/net/mcred.h"
#include "common/net/msg.h"
#include "common/net/signedjob.h"
#include "noded/confine/containment.h"
#include "noded/confine/mps_pool.h"
#include "noded/confine/rules.h"
#include "noded/confine/spool_guard.h"
#include "noded/contain/cgroup_limits.h"
#include "noded/contain/contain.h"
#include "noded/contain/devfilter.h"
#include "noded/contain/device_grants.h"
#include "noded/contain/private.h"
#include "noded/job/jobenv.h"
#include "noded/launcher/interactive.h"
#include "noded/launcher/launcher.h"
#include "noded/launcher/settings.h"
#include "noded/launcher/streams.h"
#include "noded/launcher/template_client.h"
#include "noded/record/ctl.h"
#include "noded/record/record.h"
#include "noded/record/rundir.h"
#include "noded/runs/lookup.h"
#include "noded/runs/parts.h"
#include "noded/runs/places.h"
#include "noded/runs/runs.h"
#include "noded/runs/sigcount.h"
#include "noded/runs/spawn.h"
#include "noded/watch/gpu_inventory.h"
#include "noded/watch/gpu_occupants.h"
#include "noded/watch/gpu_reclaim.h"
#include "noded/watch/usage_loop.h"

#define STEPD_ARGS 3
#define ARENA_CAP                                                                      \
	(16 * 1024 * 1024) /* order and spec decoded: some 5 MiB at most, and pointers \
	                    */
#define NAMES_MAX      255
#define PATH_BYTES     4096
#define NODELIST_BYTES 65536 /* one environment variable has at most 128 KiB */

struct start {
	struct launcher *l;
	struct run *run;
	struct arena *arena, *spec_arena; /* the order, and the job in it, live as long as we do */
	Gpusched__StartRun *order;
	Gpusched__SignedSpec *spec;
	int64_t signed_at;
	bool asking, mps_there, memory_there;
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
		spool_guard_leave(s->l, s->run);
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

const Gpusched__StartRun *start_order_of(const struct run *r)
{
	return r->start ? r->start->order : NULL;
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

/* --- the record ------------------------------------------------------------------------------- */

/* `unset`: the value if the owner gave none; NULL: nothing. `own`: it is written to. */
static int expand_pattern(const struct start *s, const ProtobufCBinaryData *pattern,
        const char *unset, const char *user, bool own, char out[PATH_BYTES], struct error *err)
{
	struct pattern_values v = {
		.job = s->run->id.job,
		.task = s->run->id.task,
		.is_array = s->spec->array[0] != '\0',
		.name = s->spec->name,
		.user = user,
		.node = s->l->options->node,
		.rank = s->run->id.rank,
		.own = own,
	};
	char *p = pattern->len ? xstrndup((const char *)pattern->data, pattern->len) : NULL;
	int r = 0;

	if (p || unset)
		r = pattern_expand(p ? p : unset, &v, out, PATH_BYTES, err);
	else
		out[0] = '\0';
	free(p);
	return r;
}

static void set_bytes(ProtobufCBinaryData *b, const char *s)
{
	b->len = strlen(s);
	b->data = (uint8_t *)(uintptr_t)s;
}

static ProtobufCBinaryData *env_bytes(char **env, size_t *n)
{
	ProtobufCBinaryData *v;

	for (*n = 0; env[*n];)
		(*n)++;
	v = xcalloc(*n + 1, sizeof(*v));
	for (size_t i = 0; i < *n; i++)
		set_bytes(&v[i], env[i]);
	return v;
}

/* The parts of a launch record that are not borrowed from the order. */
struct parts {
	char input[PATH_BYTES], output[PATH_BYTES], error[PATH_BYTES];
	char **env;
	ProtobufCBinaryData *env_list;
	size_t n_env;
	char *run_dir, *leaf, *private_dir, *near, *mps_dir, *stepd;
	ProtobufCBinaryData stepd_args[STEPD_ARGS];
	char patience[32];
	size_t n_stepd_args; /* 0: the script is executed */
	const Gpusched__RunRlimit *rlimit_list[RLIMITS_MAX];
	struct jobenv_gpu *gpus;
	Gpusched__RunReport *report;
	Gpusched__RunLimit **limits;
	size_t n_limits;
	Gpusched__RunProgram programs[PROGRAM_KINDS], *program_list[PROGRAM_KINDS];
	size_t n_programs;
	Gpusched__RunDevice devices[DEVFILTER_MAX], *device_list[DEVFILTER_MAX];
	size_t n_devices;
};

static void parts_clear(struct parts *p)
{
	jobenv_free(p->env);
	free(p->env_list);
	free(p->run_dir);
	free(p->leaf);
	free(p->private_dir);
	free(p->near);
	free(p->mps_dir);
	free(p->stepd);
	free(p->gpus);
	run_report_free(p->report);
	cgroup_limits_list_free(p->limits, p->n_limits);
}

static Gpusched__RunReport *make_report(const struct start *s)
{
	const Gpusched__StartRun *o = s->order;
	Gpusched__RunReport r = GPUSCHED__RUN_REPORT__INIT;
	Gpusched__RunOwner owner = GPUSCHED__RUN_OWNER__INIT;

	owner.user = o->user;
	owner.account = o->account;
	owner.partition = o->partition;
	owner.qos = o->qos;
	owner.name = s->spec->name;
	owner.array = s->spec->array;
	owner.gid = s->spec->gid;
	r.owner = &owner;
	r.run = o->run;
	r.state = GPUSCHED__RUN_REPORT__STATE__STARTING;
	r.incarnation = s->l->places->incarnation;
	r.epoch = o->epoch;
	r.n_gpus = o->n_gpus;
	r.gpus = o->gpus;
	r.gpu_type = o->gpu_type;
	r.cpus = o->cpus;
	r.mem_mb = o->mem_mb;
	r.share_charge = o->share_charge;
	r.share_milli = o->share_milli;
	r.share_mb = o->share_mb;
	r.share_burst_mb = o->share_burst_mb;
	r.uid = s->spec->uid;
	r.nnodes = o->nnodes;
	return run_report_copy(&r);
}

static int grant_devices(const struct start *s, struct parts *p, struct error *err)
{
	struct device granted[DEVFILTER_MAX];

	if (!s->l->containment->filter)
		return 0;
	if (!p->gpus && s->order->n_gpus && device_grants_told_gpus(s->l->containment->grants) &&
	        gpu_inventory_found(s->l->gpu_inventory))
		return error_set(
		        err, ERR_LAUNCH, "GPUs are found here, and the order names no UUID");
	if ((p->gpus ? gpu_inventory_grants(
	                       s->l->gpu_inventory, s->order, granted, &p->n_devices, err)
	             : device_grants_of(s->l->containment->grants, s->order->gpus, s->order->n_gpus,
	                       granted, &p->n_devices, err)) < 0)
		return -1;
	for (size_t i = 0; i < p->n_devices; i++) {
		Gpusched__RunDevice *d = p->device_list[i] = &p->devices[i];

		gpusched__run_device__init(d);
		d->block = granted[i].type == 'b';
		d->major = granted[i].major;
		d->minor = granted[i].minor;
	}
	return 0;
}

/* All programs except the health check, which belongs to no run. */
static void add_programs(const struct launcher *l, struct parts *p)
{
	for (int k = 0; k < PROGRAM_RUN_KINDS; k++) {
		Gpusched__RunProgram *m = &p->programs[p->n_programs];

		if (!l->rules->programs[k].path)
			continue;
		gpusched__run_program__init(m);
		m->kind = (uint32_t)k;
		m->timeout_ms = l->rules->programs[k].timeout_ms;
		set_bytes(&m->path, l->rules->programs[k].path);
		p->program_list[p->n_programs++] = m;
	}
}

/* A job with steps: its script is executed on the first of its nodes, gstepd on the others, which
 * has no files. An allocation has no script. */
static void add_stepd(const struct start *s, struct parts *p)
{
	const Gpusched__Steps *steps = s->spec->steps;
	bool allocation = steps && steps->mode == GPUSCHED__STEPS__MODE__ALLOCATION;

	if (!steps)
		return;
	p->stepd = spawn_path(s->l, "gstepd");
	if (!allocation && s->run->id.rank == 0)
		return;
	set_bytes(&p->stepd_args[p->n_stepd_args++], "--serve");
	if (allocation && s->run->id.rank == 0) {
		snprintf(p->patience, sizeof(p->patience), "--patience=%u", steps->patience_s);
		set_bytes(&p->stepd_args[p->n_stepd_args++], "--allocation");
		set_bytes(&p->stepd_args[p->n_stepd_args++], p->patience);
	}
}

static int make_files(const struct start *s, const char *user, struct parts *p, struct error *err)
{
	const char *unset = s->spec->interactive ? NULL
	                    : s->spec->array[0]  ? PATTERN_OUTPUT_ARRAY
	                                         : PATTERN_OUTPUT;

	if (p->n_stepd_args) {
		snprintf(p->output, sizeof(p->output), "/dev/null");
		return 0;
	}
	if (expand_pattern(s, &s->spec->input, NULL, user, false, p->input, err) < 0 ||
	        expand_pattern(s, &s->spec->output, unset, user, true, p->output, err) < 0 ||
	        expand_pattern(s, &s->spec->error, NULL, user, true, p->error, err) < 0)
		return -1;
	return 0;
}

static int make_parts(
        const struct start *s, const struct lookup_user *user, struct parts *p, struct error *err)
{
	struct timespec now;
	struct jobenv_in in = {
		.order = s->order,
		.spec = s->spec,
		.cluster = s->l->options->cluster,
		.node = s->l->options->node,
		.user = user->name,
		.home = user->home,
		.shell = user->shell,
	};
	const uint64_t values[LIMIT_KINDS] = {
		[LIMIT_MEMORY] =
		        s->order->mem_mb > UINT64_MAX >> 20 ? UINT64_MAX : s->order->mem_mb << 20,
		[LIMIT_PIDS] = s->l->rules->max_processes,
		[LIMIT_CPU] = s->order->cpus,
	};

	clock_gettime(CLOCK_REALTIME, &now);
	p->run_dir = xasprintf("%s/%s", s->l->places->spool_runs_path, s->run->name);
	p->leaf = contain_root_leaf(s->l->containment->root, s->run->name);
	p->report = make_report(s);
	p->n_limits = cgroup_limits_list(
	        contain_root_limits(s->l->containment->root), p->leaf, values, &p->limits);
	p->private_dir = s->l->containment->private_kinds & 1u << PRIVATE_TMP
	                         ? xasprintf("%s/%s", s->l->places->private_path, s->run->name)
	                         : xstrdup("");
	p->near = gpu_inventory_near(s->l->gpu_inventory, s->order);
	p->mps_dir = s->run->mps ? mps_pool_dir(s->l, s->run->uid, s->order->gpus[0]) : xstrdup("");
	in.mps_dir = s->run->mps ? p->mps_dir : NULL;
	for (size_t i = 0; i < s->l->rules->n_rlimits; i++)
		p->rlimit_list[i] = &s->l->rules->rlimits[i];
	add_programs(s->l, p);
	if (gpu_inventory_find(s->l->gpu_inventory, s->order, &p->gpus, err) < 0)
		return -1;
	add_stepd(s, p);
	in.stepd = p->stepd;
	in.gpus = p->gpus;
	in.run_dir = p->run_dir;
	in.start_time = (usec_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
	in.own_numbers = s->l->containment->filter &&
	                 (p->gpus || device_grants_know_gpus(s->l->containment->grants));
	if (grant_devices(s, p, err) < 0 || make_files(s, user->name, p, err) < 0)
		return -1;
	p->env = jobenv_make(&in, err);
	if (!p->env)
		return -1;
	p->env_list = env_bytes(p->env, &p->n_env);
	return 0;
}

static void fill_record(const struct start *s, const struct lookup_user *user,
        const struct parts *p, Gpusched__LaunchRecord *r)
{
	const Gpusched__StartRun *o = s->order;

	gpusched__launch_record__init(r);
	r->report = p->report;
	r->user = user->name;
	r->gid = s->spec->gid;
	r->n_groups = user->n_groups;
	r->groups = user->groups;
	r->switch_user = s->l->root;
	r->nonce = s->spec->nonce;
	r->signed_at = s->signed_at;
	set_bytes(&r->run_dir, p->run_dir);
	set_bytes(&r->cgroup, p->leaf);
	r->n_args = p->n_stepd_args ? p->n_stepd_args : s->spec->n_args;
	r->args = p->n_stepd_args ? (ProtobufCBinaryData *)(uintptr_t)p->stepd_args : s->spec->args;
	set_bytes(&r->program, p->n_stepd_args ? p->stepd : "");
	r->steps = s->spec->steps != NULL;
	r->n_env = p->n_env;
	r->env = p->env_list;
	r->cwd = s->spec->cwd;
	set_bytes(&r->input, p->input);
	set_bytes(&r->output, p->output);
	set_bytes(&r->error, p->error);
	r->append = s->spec->append;
	r->umask = s->spec->umask;
	r->time_limit_s = o->time_limit_s;
	r->warn_signal = o->warn_signal;
	r->warn_before_s = o->warn_before_s;
	r->grace_s = o->grace_s;
	r->kill_wait_ms = s->l->rules->kill_wait_ms;
	r->launch_timeout_ms = s->l->options->launch_timeout_ms;
	r->requeue = o->requeue;
	r->interactive = s->spec->interactive != NULL;
	r->summary = !s->spec->no_summary && !p->n_stepd_args;
	r->n_limits = p->n_limits;
	r->limits = p->limits;
	r->private_kinds = s->l->containment->private_kinds;
	r->private_tmp_mb = s->l->rules->private_tmp_mb;
	if (s->run->mps) /* its processes and the daemon meet there */
		r->private_kinds &= ~(1u << PRIVATE_SHM | 1u << PRIVATE_IPC);
	set_bytes(&r->mps_dir, p->mps_dir);
	set_bytes(&r->private_dir, p->private_dir);
	set_bytes(&r->near_cpus, p->near);
	r->n_rlimits = s->l->rules->n_rlimits;
	r->rlimits = (Gpusched__RunRlimit **)(uintptr_t)p->rlimit_list;
	r->n_programs = p->n_programs;
	r->programs = (Gpusched__RunProgram **)(uintptr_t)p->program_list;
	r->node = (char *)(uintptr_t)s->l->options->node;
	r->device_filter = s->l->containment->filter;
	r->n_devices = p->n_devices;
	r->devices = (Gpusched__RunDevice **)(uintptr_t)p->device_list;
	r->gpu_mem_mb = o->share_burst_mb ? o->share_burst_mb : o->gpu_mem_mb;
	r->waited_us = o->waited_us;
	r->cost_hour_u = o->cost_hour_u;
	r->currency = o->currency;
	if (p->gpus) {
		r->n_gpu_uuids = o->n_gpu_uuids;
		r->gpu_uuids = o->gpu_uuids;
		if (o->share_charge)
			r->gpu_mem_allowed_mb = o->share_burst_mb ? o->share_burst_mb : o->share_mb;
	}
}

/* --- the shepherd ----------------------------------------------------------------------------- */

static int spawn_shepherd(const struct start *s, const int fds[3], pid_t *pid, struct error *err)
{
	char *path = xasprintf("%s/%s", s->l->places->runs_path, s->run->name);
	int r = template_client_spawn(s->l->template_client, s->run->id, path, fds, pid, err);

	free(path);
	return r;
}

/* The steps that leave something behind; after a failure the caller removes it. `node`: the failure
 * has nothing to do with this run, and any other run would fail too. */
static int launch_in_dir(struct start *s, const struct lookup_user *user, const struct parts *p,
        int dir, pid_t *pid, bool *node, struct error *err)
{
	struct launcher *l = s->l;
	struct rundir_owner owner = { .change = l->root, .uid = user->uid, .gid = user->gid };
	int fds[3] = { -1, -1, -1 }, r = -1; /* inherit.h */
	Gpusched__LaunchRecord record;

	fill_record(s, user, p, &record);
	FAILPOINT(launcher_before_record);
	streams_remember(l, s->run->name, &record);
	fds[0] = record_write(dir, RECORD_LAUNCH, &record.base, RECORD_LOCK, err);
	if (fds[0] < 0) {
		*node = true;
		return -1;
	}
	FAILPOINT(launcher_after_record);
	if (sigcount_add(l->sigcount, user->uid, s->spec->nonce.data, s->run->id.task, s->signed_at,
	            1, err) < 0)
		goto out;
	if (rundir_make(l->places->spool_runs, s->run->name, &owner, s->order->script.data,
	            s->order->script.len, err) < 0 ||
	        (fds[1] = ctl_socket(dir, CTL_SOCKET, err)) < 0) {
		*node = true;
		goto take_back;
	}
	if (record.interactive && (fds[2] = interactive_start(l, s->run->name, &record,
	                                   s->spec->interactive, err)) < 0)
		goto take_back;
	FAILPOINT(launcher_before_spawn);
	r = spawn_shepherd(s, fds, pid, err);
	*node = r < 0;
	FAILPOINT(launcher_after_spawn);
take_back:
	if (r < 0)
		sigcount_add(l->sigcount, user->uid, s->spec->nonce.data, s->run->id.task,
		        s->signed_at, -1, NULL);
out:
	for (size_t i = 0; i < 3; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	return r;
}

static void launch_run(struct start *s, const struct lookup_user *user)
{
	struct parts p = { .env = NULL };
	struct run *run = s->run;
	struct error err;
	bool node = false;
	pid_t pid = 0;
	int dir = -1, r = -1;

	if (make_parts(s, user, &p, &err) == 0) {
		dir = run_dir(run, true);
		node = dir < 0;
		if (dir < 0)
			error_set(&err, ERR_SYSTEM, "cannot make the run's record directory: %s",
			        strerror(errno));
		else
			r = launch_in_dir(s, user, &p, dir, &pid, &node, &err);
	}
	if (dir >= 0)
		close(dir);
	if (r < 0) {
		run_remove_rundir(s->l, run->name);
		run->gpus = 0;
		run_never(run, err.text, node ? NEVER_NODE : NEVER_RUN); /* frees s */
	} else {
		places_saw_job(s->l, run->id.job);
		run->start = NULL;
		run_started(run, p.report, pid);
		p.report = NULL;
		start_free(s);
		run_send_report(run);
	}
	parts_clear(&p);
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
	if (g.stranger && s->l->rules->share_users_one)
		return error_set(err, ERR_LAUNCH,
		        "a GPU of this order is shared by run %s of another user, and here one "
		        "user's runs share a GPU",
		        g.stranger->name);
	usage_loop_allocated(s->l, g.wanted & ~s->run->gpus);
	s->run->gpus = g.wanted;
	return 0;
}

/* Has the signature been used as often as its owner allowed? Starts are counted, not attempt
 * numbers: orders may have been lost. Each task of an array has its own count. */
static int check_uses(struct start *s, struct error *err)
{
	uint64_t allowed = s->spec->max_attempts;
	uint32_t used =
	        sigcount_of(s->l->sigcount, s->spec->uid, s->spec->nonce.data, s->run->id.task);

	if (used < allowed)
		return 0;
	return error_set(err, ERR_SIGNATURE,
	        "the job was started %u times on this node; its owner signed for %llu", used,
	        (unsigned long long)allowed);
}

static void user_known(const struct lookup_user *user, const struct error *why, void *arg);

static void mps_known(const char *trouble, void *arg)
{
	struct start *s = arg;

	s->asking = false;
	if (s->dropped) {
		start_free(s);
	} else if (trouble) {
		refuse_start(s, trouble);
	} else {
		s->asking = s->mps_there = true;
		lookup_user(
		        s->l->lookup, s->order->user, s->spec->uid, s->spec->gid, user_known, s);
	}
}

static void ask_user_again(struct start *s)
{
	s->waiting = false;
	s->asking = true;
	lookup_user(s->l->lookup, s->order->user, s->spec->uid, s->spec->gid, user_known, s);
}

static void memory_is_there(void *arg)
{
	struct start *s = arg;

	s->memory_there = true;
	ask_user_again(s);
}

static void space_is_there(bool there, void *arg)
{
	struct start *s = arg;

	if (there) {
		ask_user_again(s);
		return;
	}
	s->waiting = false;
	run_never(s->run, *spool_guard_why(s->l) ? spool_guard_why(s->l) : "the spool is full",
	        NEVER_NODE);
}

static bool must_wait(struct start *s)
{
	if (s->order->share_charge && !s->memory_there)
		s->waiting = gpu_reclaim_wait(s->l, s->run, memory_is_there, s);
	if (!s->waiting)
		s->waiting = spool_guard_wait(s->l, s->run, space_is_there, s);
	return s->waiting;
}

static void want_mps(struct start *s, const struct lookup_user *user)
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
	s->run->mps = s->asking = true;
	wish.gpu = o->gpus[0];
	wish.gpu_uuid = o->gpu_uuids[0];
	if (s->l->containment->filter)
		r = gpu_inventory_grants(s->l->gpu_inventory, o, granted, &wish.n_devices, &err);
	if (r == 0)
		r = mps_pool_want(s->l, &wish, mps_known, s, &err);
	if (r < 0) {
		s->asking = false;
		refuse_start(s, err.text);
	}
}

static void user_known(const struct lookup_user *user, const struct error *why, void *arg)
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
	/* another controller has taken charge meanwhile */
	else if (s->order->epoch < s->l->places->max_epoch)
		refuse_start(s, "ordered by a controller that is no longer in charge");
	else if (settings_allow(s->l, &err) < 0 || check_uses(s, &err) < 0 ||
	         check_gpus(s, &err) < 0)
		refuse_start(s, err.text);
	else if (must_wait(s))
		return;
	else if (s->order->share_charge && s->order->share_mps && !s->mps_there)
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

/* The smaller of the node's own limit and the controller's. */
static uint64_t age_allowed(const struct launcher *l)
{
	uint64_t own = l->options->signature_age_s, told = l->starts->signature_age_s;

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
	        signedjob_cred_age(cred, (int64_t)time(NULL), age_allowed(s->l), err) < 0 ||
	        signedjob_check(cred, s->l->options->cluster, &job, s->spec_arena, &s->spec, &hash,
	                err) < 0 ||
	        signedjob_run_check(s->spec, o->run->task, o->run->attempt, err) < 0 ||
	        signedjob_script_check(o->script.data, o->script.len, MSG_SCRIPT_MAX, err) < 0)
		return -1;
	s->signed_at = cred->encode_time;
	if (s->spec->interactive && o->nnodes > 1)
		return error_set(err, ERR_LAUNCH, "an interactive job on %u nodes", o->nnodes);
	return check_user(s, err);
}

static void occupants_known(const char *left, void *arg)
{
	struct start *s = arg;

	s->asking = false;
	if (s->dropped) {
		start_free(s);
	} else if (left) {
		refuse_start(s, left);
	} else {
		s->asking = true;
		lookup_user(
		        s->l->lookup, s->order->user, s->spec->uid, s->spec->gid, user_known, s);
	}
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
		gpu_occupants_wait(s->l, s->order, occupants_known, s);
	}
}

static int check_order(const struct launcher *l, const Gpusched__StartRun *o, struct error *err)
{
	if (o->epoch < l->places->max_epoch)
		return error_set(err, ERR_EPOCH,
		        "ordered under epoch %llu, but epoch %llu was seen on this node",
		        (unsigned long long)o->epoch, (unsigned long long)l->places->max_epoch);
	if (strcmp(o->incarnation, l->places->incarnation) != 0)
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
	if (check_order(l, s->order, &err) < 0) {
		refuse_start(s, err.text);
		return;
	}
	places_saw_epoch(l, s->order->epoch);
	s->asking = true;
	lookup_cred(l->lookup, s->order->credential.data, s->order->credential.len, cred_known, s);
}
