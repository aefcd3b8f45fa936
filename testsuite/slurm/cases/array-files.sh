#!/bin/bash
#SBATCH -a 1-2
#SBATCH --output=of-%j.out
#SBATCH --error=of-%A-%a.err
echo written; echo "${SLURM_ARRAY_TASK_ID}" >&2
