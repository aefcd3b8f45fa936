#!/bin/bash
#SBATCH --gpu=2
echo never
