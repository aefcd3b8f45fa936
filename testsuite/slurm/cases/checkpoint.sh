#!/bin/bash
#SBATCH --time=1
#SBATCH --signal=B:USR1@50
save() { echo "saving"; touch saved; exit 0; }
trap save USR1
sleep 600 &
wait
