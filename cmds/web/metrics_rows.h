/* metrics_rows.h - the tables of metrics, one a page; for metrics*.c */
#ifndef CMDS_WEB_METRICS_ROWS_H
#define CMDS_WEB_METRICS_ROWS_H

#include "cmds/web/metrics.h"

#define METRICS_END { NULL, NULL, NULL, NULL, NULL }

extern const struct metric metrics_own[];

#endif
