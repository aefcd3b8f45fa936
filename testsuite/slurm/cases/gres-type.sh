#!/bin/bash
#SBATCH --gres=gpu:h100:1
#SBATCH --mem=1G
echo "$SLURM_GPUS_ON_NODE GPU"
env | grep -E '^(SLURM|CUDA)' | sort >slurm.env
