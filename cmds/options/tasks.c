/* tasks.c - see tasks.h */
#include "cmds/options/tasks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmds/api/gpus.h"
#include "cmds/options/het.h"
#include "common/base/hostlist.h"
#include "common/base/xalloc.h"

#define CPUS_MAX  1000000
#define GPUS_TEXT (GPUS_ALTERNATIVES_MAX * (GPUS_TYPE_MAX + 16))

static int count_host(const char *name, void *arg)
{
	(void)name;
	++*(uint32_t *)arg;
	return 0;
}

/* How many nodes there will be at least and at most. */
static void count_nodes(const struct submit_options *o, uint32_t *min, uint32_t *max)
{
	uint32_t named = 0;

	if (o->nodelist && *o->nodelist)
		hostlist_each(o->nodelist, HOSTLIST_MAX, count_host, &named, NULL);
	*min = o->nodes_min ? o->nodes_min : named ? named : 1;
	*max = o->nodes_max ? o->nodes_max : *min;
}

/* Tasks that need more nodes than one ask for them, as in sbatch: 2 tasks with 1 on each node. No
 * node is taken that would have no task. */
static void spread(struct submit_options *o)
{
	uint32_t n = o->ntasks, per = o->ntasks_per_node;

	if (n && per && !o->nodes_min && !o->nodelist)
		o->nodes_min = o->nodes_max = n / per + (n % per != 0);
	if (n && o->nodes_min > n)
		o->nodes_min = n;
	if (n && o->nodes_max > n)
		o->nodes_max = n;
}

/* The most tasks that a node has: 0 if nothing was said of tasks. The first nodes may have one more
 * than the last. */
static int tasks_on_node(const struct submit_options *o, uint32_t *tasks, struct error *err)
{
	uint32_t n = o->ntasks, per = o->ntasks_per_node, min, max;

	count_nodes(o, &min, &max);
	*tasks = n ? n / min + (n % min != 0) : per;
	if (!n || !per || *tasks <= per || o->ntasks_per_gpu)
		return 0;
	if (max > 1) {
		error_set(err, ERR_USAGE,
		        "--ntasks=%u: %u node%s with --ntasks-per-node=%u have room for %llu", n,
		        min, min == 1 ? "" : "s", per, (unsigned long long)per * min);
		return error_hint(err, "--nodes=%u", n / per + (n % per != 0));
	}
	return 0;
}

/* Does the job have steps (tasks_settle() sets `steps` by it)? */
static bool tasks_in_steps(const struct submit_options *o)
{
	uint32_t min, max;

	if (o->service.name)
		return false;
	count_nodes(o, &min, &max);
	if (o->ntasks || o->ntasks_per_node || o->ntasks_per_gpu)
		return true;
	return o->as_sbatch || (o->slurm_env && !(max > 1 && o->nodes_ours));
}

bool tasks_several(const struct submit_options *o)
{
	uint32_t min, max;

	count_nodes(o, &min, &max);
	return max > 1 || o->ntasks > 1 || o->ntasks_per_node > 1 || o->ntasks_per_gpu;
}

uint32_t tasks_count(const struct submit_options *o)
{
	uint32_t min, max;

	count_nodes(o, &min, &max);
	return o->ntasks ? o->ntasks : o->ntasks_per_node * min;
}

static int multiply_gpus(struct submit_options *o, uint32_t tasks, struct error *err)
{
	struct gpus g;
	char text[GPUS_TEXT] = "0";
	size_t used = 0;

	if (gpus_parse(o->gpus, &g, err) < 0)
		return -1;
	for (size_t i = 0; i < g.n; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s:%llu",
		        i ? "|" : "", *g.v[i].type ? g.v[i].type : "any",
		        (unsigned long long)g.v[i].count * tasks);
	if (gpus_parse(text, &g, err) < 0)
		return error_wrap(err, "--gpus-per-task=%s for %u tasks", o->gpus, tasks);
	free(o->gpus);
	o->gpus = xstrdup(text);
	o->gpus_per_node = true;
	o->gpus_per_task = false;
	return 0;
}

