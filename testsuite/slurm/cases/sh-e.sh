#!/bin/sh -e
#SBATCH -J sh
false
echo never
