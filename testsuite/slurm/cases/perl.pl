#!/usr/bin/perl -w
#SBATCH -J perl
print "perl: $ENV{SLURM_JOB_NAME}\n";
