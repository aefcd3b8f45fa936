#!/bin/bash
#SBATCH --export=ALL,EXTRA=7
echo "FOO=${FOO-unset} BAR=${BAR-unset} EXTRA=$EXTRA"
env | grep -E '^(SLURM|CUDA)' | sort >slurm.env
