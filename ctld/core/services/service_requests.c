/* service_requests.c - services that come, change and go: submits, and what their owners ask for
 *
 * Everything is checked before anything is changed. The policy of a service is one: an update
 * brings its own, and `gserve scale` changes the one there is. What was signed (ports, probes, the
 * number of slots) is each generation's.
 */
#include <stdio.h>
#include <string.h>

#include "common/base/taskset.h"
#include "ctld/core/accounts/roles.h"
#include "ctld/core/attempts/limit_usage.h"
#include "ctld/core/jobs/array_split.h"
#include "ctld/core/jobs/eligible.h"
#include "ctld/core/records/audit_note.h"
#include "ctld/core/records/job.h"
#include "ctld/core/rows/effects.h"
#include "ctld/core/rows/state.h"
#include "ctld/core/scale/scaler.h"
#include "ctld/core/services/services.h"
#include "ctld/core/services/services_impl.h"

#define HELD_FOR (60 * USEC_PER_S) /* how long a report of gactivate counts */
#define VALID_DAYS 90              /* where its owner gives none */

/* --- the policy ------------------------------------------------------------------------------ */

/* What a request leaves out has these defaults. */
static const struct service_policy defaults = { .kv_target_milli = 800,
	.window_s = 60,
	.burst_window_s = 6,
	.scale_down_s = 300,
	.to_zero_s = 900 };

static struct service_policy with_defaults(const struct service_policy *asked)
{
	struct service_policy p = *asked;

#define X(name) p.name = p.name ? p.name : defaults.name;
	SERVICE_POLICY(X)
#undef X
	return p;
}

static int check_policy(const struct service_policy *p, uint32_t slots, struct error *err)
{
	if (!p->max || p->max > SERVICE_REPLICAS_MAX)
		return error_set(err, ERR_JOB_SPEC, "--replicas: 1 to %d at most are possible, not %u",
		        SERVICE_REPLICAS_MAX, p->max);
	if (p->min > p->max)
		return error_set(err, ERR_JOB_SPEC, "--replicas=%u-%u: MIN is above MAX", p->min,
		        p->max);
	if (p->kept > p->max)
		return error_set(err, ERR_JOB_SPEC, "--kept=%u: there are %u replicas at most",
		        p->kept, p->max);
	if (p->kv_target_milli > 1000)
		return error_set(err, ERR_JOB_SPEC, "--kv-target: 100%% is all of the cache");
	if (2 * p->max + p->surge > slots) {
		error_set(err, ERR_JOB_SPEC,
		        "up to %u replicas need %u slots, and its owner has signed %u", p->max,
		        2 * p->max + p->surge, slots);
		return error_hint(err, "sign more: gserve update with --replicas=%u-%u", p->min,
		        p->max);
	}
	return 0;
}

static struct scale_policy scale_policy(const struct service_policy *p)
{
	bool scales = p->target_milli;

	return (struct scale_policy){ .min = p->min,
		.max = p->max,
		.target = p->target_milli / 1000.0,
		.kv_target = scales ? p->kv_target_milli / 1000.0 : 0,
		.window = (usec_t)p->window_s * USEC_PER_S,
		.burst_window = (usec_t)p->burst_window_s * USEC_PER_S,
		.scale_down = (usec_t)p->scale_down_s * USEC_PER_S,
		.to_zero = (usec_t)p->to_zero_s * USEC_PER_S,
		.request_wait = (usec_t)p->request_wait_ms * 1000 };
}

/* --- slots ----------------------------------------------------------------------------------- */

/* Sets the QOS of the job; `qos` is interned, as the job's own is. */
static void set_qos(struct core *core, struct job *job, const char *qos)
{
	if (job_info(job)->qos == qos)
		return;
	job_withdraw(core, job);
	job_count(core, job_info(job), -(int)job_weight(job));
	job_set_qos(core->jobs, job, qos);
	job_count(core, job_info(job), (int)job_weight(job));
	job_requested(core, job);
	job_consider(core, job);
}

/* The array parent keeps the QOS with which it was submitted: its slots move to a part. */
void service_set_slots_qos(
        struct core *core, struct service *s, enum generation_role role, bool kept)
{
	struct job *own = service_link(s)->jobs[role], *w, *next;
	const char *burst = service_info(s)->burst_qos;
	const char *qos = kept || !*burst ? job_info(own)->qos : burst;

