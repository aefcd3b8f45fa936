#!/bin/bash
#SBATCH -J fails
echo before
exit 3
