#!/bin/bash
#SBATCH --output="as\\is-%j.log"
echo backslash
