#!/bin/bash
#SBATCH -J bg
(sleep 600) &
echo started
