#!/bin/bash
#SBATCH --mem=100
if [ -z "$CUDA_VISIBLE_DEVICES" ]; then echo on the CPU; fi
