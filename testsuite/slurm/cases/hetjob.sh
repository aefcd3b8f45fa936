#!/bin/bash
#SBATCH -n 1
#SBATCH hetjob
#SBATCH -n 2
echo parts
