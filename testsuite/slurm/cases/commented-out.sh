#!/bin/bash
##SBATCH -J off
# SBATCH -J off
 #SBATCH -J off
#SBATCH -J on
echo "$SLURM_JOB_NAME"
