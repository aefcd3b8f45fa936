#!/bin/bash
#SBATCH -J heredoc
cat >config.txt <<EOF
job=$SLURM_JOB_NAME
#SBATCH -J not-this
EOF
cat config.txt
