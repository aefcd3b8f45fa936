/* charts.h - the demand as pictures: SVG files in a folder */
#ifndef GDEMAND_CHARTS_H
#define GDEMAND_CHARTS_H

#include "ctld/gdemand/demand.h"

/* The folder is made if it is not there; files of the same names are written anew. */
int charts_draw(const struct demand *d, const char *folder, struct error *err);

#endif
