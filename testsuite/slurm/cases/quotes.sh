#!/bin/bash
#SBATCH --job-name="two words" --output='out file.txt'
echo "$SLURM_JOB_NAME"
