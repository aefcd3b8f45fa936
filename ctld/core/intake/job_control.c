/* job_control.c - EV_JOB_CONTROL, EV_WAIT_JOB: actions on jobs
 *
 * Each job is processed or refused by itself; roles.h says which callers may do what. The audit
 * trail and the job's comment record the caller, the host and the reason.
 *
 * One event names up to many jobs and one verb. For each: may the caller see it; may the caller do
 * this to it; then what concerns an array as a whole; then the verb on each record
 * (job_control_array.c) or on the job. What cannot be done is answered with its reason and changes
 * nothing. So an event is done in part, and its reply says for which jobs not.
 *
 * Work has a bound (event.job.most): beyond it the reply says how far it came, and the world sends
 * the same event again from there.
 */
#include "ctld/core/intake/job_control.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/each.h"
#include "common/job/mail_types.h"
#include "ctld/core/accounts/roles.h"
#include "ctld/core/attempts/attempt.h"
#include "ctld/core/intake/job_control_impl.h"
#include "ctld/core/intake/replace_spec.h"
#include "ctld/core/intake/requeue_ended.h"
#include "ctld/core/intake/update.h"
#include "ctld/core/jobs/array_split.h"
#include "ctld/core/jobs/eligible.h"
#include "ctld/core/jobs/life.h"
#include "ctld/core/jobs/notifications.h"
#include "ctld/core/records/array.h"
#include "ctld/core/records/audit_note.h"
#include "ctld/core/records/node.h"
#include "ctld/core/records/run.h"
#include "ctld/core/records/service.h"
#include "ctld/core/records/wait_replies.h"
#include "ctld/core/rows/effects.h"
#include "ctld/core/rows/epoch_and_ids.h"
#include "ctld/core/rows/state.h"
#include "ctld/core/runs/run_orders.h"
#include "ctld/core/util/idmap.h"

#define MAX_ERRORS 1000

static int wrong_state(const struct job *job, const char *verb, struct error *err)
{
	char label[JOB_LABEL];

	return error_set(err, ERR_JOB_STATE, "job %s cannot be %s: it is %s", job_label(job, label),
	        verb, job_state_name(job_info(job)->state));
}

/* "cancelled by ana from login1: reason" as comment and audit text. */
static void remember(struct control *c, const char *done)
{
	const struct caller *by = &c->event->caller;
	const char *reason = c->event->job.reason ? c->event->job.reason : "";
	char text[400];

	snprintf(text, sizeof(text), "%s by %.64s from %.64s%s%.200s", done, by->user, by->host,
	        *reason ? ": " : "", reason);
	job_set_comment(c->core->jobs, c->job, text);
}

/* Ends attempts that should not be alive any more. Returns the number of runs that were ordered to
 * end. */
static unsigned end_orphans(struct control *c)
{
	struct run *run = job_link(c->job)->runs;
	unsigned n = 0;

	for (; run; run = run_link(run)->next_of_job) {
		if (run_info(run)->state != RUN_ORPHAN)
			continue;
		run_set_end_wanted(c->core->runs, run, END_CANCEL);
		end_run_order(c->core, run, &(struct stop){ .by_user = c->event->caller.user });
		n++;
	}
	return n;
}

/* A job that has ended can still be cancelled if an orphan run of it is alive: that run ends. */
static int cancel(struct control *c, struct error *err)
{
	struct job *job = c->job;
	enum job_state state = job_info(job)->state;
	unsigned orphans = end_orphans(c);

	if (job_state_ended(state))
		return orphans ? 0 : wrong_state(job, "cancelled", err);
	remember(c, "cancelled");
	if (state == JOB_PENDING)
		job_cancel_pending(c->core, job);
	else
		job_stop(c->core, job,
		        &(struct stop){ .cause = END_CANCEL, .by_user = c->event->caller.user });
	return 0;
}

/* A hold can be released by its own authority or a higher one. */
static unsigned strength(enum job_hold hold)
{
	static const unsigned strengths[] = {
		[HOLD_NONE] = 0,
		[HOLD_SELF] = 0,
		[HOLD_SIGNATURE] = 0,
		[HOLD_USER] = 1,
		[HOLD_COORDINATOR] = 2,
		[HOLD_ADMIN] = 3,
	};

	return strengths[hold];
}

