/* service_reconcile.c - see services.h: the steps of a service
 *
 * A step only looks at records and calls movers: it may be done at any time, and once more without
 * harm. It never starts a replica. What it lets run is a number, `at_once` of each generation's
 * array: the slots that should run, and those that are booked without being of use (they drain, or
 * their node does not answer). Slots that wait for their back-off count as if they ran, else a
 * program that ends at once would start in one fresh slot after another.
 *
 * Replicas are given up in this order: those that do not run yet, LOADING, UNREADY, then READY; of
 * equal ones those with the burst QOS, then those with the least in flight, then the highest slot.
 *
 * Which replicas are kept follows from those that live, not from the numbers of their slots. While
 * fewer than `kept` have the QOS of kept ones, all slots that wait have it, and only so many start
 * as are missing; then all slots that wait have the burst QOS. So a replica of the burst QOS never
 * takes the room of one that is kept, and what comes in the place of a kept one is kept.
 */
#include "ctld/core/services/services.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "ctld/core/attempts/limit_usage.h"
#include "ctld/core/jobs/array_split.h"
#include "ctld/core/jobs/eligible.h"
#include "ctld/core/jobs/life.h"
#include "ctld/core/nodes/node_silence.h"
#include "ctld/core/records/audit_note.h"
#include "ctld/core/records/job.h"
#include "ctld/core/records/node.h"
#include "ctld/core/records/run.h"
#include "ctld/core/rows/effects.h"
#include "ctld/core/rows/state.h"
#include "ctld/core/runs/run_orders.h"
#include "ctld/core/scale/scaler.h"
#include "ctld/core/sched/sched.h"
#include "ctld/core/services/avoid_bad_nodes.h"
#include "ctld/core/services/rolling_update.h"
#include "ctld/core/services/services_impl.h"

#define STEPS_SLICE   64 /* services of one event */
#define STEP_EVERY    USEC_PER_S /* so often at most, if only its load has changed */

/* What a step finds. */
struct look {
	struct core *core;
	struct service *s;
	struct replica *v; /* those that are or will be of use, of all generations */
	size_t n;
	uint32_t settled;  /* of the next generation: READY for settle_s */
	usec_t due;        /* mono: when something changes by itself */
	double running, waiting, kv;
	uint32_t known, late; /* late: loading for more than twice the learned load time */
	uint64_t answered; /* requests, since the last look */
	bool served;       /* something was, since the last look */
};

static void due_by(struct look *l, usec_t mono)
{
	if (mono < l->due)
		l->due = mono;
}

/* --- the present state of the replicas ------------------------------------------------------- */

/* A short request may come and go between two reports; of a server that does not count requests
 * (llama.cpp's) only the tokens tell of it. */
static void look_at_load(struct look *l, struct run *run)
{
	struct run_replica *r = run_replica_known(run);
	const struct run_load *load = &r->load;

	if (r->requests > r->answered_seen && r->answered_seen)
		l->answered += r->requests - r->answered_seen;
	if (r->requests > r->answered_seen || r->tokens > r->tokens_seen)
		l->served = true;
	r->answered_seen = r->requests;
	r->tokens_seen = r->tokens;
	if (!load->known)
		return;
	l->known++;
	l->running += (double)load->running_milli / 1000;
	l->waiting += (double)load->waiting_milli / 1000;
	l->kv += load->kv_milli / 1000.0;
}

static void look_at_ready(struct look *l, const struct replica *r)
{
	const struct service_info *i = service_info(l->s);
	struct run *run = runs_find(l->core->runs, run_info(r->run)->id);
	struct run_replica *replica = run_replica_known(run);
	usec_t settled = replica->ready_since + (usec_t)i->policy.settle_s * USEC_PER_S;

	if (!replica->learned && replica->ready_time > run_info(run)->start_time)
		scaler_learn(service_link(l->s)->scaler,
		        replica->ready_time - run_info(run)->start_time);
	replica->learned = true;
	if (r->role == GEN_NEXT) {
		/* A restart of the controller has lost since when it is READY. */
		if (settled <= l->core->now.mono)
			l->settled++;
		else
			due_by(l, settled);
	}
	look_at_load(l, run);
}

