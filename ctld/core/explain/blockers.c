/* blockers.c - everything that blocks a waiting job
 *
 * The blockers are those of the alternative that the fewest things block. Each of them must go: if
 * there are several, removing one does not start the job; a single one, removed, does. So a class
 * before the job counts only if it would really take what the job needs once all other blockers are
 * gone; that is tried (whatif.h). What would start the job is in suggest.c.
 *
 * An *option* is one alternative with one type. All options are weighed by what they lack
 * (weigh()): limits, room on nodes, a place at all. For the nearest few it is tried whether other
 * classes would be first (try_order()), which costs most. The nearest option is put into words.
 *
 * Nothing changes: other conditions are imagined on the real ledger, limits and plan, and undone
 * before the next question (whatif.h).
 */
#include "ctld/core/explain/blockers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/hostlist.h"
#include "common/base/number_list.h"
#include "common/base/units.h"
#include "common/base/xalloc.h"
#include "common/job/reason.h"
#include "ctld/core/attempts/limit_usage.h"
#include "ctld/core/attempts/run_snapshot.h"
#include "ctld/core/explain/missing_resources.h"
#include "ctld/core/explain/whatif.h"
#include "ctld/core/intake/never_fits.h"
#include "ctld/core/place/ledger.h"
#include "ctld/core/plan/plan.h"
#include "ctld/core/preempt/victims.h"
#include "ctld/core/records/node.h"
#include "ctld/core/records/run.h"
#include "ctld/core/rows/state.h"
#include "ctld/core/sched/class.h"
#include "ctld/core/sched/decide.h"
#include "ctld/core/sched/sched.h"
#include "ctld/core/util/idmap.h"

/* --- adding ---------------------------------------------------------------------------------- */

struct why_blocker *explain_add(struct job_why *why, const char *reason)
{
	struct why_blocker *b;

	if (why->n_blockers == WHY_BLOCKERS)
		return NULL;
	b = &why->blockers[why->n_blockers++];
	memset(b, 0, sizeof(*b));
	b->reason = reason;
	return b;
}

usec_t explain_wall(const struct core *core, usec_t mono)
{
	return mono >= PLAN_FAR ? 0 : core->now.wall + (mono - core->now.mono);
}

/* --- capacity -------------------------------------------------------------------------------- */

/* The candidate that is explained. */
struct wait {
	struct core *core;
	const struct candidate *who;
	const struct class *class; /* its own; NULL: it is imagined */
	uint32_t before;           /* jobs of its class that come before it */
	uint32_t uid;              /* its user: other users' jobs may be hidden from it */
};

#define MAX_ENDERS  256 /* jobs that must end; of further ones only the number is reported */
#define FEW_ENDERS  64  /* up to so many, those that need not end are left out */
#define MAX_HOLDERS 64  /* jobs holding a limit: if more must end, no time is reported */

/* One alternative with one type, and what blocks it. */
struct option {
	uint32_t alternative;
	uint16_t type;
	struct need need; /* at the place that is free or found; else the least */
	size_t n_limits;
	bool resources, planned;
	bool found; /* with resources: there will be a place, `reservation` */
	bool never; /* there would be no place even if all nodes accepted work */
	struct reservation reservation;
	struct job **enders; /* owned: jobs that must end before; MAX_ENDERS at most */
	size_t n_enders, all_enders;
	uint64_t ahead[WHATIF_NAMED]; /* with planned: jobs that take the place first */
	size_t n_ahead;
};

static bool any_place(void *arg, struct place *place, uint64_t gpu_set)
{
	(void)arg, (void)place, (void)gpu_set;
	return true;
}

/* Is there a place now, apart from what is planned? */
static bool fits_now(const struct wait *w, const struct option *o, struct places *places)
{
	const struct sched_view *view = sched_view(w->core->sched);
	struct find find = { .alternative = o->alternative, .type = o->type, .test = any_place };

	return ledger_find(view->ledger, ledger_set_of(view->ledger, w->who->partition),
	        &w->who->ask, &find, places);
}