/* The hold that this caller places: with the highest authority that the caller has over the job. */
static enum job_hold hold_of(const struct control *c)
{
	if (c->as & AS_STAFF)
		return HOLD_ADMIN;
	return c->as & AS_OWNER ? HOLD_USER : HOLD_COORDINATOR;
}

/* The verb that a caller must be allowed in order to release such a hold. */
static enum verb release_of(enum job_hold hold)
{
	if (hold == HOLD_ADMIN)
		return VERB_JOB_RELEASE_ADMIN;
	return hold == HOLD_COORDINATOR ? VERB_JOB_RELEASE_COORDINATOR : VERB_JOB_RELEASE;
}

/* A weaker hold changes nothing: an owner cannot replace an operator's hold by one of the owner's.
 */
static int hold(struct control *c, struct error *err)
{
	const struct job_info *i = job_info(c->job);

	if (i->state != JOB_PENDING)
		return wrong_state(c->job, "held", err);
	if (strength(i->hold) >= strength(hold_of(c)))
		return 0;
	remember(c, "held");
	job_set_hold(c->core->jobs, c->job, hold_of(c));
	job_consider(c->core, c->job);
	return 0;
}

/* Releases a hold that the caller's role may release. A job that is not held is no error. */
static int release(struct control *c, struct error *err)
{
	const struct job_info *i = job_info(c->job);

	if (i->state != JOB_PENDING)
		return wrong_state(c->job, "released", err);
	if (i->hold == HOLD_NONE)
		return 0;
	if (!verb_permits(release_of(i->hold), c->as)) {
		verb_refuse(release_of(i->hold), err);
		return error_wrap(err, "job %s", job_label(c->job, c->label));
	}
	remember(c, "released");
	job_set_hold(c->core->jobs, c->job, HOLD_NONE);
	job_consider(c->core, c->job);
	return 0;
}

/* Signals all living runs of the job, or none. */
static int send_signal(struct control *c, struct error *err)
{
	const struct job_info *i = job_info(c->job);

	if (i->state != JOB_RUNNING && i->state != JOB_COMPLETING)
		return wrong_state(c->job, "signalled", err);
	for (const struct run *run = job_run(c->job); run; run = run_next_rank(run)) {
		if (run_lives(run) && !node_link_of(run_link_of(run)->node)->session)
			return error_set(err, ERR_NODE_STATE,
			        "job %s: its node %s is not connected", job_label(c->job, c->label),
			        run_info(run)->node);
	}
	for (const struct run *run = job_run(c->job); run; run = run_next_rank(run)) {
		const struct node *node = run_link_of(run)->node;
		struct effect *e;

		if (!run_lives(run))
			continue;
		e = effects_add(c->core->effects, EFFECT_SIGNAL_RUN);
		e->node = node_link_of(node)->index;
		e->session = node_link_of(node)->session;
		e->run.run = run_info(run)->id;
		e->run.signal = c->event->job.signal;
		e->run.script_only = c->event->job.script_only;
		e->run.steps_only = c->event->job.steps_only && job_info(c->job)->steps;
	}
	snprintf(c->what, sizeof(c->what), "signal %u%s", c->event->job.signal,
	        c->event->job.script_only  ? " to the script alone"
	        : c->event->job.steps_only ? " to its steps"
	                                   : "");
	return 0;
}

/* True if any living run of the job is to be suspended: the job is suspended, or will be. */
static bool is_held(const struct job *job)
{
	const struct run *run = job_run(job);

	while (run && !(run_lives(run) && run_info(run)->suspend_wanted))
		run = run_next_rank(run);
	return run;
}

/* An order that was given before is given again if its node has not reported that it was carried
 * out. */
static int suspend_job(struct control *c, struct error *err)
{
	enum job_state state = job_info(c->job)->state;

	if (state != JOB_RUNNING && state != JOB_SUSPENDED)
		return wrong_state(c->job, "suspended", err);
	if (!is_held(c->job))
		remember(c, "suspended");
	job_suspend(c->core, c->job, true);
	return 0;
}

