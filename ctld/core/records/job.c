/* job.c - see job.h
 *
 * A record is in exactly one table: a job, or an array parent, in `map` by its id; a part of an
 * array in its parent's `parts`. It is counted for its state and partition from jobs_take_in() on
 * until jobs_take_out(); a mover of a field that jobs are counted by stands between two
 * jobs_recount().
 *
 * Movers are the only code that changes a record. Each compares first, so calling one twice costs
 * no row, and marks the record dirty, so no change can miss the next seal. They change the record
 * alone: what follows from a change, for the scheduler, dependents or mail, is life.c's.
 *
 * A job of a bulk is staged: it exists and is charged to its user, but is in no table until
 * jobs_show(). So nothing finds it while it could still vanish.
 */
#include "ctld/core/records/job.h"

#include "ctld/core/records/job_impl.h"
#include "ctld/core/records/job_partitions.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/each.h"
#include "common/base/xalloc.h"
#include "common/job/depend.h"
#include "common/job/mail_types.h"
#include "ctld/core/records/node.h"
#include "ctld/core/records/per_user_budget.h"
#include "ctld/core/records/run.h"
#include "ctld/core/rows/row_codec.h"
#include "ctld/core/util/hash.h"
#include "ctld/core/util/heap.h"
#include "ctld/core/util/idmap.h"
#include "ctld/core/util/table.h"

#define X(sym, name, code, next) [sym] = { name, code, next },
static const struct {
	const char *name, *code;
	uint32_t next; /* bit set of states */
} job_states[JOB_STATE_COUNT] = { JOB_STATES(X) };
#undef X

const char *job_state_name(enum job_state state)
{
	return job_states[state].name;
}

const char *job_state_code(enum job_state state)
{
	return job_states[state].code;
}

bool job_state_ended(enum job_state state)
{
	return JOB_ENDS >> state & 1;
}

bool job_state_may(enum job_state from, enum job_state to)
{
	return job_states[from].next >> to & 1;
}

const struct job_info *job_info(const struct job *job)
{
	return &job->info;
}

struct job_link *job_link(struct job *job)
{
	return &job->link;
}

const struct job_link *job_link_of(const struct job *job)
{
	return &job->link;
}

/* --- its partitions -------------------------------------------------------------------------- */

uint32_t job_choices(const struct job_info *info)
{
	return partition_list_count(info->partitions);
}

void job_choice(const struct job_info *info, uint32_t k, struct job_choice *out)
{
	*out = (struct job_choice){ .cpus = info->cpus,
		.time_limit_s = info->time_limit_s,
		.mem_mb = info->mem_mb };
	if (*info->partitions)
		job_choice_read(info->partitions, info->partition_needs, k, out);
	else
		snprintf(out->partition, sizeof(out->partition), "%s", info->partition);
}

bool job_may_choose(const struct job_info *info, const char *partition)
{
	return partition_list_has(
	        *info->partitions ? info->partitions : info->partition, partition);
}

/* --- counting -------------------------------------------------------------------------------- */

static uint64_t count_hash(const void *item, uint64_t seed)
{
	return hash_u64((uintptr_t)((const struct job_count *)item)->partition, seed);
}

static bool count_equal(const void *item, const void *key)
{
	return ((const struct job_count *)item)->partition == (const char *)key;
}

/* Partitions are found by their kept name, also those that the configuration no longer has. */
static struct job_count *count_find(const struct jobs *jobs, const char *kept)
{
	return table_find(jobs->counts, hash_u64((uintptr_t)kept, table_seed(jobs->counts)),
	        count_equal, kept);
}

const struct job_count *jobs_count_of(const struct jobs *jobs, const char *partition)
{
	const char *kept = strings_peek(jobs->strings, partition);

	return kept ? count_find(jobs, kept) : NULL;
}

/* The records of an array that are PENDING are a list: the scheduler's and the controls' way
 * through them without a walk over all parts. */
