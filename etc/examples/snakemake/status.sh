#!/bin/sh
# status.sh - what became of a job, as Snakemake's --cluster-status asks for it
#
#   snakemake --jobs 100 --cluster 'gsubmit --parsable -c {threads}' --cluster-status ./status.sh
#
# Prints running, success or failed. While the controller is away a job is taken to run: its end is
# told when the controller is back.
state=$(gqueue --all --noheader --csv -o STATE --jobs "$1" 2>/dev/null)
case $?:$state in
0:COMPLETED) echo success ;;
0:PENDING* | 0:CONFIGURING* | 0:RUNNING* | 0:SUSPENDED* | 0:COMPLETING* | 4:*) echo running ;;
*) echo failed ;; # another end, or no longer known
esac
