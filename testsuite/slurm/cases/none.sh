#!/bin/bash
#SBATCH -o none
echo lost
touch was-here
