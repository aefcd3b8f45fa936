#!/bin/bash
#SBATCH --job-name=a#b --output=never.out
echo "$SLURM_JOB_NAME"
