/* suggest.c - see suggest.h
 *
 * Less time, memory or CPUs never make a start harder, unless a partition demands a minimum. So the
 * nearest value is found by bisection. Small numbers of GPUs are tried one by one: gangs and limits
 * may allow one number and not the next smaller one.
 *
 * Each kind of change is a function of the table `kinds`, and each value is tried by the same two
 * steps: the checks of an update, then decide() with a candidate that asks for the changed request
 * (try()). A job that has a planned start would give it up for the change; so its changes are also
 * tried against the classes that would be before it then (left_to_it()).
 */
#include "ctld/core/explain/suggest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/units.h"
#include "common/base/xalloc.h"
#include "ctld/core/attempts/limit_usage.h"
#include "ctld/core/explain/blockers.h"
#include "ctld/core/explain/imagined_job.h"
#include "ctld/core/explain/whatif.h"
#include "ctld/core/intake/job_checks.h"
#include "ctld/core/intake/update.h"
#include "ctld/core/records/job_partitions.h"
#include "ctld/core/rows/state.h"
#include "ctld/core/sched/sched.h"

#define MAX_FOUND 32
#define MIB       (1024 * 1024ull)

/* The decisions that the core makes for one job, at most. A question that looks at nodes one by one
 * costs one more for each BUDGET_NODES nodes of the cluster. */
#define BUDGET       512
#define BUDGET_NODES 128

struct found {
	struct why_change change;
	double size;      /* distance from what was asked for, 0..1 */
	const char *type; /* of a change to so many GPUs of a type and nothing else; NULL */
	uint32_t gpus;
};

enum answer {
	REFUSED, /* by the checks of an update */
	WAITS,
	STARTS,
	SPENT, /* not tried: the budget is used up */
};

struct suggest {
	struct core *core;
	const struct job *job;
	struct caller owner;
	struct submit_job asked;
	struct class *class;
	struct reservation *planned; /* its planned start, which it would give up; NULL */
	bool refused;               /* what it asks for would be refused by now */
	uint32_t budget;            /* the work left, in decisions on one node */
	bool spent;
	struct found found[MAX_FOUND];
	size_t n;
	char failed[sizeof(((struct job_why *)0)->tried)];
};

/* --- trying ---------------------------------------------------------------------------------- */

static bool pay(struct suggest *s, uint32_t cost)
{
	s->spent |= s->budget < cost;
	s->budget -= s->spent ? s->budget : cost;
	return !s->spent;
}

/* Gangs and node options look at many nodes. */
static uint32_t cost_of(const struct suggest *s, const struct submit_job *in)
{
	bool many = in->nodes_max > 1 || in->nodes_min > 1 || *in->nodelist || *in->constraint;

	return 1 + (many ? s->core->conf->n_nodes / BUDGET_NODES : 0);
}

/* Jobs before its new place may take what it gives up, and more: they are tried first. */
static bool left_to_it(struct suggest *s, struct whatif *w, const struct candidate *who)
{
	uint32_t others = (uint32_t)class_link(s->class)->tasks - 1;
	size_t before = whatif_before(w, who, s->class);

	if (!before && !others)
		return true;
	if (!pay(s, (uint32_t)before + s->core->conf->n_nodes / BUDGET_NODES))
		return false;
	if (!heap_key_before(class_link(s->class)->key, who->key))
		others = 0;
	return whatif_starts(w, who, s->class, others);
}

/* Would the changed job start now? Its planned start does not count meanwhile. */
static bool starts(struct suggest *s, const struct intake *t, char *effect, size_t size)
{
	struct core *core = s->core;
	struct places places = { 0 };
	struct imagined im;
	struct whatif w;
	struct decision d;
	bool yes;

	imagine(core, t, s->owner.user, job_id(s->job), job_waits_since(job_info(s->job)), &im);
	whatif_begin(&w, core);
	if (s->planned)
		whatif_ignore(&w, s->planned);
	yes = decide(sched_view(core->sched), &im.who, &places, &d) == VERDICT_START;
	if (yes && effect)
		say_places(core, &places, effect, size);
	if (yes && s->planned)
		yes = left_to_it(s, &w, &im.who);
	whatif_end(&w);
	imagined_clear(core, &im);
	places_free(&places);
	return yes;
}

/* What would happen if the job asked for this? *effect says where it would start. */
static enum answer try(struct suggest *s, const struct submit_job *in, char *effect, size_t size)
{
	struct intake t = { .in = in, .updated = job_info(s->job), .weight = job_weight(s->job) };
	enum answer answer = REFUSED;
	struct error err;

