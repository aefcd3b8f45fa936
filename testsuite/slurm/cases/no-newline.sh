#!/bin/bash
#SBATCH -J no-newline
echo the end