static struct plan_want want_alone(
        const struct sched_view *view, const struct candidate *who, uint32_t a, uint16_t type)
{
	return (struct plan_want){ .ask = who->ask,
		.set = ledger_set_of(view->ledger, who->partition),
		.partition = who->partition,
		.find = { .alternative = a, .type = type },
		.length = who->length }; /* its key is the first of all: no class is before it */
}

struct ending {
	struct job *job;
	usec_t end;
};

static int by_ending(const void *x, const void *y)
{
	const struct ending *a = x, *b = y;

	if (a->end != b->end)
		return a->end < b->end ? -1 : 1;
	return job_ref(a->job) < job_ref(b->job) ? -1 : 1;
}

/* Is there a place when all of these have ended but one? */
static bool fits_without(
        const struct wait *w, const struct option *o, const struct ending *v, size_t n, size_t but)
{
	struct places places = { 0 };
	struct whatif wi;
	bool fits;

	whatif_begin(&wi, w->core);
	for (size_t i = 0; i < n; i++) {
		if (i != but)
			whatif_over(&wi, v[i].job);
	}
	fits = fits_now(w, o, &places);
	whatif_end(&wi);
	places_free(&places);
	return fits;
}

/* The jobs on the nodes of the reservation that end by its start, each once. */
static struct ending *endings_of(const struct wait *w, const struct option *o, size_t *n)
{
	struct idmap *seen = idmap_new();
	struct ending *v = NULL;
	size_t size = 0, i;

	for (i = 0, *n = 0; i < o->reservation.places.n; i++) {
		uint32_t index = o->reservation.places.v[i].node;
		struct run *run = node_link(nodes_at(w->core->nodes, index))->runs;

		for (; run; run = run_link(run)->next_of_node) {
			struct job *job = run_link(run)->job;
			struct run_snapshot snapshot;

			run_snapshot_of(w->core, run, &snapshot);
			if (!job || snapshot.end > o->reservation.start ||
			        idmap_find(seen, job_ref(job)))
				continue;
			idmap_insert(seen, job_ref(job), job);
			*XADD(v, *n, size) = (struct ending){ job, snapshot.end };
		}
	}
	idmap_free(seen);
	if (*n)
		qsort(v, *n, sizeof(v[0]), by_ending);
	return v;
}

/* Find the jobs that must end for it. If they are few, those that need not end are left out. */
static void find_enders(const struct wait *w, struct option *o)
{
	size_t n, k;
	struct ending *v = endings_of(w, o, &n);

	/* Check the last to end first: the start does not wait for a job that ends early. */
	for (k = n <= FEW_ENDERS ? n : 0; k--;) {
		if (!fits_without(w, o, v, n, k))
			continue;
		memmove(&v[k], &v[k + 1], (--n - k) * sizeof(v[0]));
	}
	o->all_enders = n;
	o->enders = xcalloc(n ? n : 1, sizeof(struct job *));
	for (o->n_enders = 0; o->n_enders < n && o->n_enders < MAX_ENDERS; o->n_enders++)
		o->enders[o->n_enders] = v[o->n_enders].job;
	free(v);
}

static void option_clear(struct option *o)
{
	places_free(&o->reservation.places);
	free(o->enders);
	o->enders = NULL;
}

/* Where jobs are private, not even their ids are shown to other users. */
bool explain_hidden(const struct core *core, uint32_t uid, const struct job *other)
{
	return core->conf->roles.private_jobs && (!other || job_info(other)->uid != uid);
}

/* Append to the text: "4690, 4731 and 3 more"; hidden jobs are only counted. */
static void name_jobs(const struct wait *w, struct job *const *jobs, size_t n, size_t more,
        char *text, size_t size)
{
	size_t used = strlen(text), i, said = 0, hidden = 0;
	char label[JOB_LABEL];

	for (i = 0; i < n && used < size; i++) {
		if (explain_hidden(w->core, w->uid, jobs[i])) {
			hidden++;
			continue;
		}
		if (size - used < 48 && (i + 1 < n || more))
			break;
		used += (size_t)snprintf(text + used, size - used, "%s%s", said++ ? ", " : "",
		        job_label(jobs[i], label));
	}
	more += hidden + (n - i);
	if (!more || used >= size)
		return;
	if (said)
		snprintf(text + used, size - used, " and %zu more", more);
	else
		snprintf(text + used, size - used, "%zu %s", more,
		        more == 1 ? "job of another" : "jobs of others");
}

