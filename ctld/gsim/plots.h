/* plots.h - the charts of a simulation: gsim --plot */
#ifndef GSIM_PLOTS_H
#define GSIM_PLOTS_H

#include <stdbool.h>

#include "ctld/gsim/report.h"

/* Of m->results, into a folder that is made if it is not there. `dated`: the history's times are
 * UTC. */
int plots_write(const char *dir, const struct report_input *in, const struct measures *m,
        bool dated, struct error *err);

#endif
