#!/bin/bash
#SBATCH --hold
echo released