static void waits(struct array *a, struct job *job)
{
	job->link.prev = NULL;
	job->link.next = a->waiting;
	if (a->waiting)
		a->waiting->link.prev = job;
	a->waiting = job;
}

static void waits_no_more(struct array *a, struct job *job)
{
	struct job_link *l = &job->link;

	*(l->prev ? &l->prev->link.next : &a->waiting) = l->next;
	if (l->next)
		l->next->link.prev = l->prev;
	l->next = l->prev = NULL;
}

/* The counts of a partition, made if need be. */
static struct job_count *count_want(struct jobs *jobs, const char *kept)
{
	struct job_count *c = count_find(jobs, kept);

	if (!c) {
		c = xcalloc(1, sizeof(*c));
		c->partition = strings_again(kept);
		table_add(jobs->counts, c);
	}
	return c;
}

static struct job_count *count_of(struct jobs *jobs, const char *partition)
{
	const char *kept = strings_intern(jobs->strings, partition);
	struct job_count *c = count_want(jobs, kept);

	strings_drop(jobs->strings, kept);
	return c;
}

/* A job waits in each of its partitions. */
static void count_pending(struct jobs *jobs, const struct job_info *i, uint32_t by)
{
	struct job_choice choice;
	uint32_t k, n = job_choices(i);

	if (n == 1)
		count_find(jobs, i->partition)->pending += by;
	for (k = 0; n > 1 && k < n; k++) {
		job_choice(i, k, &choice);
		count_of(jobs, choice.partition)->pending += by;
	}
}

/* All counts that a record is in: by state, by partition, of its array. A record for several tasks
 * counts as that many. A mover takes the record out, changes it, and puts it in. */
void jobs_recount(struct jobs *jobs, struct job *job, bool in)
{
	uint32_t weight = job_weight(job), by = in ? weight : 0 - weight;
	enum job_state state = job->info.state;
	struct array *a = job_array(job);

	jobs->in_state[state] += in ? weight : 0 - (size_t)weight;
	if (state == JOB_PENDING)
		count_pending(jobs, &job->info, by);
	else if (!job_state_ended(state))
		count_find(jobs, job->info.partition)->running += by;
	if (!a)
		return;
	if (job->link.own && !job_state_ended(state)) {
		a->live += in ? 1 : UINT32_MAX;
		a->running += state == JOB_PENDING ? 0 : in ? 1 : UINT32_MAX;
	} else if (job->link.own) {
		a->ended_here += by;
		a->ill_here += state == JOB_COMPLETED ? 0 : by;
	}
	if (state != JOB_PENDING)
		return;
	if (in)
		waits(a, job);
	else
		waits_no_more(a, job);
}

/* A job has come. */
static void count_in(struct jobs *jobs, struct job *job)
{
	count_want(jobs, job->info.partition);
	jobs_recount(jobs, job, true);
}

struct jobs *jobs_new(struct strings *strings, struct requests *requests, struct label_sets *labels,
        struct nonces *nonces, struct dirty *dirty, struct budget *budget, uint64_t seed)
{
	struct jobs *jobs = xcalloc(1, sizeof(*jobs));

	jobs->strings = strings;
	jobs->requests = requests;
	jobs->labels = labels;
	jobs->nonces = nonces;
	jobs->dirty = dirty;
	jobs->budget = budget;
	jobs->map = idmap_new();
	jobs->counts = table_new(count_hash, seed);
	return jobs;
}

/* --- made and freed --------------------------------------------------------------------------- */

/* Parts for several tasks are numbered from JOB_PART_RANGES on, above all parts for one task. */
struct array *array_blank(void)
{
	struct array *a = xcalloc(1, sizeof(*a));

	a->parts = idmap_new();
	a->next_part = JOB_PART_RANGES;
	return a;
}

static void array_free(struct array *a)
{
	if (!a)
		return;
	idmap_free(a->parts);
	taskset_clear(&a->all);
	taskset_clear(&a->gone);
	free(a);
}

