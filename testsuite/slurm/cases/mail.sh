#!/bin/bash
#SBATCH --mail-type=END,FAIL
#SBATCH --mail-user=ana@example.org
#SBATCH -J mail
echo sent