	if (!pay(s, cost_of(s, in)))
		return SPENT;
	t.info.uid = job_info(s->job)->uid;
	t.info.nice = job_info(s->job)->nice;
	t.info.max_wait_s = job_info(s->job)->max_wait_s;
	if (intake_fill(s->core, &s->owner, &t, &err) == 0) {
		/* intake_fill() sets the rest and leaves these two to its caller. */
		t.info.account = t.info.account ? t.info.account : in->account;
		t.info.qos = t.info.qos ? t.info.qos : in->qos;
		answer = starts(s, &t, effect, size) ? STARTS : s->spent ? SPENT : WAITS;
	}
	intake_clear(s->core, &t);
	return answer;
}

/* Try the change, and report it if it starts the job; `size` orders what is reported. */
static bool keep(struct suggest *s, const struct submit_job *in, double size, const char *option)
{
	struct found *f = &s->found[s->n];

	if (s->n == MAX_FOUND || try(s, in, f->change.effect, sizeof(f->change.effect)) != STARTS)
		return false;
	snprintf(f->change.option, sizeof(f->change.option), "%s", option);
	f->size = size;
	s->n++;
	return true;
}

/* Report the kind as tried without success. */
static void fail(struct suggest *s, const char *kind)
{
	size_t used = strlen(s->failed), n = strlen(kind), gap = used ? 2 : 0;

	if (s->spent || used + gap + n >= sizeof(s->failed))
		return;
	memcpy(s->failed + used, ", ", gap);
	memcpy(s->failed + used + gap, kind, n + 1);
}

/* --- numbers: the nearest that is enough ----------------------------------------------------- */

/* Sets a number in the request. */
typedef void set_fn(struct submit_job *in, uint64_t value);

struct range {
	set_fn *set;
	uint64_t below; /* the value in the request */
	uint64_t step;  /* multiples of it are tried */
	bool too_large; /* a value that is refused is too large, not too small */
};

/* The largest value that starts; 0: none does. From small to large, values are refused, then start
 * the job, then do not. */
static uint64_t nearest(struct suggest *s, const struct submit_job *base, const struct range *r)
{
	struct submit_job in = *base;
	uint64_t low = 1, high = r->below ? (r->below - 1) / r->step : 0, best = 0;

	while (low <= high && !s->spent) {
		uint64_t mid = low + (high - low) / 2;
		enum answer answer;

		r->set(&in, mid * r->step);
		answer = try(s, &in, NULL, 0);
		if (answer == STARTS)
			best = mid * r->step;
		if (answer == STARTS || (answer == REFUSED && !r->too_large))
			low = mid + 1;
		else
			high = mid - 1;
	}
	return s->spent ? 0 : best;
}

/* How much less than asked for: 0 to 1. */
static double less(uint64_t value, uint64_t asked)
{
	return 1 - (double)value / (double)asked;
}

static void set_minutes(struct submit_job *in, uint64_t minutes)
{
	in->time_limit_s = (uint32_t)minutes * 60;
}

/* Without a time limit, what is asked for counts as ten years. */
static void try_time(struct suggest *s)
{
	uint32_t asked = s->asked.time_limit_s == TIME_LIMIT_NONE ? 10 * 365 * 86400u
	                                                          : s->asked.time_limit_s;
	struct range r = { set_minutes, (asked + 59) / 60, 1, s->refused };
	struct submit_job in = s->asked;
	char option[128], text[UNITS_TEXT];
	uint64_t minutes = nearest(s, &s->asked, &r);

	set_minutes(&in, minutes);
	snprintf(option, sizeof(option), "--time=%s", duration_format(text, in.time_limit_s));
	if (!minutes || !keep(s, &in, less(in.time_limit_s, asked), option))
		fail(s, "shorter --time");
}

/* Less of one number: `kind` is "fewer --cpus-per-task", and `unit` what stands behind the number,
 * "MiB" for a size. */
static void try_number(struct suggest *s, set_fn *set, uint64_t asked, uint64_t step,
        const char *kind, const char *unit)
{
	struct range r = { set, asked, step, s->refused };
	struct submit_job in = s->asked;
	uint64_t value = nearest(s, &s->asked, &r);
	char option[128], number[UNITS_TEXT];

	set(&in, value);
	if (!strcmp(unit, "MiB"))
		size_format_exact(number, value * MIB);
	else
		snprintf(number, sizeof(number), "%llu%s", (unsigned long long)value, unit);
	snprintf(option, sizeof(option), "%s=%s", strchr(kind, '-'), number);
	if ((!value || !keep(s, &in, less(value, asked), option)) && asked > step)
		fail(s, kind);
}

