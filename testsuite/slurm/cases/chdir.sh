#!/bin/bash
#SBATCH --chdir=sub
#SBATCH -o here.out
pwd
