#!/bin/bash
#SBATCH --output=both.log --error=both.log
echo one; echo two >&2; echo three
