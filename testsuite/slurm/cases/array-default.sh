#!/bin/bash
#SBATCH -a 0-4:2%1
echo "task $SLURM_ARRAY_TASK_ID"
[ "$SLURM_ARRAY_TASK_ID" -ne 2 ]