/* "4690, 4731 and 3 more must end" */
static void say_enders(const struct wait *w, struct job *const *jobs, size_t n, size_t more,
        char *text, size_t size)
{
	if (!n)
		return;
	name_jobs(w, jobs, n, more, text, size - sizeof(" must end"));
	snprintf(text + strlen(text), size - strlen(text), " must end");
}

void hostlist_of(const struct core *core, const struct places *places, char *text, size_t size)
{
	char **names = xcalloc(places->n ? places->n : 1, sizeof(*names)), *all;

	for (size_t i = 0; i < places->n; i++)
		names[i] = core->conf->nodes[places->v[i].node].name;
	all = hostlist_compress((const char *const *)names, places->n);
	snprintf(text, size, "%s", all ? all : "");
	free(all);
	free(names);
}

void say_places(const struct core *core, const struct places *places, char *text, size_t size)
{
	uint64_t mask = places->v[0].gpus;
	const struct share *share = &places->v[0].share;
	char nodes[80], part[UNITS_TEXT] = "", numbers[NUMBERS_TEXT];
	uint32_t gpus = 0;
	size_t used, i;

	hostlist_of(core, places, nodes, sizeof(nodes));
	for (i = 0; i < places->n; i++)
		gpus += (uint32_t)__builtin_popcountll(places->v[i].gpus);
	used = (size_t)snprintf(text, size, "on %s", nodes);
	if (!gpus || used >= size)
		return;
	if (share->charge)
		share_format(part, share->mem_mb, share->milli);
	used += (size_t)snprintf(text + used, size - used, " with %.60s:%u%s%s",
	        core->conf->gpu_types[places->type].name, gpus, *part ? "/" : "", part);
	if (places->n > 1)
		return;
	if (used < size)
		snprintf(text + used, size - used, " (GPU%s %s)", gpus > 1 ? "s" : "",
		        numbers_format_set(numbers, sizeof(numbers), mask));
}

/* --- one alternative ------------------------------------------------------------------------- */

/* What the job would take: at a place that is or will be there, exactly that, on as few nodes as
 * possible; else the least. What a share is charged as is known only for a place. */
static void need_of(const struct wait *w, struct option *o, struct places places)
{
	const struct sched_view *view = sched_view(w->core->sched);
	const struct request *r = w->who->ask.gpus;

	if (!places.n) {
		need_at_least(view, &w->who->ask, o->alternative, o->type, &o->need);
		return;
	}
	if ((r->per_node || !r->n) && places.n > r->nodes_min)
		places.n = r->nodes_min;
	need_of_places(view, &w->who->ask, &places, &o->need);
}

static size_t limits_of_option(const struct wait *w, const struct option *o, struct limit_block *v)
{
	return limits_check_all(w->core->limits, w->who->chain, &o->need, v, v ? WHY_BLOCKERS : 0);
}

/* What blocks the option: room now, or else when and where there will be room, and which jobs must
 * end for that; the limits, with what it would take there. */
static void weigh(const struct wait *w, struct option *o)
{
	const struct sched_view *view = sched_view(w->core->sched);
	struct plan_want want = want_alone(view, w->who, o->alternative, o->type);
	struct places places = { 0 };

	o->resources = !fits_now(w, o, &places);
	o->found = o->resources && plan_find(view->plan, &want, &o->reservation);
	need_of(w, o, o->found ? o->reservation.places : places);
	o->n_limits = limits_of_option(w, o, NULL);
	places_free(&places);
	if (!o->resources)
		return;
	if (o->found)
		find_enders(w, o);
	else
		o->never = !alternative_could(
		        w->core, w->who->partition, &w->who->ask, o->alternative, o->type);
}

