#!/bin/bash
#SBATCH -o log.txt
echo new
