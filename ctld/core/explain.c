/* explain.c - everything that holds a waiting job, and what would start it now
 *
 * Blockers are of that alternative which the fewest hold, so that taking any one of several away
 * does not start the job. What would start it is in suggest.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/hostlist.h"
#include "common/xalloc.h"
#include "ctld/core/explain.h"
#include "ctld/core/intake.h"

/* --- adding ---------------------------------------------------------------------------------- */

static struct why_blocker *add(struct job_why *why, const char *reason)
{
	struct why_blocker *b;

	if (why->n_blockers == WHY_BLOCKERS)
		return NULL;
	b = &why->blockers[why->n_blockers++];
	memset(b, 0, sizeof(*b));
	b->reason = reason;
	return b;
}

static bool key_before(struct heap_key x, struct heap_key y)
{
	return x.a != y.a ? x.a < y.a : x.b < y.b;
}

static usec_t wall_of(const struct core *core, usec_t mono)
{
	return mono >= PLAN_FAR ? 0 : core->now.wall + (mono - core->now.mono);
}

/* --- the job itself -------------------------------------------------------------------------- */

/* What keeps it out of every queue: then nothing else matters yet. */
static bool held_back(struct core *core, const struct job *job, struct job_why *why)
{
	struct why_blocker *b;
	const char *reason;
	char text[256];

	if (job_link_of(job)->class)
		return false;
	reason = job_why(core, job, core->now, text, sizeof(text));
	b = add(why, *reason ? reason : "None");
	snprintf(b->text, sizeof(b->text), "%s", text);
	return true;
}

/* --- capacity -------------------------------------------------------------------------------- */

static bool any_place(void *arg, const struct place *place)
{
	(void)arg, (void)place;
	return true;
}

/* Is there a place now, whatever is planned? */
static bool fits_now(const struct scene *sc, const struct contender *who, uint32_t a, uint16_t type)
{
	struct find find = { .alternative = a, .type = type, .test = any_place };
	struct places places = { 0 };
	bool fits = ledger_find(
	        sc->ledger, ledger_set_of(sc->ledger, who->partition), &who->ask, &find, &places);

	places_free(&places);
	return fits;
}

/* The same, and without delaying what is planned for somebody before it. */
static bool fits_beside_plan(
        const struct scene *sc, const struct contender *who, uint32_t a, uint16_t type)
{
	struct decide_look look = { sc, who, false, false };
	struct find find = { .alternative = a, .type = type, .test = decide_test, .arg = &look };
	struct places places = { 0 };
	bool fits = ledger_find(
	        sc->ledger, ledger_set_of(sc->ledger, who->partition), &who->ask, &find, &places);

	places_free(&places);
	return fits;
}

static struct plan_want want_alone(
        const struct scene *sc, const struct contender *who, uint32_t a, uint16_t type)
{
	return (struct plan_want){ .ask = who->ask,
		.set = ledger_set_of(sc->ledger, who->partition),
		.partition = who->partition,
		.find = { .alternative = a, .type = type },
		.length = who->length }; /* of the first of all keys: nobody is before it */
}

/* The runs that end first on the nodes of an entry until it has room there: "4731 must end". */
static void say_ends(
        const struct scene *sc, const struct plan_entry *entry, char *text, size_t size)
{
	size_t i, k, n, used = 0, named = 0;
	struct held held[64];

	text[0] = '\0';
	for (i = 0; i < entry->places.n; i++) {
		const struct place *p = &entry->places.v[i];

		n = plan_held(sc->plan, p->node, held, 64);
		for (k = 0; k < n && k < 64 && used + 24 < size; k++) {
			char id[24];

			snprintf(id, sizeof(id), "%llu", (unsigned long long)held[k].job);
			if (held[k].end > entry->start || strstr(text, id))
				continue;
			used += (size_t)snprintf(
			        text + used, size - used, "%s%s", named++ ? ", " : "", id);
		}
	}
	if (named && used < size)
		snprintf(text + used, size - used, " must end");
}

