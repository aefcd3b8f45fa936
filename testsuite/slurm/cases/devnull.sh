#!/bin/bash
#SBATCH -o /dev/null
#SBATCH -e err.log
echo lost; echo kept >&2