/* Has the replica been loading for too long? */
static void look_at_loading(struct look *l, const struct replica *r)
{
	usec_t learned = scaler_load_time(service_link(l->s)->scaler);
	usec_t late = run_link_of(r->run)->started + 2 * learned;

	if (!learned || !run_started_known(r->run))
		return;
	if (late < l->core->now.mono)
		l->late++;
	else
		due_by(l, late + 1);
}

static void keep(struct core *core, const struct replica *r, bool kept)
{
	job_keep(core, jobs_find(core->jobs, job_ref(r->job)), kept);
}

static void count(struct look *l, const struct replica *r)
{
	struct service_counts *c = &service_link(l->s)->counts[r->role];
	usec_t begin = job_info(r->job)->begin_time;

	if (r->state == REPLICA_PENDING) {
		if (begin > l->core->now.wall) {
			c->backing_off++;
			due_by(l, l->core->now.mono + (begin - l->core->now.wall));
		}
		return;
	}
	c->draining += r->state == REPLICA_DRAINING;
	c->lost += r->state != REPLICA_DRAINING && r->lost;
	if (r->state == REPLICA_DRAINING || r->lost) {
		keep(l->core, r, false);
		return;
	}
	c->alive++;
	c->loading += r->state == REPLICA_CONFIGURING || r->state == REPLICA_LOADING;
	c->unready += r->state == REPLICA_UNREADY;
	c->ready += r->state == REPLICA_READY;
	if (r->state == REPLICA_READY)
		look_at_ready(l, r);
	else if (r->state == REPLICA_LOADING)
		look_at_loading(l, r);
	l->v = xrealloc(l->v, l->n + 1, sizeof(*l->v));
	l->v[l->n] = *r;
	l->v[l->n++].of_kept = job_info(r->job)->qos == job_info(job_own(r->job))->qos;
}

/* A step looks twice. Each time everything is counted from 0 again, except the requests served: the
 * second look finds no more of them. */
static void look(struct look *l)
{
	struct service_link *link = service_link(l->s);
	struct replica_walk at = { 0 };
	struct replica r;

	l->n = 0;
	l->settled = l->known = l->late = 0;
	l->running = l->waiting = l->kv = 0;
	memset(link->counts, 0, sizeof(link->counts));
	while (service_each(l->s, &at, &r))
		count(l, &r);
	link->in_flight = l->running;
	link->waiting = l->waiting;
}

/* --- the number of replicas wanted ----------------------------------------------------------- */

static void note_rate(struct look *l)
{
	struct service_link *link = service_link(l->s);
	double passed = (double)(l->core->now.mono - link->stepped) / USEC_PER_S;

	if (passed > 0)
		link->answer_rate = (double)l->answered / passed;
}

static void decide_wanted(struct look *l)
{
	const struct service_info *i = service_info(l->s);
	struct service_link *link = service_link(l->s);
	const struct service_counts *c = link->counts;
	uint32_t ready = c[GEN_PRESENT].ready + c[GEN_NEXT].ready + c[GEN_UNDO].ready;
	uint32_t alive = c[GEN_PRESENT].alive + c[GEN_NEXT].alive + c[GEN_UNDO].alive;
	struct scale_input in = { .now = l->core->now.mono,
		.ready = ready,
		.loading = i->wanted > ready ? i->wanted - ready : alive - ready,
		.late = l->late,
		.known = l->known,
		.running = l->running,
		.waiting = l->waiting,
		.kv = l->known ? l->kv / l->known : 0,
		.held = link->held_until > l->core->now.mono ? link->held : 0,
		.answered = link->answer_rate };
	struct scale_decision d;
	uint32_t want;
	char text[SCALE_TEXT + 80];

	if (l->served)
		scaler_wake(link->scaler, in.now);
	d = scaler_step(link->scaler, &in);
	due_by(l, d.next);
	if (link->held_until > l->core->now.mono)
		due_by(l, link->held_until);
	want = i->paused || i->stopping ? 0 : d.want;
	if (want == i->wanted && (*i->decision || i->paused))
		return;
	snprintf(text, sizeof(text), "%s", i->paused ? "paused" : d.text);
	snprintf(text + strlen(text), sizeof(text) - strlen(text), " (%u before)", i->wanted);
	service_set_wanted(l->core->services, l->s, want, text, l->core->now.wall);
	audit_note(l->core, "service.scale", NULL, i->gens[GEN_PRESENT].job, "", text);
}

