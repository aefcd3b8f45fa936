#!/bin/bash
#SBATCH -J killed
kill -SEGV $$