static uint64_t mem_step(uint64_t asked)
{
	return asked > SUGGEST_MEM_COARSE ? SUGGEST_MEM_STEP_COARSE : SUGGEST_MEM_STEP;
}

static void set_cpus(struct submit_job *in, uint64_t cpus)
{
	in->cpus = (uint32_t)cpus;
}

static void try_cpus(struct suggest *s)
{
	try_number(s, set_cpus, job_info(s->job)->cpus, 1, "fewer --cpus-per-task", "");
}

static void set_mem(struct submit_job *in, uint64_t mem_mb)
{
	in->mem_mb = mem_mb;
}

static void try_mem(struct suggest *s)
{
	uint64_t asked = job_info(s->job)->mem_mb;

	try_number(s, set_mem, asked, mem_step(asked), "less --mem", "MiB");
}

/* --- parts of GPUs --------------------------------------------------------------------------- */

static void set_gpu_mem(struct submit_job *in, uint64_t mem_mb)
{
	in->gpu_mem_mb = mem_mb;
}

static void try_gpu_mem(struct suggest *s)
{
	uint64_t asked = s->asked.gpu_mem_mb;

	try_number(s, set_gpu_mem, asked, mem_step(asked), "less --gpu-mem", "MiB");
}

static void set_gpu_share(struct submit_job *in, uint64_t percent)
{
	in->gpu_share_milli = (uint32_t)percent * 10;
}

static void try_gpu_share(struct suggest *s)
{
	uint64_t asked = (s->asked.gpu_share_milli + 9) / 10;

	try_number(s, set_gpu_share, asked, 1, "less --gpu-share", "%");
}

/* --- GPUs ------------------------------------------------------------------------------------ */

#define FEW_GPUS 16 /* up to so many are tried one by one */

static void set_gpus(struct submit_job *in, uint64_t count)
{
	in->gpus[0].count = (uint32_t)count;
	in->n_gpus = 1;
}

static const char *gpus_option(const struct submit_job *in)
{
	return in->gpus_per_node ? "--gpus-per-node" : "--gpus";
}

/* GPUs of one type, as an option that follows those of another change that goes with it. */
struct gpus {
	const struct submit_job *base;
	const char *type, *before;
	uint32_t most, asked; /* the most to be tried; the number to compare with */
	double size;          /* of the change if there are as many */
};

/* Up to FEW_GPUS one by one, from the most; beyond that by bisection. */
static uint32_t most_gpus(struct suggest *s, const struct gpus *g, struct submit_job *in)
{
	struct range r = { set_gpus, g->most, 1, false };
	enum answer answer;
	uint32_t count;

	for (count = g->most; count && g->most <= FEW_GPUS; count--) {
		set_gpus(in, count);
		answer = try(s, in, NULL, 0);
		if (answer == STARTS || answer == SPENT)
			return answer == STARTS ? count : 0;
	}
	if (!count)
		return 0;
	set_gpus(in, g->most);
	answer = try(s, in, NULL, 0);
	r.too_large = answer == REFUSED;
	return answer == STARTS ? g->most : (uint32_t)nearest(s, in, &r);
}

/* Would it start with so many GPUs of the type and no other change? Known once try_gpus() and
 * try_types() are done. */
static bool starts_alone(const struct suggest *s, const char *type, uint32_t count)
{
	for (size_t f = 0; f < s->n; f++) {
		const struct found *alone = &s->found[f];

		if (alone->type && alone->gpus >= count &&
		        (!*alone->type || !strcmp(alone->type, type)))
			return true;
	}
	return false;
}

/* Suggest the most GPUs of a type with which the job starts. False: it starts with none. */
static bool try_type(struct suggest *s, const struct gpus *g)
{
	struct submit_job in = *g->base;
	uint32_t count;
	char option[128];

	in.gpus[0].type = g->type;
	count = most_gpus(s, g, &in);
	if (!count)
		return false;
	if (*g->before && starts_alone(s, g->type, count))
		return true;
	set_gpus(&in, count);
	snprintf(option, sizeof(option), "%s%s=%.60s%s%u", g->before, gpus_option(&in), g->type,
	        *g->type ? ":" : "", count);
	if (!keep(s, &in, g->size + 0.5 * less(count, g->asked), option))
		return false;
	if (!*g->before) {
		s->found[s->n - 1].type = g->type;
		s->found[s->n - 1].gpus = count;
	}
	return true;
}

