/* stats.c - MSG_STATS: the controller's figures */
#include "ctld/stats.h"

#include "ctld/ctld.h"
#include "ctld/rpc/rpc.h"

void rpc_stats(struct ctld *c, const struct rpc *rpc)
{
	Gpusched__StatsResult m = GPUSCHED__STATS_RESULT__INIT;
	Gpusched__Stat stats[STATS_MAX], *list[STATS_MAX];
	struct stat_value values[STATS_MAX];

	m.n_stats = stats_take(c, values);
	m.stats = list;
	for (size_t i = 0; i < m.n_stats; i++) {
		gpusched__stat__init(&stats[i]);
		stats[i].name = (char *)values[i].name;
		stats[i].unit = (char *)values[i].unit;
		stats[i].help = (char *)values[i].help;
		stats[i].value = values[i].value;
		list[i] = &stats[i];
	}
	rpc_answer(c, rpc, GPUSCHED__MSG_TYPE__MSG_STATS_RESULT, &m.base);
	rpc_reply(c, rpc, NULL);
}
