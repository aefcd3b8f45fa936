#!/bin/bash
#SBATCH --export=FOO,EXTRA=7
echo "FOO=${FOO-unset} BAR=${BAR-unset} EXTRA=$EXTRA"
