/* candidate.c - see candidate.h
 *
 * A job without a place counts as what its smallest number of nodes takes, so a limit that refuses
 * this need refuses every place. With its places it counts as what they give it, which may be more.
 */
#include "ctld/core/plan/candidate.h"

#include "ctld/core/request/requests.h"

/* GPU memory counts as what is booked of it: the share of each GPU, or all memory of whole ones. */
static void fill_need(const struct sched_view *view, const struct request *r, uint16_t type,
        uint32_t gpus, const struct share *share, uint32_t nodes, struct need *need)
{
	need->type = type;
	need->gpus = gpus;
	need->charge = share->charge;
	need->gpu_mem_mb = !gpus           ? 0
	                   : share->charge ? gpus * share->mem_mb
	                                   : gpus * view->conf->gpu_types[type].mem_mb;
	need->nodes = nodes;
	need->licences = r->licences;
	need->n_licences = (uint16_t)r->n_licences;
}

void need_at_least(const struct sched_view *view, const struct ask *ask, uint32_t a, uint16_t type,
        struct need *need)
{
	const struct request *r = ask->gpus;
	uint32_t gpus = r->n ? r->v[a].count : 0;
	struct share share;

	if (r->per_node)
		gpus *= r->nodes_min;
	ledger_share_of(view->ledger, r, type, &share);
	fill_need(view, r, type, gpus, &share, r->nodes_min, need);
	need->cpus = ask->cpus * r->nodes_min;
	need->mem_mb = ask->mem_mb * r->nodes_min;
}

void need_of_places(const struct sched_view *view, const struct ask *ask,
        const struct places *places, struct need *need)
{
	static const struct share whole;
	uint32_t gpus = 0;

	need->cpus = 0;
	need->mem_mb = 0;
	for (size_t i = 0; i < places->n; i++) {
		uint32_t n = (uint32_t)__builtin_popcountll(places->v[i].gpus);
		uint32_t part =
		        ask->gpus->link ? request_part_gpus(ask->gpus, places->alternative) : n;

		gpus += n < part ? n : part; /* a reservation may keep more than the job takes */
		need->cpus += places->v[i].cpus;
		need->mem_mb += places->v[i].mem_mb;
	}
	fill_need(view, ask->gpus, gpus ? places->type : TYPE_NONE, gpus,
	        places->n ? &places->v[0].share : &whole, (uint32_t)places->n, need);
}