static int resume_job(struct control *c, struct error *err)
{
	enum job_state state = job_info(c->job)->state;

	if (state != JOB_SUSPENDED && !(state == JOB_RUNNING && is_held(c->job)))
		return wrong_state(c->job, "resumed", err);
	if (is_held(c->job))
		remember(c, "resumed");
	job_suspend(c->core, c->job, false);
	return 0;
}

/* For a requeue with hold: the job is held when it waits again after its attempt. */
static void hold_then(struct control *c)
{
	if (c->event->job.verb == JOB_REQUEUE_HOLD &&
	        strength(job_info(c->job)->hold) < strength(hold_of(c)))
		job_set_hold(c->core->jobs, c->job, hold_of(c));
}

/* A job that runs is stopped first and waits again when its attempt is over; one that has ended
 * waits at once. Its owner signed how often it may be started. */
static int requeue(struct control *c, struct error *err)
{
	const struct job_info *i = job_info(c->job);
	bool ended = job_state_ended((enum job_state)i->state);
	uint32_t starts = job_starts(c->job), most = job_info(job_own(c->job))->max_attempts;

	if (!ended && i->state != JOB_RUNNING && i->state != JOB_SUSPENDED &&
	        i->state != JOB_CONFIGURING)
		return wrong_state(c->job, "requeued", err);
	if (starts >= most && !job_service(c->job)) {
		error_set(err, ERR_JOB_STATE,
		        "job %s cannot be requeued: it has been started %u times of %u that its "
		        "owner signed",
		        job_label(c->job, c->label), starts, most);
		return error_hint(err,
		        "the owner can sign more: gctl update %llu --max-attempts=%u",
		        (unsigned long long)job_id(c->job), starts + 1);
	}
	if (ended && requeue_ended_check(c->core, c->job, err) < 0)
		return error_wrap(err, "job %s cannot be requeued", job_label(c->job, c->label));
	remember(c, "requeued");
	hold_then(c);
	if (ended) {
		job_mail(c->core, c->job, MAIL_REQUEUE);
		job_revive(c->core, c->job);
		return 0;
	}
	job_stop(c->core, c->job,
	        &(struct stop){
	                .cause = END_CANCEL, .by_user = c->event->caller.user, .requeue = true });
	return 0;
}

#define WHOLE_FIELDS (uint64_t)(UPDATE_DEPENDENCY | UPDATE_KILL_INVALID_DEP)

/* Of an array some fields are the parent's alone (WHOLE_FIELDS): a part cannot change them. */
static int update_fields(struct control *c, uint64_t which, struct error *err)
{
	struct core_event e = *c->event;
	char fields[200], done[240];

	if (job_state_ended((enum job_state)job_info(c->job)->state))
		return wrong_state(c->job, "updated", err);
	if (job_info(c->job)->part && which & WHOLE_FIELDS)
		return error_set(err, ERR_JOB_STATE,
		        "job %s: what it waits for is said of the whole array",
		        job_label(c->job, c->label));
	e.job.fields = which;
	if (job_update(c->core, c->job, &e, fields, sizeof(fields), c->what, err) < 0)
		return error_wrap(err, "job %s", job_label(c->job, c->label));
	snprintf(done, sizeof(done), "updated (%s)", fields);
	if (!job_info(c->job)->hold) /* else the comment is that of the hold */
		remember(c, done);
	return 0;
}

/* For one record: the fields that were already changed for the whole array are left out. */
static int update(struct control *c, struct error *err)
{
	uint64_t of_array = job_info(c->job)->part ? c->of_array : 0;
	uint64_t which = c->event->job.fields & ~of_array;

	return of_array && !which ? 0 : update_fields(c, which, err);
}

/* One signature covers many jobs; the event has the hashes of all that it covers. */
static bool is_signed(const struct core_event *e, const uint8_t *hash)
{
	size_t i = 0;

	while (i < e->job.n_hashes && memcmp(e->job.hashes[i].b, hash, HASH_BYTES) != 0)
		i++;
	return i < e->job.n_hashes;
}

