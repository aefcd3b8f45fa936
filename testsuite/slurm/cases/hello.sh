#!/bin/bash
#SBATCH --job-name=hello
#SBATCH --ntasks=1
#SBATCH --time=00:05:00
#SBATCH --mem=100M

echo "Hello from $(hostname -s), job $SLURM_JOB_ID"
env | grep -E '^(SLURM|CUDA)' | sort >slurm.env
