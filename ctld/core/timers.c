/* timers.c - EV_CLOCK: nodes without messages, fences to repeat, hardware that was found, jobs and
 * nonces to forget
 *
 * All timers use the monotonic clock, except for times that people gave: these use the wall clock.
 * It may be set, so these timers are checked every minute.
 */
#include <stdio.h>

#include "ctld/core/jobs/array.h"
#include "ctld/core/jobs/depends.h"
#include "ctld/core/nodes/faults.h"

static usec_t seconds(uint32_t s)
{
	return (usec_t)s * USEC_PER_S;
}

static usec_t silent_until(const struct core *core, const struct node *node)
{
	return node_link_of(node)->heard_mono + seconds(core->conf->controller.node_timeout_s);
}

/* What is next for an UNKNOWN node: the fence again, or the time after which it counts as off. */
static usec_t unknown_until(const struct core *core, const struct node *node, bool *off)
{
	const struct conf_controller *c = &core->conf->controller;
	const struct node_link *l = node_link_of(node);
	usec_t fence = INT64_MAX, gone = INT64_MAX;

	if (l->off || l->hearing != NODE_UNKNOWN || !l->runs)
		return INT64_MAX;
	if (l->fence == FENCE_FAILED)
		fence = l->fenced_mono + seconds(c->node_timeout_s);
	else if (l->fence == FENCE_ASKED)
		fence = l->fenced_mono + seconds(c->fence_timeout_s) + seconds(c->node_timeout_s);
	if (c->unknown_is_off_s)
		gone = l->heard_mono + seconds(c->unknown_is_off_s);
	*off = gone <= fence;
	return *off ? gone : fence;
}

static void silent(struct core *core, struct node *node)
{
	char text[100];

	snprintf(text, sizeof(text), "not heard for %u s", core->conf->controller.node_timeout_s);
	node_hear(core->nodes, node, NODE_UNKNOWN, core->now);
	node_settle(core, node);
	if (node_link(node)->runs)
		audit_note(core, "node.unknown", NULL, 0, node_info(node)->name, text);
	node_fence(core, node);
	node_worry(core, node);
}

void node_moved(void *item, uint32_t index)
{
	node_link(item)->slot = index;
}

void node_worry(struct core *core, struct node *node)
{
	struct node_link *l = node_link(node);
	bool off;
	usec_t due = unknown_until(core, node, &off);

	if (l->slot != HEAP_NOWHERE)
		heap_remove(core->worries, l->slot);
	if (due != INT64_MAX && l->index != NODE_LEFT)
		heap_put(core->worries, (struct heap_key){ due < 0 ? 0 : (uint64_t)due, l->index },
		        node);
}

static void unknown_nodes(struct core *core)
{
	struct node *node;
	unsigned n;

	for (n = 0; n < TIMER_SLICE && (node = heap_first(core->worries)); n++) {
		bool off;

		if (heap_first_key(core->worries).a > (uint64_t)core->now.mono)
			break;
		if (unknown_until(core, node, &off) <= core->now.mono) {
			if (off) {
				node_is_off(
				        core, node, "the node was not heard of for unknown_is_off");
			} else {
				node_link(node)->fence = FENCE_NONE;
				node_fence(core, node);
			}
		}
		/* Heard again, or without runs by now: then nothing is due any more. */
		node_worry(core, node);
	}
}

/* --- jobs ------------------------------------------------------------------------------------ */

#define WALL_LOOKED_AT (60 * USEC_PER_S)

void job_alarm_moved(void *item, uint32_t index)
{
	job_link(item)->alarm = index;
}

/* Wall; INT64_MAX: nothing is due. */
static usec_t job_due(const struct core *core, const struct job *job)
{
	const struct job_info *i = job_info(job);
	bool waits = i->state == JOB_PENDING;
	usec_t due = waits ? depends_due(job) : INT64_MAX;

	if (i->state == JOB_COMPLETING || job_state_ended((enum job_state)i->state) ||
	        !job_weight(job))
		return INT64_MAX;
	if (i->limit_set && i->time_limit_s &&
	        (i->state == JOB_RUNNING || i->state == JOB_CONFIGURING))
		due = core->now.wall + job_time_left(core, job);
	if (i->deadline && job_last_chance(job) < due)
		due = job_last_chance(job);
	if (waits && i->begin_time > core->now.wall && i->begin_time < due)
		due = i->begin_time;
	return due < 0 ? 0 : due;
}

void job_alarm(struct core *core, struct job *job)
{
	struct job_link *l = job_link(job);
	usec_t due = job_due(core, job);

	if (l->alarm != HEAP_NOWHERE)
		heap_remove(core->alarms, l->alarm);
	if (due != INT64_MAX)
		heap_put(core->alarms, (struct heap_key){ (uint64_t)due, job_ref(job) }, job);
}

static void alarmed_jobs(struct core *core)
{
	struct job *job;
	unsigned n;

	for (n = 0; n < TIMER_SLICE && (job = heap_first(core->alarms)); n++) {
		if (heap_first_key(core->alarms).a > (uint64_t)core->now.wall)
			break;
		job_alarmed(core, job);
	}
}

static usec_t next_alarm(const struct core *core)
{
	usec_t in;

	if (!heap_first(core->alarms))
		return INT64_MAX;
	in = (usec_t)heap_first_key(core->alarms).a - core->now.wall;
	return core->now.mono + (in < 0 ? 0 : in < WALL_LOOKED_AT ? in : WALL_LOOKED_AT);
}

/* --- all ------------------------------------------------------------------------------------- */

void timers_apply(struct core *core)
{
	struct node *node;
	unsigned n;

	for (n = 0; n < TIMER_SLICE && (node = nodes_oldest(core->nodes)); n++) {
		if (silent_until(core, node) > core->now.mono)
			break;
		silent(core, node);
	}
	if (core->suspended)
		return;
	if (core->hardware_due <= core->now.mono)
		core_rehardware(core);
	unknown_nodes(core);
	faults_timer(core);
	alarmed_jobs(core);
	if (core->expired_wall && core->now.wall < core->expired_wall)
		jobs_unexpire(core);
	jobs_retire_old(core);
	nonces_expire(core->nonces, core->now, TIMER_SLICE);
}

static usec_t ended_until(const struct core *core, const struct ended *list, size_t kept)
{
	if (!list->first)
		return INT64_MAX;
	if (list->n > kept)
		return core->now.mono;
	return job_link(list->first)->ended + seconds(core->conf->controller.keep_ended_s);
}

usec_t timers_next(const struct core *core)
{
	const struct node *node = nodes_oldest(core->nodes);
	usec_t next = node ? silent_until(core, node) : INT64_MAX, t;

	if (core->suspended)
		return next;
	next = core->hardware_due < next ? core->hardware_due : next;
	if (heap_first(core->worries)) {
		t = (usec_t)heap_first_key(core->worries).a;
		next = t < next ? t : next;
	}
	t = faults_next(core);
	next = t < next ? t : next;
	t = next_alarm(core);
	next = t < next ? t : next;
	t = ended_until(core, &core->tasks_ended, ARRAY_ENDED_KEPT);
	next = t < next ? t : next;
	t = ended_until(core, &core->jobs_ended, SIZE_MAX);
	next = t < next ? t : next;
	t = nonces_next(core->nonces);
	return t < next ? t : next;
}