/* --- GPUs that were said in several ways ------------------------------------------------------ */

static const char *const gpus_ways[OPTIONS_GPUS_WAYS] = { [OPTIONS_GPUS] = "--gpus",
	[OPTIONS_GPUS_PER_TASK] = "--gpus-per-task",
	[OPTIONS_GPUS_PER_NODE] = "--gpus-per-node",
	[OPTIONS_GRES] = "--gres=gpu" };

static bool is_per_node(enum options_gpus way)
{
	return way == OPTIONS_GPUS_PER_NODE || way == OPTIONS_GRES;
}

/* As in sbatch: 4 GPUs with 2 on each node ask for 2 nodes. */
static void spread_gpus(struct submit_options *o)
{
	struct gpus all, each;
	const char *per_node = o->gpus_said[OPTIONS_GPUS_PER_NODE].text;

	if (!per_node)
		per_node = o->gpus_said[OPTIONS_GRES].text;
	if (!per_node || !o->gpus_said[OPTIONS_GPUS].text || o->nodes_min || o->nodelist ||
	        gpus_parse(o->gpus_said[OPTIONS_GPUS].text, &all, NULL) < 0 ||
	        gpus_parse(per_node, &each, NULL) < 0 || !all.n || !each.n)
		return;
	if (all.v[0].count > each.v[0].count && all.v[0].count % each.v[0].count == 0)
		o->nodes_min = o->nodes_max = all.v[0].count / each.v[0].count;
}

/* Do both come to the same for the whole job, which has so many nodes and tasks? */
static bool gpus_agree(const char *a, uint64_t times_a, const char *b, uint64_t times_b)
{
	struct gpus x, y;

	if (gpus_parse(a, &x, NULL) < 0 || gpus_parse(b, &y, NULL) < 0 || x.n != y.n)
		return false;
	for (size_t i = 0; i < x.n; i++)
		if (x.v[i].count * times_a != y.v[i].count * times_b ||
		        strcmp(x.v[i].type, y.v[i].type) != 0)
			return false;
	return true;
}

/* The GPU options of one source must agree; then the number for each node counts. */
static int settle_gpus(struct submit_options *o, uint32_t tasks, struct error *err)
{
	uint64_t times[OPTIONS_GPUS_WAYS];
	uint32_t min, max;
	size_t best = OPTIONS_GPUS_WAYS;

	count_nodes(o, &min, &max);
	for (size_t i = 0; i < OPTIONS_GPUS_WAYS; i++)
		times[i] = is_per_node(i)               ? max
		           : i == OPTIONS_GPUS_PER_TASK ? (uint64_t)max * (tasks ? tasks : 1)
		                                        : 1;
	for (size_t i = 0; i < OPTIONS_GPUS_WAYS; i++) {
		const char *one = o->gpus_said[i].text,
		           *other = best < OPTIONS_GPUS_WAYS ? o->gpus_said[best].text : NULL;

		if (!one)
			continue;
		if (other && (min == max || is_per_node(i) == is_per_node(best)) &&
		        !gpus_agree(one, times[i], other, times[best])) {
			error_set(err, ERR_USAGE,
			        "%s%c%s and %s%c%s contradict each other on %u node%s",
			        gpus_ways[best], best == OPTIONS_GRES ? ':' : '=', other,
			        gpus_ways[i], i == OPTIONS_GRES ? ':' : '=', one, max,
			        max == 1 ? "" : "s");
			return error_hint(err, "one of them is enough");
		}
		if (!other || is_per_node(i))
			best = i;
	}
	if (best < OPTIONS_GPUS_WAYS && is_per_node(best) && !o->gpus_per_node) {
		free(o->gpus);
		o->gpus = xstrdup(o->gpus_said[best].text);
		o->gpus_per_node = true;
		o->gpus_per_task = false;
	}
	return 0;
}

