/* world_jobs.c - the jobs of a world: made of a history, submitted, cancelled; see world.h */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/each.h"
#include "common/base/xalloc.h"
#include "common/conf/conf_find.h"
#include "ctld/gsim/random.h"
#include "ctld/gsim/world_impl.h"

#define USEC_PER_S   ((usec_t)1000000)
#define MAX_ATTEMPTS 1000000

/* --- from the history ------------------------------------------------------------------------ */

/* In seconds, rounded up; 0: none is asked for. */
static uint32_t time_limit(const struct world *w, const struct history_job *job)
{
	uint64_t state = w->o.seed ^ w->n_jobs * 0x2545f4914f6cdd1du;
	double us = (double)job->time_limit, s;

	if (!job->time_limit && w->o.limits == LIMITS_NONE)
		return 0;
	if (!job->time_limit)
		us = (double)job->duration;
	if (!job->time_limit && w->o.limits == LIMITS_FACTOR)
		us *= 1 + random_unit(&state) * (w->o.factor - 1);
	s = ceil(us / (double)USEC_PER_S);
	return s < 1 ? 1 : s < INT32_MAX ? (uint32_t)s : INT32_MAX;
}

struct world_job *world_job_new(struct world *w, const struct history_job *job)
{
	struct world_job *j = xcalloc(1, sizeof(*j));

	w->n_jobs++;
	j->name = xstrdup(job->name);
	j->user = text_numbers_get(w->names, *job->user ? job->user : "user");
	j->account = text_numbers_get(w->names, job->account);
	j->partition = text_numbers_get(w->names, job->partition);
	j->type = text_numbers_get(w->names, job->gpu_type);
	j->group = text_numbers_get(w->names, job->group);
	COPY_FIELDS(j, job, gpus, gpu_milli, gpu_mem_mb, gpu_mem_burst_mb, nodes, cpus, mem_mb);
	j->time_limit_s = time_limit(w, job);
	j->arrival = world_now(w);
	j->duration = j->remaining = job->duration;
	w->m.jobs++;
	w->m.waiting++;
	if (w->m.results)
		j->result = results_add(w->m.results, job->name, job->account,
		        (double)j->gpus * j->gpu_milli / 1000, j->arrival);
	return j;
}

void world_job_free(struct world_job *job)
{
	struct world_run *run;

	if (!job)
		return;
	while ((run = job->runs)) {
		job->runs = run->next;
		free(run);
	}
	free(job->name);
	free(job);
}

bool world_job_runs(const struct world_job *job)
{
	return job->runs;
}

uint32_t world_job_partition(const struct world_job *job)
{
	return job->partition;
}

void world_job_forget(struct world *w, struct world_job *job)
{
	if (job->id)
		idmap_remove(w->jobs, job->id);
	world_job_free(job);
}

/* --- submission ------------------------------------------------------------------------------ */

/* CONF_NONE: the core will say that there is none. */
static uint32_t partition_of(const struct world *w, const struct world_job *job)
{
	const char *name = text_numbers_text(w->names, job->partition);

	return *name ? CONF_FIND(w->conf, partitions, name) : w->conf->default_partition;
}

/* "V100M16|V100M32", cut in `buf`. */
static void fill_types(struct submit_job *s, char *buf, uint32_t gpus)
{
	char *at = buf, *next;

	for (; at && s->n_gpus < MAX_GPU_ALTERNATIVES; at = next) {
		next = strchr(at, '|');
		if (next)
			*next++ = '\0';
		s->gpus[s->n_gpus].type = at;
		s->gpus[s->n_gpus++].count = gpus;
	}
}

static uint32_t largest(const struct world *w, uint32_t partition, const char *type)
{
	size_t types = w->conf->n_gpu_types;
	uint32_t t = *type ? CONF_FIND(w->conf, gpu_types, type) : (uint32_t)types;

	return t == CONF_NONE ? 0 : w->largest[partition * (types + 1) + t];
}