/* Fewer GPUs than asked for. Of several types, as many GPUs of one are also tried: the CPUs and the
 * memory that a partition gives with GPUs are those of the type that needs most. */
static void try_gpus(struct suggest *s)
{
	bool any = false, could = false;
	uint32_t a, most;

	for (a = 0; a < s->asked.n_gpus; a++) {
		const struct gpu_request *g = &s->asked.gpus[a];

		could |= g->count > 1;
		most = g->count - (s->asked.n_gpus == 1);
		any |= most && try_type(s, &(struct gpus){ &s->asked, g->type, "", most, g->count,
		                                   a * 0.1 });
	}
	if (could && !any)
		fail(s, "fewer --gpus");
}

static bool asks_for(const struct suggest *s, const char *type)
{
	for (size_t a = 0; a < s->asked.n_gpus; a++) {
		if (!*s->asked.gpus[a].type || !strcmp(s->asked.gpus[a].type, type))
			return true;
	}
	return false;
}

static void try_types(struct suggest *s)
{
	const struct conf *conf = s->core->conf;
	uint32_t asked = s->asked.gpus[0].count;
	bool any = false, could = false;

	for (size_t t = 0; s->asked.n_gpus && t < conf->n_gpu_types; t++) {
		const char *type = conf->gpu_types[t].name;

		if (asks_for(s, type))
			continue;
		could = true;
		any |= try_type(s, &(struct gpus){ &s->asked, type, "", asked, asked, 0.5 });
	}
	if (could && !any)
		fail(s, "other GPU types");
}

/* --- where ----------------------------------------------------------------------------------- */

/* The same GPUs on more nodes. */
static void try_more_nodes(struct suggest *s)
{
	struct submit_job in = s->asked;
	uint32_t most = in.nodes_max > in.nodes_min ? in.nodes_max : in.nodes_min, n;
	char option[128];
	bool could = false;

	most = most ? most : 1;
	in.nodes_min = in.nodes_min ? in.nodes_min : 1;
	if (!in.n_gpus || in.gpus_per_node)
		return;
	for (n = most + 1; n <= most + SUGGEST_NODES && n <= in.gpus[0].count; n++) {
		could = true;
		in.nodes_max = n;
		snprintf(option, sizeof(option), "--nodes=%u-%u", in.nodes_min, n);
		if (keep(s, &in, 0.2, option))
			return;
	}
	if (could)
		fail(s, "more --nodes");
}

static void try_fewer_nodes(struct suggest *s)
{
	struct submit_job in = s->asked;
	char option[128];

	for (uint32_t n = s->asked.nodes_min; n-- > 1;) {
		in.nodes_min = in.nodes_max = n;
		snprintf(option, sizeof(option), "--nodes=%u", n);
		if (keep(s, &in, 0.3 + 0.5 * less(n, s->asked.nodes_min), option))
			return;
	}
	if (s->asked.nodes_min > 1)
		fail(s, "fewer --nodes");
}

/* As it is; else with the most GPUs of each type. */
static bool try_partition(struct suggest *s, const char *partition)
{
	const struct conf *conf = s->core->conf;
	struct submit_job in = s->asked;
	uint32_t asked = in.gpus[0].count;
	char option[128];
	bool any = false;

	in.partition = partition;
	snprintf(option, sizeof(option), "--partition=%s", partition);
	if (keep(s, &in, 0.6, option))
		return true;
	snprintf(option, sizeof(option), "--partition=%.64s ", partition);
	for (size_t t = 0; t < conf->n_gpu_types && in.n_gpus; t++)
		any |= try_type(s,
		        &(struct gpus){ &in, conf->gpu_types[t].name, option, asked, asked, 0.8 });
	return any;
}

static void try_partitions(struct suggest *s)
{
	const struct conf *conf = s->core->conf;
	bool any = false;

	for (size_t p = 0; p < conf->n_partitions; p++) {
		if (!job_may_choose(job_info(s->job), conf->partitions[p].name))
			any |= try_partition(s, conf->partitions[p].name);
	}
	if (!any && conf->n_partitions > 1)
		fail(s, "other partitions");
}

/* --- as which QOS or account ----------------------------------------------------------------- */

/* A name that the user may not use is not mentioned. */
static void try_name(
        struct suggest *s, const struct submit_job *in, const char *option, double size)
{
	enum answer answer = try(s, in, NULL, 0);