/* Which option asks for a part of a GPU; NULL: none. */
static const char *part_option(const struct submit_options *o)
{
	return o->gpu_mem_mb ? "--gpu-mem" : o->gpu_share_milli ? "--gpu-share" : NULL;
}

/* A part of a GPU with 0 GPUs is a mistake: the job would get a GPU. */
static int check_part(const struct submit_options *o, struct error *err)
{
	const char *option = part_option(o);
	struct gpus g = { .n = 0 };

	if (!option || !o->gpus || !*o->gpus)
		return 0;
	if (gpus_parse(o->gpus, &g, err) < 0)
		return -1;
	return g.n ? 0
	           : error_set(err, ERR_USAGE, "--gpus=%s: %s asks for a part of a GPU", o->gpus,
	                     option);
}

/* GPUs of a node, where `option` is given for each of them. */
static int gpus_on_node(
        const struct submit_options *o, const char *option, uint32_t *count, struct error *err)
{
	struct gpus g = { .n = 0 };
	uint32_t min, max;

	if (o->gpus && gpus_parse(o->gpus, &g, err) < 0)
		return -1;
	if (!g.n && part_option(o)) { /* a part is of one GPU where nothing else is said */
		*count = 1;
		return 0;
	}
	if (!g.n)
		return error_set(err, ERR_USAGE, "%s: the job asks for no GPU", option);
	for (size_t i = 1; i < g.n; i++)
		if (g.v[i].count != g.v[0].count)
			return error_set(err, ERR_USAGE,
			        "%s: the alternatives of --gpus=%s differ in number", option,
			        o->gpus);
	*count = g.v[0].count;
	count_nodes(o, &min, &max);
	if (o->gpus_per_node || max == 1)
		return 0;
	if (min != max || *count % max) {
		error_set(err, ERR_USAGE, "%s: --gpus=%s cannot be shared equally by the nodes",
		        option, o->gpus);
		return error_hint(err, "--gpus-per-node says how many each has");
	}
	*count /= max;
	return 0;
}

static int multiply(const char *option, uint64_t each, uint64_t n, uint64_t most, uint64_t *out,
        struct error *err)
{
	if (each > most / n)
		return error_set(err, ERR_USAGE, "%s=%llu times %llu: too much", option,
		        (unsigned long long)each, (unsigned long long)n);
	*out = each * n;
	return 0;
}

static int settle_cpus(struct submit_options *o, uint32_t tasks, struct error *err)
{
	uint32_t gpus;
	uint64_t cpus = o->cpus;

	if (o->cpus_per_gpu) {
		if (gpus_on_node(o, "--cpus-per-gpu", &gpus, err) < 0 ||
		        multiply("--cpus-per-gpu", o->cpus_per_gpu, gpus, CPUS_MAX, &cpus, err) < 0)
			return -1;
	} else if (tasks > 1 || (tasks && o->cpus) || o->mem_per_cpu_mb) {
		if (multiply("--cpus-per-task", o->cpus ? o->cpus : 1, tasks ? tasks : 1, CPUS_MAX,
		            &cpus, err) < 0)
			return -1;
	}
	o->cpus = (uint32_t)cpus;
	return 0;
}

static int settle_mem(struct submit_options *o, struct error *err)
{
	uint32_t gpus;

	if (o->all_mem && !o->exclusive) {
		error_set(err, ERR_USAGE, "--mem=0 requires --exclusive: only a job that is "
		        "alone on its node can have all of its memory");
		return error_hint(err, "--exclusive, or an amount");
	}
	if (o->mem_per_cpu_mb)
		return multiply(
		        "--mem-per-cpu", o->mem_per_cpu_mb, o->cpus, INT64_MAX, &o->mem_mb, err);
	if (!o->mem_per_gpu_mb)
		return 0;
	if (gpus_on_node(o, "--mem-per-gpu", &gpus, err) < 0)
		return -1;
	return multiply("--mem-per-gpu", o->mem_per_gpu_mb, gpus, INT64_MAX, &o->mem_mb, err);
}

