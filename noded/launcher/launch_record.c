/* launch_record.c - see launch_record.h
 *
 * The record borrows from the order, the owner's signed job and the limits. What has to be made for
 * it is in its parts, which live until it is written.
 */
#include "config.h"

#include "noded/launcher/launch_record.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/each.h"
#include "common/base/error.h"
#include "common/base/xalloc.h"
#include "common/conf/nodewords.h"
#include "common/job/filename_pattern.h"
#include "noded/confine/containment_active.h"
#include "noded/confine/effective_limits.h"
#include "noded/confine/mps_pool.h"
#include "noded/contain/cgroup_limits.h"
#include "noded/contain/devfilter.h"
#include "noded/contain/device_grants.h"
#include "noded/contain/private_mounts.h"
#include "noded/contain/process_tracking.h"
#include "noded/job/jobenv.h"
#include "noded/record/inherit.h"
#include "noded/record/rundir.h"
#include "noded/runs/launcher_dirs.h"
#include "noded/runs/launcher_options.h"
#include "noded/runs/launcher_state.h"
#include "noded/runs/run_report.h"
#include "noded/runs/runs.h"
#include "noded/runs/service_ports.h"
#include "noded/runs/spawn.h"
#include "noded/runs/user_lookup.h"
#include "noded/watch/gpu_inventory.h"

#define PATH_BYTES  4096
#define OPTIONS_MAX 16 /* of a program of ours that is executed instead of the script */

