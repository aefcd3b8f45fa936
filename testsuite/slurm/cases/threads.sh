#!/bin/bash
#SBATCH -N 1 -n 1 -c 8 -t 0-00:10
#SBATCH --mem=1G  # of the node
export OMP_NUM_THREADS=${SLURM_CPUS_PER_TASK:-1}
echo $OMP_NUM_THREADS
env | grep -E '^(SLURM|CUDA)' | sort >slurm.env