struct job *job_new_blank(void)
{
	struct job *job = xcalloc(1, sizeof(*job));

	job->mark.table = TABLE_JOB;
	job->link.queued = (struct queued){ .job = job, .slot = HEAP_NOWHERE };
	job->link.timer = HEAP_NOWHERE;
	return job;
}

/* -1: there is a record with that id, or a later one: rows come in order. */
int jobs_take_in(struct jobs *jobs, struct job *job)
{
	const struct job_info *i = &job->info;

	if (!i->part) {
		if (i->id <= idmap_last(jobs->map))
			return -1;
		idmap_add(jobs->map, i->id, job);
	} else {
		struct idmap *parts = job->link.own->link.array->parts;

		if (idmap_find(parts, i->part))
			return -1;
		idmap_insert(parts, i->part, job);
		jobs->n_parts++;
	}
	count_in(jobs, job);
	job_charge(jobs, job);
	return 0;
}

#define X(field) offsetof(struct job_info, field)
const uint16_t job_texts[JOB_TEXTS] = { X(user), X(account), X(partition), X(name), X(submit_host),
	X(cwd), X(output), X(error), X(array), X(comment), X(qos), X(depends), X(remark),
	X(mail_user), X(requeue_on), X(partitions), X(partition_needs) };
#undef X

void job_free(struct jobs *jobs, struct job *job)
{
	struct tasks *tasks = job_several(job);

	budget_add(jobs->budget, job->info.uid, BUDGET_MEMORY, -(int64_t)job->charged);
	for (size_t t = 0; t < JOB_TEXTS; t++)
		strings_drop(jobs->strings, *job_text(&job->info, t));
	requests_drop(jobs->requests, job->info.gpus);
	labels_drop(jobs->labels, job->info.labels);
	if (tasks) {
		taskset_clear(&tasks->set);
		free(tasks->text);
		free(tasks);
	}
	array_free(job->link.array);
	free(job->link.others);
	free(job);
}

/* Before their parent: parts borrow its array. */
static void free_parts(struct jobs *jobs, struct array *a)
{
	struct job *part;

	while ((part = idmap_next(a->parts, 0))) {
		idmap_remove(a->parts, part->info.part);
		job_free(jobs, part);
	}
}

void jobs_free(struct jobs *jobs)
{
	struct job *job;
	struct job_count *c;
	size_t cursor = 0;

	if (!jobs)
		return;
	while ((job = idmap_next(jobs->map, 0))) {
		idmap_remove(jobs->map, job->info.id);
		if (job->link.array)
			free_parts(jobs, job->link.array);
		job_free(jobs, job);
	}
	while ((c = table_each(jobs->counts, &cursor))) {
		strings_drop(jobs->strings, c->partition);
		free(c);
	}
	table_free(jobs->counts);
	idmap_free(jobs->map);
	free(jobs);
}

/* --- finding --------------------------------------------------------------------------------- */

struct job *jobs_find(const struct jobs *jobs, uint64_t ref)
{
	struct job *own = idmap_find(jobs->map, job_ref_id(ref));
	uint32_t part = job_ref_part(ref);

	if (!own || !part)
		return own;
	return own->link.array ? idmap_find(own->link.array->parts, part) : NULL;
}

/* In order of ref: after each array parent its parts, then the next id. `after` need not exist. */
struct job *jobs_next(const struct jobs *jobs, uint64_t after)
{
	struct job *own = idmap_find(jobs->map, job_ref_id(after)), *part = NULL;

	if (own && own->link.array)
		part = idmap_next(own->link.array->parts, job_ref_part(after));
	return part ? part : idmap_next(jobs->map, job_ref_id(after));
}

/* A run names the task, never a part: a task with a run always has a record of its own. */
struct job *jobs_of_run(const struct jobs *jobs, struct run_id id)
{
	struct job *own = idmap_find(jobs->map, id.job);

	if (!own || !own->link.array)
		return own && !id.task ? own : NULL;
	return id.task <= TASK_MAX ? idmap_find(own->link.array->parts, id.task + 1) : NULL;
}