	if (answer == STARTS)
		keep(s, in, size, option);
	else if (answer == WAITS)
		fail(s, option);
}

static void try_qos(struct suggest *s)
{
	const struct conf *conf = s->core->conf;
	char option[128];

	for (size_t q = 0; q < conf->n_qos; q++) {
		struct submit_job in = s->asked;

		if (!strcmp(conf->qos[q].name, s->asked.qos))
			continue;
		in.qos = conf->qos[q].name;
		snprintf(option, sizeof(option), "--qos=%s", in.qos);
		try_name(s, &in, option, 0.4);
	}
}

static void try_accounts(struct suggest *s)
{
	const struct conf *conf = s->core->conf;
	char option[128];

	for (size_t a = 0; a < conf->n_accounts; a++) {
		struct submit_job in = s->asked;

		if (!strcmp(conf->accounts[a].name, s->asked.account))
			continue;
		in.account = conf->accounts[a].name;
		snprintf(option, sizeof(option), "--account=%s", in.account);
		try_name(s, &in, option, 0.45);
	}
}

/* --- what may be left out -------------------------------------------------------------------- */

static const struct submit_job nothing = { .constraint = "",
	.nodelist = "",
	.exclude = "",
	.licences = "",
	.gpu_link = NEAR_LINK_ANY };
#define DROP(option, field)                                                             \
	{                                                                               \
		option, offsetof(struct submit_job, field), sizeof(nothing.field)       \
	}
static const struct {
	const char *option;
	size_t at, size; /* of the field that becomes as in `nothing` */
} drops[] = {
	DROP("--constraint=", constraint),
	DROP("--nodelist=", nodelist),
	DROP("--exclude=", exclude),
	DROP("--licenses=", licences),
	DROP("--gpu-mem-min=0", gpu_mem_min_mb),
	DROP("--gpu-link=any", gpu_link),
	DROP("--tmp=0", tmp_mb),
	DROP("--exclusive=no", exclusive),
};

static void try_drops(struct suggest *s)
{
	for (size_t d = 0; d < sizeof(drops) / sizeof(drops[0]); d++) {
		struct submit_job in = s->asked;

		memcpy((char *)&in + drops[d].at, (const char *)&nothing + drops[d].at,
		        drops[d].size);
		if (memcmp(&in, &s->asked, sizeof(in)))
			keep(s, &in, 0.7, drops[d].option);
	}
}

/* --- all of them ----------------------------------------------------------------------------- */

/* The most useful kinds first, in case the budget is used up. */
static void (*const kinds[])(struct suggest *) = { try_gpus, try_gpu_mem, try_gpu_share, try_time,
	try_cpus, try_mem, try_drops, try_more_nodes, try_fewer_nodes, try_qos, try_accounts,
	try_types, try_partitions };

static int by_size(const void *x, const void *y)
{
	const struct found *a = x, *b = y;

	if (a->size != b->size)
		return a->size < b->size ? -1 : 1;
	return strcmp(a->change.option, b->change.option);
}

/* First whether the unchanged job would be refused by now: then a smaller value may be what the
 * checks demand. */
static void look(struct suggest *s)
{
	s->refused = try(s, &s->asked, NULL, 0) == REFUSED;
	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]) && !s->spent; k++)
		kinds[k](s);
}

/* Only for a job in a class: one that is held back by itself starts with no other request. */
void suggest(struct core *core, struct job *job, struct job_why *why)
{
	const struct job_info *i = job_info(job);
	struct class *class = sched_class_of(job);
	struct suggest *s;

	if (!class || core->suspended)
		return;
	s = xcalloc(1, sizeof(*s));
	s->core = core;
	s->job = job;
	s->owner = (struct caller){ .uid = i->uid, .user = i->user, .host = "" };
	s->asked = job_as_asked(core, job);
	s->asked.partition = class_info(class)->partition;
	s->class = class;
	s->planned = class_head(class) == job ? class_link(class)->reservation : NULL;
	s->budget = BUDGET;
	/* As in an update, the job is not counted with its present request. */
	job_count(core, i, -1);
	look(s);
	job_count(core, i, 1);
	qsort(s->found, s->n, sizeof(s->found[0]), by_size);
	for (size_t f = 0; f < s->n && f < WHY_CHANGES; f++)
		why->changes[why->n_changes++] = s->found[f].change;
	snprintf(why->tried, sizeof(why->tried), "%s", s->failed);
	why->cut_short = s->spent;
	free(s);
}
