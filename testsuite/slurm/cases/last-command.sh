#!/bin/bash
#SBATCH -J last
false
true