/* What it is to be, in place of what it is. */
static int change_spec(struct control *c, struct job *own, struct error *err)
{
	const struct respec *r = &c->event->job.respecs[c->at];
	char names[200], done[240];

	if (!r->fields)
		return 0;
	if (job_respec(c->core, own, r, names, sizeof(names), err) < 0)
		return error_wrap(err, "job %llu", (unsigned long long)job_id(own));
	snprintf(c->what, sizeof(c->what), "%s", r->told);
	snprintf(done, sizeof(done), "signed anew (%s)", names);
	/* Otherwise the job's comment stays: it is that of the hold, or of the end. */
	if (!job_info(own)->hold && !job_state_ended((enum job_state)job_info(own)->state))
		remember(c, done);
	return 0;
}

/* A signature covers all that was signed with it: of an array, all tasks. */
static int resign(struct control *c, struct error *err)
{
	const struct core_event *e = c->event;
	struct job *own = job_own(c->job), *part;
	const struct job_info *i = job_info(own);
	const struct respec *r = e->job.n_respecs ? &e->job.respecs[c->at] : NULL;
	struct idmap *parts = job_array(own) ? job_array(own)->parts : NULL;

	c->job = own;
	if (r && memcmp(r->was.b, i->nonce->spec_hash, HASH_BYTES) != 0)
		return error_set(err, ERR_SIGNATURE,
		        "job %llu was changed meanwhile; nothing of this was done",
		        (unsigned long long)i->id);
	if (!is_signed(e, r ? r->is.b : i->nonce->spec_hash))
		return error_set(err, ERR_SIGNATURE, "job %llu is not what was signed",
		        (unsigned long long)i->id);
	if (e->job.sign_time < i->sign_time)
		return error_set(err, ERR_SIGNATURE, "job %llu has a newer signature",
		        (unsigned long long)i->id);
	if (r && change_spec(c, own, err) < 0)
		return -1;
	job_signed(c->core, own, e->job.sign_time);
	for (part = parts ? idmap_next(parts, 0) : NULL; part;
	        part = idmap_next(parts, job_info(part)->part)) {
		if (!job_state_ended((enum job_state)job_info(part)->state))
			job_signed(c->core, part, e->job.sign_time);
	}
	return 0;
}

/* Would it change a waiting record? Then the tasks that it does not apply to are split off
 * first. */
static bool changes(const struct control *c, const struct job *job)
{
	(void)c, (void)job;
	return true;
}

static bool changes_hold(const struct control *c, const struct job *job)
{
	return strength(job_info(job)->hold) < strength(hold_of(c));
}

static bool changes_held(const struct control *c, const struct job *job)
{
	return job_info(job)->hold && verb_permits(release_of(job_info(job)->hold), c->as);
}

bool control_changes_ended(const struct control *c, const struct job *job)
{
	(void)c;
	return job_state_ended((enum job_state)job_info(job)->state);
}

static bool changes_nothing(const struct control *c, const struct job *job)
{
	(void)c, (void)job;
	return false;
}

const struct control_verb control_verbs[] = {
	[JOB_CANCEL] = { "job.cancel", cancel, changes },
	[JOB_HOLD] = { "job.hold", hold, changes_hold },
	[JOB_RELEASE] = { "job.release", release, changes_held },
	[JOB_SIGNAL] = { "job.signal", send_signal, changes_nothing },
	[JOB_REQUEUE] = { "job.requeue", requeue, control_changes_ended },
	[JOB_SUSPEND] = { "job.suspend", suspend_job, changes_nothing },
	[JOB_RESUME] = { "job.resume", resume_job, changes_nothing },
	[JOB_UPDATE] = { "job.update", update, changes },
	[JOB_RESIGN] = { "job.resign", resign, changes_nothing },
	[JOB_REQUEUE_HOLD] = { "job.requeue", requeue, control_changes_ended },
};

/* --- one job --------------------------------------------------------------------------------- */

