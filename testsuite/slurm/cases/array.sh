#!/bin/bash
#SBATCH --array=1-3
#SBATCH --output=%A_%a.out
echo "task $SLURM_ARRAY_TASK_ID of $SLURM_ARRAY_TASK_COUNT"