/* --- generations ----------------------------------------------------------------------------- */

void service_drop_generation(
        struct core *core, struct service *s, enum generation_role role, enum end_cause cause)
{
	struct service_link *link = service_link(s);
	struct generation gen = service_info(s)->gens[role];
	struct job *own = link->jobs[role];
	struct replica_walk at = { .role = role };
	struct replica r;

	while (own && service_each(s, &at, &r) && r.role == role) {
		struct job *part = jobs_find(core->jobs, job_ref(r.job));

		if (job_info(part)->state != JOB_PENDING)
			job_stop(core, part, &(struct stop){ .cause = cause });
	}
	if (own && !job_state_ended((enum job_state)job_info(own)->state))
		job_cancel_pending(core, own);
	link->jobs[role] = NULL;
	if (own && role != GEN_LEAVING && !link->jobs[GEN_LEAVING] &&
	        !job_state_ended((enum job_state)job_info(own)->state)) {
		link->jobs[GEN_LEAVING] = own;
		service_set_generation(core->services, s, GEN_LEAVING, &gen);
	} else if (own) {
		job_link(own)->array->service = NULL;
	}
	service_set_generation(core->services, s, role, &(struct generation){ .spec = "" });
}

/* Moves a generation to another role; the generation that had that role ends. */
void service_pass_on(
        struct core *core, struct service *s, enum generation_role from, enum generation_role to)
{
	struct service_link *link = service_link(s);
	struct generation gen = service_info(s)->gens[from];

	if (link->jobs[to])
		service_drop_generation(core, s, to, END_ROLL);
	service_set_generation(core->services, s, to, &gen);
	link->jobs[to] = link->jobs[from];
	link->jobs[from] = NULL;
	service_set_generation(core->services, s, from, &(struct generation){ .spec = "" });
}

static void rolled(struct look *l)
{
	struct core *core = l->core;
	char text[120];

	service_pass_on(core, l->s, GEN_PRESENT, GEN_UNDO);
	service_pass_on(core, l->s, GEN_NEXT, GEN_PRESENT);
	snprintf(text, sizeof(text), "generation %u has taken over",
	        service_info(l->s)->gens[GEN_PRESENT].number);
	audit_note(core, "service.rolled", NULL, service_info(l->s)->gens[GEN_PRESENT].job, "", text);
}

static void give_up_roll(struct look *l)
{
	const struct generation *next = &service_info(l->s)->gens[GEN_NEXT];
	char text[200];

	snprintf(text, sizeof(text),
	        "generation %u (job %llu) was given up: %d of its replicas ended before they were "
	        "READY; generation %u stays",
	        next->number, (unsigned long long)next->job, ROLLING_UPDATE_FAILURES,
	        service_info(l->s)->gens[GEN_PRESENT].number);
	audit_note(l->core, "service.roll_failed", NULL, next->job, "", text);
	service_set_trouble(l->core->services, l->s, text);
	service_drop_generation(l->core, l->s, GEN_NEXT, END_ROLL);
}

/* Fills in how many replicas each generation should have. */
static void targets(struct look *l, uint32_t target[GEN_COUNT])
{
	const struct service_info *i = service_info(l->s);
	struct rolling_update_in in = { .wanted = i->wanted,
		.surge = i->policy.surge,
		.ready = service_link(l->s)->counts[GEN_NEXT].ready,
		.settled = l->settled,
		.present_ready = service_link(l->s)->counts[GEN_PRESENT].ready,
		.failed_loads = service_link(l->s)->failed_loads };
	struct rolling_update_out out;

	target[GEN_PRESENT] = i->wanted;
	target[GEN_NEXT] = target[GEN_UNDO] = target[GEN_LEAVING] = 0;
	if (!i->gens[GEN_NEXT].job)
		return;
	out = rolling_update_targets(&in);
	if (out.given_up && !out.next) {
		give_up_roll(l);
		return;
	}
	if (out.done) {
		rolled(l);
		return;
	}
	target[GEN_PRESENT] = out.present;
	target[GEN_NEXT] = out.next;
}

/* --- giving up replicas ---------------------------------------------------------------------- */

static uint64_t in_flight(const struct replica *r)
{
	const struct run_load *load = &run_replica(r->run)->load;

	return load->known ? load->running_milli + load->waiting_milli : 0;
}