void hostlist_of(const struct core *core, const struct places *places, char *text, size_t size)
{
	char **names = xcalloc(places->n ? places->n : 1, sizeof(*names)), *all;
	size_t i;

	for (i = 0; i < places->n; i++)
		names[i] = core->conf->nodes[places->v[i].node].name;
	all = hostlist_compress((const char *const *)names, places->n);
	snprintf(text, size, "%s", all ? all : "");
	free(all);
	free(names);
}

void say_places(const struct core *core, const struct places *places, char *text, size_t size)
{
	uint64_t mask = places->v[0].gpus;
	uint32_t gpus = 0;
	char nodes[80];
	size_t used, i;
	int g;

	hostlist_of(core, places, nodes, sizeof(nodes));
	for (i = 0; i < places->n; i++)
		gpus += (uint32_t)__builtin_popcountll(places->v[i].gpus);
	used = (size_t)snprintf(text, size, "on %s", nodes);
	if (!gpus || used >= size)
		return;
	used += (size_t)snprintf(text + used, size - used, " with %.60s:%u",
	        core->conf->gpu_types[places->type].name, gpus);
	if (places->n > 1)
		return;
	for (i = 0, g = 0; g < 64 && used < size; g++) {
		if (mask >> g & 1)
			used += (size_t)snprintf(
			        text + used, size - used, "%s%d", i++ ? "," : " (GPUs ", g);
	}
	if (used < size)
		snprintf(text + used, size - used, ")");
}

static void say_resources(struct core *core, const struct contender *who, uint32_t a, uint16_t type,
        struct job_why *why)
{
	const struct scene *sc = sched_scene(core->sched);
	struct plan_want want = want_alone(sc, who, a, type);
	struct plan_entry entry = { 0 };
	char text[256], nodes[80];
	struct why_blocker *b =
	        add(why, ask_why(core, who->partition, &who->ask, text, sizeof(text)));

	if (!b)
		return;
	snprintf(b->text, sizeof(b->text), "%s", text);
	if (plan_find(sc->plan, &want, &entry)) {
		b->clears = wall_of(core, entry.start);
		hostlist_of(core, &entry.places, nodes, sizeof(nodes));
		say_ends(sc, &entry, text, sizeof(text));
		snprintf(b->clears_text, sizeof(b->clears_text), "on %.60s%s%.60s", nodes,
		        *text ? ", " : "", text);
	}
	places_free(&entry.places);
}

/* --- who goes first -------------------------------------------------------------------------- */

struct ahead {
	uint64_t jobs[4];
	size_t n, named;
};

static void note_ahead(struct ahead *ahead, const struct class *class)
{
	if (ahead->named < 4)
		ahead->jobs[ahead->named++] = job_id(class_head(class));
	ahead->n++;
}

/* Classes before it that wait for capacity of the same nodes. */
static void find_ahead(const struct core *core, const struct contender *who, struct ahead *ahead)
{
	struct plan *plan = sched_scene(core->sched)->plan;
	size_t i;

	memset(ahead, 0, sizeof(*ahead));
	for (i = 0; i < plan_count(plan); i++) {
		const struct plan_entry *e = plan_at(plan, i);

		if (e->partition == who->partition && key_before(e->key, who->key))
			note_ahead(ahead, e->owner);
	}
}

static void say_priority(const struct core *core, const struct contender *who,
        const struct job *job, const struct job *head, struct job_why *why)
{
	const struct conf_partition *p = &core->conf->partitions[who->partition];
	struct why_blocker *b = add(why, "Priority");
	struct ahead ahead;
	size_t used, i;

	if (!b)
		return;
	if (head != job) {
		snprintf(b->text, sizeof(b->text), "waits behind job %llu, which asks for the same",
		        (unsigned long long)job_id(head));
		return;
	}
	find_ahead(core, who, &ahead);
	used = job ? (size_t)snprintf(b->text, sizeof(b->text), "number %u of %u in %.60s",
	                     why->position, why->of, p->name)
	           : (size_t)snprintf(b->text, sizeof(b->text), "in %.60s", p->name);
	for (i = 0; i < ahead.named && used < sizeof(b->text); i++)
		used += (size_t)snprintf(b->text + used, sizeof(b->text) - used, "%s%llu",
		        i ? ", " : ", after ", (unsigned long long)ahead.jobs[i]);
	if (ahead.n > ahead.named && used < sizeof(b->text))
		snprintf(b->text + used, sizeof(b->text) - used, " and %zu more",
		        ahead.n - ahead.named);
}

