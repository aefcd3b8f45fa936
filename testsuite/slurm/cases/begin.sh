#!/bin/bash
#SBATCH --begin=now+2
echo later
