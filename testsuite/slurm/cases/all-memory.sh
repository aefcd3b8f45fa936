#!/bin/bash
#SBATCH --exclusive
#SBATCH --mem=0
#SBATCH -t 5
echo "alone on $SLURM_CPUS_ON_NODE CPUs"
