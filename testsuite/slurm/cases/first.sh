#!/bin/bash
#SBATCH -J first
sleep 1
echo of the first >first.txt