	if (job_weight(own) && job_info(own)->qos != qos)
		array_split(core, own, job_tasks(own), false);
	for (w = job_array(own)->waiting; w; w = next) {
		next = job_link(w)->next;
		if (w != own)
			set_qos(core, w, qos);
	}
}

/* --- submits --------------------------------------------------------------------------------- */

static bool good_name(const char *name)
{
	size_t n = strlen(name);

	return n >= 1 && n <= SERVICE_NAME_MAX && name[0] != '-' && name[n - 1] != '-' &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == n;
}

static int check_update(const struct core *core, const struct caller *caller,
        const struct service *s, const struct submit_service *in, struct error *err)
{
	const struct service_info *i = service_info(s);

	(void)core;
	if (caller->uid != i->uid)
		return error_set(err, ERR_NOT_PERMITTED,
		        "only its owner may update service %s: the replicas run as that user", in->name);
	if (i->stopping)
		return error_set(err, ERR_JOB_STATE, "service %s is being stopped", in->name);
	if (i->gens[GEN_NEXT].job) {
		error_set(err, ERR_JOB_STATE,
		        "service %s is being updated to generation %u (job %llu) now", in->name,
		        i->gens[GEN_NEXT].number, (unsigned long long)i->gens[GEN_NEXT].job);
		return error_hint(err, "wait until it has taken over, or gserve undo %s", in->name);
	}
	return 0;
}

/* The signed array must be the slots 0 to N-1. */
static int count_slots(const char *array, uint32_t *slots, struct error *err)
{
	struct taskset set;
	uint32_t at_once;
	int rc;

	if (taskset_parse_signed(array, &set, &at_once, err) < 0)
		return -1;
	*slots = set.count;
	rc = set.count && taskset_first(&set) == 0 && taskset_last(&set) == set.count - 1
	             ? 0
	             : error_set(err, ERR_JOB_SPEC,
	                       "a service's job is an array of its slots, from 0 on");
	taskset_clear(&set);
	return rc;
}

int service_check(const struct core *core, const struct caller *caller, const struct submit_job *in,
        struct error *err)
{
	const struct submit_service *is = in->service;
	const struct service *s;
	struct service_policy p;
	uint32_t slots;

	if (!good_name(is->name))
		return error_set(err, ERR_JOB_SPEC,
		        "--service: a name is 1 to %d of a-z, 0-9 and -, and begins and ends with "
		        "none of the last",
		        SERVICE_NAME_MAX);
	if (in->nodes_min > 1 || in->nodes_max > 1)
		return error_set(err, ERR_JOB_SPEC,
		        "--nodes: a replica of a service runs on one node");
	p = with_defaults(&is->policy);
	if (count_slots(in->array, &slots, err) < 0 || check_policy(&p, slots, err) < 0)
		return -1;
	s = services_find(core->services, is->name);
	if (is->update && !s)
		return error_set(err, ERR_NO_SERVICE, "there is no service %s", is->name);
	if (is->update)
		return check_update(core, caller, s, is, err);
	if (s) {
		const struct service_info *i = service_info(s);
		bool seen = core_sees(core,
		        standing_to_named(core->conf, caller, i->uid, i->account));

		error_set(err, ERR_JOB_STATE, "there is a service %s already, of %.64s%s", is->name,
		        seen ? i->user : "another user",
		        seen && i->stopping ? ", which is being stopped" : "");
		return service_info(s)->uid == caller->uid
		               ? error_hint(err, "gserve update %s SCRIPT", is->name)
		               : -1;
	}
	return 0;
}

static void join_array(struct core *core, struct service *s, enum generation_role role,
        struct job *own, const struct submit_service *is)
{
	struct generation gen = { .job = job_id(own),
		.number = service_info(s)->last_number + 1,
		.slots = job_link(own)->array->all.count,
		.drain_s = is->drain_s,
		.valid_days = is->valid_days ? is->valid_days : VALID_DAYS,
		.spec = is->spec };

