#!/bin/bash
#PBS -N of-pbs
#SBATCH -c 2
echo "$SLURM_JOB_NAME"
