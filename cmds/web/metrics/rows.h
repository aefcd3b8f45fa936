/* rows.h - the tables of metrics, one a page */
#ifndef CMDS_WEB_METRICS_ROWS_H
#define CMDS_WEB_METRICS_ROWS_H

#include "cmds/web/metrics/metrics.h"

#define METRICS_END { NULL, NULL, NULL, NULL, NULL, 0 }
#define GAUGE(name, labels, help, fill, what) { name, "gauge", labels, help, fill, what }

/* What fills rows, by their `what`: an enum job_count or node_count. */
struct job_groups;
void metric_jobs(struct metric_out *o);
void metric_groups(struct metric_out *o, const struct job_groups *g);
void metric_user_jobs(struct metric_out *o);
void metric_account_jobs(struct metric_out *o);
void metric_partition_jobs(struct metric_out *o); /* of each, also of one without jobs */
void metric_nodes(struct metric_out *o);
void metric_partition_nodes(struct metric_out *o);

/* gpusched_ctld_*: a family for each figure of the controller. */
void metrics_ctld(struct metric_out *o);

extern const struct metric metrics_own[];
extern const struct metric metrics_jobs[], metrics_nodes[], metrics_partitions[],
        metrics_users_accounts[], metrics_scheduler[];
extern const struct metric metrics_exporter[];
extern const struct metric metrics_gpus[];

#endif