/* If all other blockers were gone: would a class before it take what it needs? */
static void try_order(const struct wait *w, struct option *o)
{
	struct limit_block v[WHY_BLOCKERS];
	struct whatif wi;
	size_t n, i;

	/* If too many jobs must end, it is not known which classes would take what they leave. */
	if ((o->resources && !o->found) || o->n_enders < o->all_enders)
		return;
	n = limits_of_option(w, o, v);
	whatif_begin(&wi, w->core);
	for (i = 0; i < n && i < WHY_BLOCKERS; i++)
		whatif_lift(&wi, &v[i]);
	for (i = 0; i < o->n_enders; i++)
		whatif_over(&wi, o->enders[i]);
	/* It cannot start: if nothing else blocks it, the order does. */
	o->planned = !whatif_starts(&wi, w->who, w->class, w->before) || (!n && !o->resources);
	o->n_ahead = wi.n_ahead;
	memcpy(o->ahead, wi.ahead, sizeof(o->ahead));
	whatif_end(&wi);
}

/* How many things block it, apart from the order. */
static size_t weight(const struct option *o)
{
	return o->n_limits + o->resources;
}

/* 0: it waits for nodes that accept work, 1: for nodes that do not, 2: for nodes that do not
 * exist. */
static int distance(const struct option *o)
{
	return o->never ? 2 : o->resources && !o->found;
}

/* Is the first closer to a start, apart from the order? */
static bool nearer(const struct option *x, const struct option *y)
{
	int dx = distance(x), dy = distance(y);

	return dx != dy ? dx < dy : weight(x) < weight(y);
}

#define MAX_OPTIONS 4 /* options for which the order is tried */

/* The alternative and type that the fewest things block. False: no type is left. */
static bool best_option(const struct wait *w, struct option *best)
{
	const struct sched_view *view = sched_view(w->core->sched);
	unsigned tried = 0;
	uint16_t type;

	memset(best, 0, sizeof(*best));
	for (uint32_t a = 0; a < decide_alternatives(&w->who->ask); a++) {
		for (uint32_t cursor = 0; decide_types(view, &w->who->ask, a, &cursor, &type);) {
			struct option o = { .alternative = a, .type = type };
			bool better;

			weigh(w, &o);
			better = !tried || nearer(&o, best) || (!nearer(best, &o) && best->planned);
			if (better && tried++ < MAX_OPTIONS) {
				try_order(w, &o);
				better = tried == 1 || nearer(&o, best) || !o.planned;
			}
			option_clear(better ? best : &o);
			if (better)
				*best = o;
		}
	}
	return tried;
}

uint32_t explain_count(struct core *core, const struct class *class)
{
	struct candidate who = sched_candidate(core->sched, class);
	struct wait w = { core, &who, class, 0, class_info(class)->uid };
	struct option o;
	uint32_t n = 1;

	class_set_aside(class, true);
	if (best_option(&w, &o))
		n = (uint32_t)(weight(&o) + o.planned);
	class_set_aside(class, false);
	option_clear(&o);
	return n;
}

/* --- in words -------------------------------------------------------------------------------- */

static void say_resources(const struct wait *w, const struct option *o, struct job_why *why)
{
	char text[256], nodes[64];
	struct why_blocker *b = explain_add(why,
	        missing_resources(w->core, w->who->partition, &w->who->ask, text, sizeof(text)));
	size_t used;

	if (!b)
		return;
	snprintf(b->text, sizeof(b->text), "%s", text);
	if (!o->found)
		return;
	b->clears = explain_wall(w->core, o->reservation.start);
	hostlist_of(w->core, &o->reservation.places, nodes, sizeof(nodes));
	used = (size_t)snprintf(
	        b->clears_text, sizeof(b->clears_text), "on %s%s", nodes, o->n_enders ? ", " : "");
	if (used < sizeof(b->clears_text))
		say_enders(w, o->enders, o->n_enders, o->all_enders - o->n_enders, b->clears_text,
		        sizeof(b->clears_text));
}