/* Tasks without a record of their own are under the parent or under a part for several. */
struct job *jobs_stands_in(const struct jobs *jobs, uint64_t id, uint32_t task)
{
	struct job *own = idmap_find(jobs->map, id), *job;

	if (!own || !own->link.array)
		return NULL;
	for (job = own; job; job = idmap_next(own->link.array->parts,
	                             job->info.part ? job->info.part : JOB_PART_RANGES - 1)) {
		if (taskset_has(&job_several(job)->set, task))
			return job;
	}
	return NULL;
}

size_t jobs_count(const struct jobs *jobs)
{
	return idmap_count(jobs->map) + jobs->n_parts;
}

size_t jobs_count_in(const struct jobs *jobs, enum job_state state)
{
	return jobs->in_state[state];
}

/* --- movers ---------------------------------------------------------------------------------- */

/* Texts take memory, which is charged to the job's user: it is counted again. */
static void texts_changed(struct jobs *jobs, struct job *job)
{
	job_charge(jobs, job);
	dirty_put(jobs->dirty, &job->mark);
}

/* A record that is in no table yet. Takes over the references in `info` (request, labels, nonce),
 * and keeps texts of its own. */
static struct job *job_made(struct jobs *jobs, const struct job_info *info)
{
	struct job *job = job_new_blank();

	job->info = *info;
	job->info.state = JOB_PENDING;
	for (size_t t = 0; t < JOB_TEXTS; t++) {
		const char **text = job_text(&job->info, t);

		*text = strings_intern(jobs->strings, *text ? *text : "");
	}
	return job;
}

struct job *jobs_add(struct jobs *jobs, const struct job_info *info)
{
	struct job *job = job_made(jobs, info);

	jobs_take_in(jobs, job);
	dirty_put(jobs->dirty, &job->mark);
	return job;
}

struct job *jobs_stage(
        struct jobs *jobs, const struct job_info *info, struct taskset *tasks, uint32_t at_once)
{
	struct job *job = job_made(jobs, info);

	if (!tasks) {
		job_charge(jobs, job);
		return job;
	}
	job->link.array = array_blank();
	job->link.array->at_once = at_once;
	taskset_copy(&job->link.array->all, tasks);
	job->of.tasks = xcalloc(1, sizeof(*job->of.tasks));
	job->of.tasks->set = *tasks;
	*tasks = (struct taskset){ 0 };
	job_charge(jobs, job);
	return job;
}

/* From here on the row exists in the next commit, in the open range of the bulk. */
void jobs_stage_row(struct jobs *jobs, struct job *job, uint64_t id, usec_t submit_time)
{
	job->info.id = id;
	job->info.submit_time = submit_time;
	dirty_put(jobs->dirty, &job->mark);
}

/* Ids of a bulk may be below others by now, so the map inserts instead of appending. */
void jobs_show(struct jobs *jobs, struct job *job)
{
	idmap_insert(jobs->map, job->info.id, job);
	count_in(jobs, job);
}

/* Deletes the row of a job that was never promised to a client: it must not get into history. */
void jobs_forget(struct jobs *jobs, uint64_t id)
{
	struct job *job = job_made(jobs, &(struct job_info){ .id = id });

	job->dropped = true;
	dirty_gone(jobs->dirty, &job->mark);
}

struct job *jobs_add_array(
        struct jobs *jobs, const struct job_info *info, struct taskset *tasks, uint32_t at_once)
{
	struct job *job = jobs_stage(jobs, info, tasks, at_once);

	jobs_take_in(jobs, job);
	dirty_put(jobs->dirty, &job->mark);
	return job;
}

/* What nodes keep of its runs is out of date: all that a snapshot takes from the job. */
void job_runs_changed(struct job *job)
{
	for (struct run *run = job->link.runs; run; run = run_link(run)->next_of_job)
		node_runs_changed(run_link(run)->node);
}

