#!/bin/bash
#SBATCH --input=in.txt
tr a-z A-Z