/* Other jobs of its class come first, or other classes: then some of them by name. */
static void say_priority(const struct wait *w, const struct option *o, struct job_why *why)
{
	const struct conf_partition *p = &w->core->conf->partitions[w->who->partition];
	struct why_blocker *b = explain_add(why, reason_word(REASON_PRIORITY));
	struct job *ahead[WHATIF_NAMED];
	size_t used, n;
	char label[JOB_LABEL];

	if (!b)
		return;
	if (w->before) {
		snprintf(b->text, sizeof(b->text), "waits behind job %s, which asks for the same",
		        job_label(class_head(w->class), label));
		return;
	}
	used = w->class && why->position
	               ? (size_t)snprintf(b->text, sizeof(b->text), "number %u of %u in %.60s",
	                         why->position, why->of, p->name)
	               : (size_t)snprintf(b->text, sizeof(b->text), "in %.60s", p->name);
	for (n = 0; n < o->n_ahead && n < WHATIF_NAMED; n++) {
		ahead[n] = jobs_find(w->core->jobs, o->ahead[n]);
		if (!ahead[n]) /* the job is now part of its array's record */
			break;
	}
	if (n && used < sizeof(b->text)) {
		snprintf(b->text + used, sizeof(b->text) - used, ", after ");
		name_jobs(w, ahead, n, o->n_ahead - n, b->text, sizeof(b->text));
	}
}

/* Mono: the latest expected end of its runs; PLAN_FAR: not known. */
static usec_t job_ends(struct core *core, const struct job *job)
{
	const struct run *run;
	usec_t end = 0;
	struct run_snapshot snapshot;

	for (run = job_link_of(job)->runs; run; run = run_link_of(run)->next_of_job) {
		if (run_over(run))
			continue;
		run_snapshot_of(core, run, &snapshot);
		end = snapshot.end > end ? snapshot.end : end;
	}
	return end;
}

/* Does this limit still block it? */
static bool still_held(const struct wait *w, const struct need *need, uint32_t limit)
{
	struct limit_block v[WHY_BLOCKERS];
	size_t n = limits_check_all(w->core->limits, w->who->chain, need, v, WHY_BLOCKERS), i;

	for (i = 0; i < n && i < WHY_BLOCKERS; i++) {
		if (v[i].limit == limit)
			return true;
	}
	return false;
}

/* Insert into the first `max` by end. */
static void note_ending(struct ending *v, size_t *n, size_t max, const struct ending *e)
{
	size_t i;

	for (i = 0; i < *n; i++) {
		if (v[i].job == e->job)
			return;
	}
	if (*n == max && by_ending(e, &v[max - 1]) > 0)
		return;
	i = *n < max ? (*n)++ : max - 1;
	for (; i && by_ending(e, &v[i - 1]) < 0; i--)
		v[i] = v[i - 1];
	v[i] = *e;
}

/* When will the limit let it through? The jobs that hold it are made to end one after another, and
 * that is undone. */
static void say_limit_clears(
        const struct wait *w, const struct option *o, uint32_t limit, struct why_blocker *b)
{
	struct core *core = w->core;
	struct ending v[MAX_HOLDERS];
	struct job *jobs[MAX_HOLDERS];
	struct whatif wi;
	size_t n = 0, i;
	bool held = true;

	for (i = 0; i < core->conf->n_nodes; i++) {
		struct run *run = node_link(nodes_at(core->nodes, (uint32_t)i))->runs;

		for (; run; run = run_link(run)->next_of_node) {
			struct ending e = { .job = run_link(run)->job };

			if (!e.job || !job_takes_limit(core, e.job, limit))
				continue;
			e.end = job_ends(core, e.job);
			note_ending(v, &n, MAX_HOLDERS, &e);
		}
	}
	whatif_begin(&wi, core);
	for (i = 0; i < n && held; i++) {
		jobs[i] = v[i].job;
		whatif_over(&wi, jobs[i]);
		held = still_held(w, &o->need, limit);
	}
	whatif_end(&wi);
	if (held)
		return;
	b->clears = explain_wall(core, v[i - 1].end);
	say_enders(w, jobs, i, 0, b->clears_text, sizeof(b->clears_text));
}

