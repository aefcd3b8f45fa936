#!/bin/bash
#SBATCH -J only-one
#SBATCH -d singleton
#SBATCH -a 1-3
#SBATCH -o /dev/null
touch at-work-$SLURM_ARRAY_TASK_ID
sleep 1.5
[ "$(ls at-work-* | wc -l)" = 1 ] && echo alone >>together.txt
sleep 0.5
rm at-work-$SLURM_ARRAY_TASK_ID
