/* rows.h - the tables of metrics, one a page */
#ifndef CMDS_WEB_METRICS_ROWS_H
#define CMDS_WEB_METRICS_ROWS_H

#include "cmds/web/metrics/metrics.h"

#define METRICS_END                             \
	{                                       \
		NULL, NULL, NULL, NULL, NULL, 0 \
	}

/* gpusched_ctld_*: a family for each figure of the controller. */
void metrics_ctld(struct metric_out *o);

extern const struct metric metrics_own[];
extern const struct metric metrics_jobs[], metrics_nodes[], metrics_partitions[],
        metrics_users_accounts[], metrics_scheduler[];
extern const struct metric metrics_exporter[];
extern const struct metric metrics_gpus[];

#endif