	service_set_generation(core->services, s, role, &gen);
	service_link(s)->jobs[role] = own;
	service_link(s)->failed_loads = 0;
	job_link(own)->array->service = s;
	array_set_at_once(core, own, 0);
	array_reconsider(core, own);
}

void service_join(struct core *core, const struct caller *caller, struct job *own,
        const struct submit_job *in)
{
	const struct submit_service *is = in->service;
	struct service *s = services_find(core->services, is->name);
	struct service_policy p = with_defaults(&is->policy);
	struct scale_policy sp = scale_policy(&p);
	char text[160];

	if (!s) {
		struct service_info info = { .name = is->name,
			.user = caller->user,
			.account = job_info(own)->account,
			.burst_qos = is->burst_qos,
			.uid = caller->uid,
			.policy = p,
			.submit_time = core->now.wall };

		s = services_add(core->services, &info);
		service_link(s)->scaler = scaler_new(&sp, 0, core->now.mono);
		service_link(s)->stepped = core->now.mono;
		join_array(core, s, GEN_PRESENT, own, is);
	} else {
		service_set_policy(core->services, s, &p, is->burst_qos);
		service_set_trouble(core->services, s, "");
		scaler_set_policy(service_link(s)->scaler, &sp);
		join_array(core, s, GEN_NEXT, own, is);
	}
	snprintf(text, sizeof(text), "%s, generation %u", is->name, service_info(s)->last_number);
	audit_note(core, is->update ? "service.update" : "service.submit", caller, job_id(own), "",
	        text);
}

int services_start(struct core *core, struct error *err)
{
	struct service *s = services_next(core->services, NULL);

	for (; s; s = services_next(core->services, service_info(s)->name)) {
		const struct service_info *i = service_info(s);
		struct scale_policy sp = scale_policy(&i->policy);

		for (int g = 0; g < GEN_COUNT; g++) {
			struct job *own = i->gens[g].job ? jobs_find(core->jobs, i->gens[g].job) : NULL;

			if (i->gens[g].job && (!own || !job_link(own)->array))
				return error_set(err, ERR_INTERNAL,
				        "service %.64s: there is no array job %llu", i->name,
				        (unsigned long long)i->gens[g].job);
			service_link(s)->jobs[g] = own;
			if (own)
				job_link(own)->array->service = s;
		}
		service_link(s)->scaler = scaler_new(&sp, i->wanted, core->now.mono);
		service_link(s)->stepped = core->now.mono;
		services_touch(core->services, s);
	}
	return 0;
}

/* --- requests of owners ---------------------------------------------------------------------- */

struct ask_service {
	struct core *core;
	const struct core_event *e;
	struct service *s;
	char text[400]; /* what was done, for the audit trail */
};

static int scale(struct ask_service *a, struct error *err)
{
	const struct service_info *i = service_info(a->s);
	struct service_policy p = i->policy;
	struct scale_policy sp;
	uint32_t slots = i->gens[GEN_PRESENT].slots;

	p.min = a->e->service.min;
	p.max = a->e->service.max;
	if (a->e->service.kept != UINT32_MAX)
		p.kept = a->e->service.kept;
	else if (p.kept > p.min)
		p.kept = p.min;
	if (i->gens[GEN_NEXT].job && i->gens[GEN_NEXT].slots < slots)
		slots = i->gens[GEN_NEXT].slots;
	if (check_policy(&p, slots, err) < 0)
		return -1;
	service_set_policy(a->core->services, a->s, &p, i->burst_qos);
	sp = scale_policy(&p);
	scaler_set_policy(service_link(a->s)->scaler, &sp);
	services_touch(a->core->services, a->s);
	snprintf(a->text, sizeof(a->text), "%u to %u replicas, %u kept", p.min, p.max, p.kept);
	return 0;
}

static int set_paused(struct ask_service *a, struct error *err)
{
	bool pause = a->e->service.verb == SERVICE_PAUSE;

	(void)err;
	service_set_paused(a->core->services, a->s, pause);
	snprintf(a->text, sizeof(a->text), "%s", pause ? "paused" : "resumed");
	return 0;
}

