#!/bin/bash
#SBATCH --gpus=2
#SBATCH --cpus-per-gpu=3
#SBATCH --mem-per-gpu=1G
echo "$SLURM_GPUS GPUs"
env | grep -E '^(SLURM|CUDA)' | sort >slurm.env