/* Changes how many tasks of the whole array may run at a time. */
static int update_at_once(struct control *c, struct job *own, struct error *err)
{
	uint32_t at_once = c->event->job.change->array_at_once;

	if (!job_array(own))
		return error_set(err, ERR_JOB_STATE, "job %llu is not an array: it has no throttle",
		        (unsigned long long)job_id(own));
	if (job_state_ended(job_info(own)->state))
		return wrong_state(own, "updated", err);
	if (at_once > TASK_MAX)
		return error_set(err, ERR_JOB_SPEC,
		        "--array-throttle=%u: expected 0 (no throttle) to %d", at_once, TASK_MAX);
	snprintf(c->throttle, sizeof(c->throttle), "array-throttle %u -> %u",
	        job_array(own)->at_once, at_once);
	array_set_at_once(c->core, own, at_once);
	return 0;
}

/* A slot of a service cannot be cancelled alone, and the service, not the owner, decides how many
 * run. */
static int check_slots(const struct control *c, const struct job *job, const struct taskset *set,
        struct error *err)
{
	const struct service *s = job_service(job);
	bool some = set || job_info(job)->part;

	if (!s)
		return 0;
	if (c->event->job.verb == JOB_CANCEL && some) {
		error_set(err, ERR_JOB_STATE, "a replica of service %s would be started again",
		        service_info(s)->name);
		return error_hint(err, "gserve scale %s, gserve stop %s; gctl requeue starts it anew",
		        service_info(s)->name, service_info(s)->name);
	}
	if (c->event->job.verb == JOB_UPDATE && c->event->job.fields & UPDATE_AT_ONCE) {
		error_set(err, ERR_JOB_STATE, "how many replicas run is the service's affair");
		return error_hint(err, "gserve scale %s MIN-MAX", service_info(s)->name);
	}
	return 0;
}

/* Applies the verb to a job: what concerns an array as a whole first, then each of its records
 * (job_control_array.c), or the job itself. */
static int control_job(struct control *c, struct job *job, uint64_t ref, const struct taskset *set,
        struct error *err)
{
	uint64_t fields = c->event->job.fields;
	bool array = job_link(job)->array;
	uint32_t weight;

	if (check_slots(c, job, set, err) < 0)
		return -1;
	if (c->event->job.verb == JOB_UPDATE && c->event->job.fields & UPDATE_AT_ONCE) {
		if (!c->walk.next && update_at_once(c, job_own(job), err) < 0)
			return -1;
		if (c->event->job.fields == UPDATE_AT_ONCE)
			return 0;
	}
	if (c->event->job.verb == JOB_RESIGN) {
		c->job = job;
		return resign(c, err);
	}
	/* The dependencies of an array are those of its parent, also when all tasks have records.
	 */
	if (array && !set && c->event->job.verb == JOB_UPDATE && fields & WHOLE_FIELDS) {
		c->of_array = WHOLE_FIELDS | UPDATE_AT_ONCE;
		c->job = job;
		if (!job_weight(job) && !c->walk.next &&
		        update_fields(c, fields & WHOLE_FIELDS, err) < 0)
			return -1;
		if (!job_weight(job) && !(fields & ~c->of_array))
			return 0;
	}
	if (array && job_ref_part(ref) == JOB_PART_WAITS) {
		if (!job_weight(job))
			return wrong_state(job, "changed", err);
		c->own_only = true;
		return control_records(c, job, NULL, err);
	}
	if (array)
		return control_records(c, job, set, err);
	control_spend(c, CONTROL_COST);
	c->job = job;
	weight = job_array(job) ? job_weight(job) : 0;
	if (control_verbs[c->event->job.verb].apply(c, err) < 0)
		return -1;
	c->arrays += weight > 0;
	c->tasks += weight;
	return 0;
}

/* A job that has left memory cannot be requeued; the hint says so. */
static int no_job(const struct control *c, uint64_t ref, struct error *err)
{
	char label[JOB_LABEL];

	error_set(err, ERR_NO_JOB, "there is no job %s", job_ref_label(ref, label));
	if (verb_of_job(c->event->job.verb) != VERB_JOB_REQUEUE ||
	        job_ref_id(ref) >= meta_next_job(c->core->meta))
		return -1;
	return error_hint(err,
	        "a job that has ended can be requeued until it moves to the history (keep_ended); "
	        "then it has to be submitted again");
}

