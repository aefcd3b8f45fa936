/* suggest.c - the smallest single changes that would start a waiting job now
 *
 * For each option of gsubmit that could matter: the change nearest to what was asked for with which
 * the job starts. Each is tried as the scheduler itself would: what the job asks for with the
 * change goes through the checks of a submit (intake.h), then decide(). Less time, memory, CPUs or
 * GPUs of one type never make it harder, so the nearest value is found by halving.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/units.h"
#include "common/xalloc.h"
#include "ctld/core/explain.h"
#include "ctld/core/intake.h"

#define MAX_FOUND 32

struct found {
	struct why_change change;
	double size; /* how far from what was asked for, 0..1 */
};

struct suggest {
	struct core *core;
	const struct job *job;
	struct caller owner;
	struct submit_job asked;
	struct heap_key key; /* the place in the order that it has now */
	bool planned;        /* and a planned start, which it would give up */
	bool awaited;        /* by somebody before it, who has none */
	struct found found[MAX_FOUND];
	size_t n;
	char failed[256];
};

/* --- trying ---------------------------------------------------------------------------------- */

static bool key_before(struct heap_key x, struct heap_key y)
{
	return x.a != y.a ? x.a < y.a : x.b < y.b;
}

/* Is there somebody before it in its partition who has no planned start, for want of depth? */
static bool others_await(const struct core *core, const struct class *class)
{
	const struct class_link *mine = class_link_of(class), *l;
	const struct class *other;
	size_t cursor = 0;

	while ((other = sched_each_class(core->sched, &cursor))) {
		l = class_link_of(other);
		if (l->partition == mine->partition && !l->entry && key_before(l->key, mine->key) &&
		        (l->last.verdict == VERDICT_BLOCKED || l->last.verdict == VERDICT_PLANNED))
			return true;
	}
	return false;
}

/* Would the job start now if it asked for that? *effect says where. */
static bool would_start(struct suggest *s, const struct submit_job *in, char *effect, size_t size)
{
	struct core *core = s->core;
	struct intake t = { .in = in, .updated = job_info(s->job) };
	struct places places = { 0 };
	struct imagined im;
	struct decision d;
	struct error err;
	bool starts = false;

	t.info.uid = job_info(s->job)->uid;
	t.info.nice = job_info(s->job)->nice;
	if (intake_fill(core, &s->owner, &t, &err) == 0) {
		/* intake_fill() says the rest; these it leaves to whoever takes the job in. */
		t.info.account = t.info.account ? t.info.account : in->account;
		t.info.qos = t.info.qos ? t.info.qos : in->qos;
		imagine(core, &t, s->owner.user, job_id(s->job), job_waits_since(job_info(s->job)),
		        &im);
		/* What it gives up may be taken by whoever stands before its new place. */
		if (!s->planned || (!s->awaited && !key_before(s->key, im.who.key)))
			starts = decide(sched_scene(core->sched), &im.who, &places, &d) ==
			         VERDICT_START;
		if (starts && effect)
			say_places(core, &places, effect, size);
		imagined_clear(core, &im);
	}
	places_free(&places);
	intake_clear(core, &t);
	return starts;
}

static void keep(struct suggest *s, const struct submit_job *in, double size, const char *option)
{
	struct found *f = &s->found[s->n];

	if (s->n == MAX_FOUND || !would_start(s, in, f->change.effect, sizeof(f->change.effect)))
		return;
	snprintf(f->change.option, sizeof(f->change.option), "%s", option);
	f->size = size;
	s->n++;
}

static void fail(struct suggest *s, const char *what)
{
	size_t used = strlen(s->failed);

	if (used < sizeof(s->failed))
		snprintf(
		        s->failed + used, sizeof(s->failed) - used, "%s%s", used ? ", " : "", what);
}

/* --- numbers: the nearest that is enough ----------------------------------------------------- */

/* Sets a number in what is asked for. */
typedef void set_fn(struct submit_job *in, uint64_t value);

/* The largest value from 1 to below `asked` that starts; 0: none does. */
static uint64_t nearest(
        struct suggest *s, const struct submit_job *base, set_fn *set, uint64_t asked)
{
	struct submit_job in = *base;
	uint64_t low = 1, high = asked - 1, best = 0;

	while (asked > 1 && low <= high) {
		uint64_t mid = low + (high - low) / 2;

		set(&in, mid);
		if (would_start(s, &in, NULL, 0)) {
			best = mid;
			low = mid + 1;
		} else {
			high = mid - 1;
		}
	}
	return best;
}

static double less(uint64_t value, uint64_t asked)
{
	return 1 - (double)value / (double)asked;
}

static void set_minutes(struct submit_job *in, uint64_t minutes)
{
	in->time_limit_s = (uint32_t)minutes * 60;
}

