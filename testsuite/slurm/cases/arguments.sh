#!/bin/bash
#SBATCH -J arguments
printf "<%s>" "$@" | sed "s,^<[^>]*/,<,"; echo
