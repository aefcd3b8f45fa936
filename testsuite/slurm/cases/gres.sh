#!/bin/bash
#SBATCH --gres=gpu:2
#SBATCH --cpus-per-task=4
#SBATCH --mem=4G
echo "GPUs: $CUDA_VISIBLE_DEVICES"
env | grep -E '^(SLURM|CUDA)' | sort >slurm.env
