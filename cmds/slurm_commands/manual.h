/* manual.h - the tables of gpusched-slurm(7), made of those of the programs */
#ifndef CMDS_MANUAL_H
#define CMDS_MANUAL_H

#include <stdio.h>

void slurm_cmd_manual(FILE *out); /* as mdoc(7) */

#endif
