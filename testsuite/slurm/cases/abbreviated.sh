#!/bin/bash
#SBATCH --job-na=short --cpus-per-t 2 -n1 -t5 --mem=100
echo "$SLURM_JOB_NAME $SLURM_CPUS_PER_TASK"
