#!/bin/bash
#SBATCH -N 1 -n 2
#SBATCH --gpus-per-task=1
#SBATCH --mem=1G
env | grep -E '^(SLURM|CUDA)' | sort >slurm.env
