#!/bin/bash
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH -o log.txt
echo "restart ${SLURM_RESTART_COUNT:-0}"
touch running
[ "${SLURM_RESTART_COUNT:-0}" -gt 0 ] || exec sleep 600
