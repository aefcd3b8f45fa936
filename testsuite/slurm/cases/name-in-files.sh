#!/bin/bash
#SBATCH -J train-resnet
#SBATCH -o %x-%j.out
#SBATCH -e %x-%j.err
echo out; echo err >&2