/* `unset`: the value if the owner gave none; NULL: nothing. `own`: it is written to. */
static int expand_pattern(const struct launch *s, const ProtobufCBinaryData *pattern,
        const char *unset, bool own, char out[PATH_BYTES], struct error *err)
{
	struct pattern_values v = {
		.job = s->run->id.job,
		.raw_id = s->order->raw_id == s->run->id.job ? 0 : s->order->raw_id,
		.task = s->run->id.task,
		.is_array = s->spec->array[0] != '\0',
		.name = s->spec->name,
		.user = s->user->name,
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
struct launch_parts {
	char input[PATH_BYTES], output[PATH_BYTES], error[PATH_BYTES];
	char **env;
	ProtobufCBinaryData *env_list;
	size_t n_env;
	char *run_dir, *leaf, *private_dir, *near, *mps_dir, *mps_pipe, *stepd;
	/* executed instead of the script: gprobe, which starts it, or gstepd; NULL: none */
	char *program;
	bool no_script;             /* gstepd is all that runs */
	char *options[OPTIONS_MAX]; /* of that program */
	size_t n_options;
	ProtobufCBinaryData *args; /* all its arguments */
	size_t n_args;
	uint32_t ports[REPLICA_PORTS_MAX]; /* of a replica */
	size_t n_ports;
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

void launch_parts_free(struct launch_parts *p)
{
	if (!p)
		return;
	jobenv_free(p->env);
	free(p->env_list);
	free(p->run_dir);
	free(p->leaf);
	free(p->private_dir);
	free(p->near);
	free(p->mps_dir);
	free(p->mps_pipe);
	free(p->stepd);
	free(p->program);
	for (size_t i = 0; i < p->n_options; i++)
		free(p->options[i]);
	free(p->args);
	free(p->gpus);
	run_report_free(p->report);
	cgroup_limits_list_free(p->limits, p->n_limits);
	free(p);
}

static Gpusched__RunReport *make_report(const struct launch *s, struct launch_parts *p)
{
	const Gpusched__StartRun *o = s->order;
	Gpusched__RunReport r = GPUSCHED__RUN_REPORT__INIT;
	Gpusched__RunOwner owner = GPUSCHED__RUN_OWNER__INIT;
	Gpusched__Replica replica = GPUSCHED__REPLICA__INIT;

	replica.health = GPUSCHED__REPLICA__HEALTH__LOADING;
	replica.ports = p->ports;
	replica.n_ports = p->n_ports;
	if (s->spec->service)
		r.replica = &replica;

	COPY_FIELDS(&owner, o, user, account, partition, qos);
	COPY_FIELDS(&owner, s->spec, name, array, gid);
	r.owner = &owner;
	r.run = o->run;
	r.state = GPUSCHED__RUN_REPORT__STATE__STARTING;
	r.incarnation = s->l->dirs->incarnation;
	COPY_FIELDS(&r, o, epoch, n_gpus, gpus, gpu_type, cpus, mem_mb, share_charge, share_milli,
	        share_mb, share_burst_mb);
	r.uid = s->spec->uid;
	r.nnodes = o->nnodes;
	return run_report_copy(&r);
}

static int grant_devices(const struct launch *s, struct launch_parts *p, struct error *err)
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
static void add_programs(const struct launcher *l, struct launch_parts *p)
{
	for (int k = 0; k < PROGRAM_RUN_KINDS; k++) {
		Gpusched__RunProgram *m = &p->programs[p->n_programs];

		if (!l->limits->programs[k].path)
			continue;
		gpusched__run_program__init(m);
		m->kind = (uint32_t)k;
		m->timeout_ms = l->limits->programs[k].timeout_ms;
		set_bytes(&m->path, l->limits->programs[k].path);
		p->program_list[p->n_programs++] = m;
	}
}

static void add_option(struct launch_parts *p, char *option)
{
	assert(p->n_options < OPTIONS_MAX);
	p->options[p->n_options++] = option;
}

/* A job with steps: its script is executed on the first of its nodes, gstepd on the others, which
 * has no files. An allocation has no script. */
static void add_stepd(const struct launch *s, struct launch_parts *p)
{
	const Gpusched__Steps *steps = s->spec->steps;
	bool first = s->run->id.rank == 0;
	bool allocation = steps && steps->mode == GPUSCHED__STEPS__MODE__ALLOCATION;

	if (!steps)
		return;
	p->stepd = spawn_path(s->l, "gstepd");
	if (!allocation && first)
		return;
	p->program = xstrdup(p->stepd);
	p->no_script = true;
	add_option(p, xstrdup("--serve"));
	if (!first)
		return;
	add_option(p, xstrdup("--allocation"));
	add_option(p, xasprintf("--patience=%u", steps->patience_s));
}

/* A replica of a service: gprobe, which starts the script. */
static void add_probe(const struct launch *s, struct launch_parts *p)
{
	const Gpusched__ServiceSpec *v = s->spec->service;

	if (!v)
		return;
	p->program = spawn_path(s->l, "gprobe");
	add_option(p, xasprintf("--fd=%d", PROBE_FD));
	add_option(p, xasprintf("--name=%s", v->name));
	if (*v->ready)
		add_option(p, xasprintf("--ready=%s", v->ready));
	if (*v->live)
		add_option(p, xasprintf("--live=%s", v->live));
	add_option(p, xasprintf("--every=%u", v->probe_every_ms));
	add_option(p, xasprintf("--timeout=%u", v->probe_timeout_ms));
	add_option(p, xasprintf("--fails=%u", v->probe_fails));
	add_option(p, xasprintf("--load-time=%u", v->load_time_s));
	if (*v->metrics)
		add_option(p, xasprintf("--metrics=%s", v->metrics));
	if (*v->metrics_path)
		add_option(p, xasprintf("--metrics-path=%s", v->metrics_path));
	if (p->n_ports)
		add_option(p, xasprintf("--port=%u", p->ports[0]));
	add_option(p, xasprintf("--drain=%u", v->drain_s));
	add_option(p, xasprintf("--run-dir=%s", p->run_dir));
	add_option(p, xstrdup("--"));
	add_option(p, xasprintf("%s/" RUNDIR_SCRIPT, p->run_dir));
}

/* The program's arguments: its options, and what the script has if that is started too. */
static void list_args(const struct launch *s, struct launch_parts *p)
{
	size_t own = p->no_script ? 0 : s->spec->n_args;

	p->args = xcalloc(p->n_options + own + 1, sizeof(*p->args));
	for (size_t i = 0; i < p->n_options; i++)
		set_bytes(&p->args[p->n_args++], p->options[i]);
	for (size_t i = 0; i < own; i++)
		p->args[p->n_args++] = s->spec->args[i];
}

static int find_ports(const struct launch *s, struct launch_parts *p, struct error *err)
{
	if (!s->spec->service)
		return 0;
	p->n_ports = s->spec->service->ports;
	return service_ports_choose(s->l, p->n_ports, p->ports, err);
}

/* The texts and lists that need no check. */
static void find_places(const struct launch *s, struct launch_parts *p)
{
	const struct launcher *l = s->l;
	bool own_tmp = l->containment->private_kinds & 1u << PRIVATE_TMP;

	p->run_dir = xasprintf("%s/%s", l->dirs->spool_runs_path, s->run->name);
	p->leaf = contain_root_leaf(l->containment->root, s->run->name);
	p->private_dir =
	        own_tmp ? xasprintf("%s/%s", l->dirs->private_path, s->run->name) : xstrdup("");
	p->near = gpu_inventory_near(l->gpu_inventory, s->order);
	p->mps_dir = s->run->mps ? mps_pool_dir(l, s->run->uid, s->order->gpus[0]) : xstrdup("");
	p->mps_pipe = s->run->mps ? xasprintf("%s/" MPS_PIPE_DIR, p->mps_dir) : NULL;
	for (size_t i = 0; i < l->limits->n_rlimits; i++)
		p->rlimit_list[i] = &l->limits->rlimits[i];
}

static void find_limits(const struct launch *s, struct launch_parts *p)
{
	uint64_t mem_mb = s->order->mem_mb;
	const uint64_t values[LIMIT_KINDS] = {
		[LIMIT_MEMORY] = mem_mb > UINT64_MAX >> 20 ? UINT64_MAX : mem_mb << 20,
		[LIMIT_PIDS] = s->l->limits->max_processes,
		[LIMIT_CPU] = s->order->cpus,
	};

	p->n_limits = cgroup_limits_list(
	        contain_root_limits(s->l->containment->root), p->leaf, values, &p->limits);
}

static int make_env(const struct launch *s, struct launch_parts *p, struct error *err)
{
	struct jobenv_in in = {
		.order = s->order,
		.spec = s->spec,
		.cluster = s->l->options->cluster,
		.node = s->l->options->node,
		.user = s->user->name,
		.home = s->user->home,
		.shell = s->user->shell,
		.mps_pipe = p->mps_pipe,
		.stepd = p->stepd,
		.ports = p->ports,
		.n_ports = p->n_ports,
		.gpus = p->gpus,
		.run_dir = p->run_dir,
		.start_time = clock_us(CLOCK_REALTIME),
		.own_numbers = s->l->containment->filter &&
		               (p->gpus || device_grants_know_gpus(s->l->containment->grants)),
	};

	p->env = jobenv_make(&in, err);
	if (!p->env)
		return -1;
	p->env_list = env_bytes(p->env, &p->n_env);
	return 0;
}

static int make_files(const struct launch *s, struct launch_parts *p, struct error *err)
{
	const Gpusched__SignedSpec *spec = s->spec;
	const char *unset = spec->interactive ? NULL
	                    : spec->array[0]  ? PATTERN_OUTPUT_ARRAY
	                                      : PATTERN_OUTPUT;

	if (p->no_script) {
		snprintf(p->output, sizeof(p->output), "/dev/null");
		return 0;
	}
	if (expand_pattern(s, &spec->input, NULL, false, p->input, err) < 0 ||
	        expand_pattern(s, &spec->output, unset, true, p->output, err) < 0)
		return -1;
	return expand_pattern(s, &spec->error, NULL, true, p->error, err);
}

struct launch_parts *launch_parts_new(const struct launch *s, struct error *err)
{
	struct launch_parts *p = xcalloc(1, sizeof(*p));

	find_places(s, p);
	find_limits(s, p);
	add_programs(s->l, p);
	if (find_ports(s, p, err) < 0) {
		launch_parts_free(p);
		return NULL;
	}
	p->report = make_report(s, p);
	add_stepd(s, p);
	add_probe(s, p);
	list_args(s, p);
	if (gpu_inventory_find(s->l->gpu_inventory, s->order, &p->gpus, err) == 0 &&
	        grant_devices(s, p, err) == 0 && make_files(s, p, err) == 0 &&
	        make_env(s, p, err) == 0)
		return p;
	launch_parts_free(p);
	return NULL;
}

Gpusched__RunReport *launch_parts_take_report(struct launch_parts *p)
{
	Gpusched__RunReport *report = p->report;

	p->report = NULL;
	return report;
}

/* What its owner signed. */
static void fill_job(
        const struct launch *s, const struct launch_parts *p, Gpusched__LaunchRecord *r)
{
	r->gid = s->spec->gid;
	r->nonce = s->spec->nonce;
	r->signed_at = s->signed_at;
	r->n_args = p->n_args;
	r->args = p->args;
	set_bytes(&r->program, p->program ? p->program : "");
	r->probe = s->spec->service != NULL;
	r->steps = s->spec->steps != NULL;
	r->n_env = p->n_env;
	r->env = p->env_list;
	r->cwd = s->spec->cwd;
	set_bytes(&r->input, p->input);
	set_bytes(&r->output, p->output);
	set_bytes(&r->error, p->error);
	r->append = s->spec->append;
	r->umask = s->spec->umask;
	r->interactive = s->spec->interactive != NULL;
	r->summary = !s->spec->no_summary && !p->no_script;
	r->show_output = s->spec->show_output;
}

/* What the controller ordered. */
static void fill_order(
        const struct launch *s, const struct launch_parts *p, Gpusched__LaunchRecord *r)
{
	const Gpusched__StartRun *o = s->order;

	COPY_FIELDS(r, o, time_limit_s, warn_signal, warn_before_s, grace_s, requeue);
	r->gpu_mem_mb = o->share_burst_mb ? o->share_burst_mb : o->gpu_mem_mb;
	COPY_FIELDS(r, o, waited_us, cost_hour_u, currency);
	if (!p->gpus)
		return;
	r->n_gpu_uuids = o->n_gpu_uuids;
	r->gpu_uuids = o->gpu_uuids;
	if (o->share_charge)
		r->gpu_mem_allowed_mb = o->share_burst_mb ? o->share_burst_mb : o->share_mb;
}

/* What confines it here. */
static void fill_limits(
        const struct launch *s, const struct launch_parts *p, Gpusched__LaunchRecord *r)
{
	const struct launcher *l = s->l;

	r->kill_wait_ms = l->limits->kill_wait_ms;
	r->launch_timeout_ms = l->options->launch_timeout_ms;
	r->n_limits = p->n_limits;
	r->limits = p->limits;
	r->private_kinds = l->containment->private_kinds;
	r->private_tmp_mb = l->limits->private_tmp_mb;
	if (s->run->mps) /* its processes and the daemon meet there */
		r->private_kinds &= ~(1u << PRIVATE_SHM | 1u << PRIVATE_IPC);
	set_bytes(&r->mps_dir, p->mps_dir);
	set_bytes(&r->private_dir, p->private_dir);
	set_bytes(&r->near_cpus, p->near);
	r->n_rlimits = l->limits->n_rlimits;
	r->rlimits = (Gpusched__RunRlimit **)(uintptr_t)p->rlimit_list;
	r->n_programs = p->n_programs;
	r->programs = (Gpusched__RunProgram **)(uintptr_t)p->program_list;
	r->port_low = l->options->service_port_low;
	r->port_high = l->options->service_port_high;
	r->device_filter = l->containment->filter;
	r->n_devices = p->n_devices;
	r->devices = (Gpusched__RunDevice **)(uintptr_t)p->device_list;
}

void launch_record_fill(
        const struct launch *s, const struct launch_parts *p, Gpusched__LaunchRecord *r)
{
	gpusched__launch_record__init(r);
	r->report = p->report;
	r->user = s->user->name;
	r->n_groups = s->user->n_groups;
	r->groups = s->user->groups;
	r->switch_user = s->l->root;
	r->node = (char *)(uintptr_t)s->l->options->node;
	set_bytes(&r->run_dir, p->run_dir);
	set_bytes(&r->cgroup, p->leaf);
	fill_job(s, p, r);
	fill_order(s, p, r);
	fill_limits(s, p, r);
}
