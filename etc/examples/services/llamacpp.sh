#!/bin/bash
# A quantised model behind llama.cpp's server: one file of weights, no replica while nobody asks.
#
#     gsubmit llamacpp.sh /models/model.gguf
#     gserve wake small                        # or the first request, where a site runs gactivate
#
# With 0-2 replicas and --to-zero=10m the last one ends after ten minutes without a request.
# llama-server has --parallel slots; further requests are deferred, which is its word for waiting.
# /health answers 503 while the model loads, so it is no endpoint before that.
#
#GPUSCHED --service=small --gpus=1 --gpu-mem-min=16G --cpus-per-task=4 --mem=16G
#GPUSCHED --replicas=0-2 --ports=1 --ready=http:/health --live=http:/health
#GPUSCHED --metrics=llamacpp --target=4 --to-zero=10m
#GPUSCHED --open-mode=append
set -euo pipefail
weights=${1:?file of weights (.gguf)}

exec llama-server --model "$weights" --host 0.0.0.0 --port "$GPUSCHED_PORT" --metrics --parallel 4 --n-gpu-layers 99
