#!/bin/bash
# A language model behind vLLM's HTTP server (the API of OpenAI), 2 to 8 replicas of it.
#
#     gsubmit vllm.sh
#     curl http://$(gserve endpoints chat | shuf -n1)/v1/models
#
# vLLM answers /health as soon as the model is loaded, and tells at /metrics how many requests it
# computes and how many wait. --target is the number of both together that each replica should have:
# begin with half of --max-num-seqs, and lower it if requests wait (gserve show chat).
#
# --load-time: a replica that is not ready after 20 minutes is ended and started again. --drain: a
# replica that is to end has two minutes for the answers that it has begun. Two replicas are kept;
# a site with a second QOS for what may be interrupted adds --burst-qos=NAME for the others.
#
#GPUSCHED --service=chat --gpus=1 --gpu-mem-min=40G --cpus-per-task=8 --mem=64G
#GPUSCHED --replicas=2-8 --ports=1 --ready=http:/health --live=http:/health
#GPUSCHED --load-time=20m --drain=2m
#GPUSCHED --metrics=vllm --target=64 --request-wait=2s
#GPUSCHED --label model=Qwen2.5-7B-Instruct --open-mode=append
set -euo pipefail
model=${MODEL:-Qwen/Qwen2.5-7B-Instruct}

exec vllm serve "$model" --host 0.0.0.0 --port "$GPUSCHED_PORT" --max-num-seqs 128