static void try_time(struct suggest *s)
{
	uint32_t asked = s->asked.time_limit_s == TIME_LIMIT_NONE ? 10 * 365 * 86400u
	                                                          : s->asked.time_limit_s;
	struct submit_job in = s->asked;
	char option[128], text[UNITS_TEXT];
	uint64_t minutes = nearest(s, &s->asked, set_minutes, (asked + 59) / 60);

	if (!minutes) {
		fail(s, "shorter --time");
		return;
	}
	set_minutes(&in, minutes);
	snprintf(option, sizeof(option), "--time=%s", duration_format(text, in.time_limit_s));
	keep(s, &in, less(in.time_limit_s, asked), option);
}

static void set_cpus(struct submit_job *in, uint64_t cpus)
{
	in->cpus = (uint32_t)cpus;
}

static void try_cpus(struct suggest *s)
{
	struct submit_job in = s->asked;
	uint64_t cpus = nearest(s, &s->asked, set_cpus, job_info(s->job)->cpus);
	char option[128];

	if (!cpus)
		return;
	set_cpus(&in, cpus);
	snprintf(option, sizeof(option), "--cpus-per-task=%u", in.cpus);
	keep(s, &in, less(cpus, job_info(s->job)->cpus), option);
}

static void set_mem(struct submit_job *in, uint64_t mem_mb)
{
	in->mem_mb = mem_mb;
}

static void try_mem(struct suggest *s)
{
	struct submit_job in = s->asked;
	uint64_t mem = nearest(s, &s->asked, set_mem, job_info(s->job)->mem_mb);
	char option[128];

	if (!mem)
		return;
	set_mem(&in, mem);
	snprintf(option, sizeof(option), "--mem=%lluM", (unsigned long long)mem);
	keep(s, &in, less(mem, job_info(s->job)->mem_mb), option);
}

/* --- GPUs ------------------------------------------------------------------------------------ */

static void set_gpus(struct submit_job *in, uint64_t count)
{
	in->gpus[0].count = (uint32_t)count;
	in->n_gpus = 1;
}

static const char *gpus_option(const struct submit_job *in)
{
	return in->gpus_per_node ? "--gpus-per-node" : "--gpus";
}

/* As many GPUs of a type as there may be, up to what was asked for. `before` is put before the
 * option: another change that goes with it. */
static bool try_type(struct suggest *s, const struct submit_job *base, const char *type,
        uint32_t asked, const char *before, double size)
{
	struct submit_job in = *base;
	uint64_t count;
	char option[128];

	in.gpus[0].type = type;
	set_gpus(&in, asked);
	count = would_start(s, &in, NULL, 0) ? asked : nearest(s, &in, set_gpus, asked);
	if (!count)
		return false;
	set_gpus(&in, count);
	if (*type)
		snprintf(option, sizeof(option), "%s%s=%.60s:%u", before, gpus_option(&in), type,
		        in.gpus[0].count);
	else
		snprintf(option, sizeof(option), "%s%s=%u", before, gpus_option(&in),
		        in.gpus[0].count);
	keep(s, &in, size + 0.5 * less(count, asked), option);
	return true;
}

static void try_gpus(struct suggest *s)
{
	const struct conf *conf = s->core->conf;
	uint32_t asked;
	bool any = false;
	size_t a, t;

	if (!s->asked.n_gpus)
		return;
	asked = s->asked.gpus[0].count;
	/* Fewer of what was asked for; then other types. */
	any = try_type(s, &s->asked, s->asked.gpus[0].type, asked, "", 0);
	if (!any)
		fail(s, "fewer --gpus");
	for (t = 0, any = false; t < conf->n_gpu_types && *s->asked.gpus[0].type; t++) {
		for (a = 0; a < s->asked.n_gpus &&
		            strcmp(s->asked.gpus[a].type, conf->gpu_types[t].name);
		        a++)
			;
		if (a == s->asked.n_gpus)
			any |= try_type(s, &s->asked, conf->gpu_types[t].name, asked, "", 0.5);
	}
	if (!any && conf->n_gpu_types > 1)
		fail(s, "other GPU types");
}

/* --- where ----------------------------------------------------------------------------------- */

static void try_nodes(struct suggest *s)
{
	struct submit_job in = s->asked;
	uint32_t most =
	        s->asked.nodes_max > s->asked.nodes_min ? s->asked.nodes_max : s->asked.nodes_min;
	char option[128];
	uint32_t n;

	most = most ? most : 1;
	if (s->asked.n_gpus && !s->asked.gpus_per_node) {
		/* The same GPUs on more nodes. */
		for (n = most + 1; n <= most + 8 && n <= s->asked.gpus[0].count; n++) {
			in.nodes_min = s->asked.nodes_min ? s->asked.nodes_min : 1;
			in.nodes_max = n;
			if (!would_start(s, &in, NULL, 0))
				continue;
			snprintf(option, sizeof(option), "--nodes=%u-%u", in.nodes_min, n);
			keep(s, &in, 0.2, option);
			return;
		}
	}
	for (n = s->asked.nodes_min; n-- > 1;) {
		in.nodes_min = in.nodes_max = n;
		if (!would_start(s, &in, NULL, 0))
			continue;
		snprintf(option, sizeof(option), "--nodes=%u", n);
		keep(s, &in, 0.3 + 0.5 * less(n, s->asked.nodes_min), option);
		return;
	}
}

