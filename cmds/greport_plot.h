/* greport_plot.h - greport --plot: the charts of a history (common/plot/jobplots.h) */
#ifndef CMDS_GREPORT_PLOT_H
#define CMDS_GREPORT_PLOT_H

#include "cmds/api/client.h"
#include "cmds/views/acct_options.h"

/* Ask for the jobs and write their charts into the folder `dir`. `capacity`: the number of GPUs; 0:
 * not known. */
int greport_plot(struct client *c, const struct acctopt *which, double capacity, const char *dir,
        struct error *err);

#endif
