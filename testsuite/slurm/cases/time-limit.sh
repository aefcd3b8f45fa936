#!/bin/bash
#SBATCH --time=1
echo started
exec sleep 600
