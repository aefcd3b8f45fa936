#!/bin/bash
#SBATCH -n 2
(echo a >a.txt) &
(echo b >b.txt) &
wait
cat a.txt b.txt