/* The caller may not do this to the job. Where jobs are private, the caller is not told that it
 * exists. */
static int refuse(const struct control *c, const struct job *job, enum verb verb, struct error *err)
{
	if (!core_sees(c->core, c->as))
		return no_job(c, job_id(job), err);
	verb_refuse(verb, err);
	return error_wrap(err, "job %llu belongs to %.64s, not to %.64s",
	        (unsigned long long)job_id(job), job_info(job)->user, c->event->caller.user);
}

/* May the caller do it to this job? */
static int check_role(struct control *c, const struct job *job, struct error *err)
{
	const struct core_event *e = c->event;
	uint64_t ranks = UPDATE_PARTITION | UPDATE_QOS | UPDATE_NICE;
	enum verb verb = verb_of_job(e->job.verb);

	c->as = job_standing(c->core, &e->caller, job);
	if (e->job.verb == JOB_UPDATE && !(e->job.fields & ~ranks))
		verb = VERB_JOB_RANK;
	return verb_permits(verb, c->as) ? 0 : refuse(c, job, verb, err);
}

static bool as_coordinator(const struct control *c)
{
	return !(c->as & (AS_OWNER | AS_STAFF));
}

/* "as coordinator: tasks 1-3: time 1:00:00 -> 30:00: reason" */
static void audit_text(const struct control *c, const char *tasks, char *text, size_t size)
{
	const char *reason = c->event->job.reason ? c->event->job.reason : "";
	const char *const parts[] = { c->throttle, c->what, reason };
	size_t used = (size_t)snprintf(text, size, "%s%s%.200s",
	        as_coordinator(c) ? "as coordinator: " : "", tasks ? "tasks " : "",
	        tasks ? tasks : "");
	bool more = tasks;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]) && used < size; i++) {
		if (!*parts[i])
			continue;
		used += (size_t)snprintf(text + used, size - used, "%s%.*s", more ? ": " : "",
		        CHANGES_TEXT, parts[i]);
		more = true;
	}
}

/* One line of the trail for each id of the event, however many records it has. */
static void note_done(const struct control *c, uint64_t ref, const struct taskset *set)
{
	char *tasks = set ? taskset_text(set) : NULL, text[1024];

	audit_text(c, tasks, text, sizeof(text));
	audit_note(c->core, control_verbs[c->event->job.verb].kind, &c->event->caller, ref, "", text);
	free(tasks);
}

/* Applies the verb to one id: completely, or to as many of its records as the event's limit allows
 * (c->cut). *missing (code 0: none) is the error about tasks that do not exist. */
static int control_one(struct control *c, uint64_t ref, const struct taskset *set,
        struct error *missing, struct error *err)
{
	bool waits = job_ref_part(ref) == JOB_PART_WAITS, was_done = c->walk.done;
	struct job *job = jobs_find(c->core->jobs, waits ? job_ref_id(ref) : ref);
	struct taskset known = { .n = 0 };
	int rc;

	c->what[0] = c->throttle[0] = '\0';
	c->of_array = 0;
	c->own_only = false;
	missing->code = c->first.code = ERR_NONE;
	if (!job && was_done)
		return 0; /* the other records have ended and left memory */
	if (!job)
		rc = no_job(c, ref, err);
	else
		rc = check_role(c, job, err);
	if (rc == 0 && set)
		rc = control_know(job, set, &known, missing, err);
	if (rc == 0)
		rc = control_job(c, job, ref, set ? &known : NULL, err);
	if (rc == 0 && !was_done && (c->walk.done || !(c->cut || c->walk.refused))) {
		note_done(c, waits ? job_id(job) : ref, set ? &known : NULL);
		effects_add(c->core->effects, EFFECT_JOB_CHANGED)->job = ref;
	}
	taskset_clear(&known);
	return rc;
}

/* Refuses what makes the whole event void. */
static int check_event(const struct core *core, const struct core_event *e, struct error *err)
{
	if (core->suspended)
		return error_set(err, ERR_EPOCH, "%s", core->suspended);
	if (verb_of_job(e->job.verb) == VERB_COUNT)
		return error_set(err, ERR_USAGE, "unknown verb %d", (int)e->job.verb);
	if (e->job.verb == JOB_SIGNAL && (e->job.signal < 1 || e->job.signal > 64))
		return error_set(err, ERR_USAGE, "signal %u: expected 1 to 64", e->job.signal);
	return 0;
}

