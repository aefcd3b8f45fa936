#!/bin/bash
#SBATCH	-J	tabs # and a comment
#SBATCH --tasks=2 --mail-type=END,ARRAY_TASKS --open-mode=t
#SBATCH -o step-%J.%6J.out
:<<X
#SBATCH -J no
X
echo "$SLURM_JOB_NAME $SLURM_NTASKS"