/* The counts follow, and the nodes of its runs forget what they kept of it (run_snapshot.c). A part
 * that waits again takes over what its array's owner has signed meanwhile. */
void job_move(struct jobs *jobs, struct job *job, enum job_state state)
{
	assert(job_state_may(job->info.state, state));
	jobs_recount(jobs, job, false);
	job->info.state = (uint8_t)state;
	job_runs_changed(job);
	if (state == JOB_PENDING)
		job_follow_array(jobs, job);
	jobs_recount(jobs, job, true);
	dirty_put(jobs->dirty, &job->mark);
}

void job_set_hold(struct jobs *jobs, struct job *job, enum job_hold hold)
{
	if (job->info.hold == hold)
		return;
	job->info.hold = (uint8_t)hold;
	dirty_put(jobs->dirty, &job->mark);
}

/* Takes over the references of `asked`. The job must be in no class, because its class depends on
 * these fields. */
void job_set_asked(struct jobs *jobs, struct job *job, const struct job_info *asked)
{
	assert(!job->link.queued.class);
	jobs_recount(jobs, job, false);
	strings_set(jobs->strings, &job->info.partition, asked->partition);
	strings_set(jobs->strings, &job->info.partitions,
	        asked->partitions ? asked->partitions : "");
	strings_set(jobs->strings, &job->info.partition_needs,
	        asked->partition_needs ? asked->partition_needs : "");
	strings_set(jobs->strings, &job->info.account, asked->account);
	requests_drop(jobs->requests, job->info.gpus);
	job->info.gpus = asked->gpus;
	labels_drop(jobs->labels, job->info.labels);
	COPY_FIELDS(&job->info, asked, labels, warn_signal, warn_before_s, cpus, mem_mb,
	        time_limit_s, nice);
	strings_set(jobs->strings, &job->info.qos, asked->qos ? asked->qos : "");
	COPY_FIELDS(&job->info, asked, max_wait_s, begin_time, deadline, kill_invalid);
	count_in(jobs, job);
	texts_changed(jobs, job);
}

void job_set_qos(struct jobs *jobs, struct job *job, const char *qos)
{
	assert(!job->link.queued.class);
	if (strings_set(jobs->strings, &job->info.qos, qos))
		texts_changed(jobs, job);
}

void job_set_choice(struct jobs *jobs, struct job *job, uint32_t k)
{
	struct job_choice choice;

	if (!*job->info.partitions)
		return;
	job_choice(&job->info, k, &choice);
	jobs_recount(jobs, job, false);
	strings_set(jobs->strings, &job->info.partition, choice.partition);
	COPY_FIELDS(&job->info, &choice, cpus, mem_mb, time_limit_s);
	count_in(jobs, job);
	texts_changed(jobs, job);
}

void job_set_limit(struct jobs *jobs, struct job *job, uint32_t time_limit_s)
{
	job->info.time_limit_s = time_limit_s;
	job_runs_changed(job);
	job->info.limit_set = true;
	dirty_put(jobs->dirty, &job->mark);
}

void job_set_signed(struct jobs *jobs, struct job *job, usec_t sign_time)
{
	if (job->info.sign_time == sign_time)
		return;
	job->info.sign_time = sign_time;
	dirty_put(jobs->dirty, &job->mark);
}

void job_set_planned(struct jobs *jobs, struct job *job, usec_t planned_start)
{
	job->info.planned_start = planned_start;
	dirty_put(jobs->dirty, &job->mark);
}

void job_set_eligible(struct jobs *jobs, struct job *job, usec_t eligible_time)
{
	if (job->info.eligible_time == eligible_time)
		return;
	job->info.eligible_time = eligible_time;
	dirty_put(jobs->dirty, &job->mark);
}

void job_set_depends(struct jobs *jobs, struct job *job, const char *depends)
{
	if (strings_set(jobs->strings, &job->info.depends, depends))
		texts_changed(jobs, job);
}

