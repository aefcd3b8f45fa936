#!/bin/bash
#SBATCH --open-mode=append
#SBATCH -o log.txt
echo second
