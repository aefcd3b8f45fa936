#!/bin/bash
#SBATCH --gres=mps:50
#SBATCH --mem=1G
echo "GPUs: $CUDA_VISIBLE_DEVICES"
env | grep -E '^(SLURM|CUDA)' | sort >slurm.env