/* Let the runs of a found entry's nodes that end by its start be over; ledger_undo() takes it back.
 */
static void imagine_ends(struct core *core, const struct plan_entry *entry)
{
	struct held held;
	size_t i;

	for (i = 0; i < entry->places.n; i++) {
		uint32_t node = entry->places.v[i].node;
		struct run *run = node_link(nodes_at(core->nodes, node))->runs;

		for (; run; run = run_link(run)->next_of_node) {
			struct place place = run_place(run);

			run_held(core, run, &held);
			if (held.end <= entry->start)
				ledger_release(core->ledger, &place);
		}
	}
}

/* If what must end had ended: would somebody before it take the place? Tried, and undone. */
static bool others_would_take(
        struct core *core, const struct contender *who, uint32_t a, uint16_t type)
{
	const struct scene *sc = sched_scene(core->sched);
	struct plan_want want = want_alone(sc, who, a, type);
	struct plan_entry entry = { 0 };
	struct places places = { 0 };
	struct decision d;
	bool taken = false;
	size_t i;

	if (!plan_find(sc->plan, &want, &entry)) {
		places_free(&entry.places);
		return false;
	}
	ledger_mark(core->ledger);
	imagine_ends(core, &entry);
	for (i = 0; i < plan_count(sc->plan) && !taken; i++) {
		const struct plan_entry *e = plan_at(sc->plan, i);

		if (key_before(e->key, who->key)) {
			struct contender other = sched_contender(core->sched, e->owner);

			taken = decide(sc, &other, &places, &d) == VERDICT_START;
		}
	}
	if (!taken)
		taken = decide(sc, who, &places, &d) == VERDICT_PLANNED;
	ledger_undo(core->ledger);
	places_free(&places);
	places_free(&entry.places);
	return taken;
}

/* --- gates ----------------------------------------------------------------------------------- */

struct ending {
	struct job *job;
	usec_t end;
};

static int by_ending(const void *x, const void *y)
{
	const struct ending *a = x, *b = y;

	if (a->end != b->end)
		return a->end < b->end ? -1 : 1;
	return job_id(a->job) < job_id(b->job) ? -1 : 1;
}

static usec_t job_ends(struct core *core, const struct job *job)
{
	const struct run *run;
	usec_t end = 0;
	struct held held;

	for (run = job_link_of(job)->runs; run; run = run_link_of(run)->next_of_job) {
		if (run_over(run))
			continue;
		run_held(core, run, &held);
		end = held.end > end ? held.end : end;
	}
	return end;
}

static bool still_held(const struct core *core, const struct contender *who,
        const struct need *need, uint32_t gate)
{
	struct gate_block v[WHY_BLOCKERS];
	size_t n = gates_check_all(core->gates, who->path, need, v, WHY_BLOCKERS), i;

	for (i = 0; i < n && i < WHY_BLOCKERS; i++) {
		if (v[i].gate == gate)
			return true;
	}
	return false;
}

#define MAX_ENDINGS 256

/* When will the gate let it through? The jobs that hold it end one after another; tried, undone. */
static void say_gate_clears(struct core *core, const struct contender *who, const struct need *need,
        uint32_t gate, struct why_blocker *b)
{
	struct ending v[MAX_ENDINGS];
	size_t n = 0, i, k, used = 0;
	struct job *job;
	bool held = true;

	for (job = jobs_next(core->jobs, 0); job && n < MAX_ENDINGS;
	        job = jobs_next(core->jobs, job_id(job))) {
		if (job_takes_gate(core, job, gate))
			v[n++] = (struct ending){ job, job_ends(core, job) };
	}
	qsort(v, n, sizeof(v[0]), by_ending);
	for (i = 0; i < n && held; i++) {
		job_imagine_over(core, v[i].job, true);
		held = still_held(core, who, need, gate);
		if (used + 24 < sizeof(b->clears_text))
			used += (size_t)snprintf(b->clears_text + used,
			        sizeof(b->clears_text) - used, "%s%llu", i ? ", " : "",
			        (unsigned long long)job_id(v[i].job));
	}
	for (k = i; k--;)
		job_imagine_over(core, v[k].job, false);
	if (held) {
		b->clears_text[0] = '\0';
		return;
	}
	b->clears = wall_of(core, v[i - 1].end);
	if (used + 10 < sizeof(b->clears_text))
		snprintf(b->clears_text + used, sizeof(b->clears_text) - used, " must end");
}

