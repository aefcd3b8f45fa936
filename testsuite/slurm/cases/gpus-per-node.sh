#!/bin/bash
#SBATCH -N 1
#SBATCH --gpus-per-node=h100:2
#SBATCH --mem=1G
env | grep -E '^(SLURM|CUDA)' | sort >slurm.env