/* The replicas that are given up first stand first. */
static int shed_before(const void *x, const void *y)
{
	const struct replica *a = x, *b = y;

	if (a->state != b->state)
		return a->state < b->state ? -1 : 1;
	if (a->of_kept != b->of_kept)
		return a->of_kept ? 1 : -1;
	if (in_flight(a) != in_flight(b))
		return in_flight(a) < in_flight(b) ? -1 : 1;
	return a->slot > b->slot ? -1 : 1;
}

static void shed(struct look *l, enum generation_role role, uint32_t n, enum end_cause cause)
{
	for (size_t i = 0; i < l->n && n; i++) {
		struct job *part = jobs_find(l->core->jobs, job_ref(l->v[i].job));

		if (l->v[i].role != role || !part || job_info(part)->state == JOB_PENDING ||
		        job_info(part)->state == JOB_COMPLETING)
			continue;
		job_stop(l->core, part,
		        &(struct stop){ .cause = cause, .requeue = true });
		n--;
	}
}

/* --- which slots may run --------------------------------------------------------------------- */

/* The number of replicas with the QOS of kept ones that are still to start. */
static uint32_t kept_to_come(const struct look *l, enum generation_role role, uint32_t target)
{
	const struct service_info *i = service_info(l->s);
	uint32_t n = i->policy.kept < target ? i->policy.kept : target;

	if (!*i->burst_qos)
		return 0; /* all have the same */
	for (size_t k = 0; k < l->n && n; k++)
		n -= l->v[k].role == role && l->v[k].of_kept;
	return n;
}

static void allow(struct look *l, enum generation_role role, uint32_t target, uint32_t *room)
{
	struct service_link *link = service_link(l->s);
	const struct service_counts *c = &link->counts[role];
	struct job *own = link->jobs[role];
	uint32_t booked = c->draining + c->lost, kept, may, running;

	if (!own || job_state_ended((enum job_state)job_info(own)->state))
		return;
	running = job_link(own)->array->running;
	may = target + booked;
	may -= may > c->backing_off ? c->backing_off : may;
	/* Draining replicas are alive: new ones start beside them only as far as the surge goes. */
	if (may > running && may - running > *room)
		may = running + *room;
	kept = kept_to_come(l, role, target);
	if (kept && may > running + kept)
		may = running + kept;
	service_set_slots_qos(l->core, l->s, role, kept > 0);
	*room -= may > running ? may - running : 0;
	if (job_link(own)->array->at_once != may)
		array_set_at_once(l->core, own, may);
}

/* So many are kept, as far as the guarantee of their account covers them: those that the service
 * would give up last, so READY ones before those that load. Those that no longer are make room
 * first. */
static void mark_kept(struct look *l)
{
	uint32_t kept = service_info(l->s)->policy.kept;
	size_t first = l->n > kept ? l->n - kept : 0;

	for (size_t i = 0; i < first; i++) {
		if (job_link_of(l->v[i].job)->guarded)
			sched_wake_all(l->core->sched); /* it may be stopped now */
		keep(l->core, &l->v[i], false);
	}
	for (size_t i = l->n; i-- > first;)
		keep(l->core, &l->v[i], true);
}

static void apply_targets(struct look *l, const uint32_t target[GEN_COUNT])
{
	const struct service_info *i = service_info(l->s);
	struct service_counts *c = service_link(l->s)->counts;
	uint32_t alive = 0, most = i->wanted + i->policy.surge, room;

	for (int g = 0; g < GEN_COUNT; g++)
		alive += c[g].alive + c[g].draining;
	due_by(l, avoid_step(l->core, l->s, alive));
	room = most > alive ? most - alive : 0;
	if (l->n)
		qsort(l->v, l->n, sizeof(*l->v), shed_before);
	mark_kept(l);
	for (int g = 0; g < GEN_COUNT; g++) {
		if (c[g].alive > target[g])
			shed(l, (enum generation_role)g, c[g].alive - target[g],
			        service_info(l->s)->gens[GEN_NEXT].job || g != GEN_PRESENT
			                ? END_ROLL
			                : END_SCALE);
		allow(l, (enum generation_role)g, target[g], &room);
	}
}

/* --- the end --------------------------------------------------------------------------------- */