/* --- one alternative ------------------------------------------------------------------------- */

struct option {
	uint32_t alternative;
	uint16_t type;
	size_t gates; /* that hold it */
	bool resources, planned;
};

static size_t weigh(const struct option *o)
{
	return o->gates + o->resources + o->planned;
}

/* The alternative and type that the fewest things hold. False: no type is left. */
static bool best_option(struct core *core, const struct contender *who, struct option *best)
{
	const struct scene *sc = sched_scene(core->sched);
	bool found = false;
	uint32_t a, cursor;
	uint16_t type;

	for (a = 0; a < decide_alternatives(&who->ask); a++) {
		for (cursor = 0; decide_types(sc, &who->ask, a, &cursor, &type);) {
			struct option o = { .alternative = a, .type = type };
			struct need need;

			decide_need(sc, &who->ask, a, type, &need);
			o.gates = gates_check_all(core->gates, who->path, &need, NULL, 0);
			o.resources = !fits_now(sc, who, a, type);
			o.planned = o.resources ? others_would_take(core, who, a, type)
			                        : !fits_beside_plan(sc, who, a, type);
			if (!found || weigh(&o) < weigh(best))
				*best = o;
			found = true;
		}
	}
	return found;
}

uint32_t explain_count(const struct core *core, const struct contender *who)
{
	struct option o;

	/* It tries on the ledger, and undoes: nothing is changed. */
	return best_option((struct core *)(uintptr_t)core, who, &o) ? (uint32_t)weigh(&o) : 1;
}

static void say_option(struct core *core, const struct contender *who, const struct job *job,
        const struct job *head, const struct option *o, struct job_why *why)
{
	const struct scene *sc = sched_scene(core->sched);
	struct gate_block v[WHY_BLOCKERS];
	struct need need;
	size_t n, i;

	decide_need(sc, &who->ask, o->alternative, o->type, &need);
	n = gates_check_all(core->gates, who->path, &need, v, WHY_BLOCKERS);
	for (i = 0; i < n && i < WHY_BLOCKERS; i++) {
		struct why_blocker *b = add(why, v[i].reason);

		if (!b)
			return;
		snprintf(b->text, sizeof(b->text), "%s", v[i].text);
		say_gate_clears(core, who, &need, v[i].gate, b);
	}
	if (o->resources)
		say_resources(core, who, o->alternative, o->type, why);
	if (o->planned || head != job)
		say_priority(core, who, job, head, why);
}

/* --- what is only imagined ------------------------------------------------------------------- */

void imagine(struct core *core, const struct intake *t, const char *user, uint64_t id,
        usec_t submit_time, struct imagined *im)
{
	const struct job_info *i = &t->info;
	struct assoc *assoc = accounts_want(core->accounts, i->account, i->uid, user);

	im->info = (struct class_info){ .uid = i->uid,
		.cpus = i->cpus,
		.max_wait_s = i->max_wait_s,
		.length_s = class_length(i->time_limit_s),
		.gpus = i->gpus,
		.mem_mb = i->mem_mb,
		.nice = i->nice };
	im->who = (struct contender){ .ask = { i->gpus, i->cpus, i->mem_mb },
		.partition = t->partition,
		.account = sched_account(core->sched, i->account),
		.qos = sched_qos(core->sched, i->qos),
		.length = class_length_us(im->info.length_s) };
	im->path = gates_path(core->gates, im->who.account, i->uid, im->who.qos, im->who.partition);
	im->who.path = im->path;
	im->who.key = sched_key(core->sched, &im->who, assoc, &im->info, id, submit_time);
	assoc_drop(core->accounts, assoc);
}

void imagined_clear(struct core *core, struct imagined *im)
{
	gate_path_free(core->gates, im->path);
}

/* --- all of it ------------------------------------------------------------------------------- */