static void try_partitions(struct suggest *s)
{
	const struct conf *conf = s->core->conf;
	bool any = false;
	size_t p, t;

	for (p = 0; p < conf->n_partitions; p++) {
		struct submit_job in = s->asked;
		char option[128];

		if (!strcmp(conf->partitions[p].name, s->asked.partition))
			continue;
		in.partition = conf->partitions[p].name;
		snprintf(option, sizeof(option), "--partition=%s", in.partition);
		if (would_start(s, &in, NULL, 0)) {
			any = true;
			keep(s, &in, 0.6, option);
			continue;
		}
		snprintf(option, sizeof(option), "--partition=%.64s ", in.partition);
		for (t = 0; t < conf->n_gpu_types && in.n_gpus; t++)
			any |= try_type(
			        s, &in, conf->gpu_types[t].name, in.gpus[0].count, option, 0.8);
	}
	if (!any && conf->n_partitions > 1)
		fail(s, "other partitions");
}

static void try_qos(struct suggest *s)
{
	const struct conf *conf = s->core->conf;
	char option[128];
	size_t q;

	for (q = 0; q < conf->n_qos; q++) {
		struct submit_job in = s->asked;

		if (!strcmp(conf->qos[q].name, s->asked.qos))
			continue;
		in.qos = conf->qos[q].name;
		snprintf(option, sizeof(option), "--qos=%s", in.qos);
		if (would_start(s, &in, NULL, 0))
			keep(s, &in, 0.4, option);
		else
			fail(s, option);
	}
}

/* --- what may be left out -------------------------------------------------------------------- */

static void drop_constraint(struct submit_job *in)
{
	in->constraint = "";
}

static void drop_nodelist(struct submit_job *in)
{
	in->nodelist = "";
}

static void drop_exclude(struct submit_job *in)
{
	in->exclude = "";
}

static void drop_licences(struct submit_job *in)
{
	in->licences = "";
}

static void drop_mem_min(struct submit_job *in)
{
	in->gpu_mem_min_mb = 0;
}

static void drop_exclusive(struct submit_job *in)
{
	in->exclusive = false;
}

static const struct {
	const char *option;
	void (*drop)(struct submit_job *in);
} drops[] = {
	{ "--constraint=", drop_constraint },
	{ "--nodelist=", drop_nodelist },
	{ "--exclude=", drop_exclude },
	{ "--licenses=", drop_licences },
	{ "--gpu-mem-min=0", drop_mem_min },
	{ "--exclusive=no", drop_exclusive },
};

static void try_drops(struct suggest *s)
{
	size_t d;

	for (d = 0; d < sizeof(drops) / sizeof(drops[0]); d++) {
		struct submit_job in = s->asked;

		drops[d].drop(&in);
		if (!memcmp(&in, &s->asked, sizeof(in)))
			continue;
		keep(s, &in, 0.7, drops[d].option);
	}
}

/* --- all of them ----------------------------------------------------------------------------- */

static int by_size(const void *x, const void *y)
{
	const struct found *a = x, *b = y;

	if (a->size != b->size)
		return a->size < b->size ? -1 : 1;
	return strcmp(a->change.option, b->change.option);
}

void suggest(struct core *core, const struct job *job, struct job_why *why)
{
	const struct job_info *i = job_info(job);
	const struct class *class = job_link_of(job)->class;
	struct suggest *s;
	size_t f;

	if (!class || core->suspended)
		return;
	s = xcalloc(1, sizeof(*s));
	s->core = core;
	s->job = job;
	s->owner = (struct caller){ .uid = i->uid, .user = i->user, .host = "" };
	s->asked = job_as_asked(core, job);
	s->key = class_link_of(class)->key;
	s->planned = class_link_of(class)->entry;
	s->awaited = s->planned && others_await(core, class);
	try_gpus(s);
	try_time(s);
	try_cpus(s);
	try_mem(s);
	try_nodes(s);
	try_qos(s);
	try_partitions(s);
	try_drops(s);
	qsort(s->found, s->n, sizeof(s->found[0]), by_size);
	for (f = 0; f < s->n && f < WHY_CHANGES; f++)
		why->changes[why->n_changes++] = s->found[f].change;
	snprintf(why->tried, sizeof(why->tried), "%s", s->failed);
	free(s);
}
