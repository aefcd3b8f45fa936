#!/bin/bash
#SBATCH -J modules
module load cuda/12.1
