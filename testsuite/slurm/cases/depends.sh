#!/bin/bash
#SBATCH -J depends
cat first.txt