/* Applies the verb to one id after another, until all are done or the event's limit is reached.
 * Returns the number of ids without an error. */
static uint32_t control_all(struct control *c)
{
	const struct core_event *e = c->event;
	struct error err, missing;
	uint32_t done = 0;

	for (; c->at < e->job.n && !control_spent(c); c->at++) {
		const struct taskset *set = e->job.tasks ? e->job.tasks[c->at] : NULL;
		bool refused = control_one(c, e->job.ids[c->at], set, &missing, &err) < 0;

		if (c->cut)
			break;
		done += !refused && (c->walk.done || !c->walk.refused);
		if (refused)
			control_error(c, &err);
		if (missing.code)
			control_error(c, &missing);
		c->walk = (struct array_walk){ 0 };
	}
	return done;
}

void job_control_apply(struct core *core, const struct core_event *e)
{
	struct control c = { .core = core, .event = e, .walk = e->job.walk, .left = e->job.most };
	struct error err = { 0 }, *first;
	struct effect *fx;
	uint32_t done;

	if (check_event(core, e, &err) < 0) {
		effects_reply(core->effects, e->caller.reply, &err);
		return;
	}
	c.max_errors = e->job.n < MAX_ERRORS / 3 ? 3 * e->job.n : MAX_ERRORS;
	c.errors = effects_alloc(core->effects, c.max_errors * sizeof(*c.errors));
	done = control_all(&c);
	fx = effects_add(core->effects, EFFECT_CONTROLLED);
	fx->reply = e->caller.reply;
	fx->controlled.done = done;
	COPY_FIELDS(&fx->controlled, &c, arrays, tasks, errors);
	fx->controlled.n = c.n_errors;
	fx->controlled.at = c.at;
	fx->controlled.walk = c.walk;
	if (!c.cut || !c.first.code)
		return;
	first = effects_alloc(core->effects, sizeof(*first));
	*first = c.first;
	fx->controlled.first = first;
}

/* The record that a client waits for; a waiting task gets a record of its own. NULL: `err` says
 * why. */
static struct job *find_dependents(
        struct core *core, const struct core_event *e, uint64_t ref, struct error *err)
{
	struct job *job = jobs_find(core->jobs, ref);
	uint32_t part = job_ref_part(ref);
	char label[JOB_LABEL];

	if (!job && part && part < JOB_PART_RANGES)
		job = jobs_stands_in(core->jobs, job_ref_id(ref), part - 1);
	if (!job || !core_sees(core, job_standing(core, &e->caller, job))) {
		error_set(err, ERR_NO_JOB, "there is no job %s", job_ref_label(ref, label));
		return NULL;
	}
	if (!part || part >= JOB_PART_RANGES || !job_tasks(job) ||
	        job_info(job)->state != JOB_PENDING)
		return job;
	if (array_check_room(job, err) < 0)
		return NULL;
	return array_of_run(core, (struct run_id){ .job = job_ref_id(ref), .task = part - 1 });
}

/* Replies at once if the awaited state has already been reached. */
void wait_apply(struct core *core, const struct core_event *e)
{
	struct error err = { 0 };
	struct job *job = find_dependents(core, e, e->wait, &err);
	struct effect *fx;

	if (!job) {
		effects_reply(core->effects, e->caller.reply, &err);
	} else if (e->kind == EV_WAIT_START && (job_info(job)->state == JOB_PENDING ||
	                                               job_info(job)->state == JOB_CONFIGURING)) {
		wait_replies_add(core->start_replies, e->wait, e->caller.reply);
	} else if (e->kind == EV_WAIT_JOB && !job_state_ended(job_info(job)->state)) {
		wait_replies_add(core->wait_replies, e->wait, e->caller.reply);
	} else {
		fx = effects_add(core->effects, EFFECT_JOB_ENDED);
		fx->reply = e->caller.reply;
		fx->job = e->wait;
	}
}
