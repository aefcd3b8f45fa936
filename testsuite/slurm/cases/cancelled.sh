#!/bin/bash
#SBATCH -J cancelled
touch running
exec sleep 600