/* During an update the next generation is given up; otherwise the previous one comes back. */
static int undo(struct ask_service *a, struct error *err)
{
	const struct service_info *i = service_info(a->s);
	struct generation present = i->gens[GEN_PRESENT];

	if (i->gens[GEN_NEXT].job) {
		snprintf(a->text, sizeof(a->text), "generation %u is given up, %u stays",
		        i->gens[GEN_NEXT].number, present.number);
		service_drop_generation(a->core, a->s, GEN_NEXT, END_ROLL);
		return 0;
	}
	if (!i->gens[GEN_UNDO].job) {
		error_set(err, ERR_JOB_STATE, "service %s has no generation before %u to go back to",
		        i->name, present.number);
		return error_hint(err, "gserve update %s SCRIPT", i->name);
	}
	snprintf(a->text, sizeof(a->text), "back to generation %u", i->gens[GEN_UNDO].number);
	service_pass_on(a->core, a->s, GEN_UNDO, GEN_NEXT);
	service_set_trouble(a->core->services, a->s, "");
	service_link(a->s)->failed_loads = 0;
	return 0;
}

static int wake(struct ask_service *a, struct error *err)
{
	struct service_link *l = service_link(a->s);

	(void)err;
	l->held = a->e->service.held;
	l->held_until = a->core->now.mono + HELD_FOR;
	scaler_wake(l->scaler, a->core->now.mono);
	services_touch(a->core->services, a->s);
	return 0; /* gactivate repeats it: it is no event for people */
}

static int stop(struct ask_service *a, struct error *err)
{
	(void)err;
	service_set_stopping(a->core->services, a->s);
	snprintf(a->text, sizeof(a->text), "stopped");
	return 0;
}

static const struct {
	const char *kind; /* of its event */
	int (*does)(struct ask_service *a, struct error *err);
	bool of_stopping; /* also allowed for a service that is being stopped */
} verbs[] = {
	[SERVICE_SCALE] = { "service.policy", scale, false },
	[SERVICE_PAUSE] = { "service.pause", set_paused, false },
	[SERVICE_RESUME] = { "service.resume", set_paused, false },
	[SERVICE_UNDO] = { "service.undo", undo, false },
	[SERVICE_WAKE] = { "service.wake", wake, false },
	[SERVICE_STOP] = { "service.stop", stop, true },
};

static int control(struct ask_service *a, struct error *err)
{
	enum service_verb verb = a->e->service.verb;
	const struct service_info *i;
	unsigned as;

	if (a->core->suspended)
		return error_set(err, ERR_EPOCH, "%s", a->core->suspended);
	if (verb < SERVICE_SCALE || verb > SERVICE_VERB_LAST)
		return error_set(err, ERR_USAGE, "there is no such verb");
	a->s = services_find(a->core->services, a->e->service.name);
	if (!a->s)
		return error_set(err, ERR_NO_SERVICE, "there is no service %.64s", a->e->service.name);
	i = service_info(a->s);
	as = standing_to_named(a->core->conf, &a->e->caller, i->uid, i->account);
	if (!core_sees(a->core, as))
		return error_set(err, ERR_NO_SERVICE, "there is no service %.64s", a->e->service.name);
	if (!verb_permits(VERB_JOB_CANCEL, as))
		return error_set(err, ERR_NOT_PERMITTED,
		        "service %s is %.64s's: only its owner, a coordinator of its account, an "
		        "operator or an administrator may do that",
		        i->name, i->user);
	if (i->stopping && !verbs[verb].of_stopping)
		return error_set(err, ERR_JOB_STATE, "service %s is being stopped", i->name);
	return verbs[verb].does(a, err);
}

void service_control_apply(struct core *core, const struct core_event *e)
{
	struct ask_service a = { .core = core, .e = e };
	struct error err = { 0 };
	char text[720];

	if (control(&a, &err) < 0) {
		effects_reply(core->effects, e->caller.reply, &err);
		return;
	}
	if (*a.text) {
		snprintf(text, sizeof(text), "%s: %.380s%s%.200s", e->service.name, a.text,
		        e->service.reason && *e->service.reason ? ": " : "",
		        e->service.reason ? e->service.reason : "");
		audit_note(core, verbs[e->service.verb].kind, &e->caller,
		        service_info(a.s)->gens[GEN_PRESENT].job, "", text);
	}
	effects_reply(core->effects, e->caller.reply, &err);
}
