#!/bin/bash
#SBATCH -n 3
#SBATCH --mem=300
for i in $(seq "$SLURM_NTASKS"); do echo "part $i" & wait; done
env | grep -E '^(SLURM|CUDA)' | sort >slurm.env