/* sbatch -N 2 --gpus=8: four on each, where that comes out. */
static void share_gpus(struct submit_options *o)
{
	uint32_t min, max;
	struct gpus g;
	char text[GPUS_TEXT] = "";
	size_t used = 0;

	count_nodes(o, &min, &max);
	if (!o->steps || min != max || max == 1 || !o->gpus || o->gpus_per_node || o->gpus_per_task ||
	        gpus_parse(o->gpus, &g, NULL) < 0 || !g.n)
		return;
	for (size_t i = 0; i < g.n; i++) {
		if (g.v[i].count % max)
			return;
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s:%u", i ? "|" : "",
		        *g.v[i].type ? g.v[i].type : "any", g.v[i].count / max);
	}
	free(o->gpus);
	o->gpus = xstrdup(text);
	o->gpus_per_node = true;
}

/* --ntasks-per-gpu: so many tasks for each GPU, or where only tasks are given GPUs for them. */
static int settle_tasks_per_gpu(struct submit_options *o, struct error *err)
{
	uint32_t min, max, each;
	uint64_t all;
	char text[32];

	if (!o->ntasks_per_gpu)
		return 0;
	count_nodes(o, &min, &max);
	if (!o->gpus || !*o->gpus) {
		if (!o->ntasks || o->ntasks % o->ntasks_per_gpu) {
			error_set(err, ERR_USAGE, "--ntasks-per-gpu=%u: how many GPUs or tasks?",
			        o->ntasks_per_gpu);
			return error_hint(err, "--gpus=COUNT, or --ntasks as a multiple of it");
		}
		snprintf(text, sizeof(text), "%u", o->ntasks / o->ntasks_per_gpu);
		o->gpus = xstrdup(text);
		return 0;
	}
	if (o->gpus_per_task)
		return error_set(err, ERR_USAGE,
		        "--ntasks-per-gpu and --gpus-per-task contradict each other");
	if (gpus_on_node(o, "--ntasks-per-gpu", &each, err) < 0)
		return -1;
	all = (uint64_t)each * max * o->ntasks_per_gpu;
	if (all > CPUS_MAX)
		return error_set(err, ERR_USAGE, "--ntasks-per-gpu=%u: too many tasks",
		        o->ntasks_per_gpu);
	if (!o->ntasks)
		o->ntasks = (uint32_t)all;
	return 0;
}

uint32_t tasks_nodes(const struct submit_options *o)
{
	struct submit_options copy = *o; /* whose texts stay as they are */
	uint32_t min, max;

	spread(&copy);
	spread_gpus(&copy);
	count_nodes(&copy, &min, &max);
	return min;
}

static int settle(struct submit_options *o, struct error *err)
{
	uint32_t tasks;

	spread(o);
	spread_gpus(o);
	o->steps = tasks_in_steps(o);
	share_gpus(o);
	if (settle_tasks_per_gpu(o, err) < 0)
		return -1;
	if (tasks_on_node(o, &tasks, err) < 0 || settle_gpus(o, tasks, err) < 0 ||
	        check_part(o, err) < 0)
		return -1;
	if (o->gpus_per_task && multiply_gpus(o, tasks ? tasks : 1, err) < 0)
		return -1;
	return settle_cpus(o, tasks, err) < 0 ? -1 : settle_mem(o, err);
}

int tasks_settle(struct submit_options *o, struct error *err)
{
	unsigned number = 0;

	if (settle(o, err) < 0)
		return -1;
	for (struct submit_options *c = o->component; c; c = c->component) {
		number++;
		c->slurm_env = o->slurm_env;
		if (settle(c, err) < 0)
			return error_wrap(err, "component %u", number);
	}
	return o->component ? het_join(o, err) : 0;
}
