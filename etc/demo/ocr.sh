#!/bin/sh
#GPUSCHED --gpus=1 --cpus-per-task=1 --time=5
#GPUSCHED --output=%x.out
# ocr.sh - one document-processing job: an LSTM model reads the page $1.tif and writes $1.txt
set -eu
echo "job $GPUSCHED_JOB_ID on $GPUSCHED_NODE, GPU $CUDA_VISIBLE_DEVICES"
export OMP_THREAD_LIMIT=1 # one CPU was asked for
tesseract "$1.tif" "$1" -l eng --oem 1 2>"$1.log"
echo "$(wc -w <"$1.txt") words recognised"