/* On as many nodes as it was; where that is not known, on as few as can hold it. */
static uint32_t nodes_for(const struct world *w, const struct world_job *job,
        const struct submit_job *s, uint32_t partition)
{
	uint32_t most = 0, n;
	size_t a;

	if (job->nodes || !job->gpus)
		return job->nodes ? job->nodes : 1;
	for (a = 0; a < s->n_gpus && partition != CONF_NONE; a++) {
		n = largest(w, partition, s->gpus[a].type);
		most = n > most ? n : most;
	}
	return most ? (job->gpus + most - 1) / most : 1;
}

/* A job that requests more than the partition allows is simulated with what the partition
 * allows. */
static uint32_t limit_for(const struct world *w, uint32_t asked, uint32_t partition)
{
	uint32_t most = partition == CONF_NONE ? 0 : w->conf->partitions[partition].max_time_s;

	return most && asked > most ? most : asked;
}

static void fill_submit(
        struct world *w, const struct world_job *job, char *types, struct submit_job *s)
{
	uint32_t partition = partition_of(w, job), nodes;
	uint64_t nonce = ++w->n_submits;

	*s = (struct submit_job){ .name = job->name,
		.partition = text_numbers_text(w->names, job->partition),
		.account = text_numbers_text(w->names, job->account),
		.submit_host = "gsim",
		.array = "",
		.cwd = "/",
		.output = "",
		.error = "",
		.qos = "",
		.constraint = "",
		.prefer = "",
		.nodelist = "",
		.exclude = "",
		.licences = "",
		.time_limit_s = limit_for(w, job->time_limit_s, partition),
		.max_attempts = MAX_ATTEMPTS,
		.requeue = true,
		.sign_time = w->now.wall };
	memcpy(s->nonce, &nonce, sizeof(nonce));
	if (job->gpus)
		fill_types(s, types, job->gpus);
	if (job->gpus && job->gpu_milli < 1000)
		s->gpu_share_milli = job->gpu_milli;
	COPY_FIELDS(s, job, gpu_mem_mb, gpu_mem_burst_mb);
	nodes = nodes_for(w, job, s, partition);
	if (nodes > 1)
		s->nodes_min = s->nodes_max = nodes;
	s->cpus = (job->cpus + nodes - 1) / nodes;
	s->mem_mb = (job->mem_mb + nodes - 1) / nodes;
}

bool world_submit(struct world *w, struct world_job *job)
{
	char *types = xstrdup(text_numbers_text(w->names, job->type));
	const char *group = text_numbers_text(w->names, job->group);
	struct submit_job s;
	struct core_event e = { .kind = EV_SUBMIT,
		.caller = { .uid = WORLD_FIRST_UID + job->user,
		        .user = text_numbers_text(w->names, job->user),
		        .host = "gsim",
		        .groups = &group,
		        .n_groups = *group ? 1 : 0 },
		.submit = { .jobs = &s, .n = 1 } };

	fill_submit(w, job, types, &s);
	w->submitted = 0;
	world_apply(w, &e);
	free(types);
	if (!w->submitted) {
		measures_refused(&w->m, &w->refusal);
		if (w->m.results)
			w->m.results->v[job->result].refused = true;
		w->m.waiting--;
		world_job_forget(w, job);
		return false;
	}
	job->id = w->submitted;
	idmap_add(w->jobs, job->id, job);
	return true;
}

void world_cancel(struct world *w, struct world_job *job)
{
	struct core_event e = { .kind = EV_JOB_CONTROL,
		.caller = { .role = ROLE_ADMIN, .user = "root", .host = "gsim" },
		.job = { .verb = JOB_CANCEL, .ids = &job->id, .n = 1, .reason = "" } };

	world_apply(w, &e);
	w->m.waiting--;
	if (w->m.results)
		w->m.results->v[job->result].refused = true;
	world_job_forget(w, job);
}
