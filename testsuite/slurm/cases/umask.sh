#!/bin/bash
#SBATCH -o umask.out
umask; stat -c %a umask.out
ulimit -Sn
