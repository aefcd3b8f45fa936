#!/bin/bash
#SBATCH -J command-line
[ "$SLURM_NTASKS" = 2 ] && touch two-tasks
echo lost