static void say_plan(const struct core *core, const struct job *job, const struct class *class,
        struct job_why *why)
{
	const struct class_link *l = class_link_of(class);

	why->first_planned = job_info(job)->planned_start;
	if (class_head(class) != job || !l->entry)
		return;
	why->planned_start = wall_of(core, l->entry->start);
	hostlist_of(core, &l->entry->places, why->planned_nodes, sizeof(why->planned_nodes));
	if (!l->cause)
		return;
	if (l->cause_job)
		snprintf(why->planned_why, sizeof(why->planned_why), "%s: job %llu", l->cause,
		        (unsigned long long)l->cause_job);
	else
		snprintf(why->planned_why, sizeof(why->planned_why), "%s", l->cause);
}

void explain_contender(struct core *core, const struct contender *who, const struct job *job,
        const struct job *head, struct job_why *why)
{
	struct why_blocker *b;
	struct option o;
	struct places places = { 0 };
	struct decision d;

	switch (decide(sched_scene(core->sched), who, &places, &d)) {
	case VERDICT_START:
		break;
	case VERDICT_PARTITION:
		b = add(why, "BadConstraints");
		snprintf(b->text, sizeof(b->text), "its partition is no longer configured");
		break;
	case VERDICT_TYPE:
		b = add(why, "BadConstraints");
		snprintf(b->text, sizeof(b->text), "its GPU type is no longer configured");
		break;
	case VERDICT_STATE:
		b = add(why, "PartitionDown");
		snprintf(b->text, sizeof(b->text), "partition %.60s starts nothing now",
		        core->conf->partitions[who->partition].name);
		break;
	default:
		if (best_option(core, who, &o))
			say_option(core, who, job, head, &o, why);
	}
	places_free(&places);
}

void explain_plan(struct core *core, const struct contender *who, struct job_why *why)
{
	const struct scene *sc = sched_scene(core->sched);
	struct plan_entry best = { 0 }, this = { 0 };
	uint32_t a, cursor;
	uint16_t type;

	for (a = 0; who->partition != CONF_NONE && a < decide_alternatives(&who->ask); a++) {
		for (cursor = 0; decide_types(sc, &who->ask, a, &cursor, &type);) {
			struct plan_want want = want_alone(sc, who, a, type);
			struct plan_entry swap = best;

			want.key = who->key;
			if (!plan_find(sc->plan, &want, &this) ||
			        (best.places.n && this.start >= best.start))
				continue;
			best = this;
			this = swap;
		}
	}
	if (best.places.n) {
		why->planned_start = wall_of(core, best.start);
		hostlist_of(core, &best.places, why->planned_nodes, sizeof(why->planned_nodes));
	}
	places_free(&best.places);
	places_free(&this.places);
}

double explain_cost(
        const struct core *core, const struct job_info *info, const struct places *places)
{
	double hours = (double)info->time_limit_s / 3600, sum = 0;
	size_t i;

	if (!info->time_limit_s)
		return -1;
	for (i = 0; i < places->n; i++) {
		const struct place *p = &places->v[i];
		uint32_t gpus = (uint32_t)__builtin_popcountll(p->gpus);

		sum += core->conf->prices.cpu * p->cpus;
		sum += core->conf->prices.mem_gb * (double)p->mem_mb / 1024;
		if (gpus)
			sum += core->conf->gpu_types[places->type].price * gpus;
	}
	return sum * hours;
}

bool core_job_why(struct core *core, uint64_t id, struct clocks now, struct job_why *why)
{
	const struct job *job = jobs_find(core->jobs, id);
	struct class *class;
	struct contender who;

	if (!job || job_info(job)->state != JOB_PENDING)
		return false;
	memset(why, 0, sizeof(*why));
	core->now = now;
	sched_now(core->sched, now);
	if (held_back(core, job, why))
		return true;
	class = job_link_of(job)->class;
	sched_position(core->sched, class, &why->position, &why->of);
	why->position += sched_before(class, id);
	/* While a pass is under way nothing is settled. */
	if (!sched_idle(core->sched))
		return true;
	who = sched_contender(core->sched, class);
	explain_contender(core, &who, job, class_head(class), why);
	say_plan(core, job, class, why);
	suggest(core, job, why);
	return true;
}
