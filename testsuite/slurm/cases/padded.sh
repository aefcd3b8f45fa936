#!/bin/bash
#SBATCH --output=job_%8j.log
echo padded