void job_set_begin(struct jobs *jobs, struct job *job, usec_t begin_time)
{
	if (job->info.begin_time == begin_time)
		return;
	job->info.begin_time = begin_time;
	dirty_put(jobs->dirty, &job->mark);
}

void job_set_mail_begun(struct jobs *jobs, struct job *own)
{
	own->info.mail_types |= MAIL_BEGUN;
	dirty_put(jobs->dirty, &own->mark);
}

void job_set_notifications(struct jobs *jobs, struct job *job, const struct job_info *wished)
{
	struct job_info *i = &job->info;

	strings_set(jobs->strings, &i->remark, wished->remark);
	strings_set(jobs->strings, &i->mail_user, wished->mail_user);
	strings_set(jobs->strings, &i->requeue_on, wished->requeue_on);
	i->mail_types =
	        (uint8_t)((i->mail_types & MAIL_BEGUN) | (wished->mail_types & MAIL_ALL_BITS));
	i->requeue_delay_s = wished->requeue_delay_s;
	i->requeue = wished->requeue;
	texts_changed(jobs, job);
}

void job_set_comment(struct jobs *jobs, struct job *job, const char *comment)
{
	if (strings_set(jobs->strings, &job->info.comment, comment))
		texts_changed(jobs, job);
}

void job_set_end_cause(struct jobs *jobs, struct job *job, enum end_cause cause)
{
	if (job->info.end_cause == cause)
		return;
	job->info.end_cause = (uint8_t)cause;
	dirty_put(jobs->dirty, &job->mark);
}

/* A new attempt has no start, end or cause yet, whatever the last one had. */
void job_set_attempt(struct jobs *jobs, struct job *job, uint32_t attempt)
{
	struct job_info *i = &job->info;

	assert(attempt > i->attempt);
	i->attempt = attempt;
	i->limit_set = false;
	job->link.checkpoint = 0;
	i->start_time = i->end_time = 0;
	i->exit_code = i->exit_signal = 0;
	i->end_cause = END_NONE;
	dirty_put(jobs->dirty, &job->mark);
}

void job_set_start(struct jobs *jobs, struct job *job, usec_t start_time)
{
	if (job->info.start_time == start_time)
		return;
	job->info.start_time = start_time;
	dirty_put(jobs->dirty, &job->mark);
}

void job_set_end(struct jobs *jobs, struct job *job, usec_t end_time, uint32_t exit_code,
        uint32_t exit_signal)
{
	/* Wall clocks jump; nothing is ever shown to end before it began. */
	job->info.end_time = end_time < job->info.start_time ? job->info.start_time : end_time;
	job->info.exit_code = (uint8_t)exit_code;
	job->info.exit_signal = (uint8_t)exit_signal;
	dirty_put(jobs->dirty, &job->mark);
}

void job_unset_end(struct jobs *jobs, struct job *job)
{
	job->info.end_time = 0;
	job->info.exit_code = job->info.exit_signal = 0;
	job->info.end_cause = END_NONE;
	job_follow_array(jobs, job);
	job->link.expired = false;
	dirty_put(jobs->dirty, &job->mark);
}

/* The last of an array to go is its parent. */
void jobs_take_out(struct jobs *jobs, struct job *job)
{
	assert(!job->link.runs && !job->link.queued.class);
	jobs_recount(jobs, job, false);
	if (job->info.part) {
		struct array *a = job->link.own->link.array;

		a->gone_known = false;
		idmap_remove(a->parts, job->info.part);
		jobs->n_parts--;
	} else {
		assert(!job->link.array || !idmap_count(job->link.array->parts));
		idmap_remove(jobs->map, job->info.id);
		nonces_job_gone(jobs->nonces, job->info.nonce);
	}
	dirty_gone(jobs->dirty, &job->mark);
}

void jobs_retire(struct jobs *jobs, struct job *job)
{
	assert(job_state_ended(job->info.state));
	assert(!job->link.depends && !job->link.dependents);
	jobs_take_out(jobs, job);
}