/* Orders all jobs of the service to end; when they have ended the service is removed. */
static void stop_step(struct core *core, struct service *s)
{
	struct service_link *link = service_link(s);
	struct replica_walk at = { 0 };
	struct replica r;
	unsigned left = 0;

	for (int g = 0; g < GEN_COUNT; g++) {
		struct job *own = link->jobs[g];

		if (!own)
			continue;
		if (job_state_ended((enum job_state)job_info(own)->state)) {
			job_link(own)->array->service = NULL;
			link->jobs[g] = NULL;
			continue;
		}
		left++;
		job_cancel_pending(core, own);
	}
	while (service_each(s, &at, &r)) {
		struct job *part = jobs_find(core->jobs, job_ref(r.job));

		if (job_info(part)->state == JOB_PENDING)
			job_cancel_pending(core, part);
		else if (job_info(part)->end_cause != END_CANCEL)
			job_stop(core, part, &(struct stop){ .cause = END_CANCEL });
	}
	if (left)
		return;
	audit_note(core, "service.end", NULL, 0, "", service_info(s)->name);
	services_remove(core->services, s);
}

/* Was the job of the present generation cancelled by itself? Then the service ends. */
static bool has_ended(const struct service *s)
{
	const struct job *own = service_link_of(s)->jobs[GEN_PRESENT];

	return !own || job_state_ended((enum job_state)job_info(own)->state);
}

/* The job of another generation was cancelled: the service continues without that generation. */
static void forget_ended(struct core *core, struct service *s)
{
	struct service_link *link = service_link(s);

	for (int g = GEN_PRESENT + 1; g < GEN_COUNT; g++) {
		struct job *own = link->jobs[g];

		if (own && job_state_ended((enum job_state)job_info(own)->state))
			service_drop_generation(core, s, (enum generation_role)g, END_ROLL);
	}
}

static void step(struct core *core, struct service *s)
{
	struct look l = { .core = core, .s = s, .due = INT64_MAX };
	uint32_t target[GEN_COUNT];

	services_set_due(core->services, s, INT64_MAX);
	if (has_ended(s))
		service_set_stopping(core->services, s);
	if (!service_info(s)->stopping)
		forget_ended(core, s);
	look(&l);
	note_rate(&l);
	service_link(s)->stepped = core->now.mono;
	if (service_info(s)->stopping) {
		free(l.v);
		stop_step(core, s);
		return;
	}
	decide_wanted(&l);
	targets(&l, target);
	/* A generation that has passed on its role: its replicas are counted under the new one. */
	look(&l);
	apply_targets(&l, target);
	free(l.v);
	services_set_due(core->services, s, l.due);
}

/* --- when a step is due ---------------------------------------------------------------------- */

void services_apply(struct core *core)
{
	struct service *s;
	unsigned n = 0;

	if (core->suspended)
		return;
	while (n < STEPS_SLICE && (s = services_first_due(core->services)) &&
	        service_link(s)->due <= core->now.mono) {
		services_set_due(core->services, s, INT64_MAX);
		services_touch(core->services, s);
		n++;
	}
	/* A step may touch its service again: that is for the next call, which is due at once. */
	for (n = 0; n < STEPS_SLICE && (s = services_take_touched(core->services)); n++)
		step(core, s);
}

usec_t services_due(const struct core *core)
{
	const struct service *s = services_first_due(core->services);

	if (services_touched(core->services))
		return core->now.mono;
	return s ? service_link_of(s)->due : INT64_MAX;
}

void runs_load_apply(struct core *core, const struct core_event *e)
{
	struct node *node = nodes_at(core->nodes, e->load.node);

	if (!node || !e->load.session || node_link(node)->session != e->load.session ||
	        core->suspended)
		return;
	heartbeat_apply(core, e->load.node, e->load.session);
	for (size_t i = 0; i < e->load.n; i++) {
		struct run *run = runs_find(core->runs, e->load.runs[i].run);
		struct job *job = run ? run_link(run)->job : NULL;
		struct service *s = job ? job_service(job) : NULL;
		usec_t soon;

		if (!s || run_info(run)->node != node_info(node)->name || run_over(run))
			continue;
		run_set_load(run, &e->load.runs[i]);
		soon = service_link(s)->stepped + STEP_EVERY;
		if (soon < service_link(s)->due)
			services_set_due(core->services, s, soon);
	}
}