static void say_option(const struct wait *w, const struct option *o, struct job_why *why)
{
	struct limit_block v[WHY_BLOCKERS];
	size_t n = limits_of_option(w, o, v), i;

	for (i = 0; i < n && i < WHY_BLOCKERS; i++) {
		struct why_blocker *b = explain_add(why, v[i].reason);

		if (!b)
			return;
		snprintf(b->text, sizeof(b->text), "%s", v[i].text);
		say_limit_clears(w, o, v[i].limit, b);
	}
	if (o->resources)
		say_resources(w, o, why);
	if (o->planned)
		say_priority(w, o, why);
}

/* --- all of it ------------------------------------------------------------------------------- */

/* The same decision as the scheduler's says whether the cluster is the obstacle or the
 * configuration. */
void explain_candidate(struct core *core, const struct candidate *who, const struct class *class,
        uint32_t before, uint32_t uid, struct job_why *why)
{
	struct wait w = { core, who, class, before, uid };
	struct why_blocker *b;
	struct option o = { 0 };
	struct places places = { 0 };
	struct decision d;

	/* What is planned for the job in another of its partitions keeps it from nothing here. */
	if (class)
		class_set_aside(class, true);
	switch (decide(sched_view(core->sched), who, &places, &d)) {
	case VERDICT_PARTITION:
		b = explain_add(why, reason_word(REASON_BAD_CONSTRAINTS));
		snprintf(b->text, sizeof(b->text), "its partition is no longer configured");
		break;
	case VERDICT_TYPE:
		b = explain_add(why, reason_word(REASON_BAD_CONSTRAINTS));
		snprintf(b->text, sizeof(b->text), "its GPU type is no longer configured");
		break;
	case VERDICT_STATE:
		b = explain_add(why, reason_word(REASON_PARTITION_DOWN));
		snprintf(b->text, sizeof(b->text), "partition %.60s currently starts no jobs",
		        core->conf->partitions[who->partition].name);
		break;
	default:
		if (best_option(&w, &o))
			say_option(&w, &o, why);
	}
	if (class)
		class_set_aside(class, false);
	option_clear(&o);
	places_free(&places);
}

/* The earliest start over all options beside what is planned, by the candidate's own key. */
void explain_plan(struct core *core, const struct candidate *who, struct job_why *why)
{
	const struct sched_view *view = sched_view(core->sched);
	struct reservation best = { 0 }, this = { 0 };
	uint32_t a, cursor;
	uint16_t type;

	for (a = 0; who->partition != CONF_NONE && a < decide_alternatives(&who->ask); a++) {
		for (cursor = 0; decide_types(view, &who->ask, a, &cursor, &type);) {
			struct plan_want want = want_alone(view, who, a, type);
			struct reservation swap = best;

			want.key = who->key;
			if (!plan_find(view->plan, &want, &this) ||
			        (best.places.n && this.start >= best.start))
				continue;
			best = this;
			this = swap;
		}
	}
	if (best.places.n) {
		why->planned_start = explain_wall(core, best.start);
		hostlist_of(core, &best.places, why->planned_nodes, sizeof(why->planned_nodes));
	}
	places_free(&best.places);
	places_free(&this.places);
}

#define TOLD " would be told to end for it"

void explain_victims(struct core *core, const struct candidate *who, const struct decision *d,
        uint32_t uid, struct job_why *why)
{
	const struct wait w = { .core = core, .who = who, .uid = uid };
	struct preemption p = { 0 };
	struct job *jobs[WHATIF_NAMED];
	usec_t start;
	size_t n, i;

	if (sched_would_stop(core->sched, who, d, &p)) {
		start = explain_wall(core, p.reservation.start);
		if (!why->planned_start || start < why->planned_start) {
			why->planned_start = start;
			hostlist_of(core, &p.reservation.places, why->planned_nodes,
			        sizeof(why->planned_nodes));
			for (i = n = 0; i < p.n && n < WHATIF_NAMED; i++) {
				jobs[n] = jobs_find(core->jobs, p.victims[i].job);
				n += jobs[n] != NULL;
			}
			name_jobs(&w, jobs, n, p.n - n, why->planned_why,
			        sizeof(why->planned_why) - sizeof(TOLD));
			strcat(why->planned_why, TOLD);
		}
	}
	preemption_clear(&p);
}
