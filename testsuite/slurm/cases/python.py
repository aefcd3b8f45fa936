#!/usr/bin/python3
#SBATCH --job-name=python
#SBATCH --output=py-%j.log
import os
import sys

print("job", os.environ["SLURM_JOB_NAME"], sys.argv[1:])
sys.exit(4)
