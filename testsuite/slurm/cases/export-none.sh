#!/bin/bash
#SBATCH --export=NONE
echo "FOO=${FOO-unset} SLURM_JOB_ID=${SLURM_JOB_ID:+set}"
env | grep -E '^(SLURM|CUDA)' | sort >slurm.env
