#!/bin/bash

# a comment, and a blank line
#SBATCH -J early
set -e
#SBATCH -J late
#SBATCH --output=late.out
echo "$SLURM_JOB_NAME"
