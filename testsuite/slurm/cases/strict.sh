#!/bin/bash
#SBATCH -J strict
set -euo pipefail
false | cat
echo never
