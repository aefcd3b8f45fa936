#!/bin/bash
#SBATCH -J dos
echo hello
