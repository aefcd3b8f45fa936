#!/bin/bash
#SBATCH --output=no/such/dir/%j.out
touch ran
