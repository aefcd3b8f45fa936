#!/bin/bash
# NVIDIA's Triton with a folder of models. It listens at three ports: HTTP, gRPC and metrics.
#
#     gsubmit triton.sh /models/repository
#
# Each replica has three ports ($GPUSCHED_PORTS); clients and probes use the first, so that one is
# HTTP. Metrics would be fetched from the first port too, and Triton has them at another: a loop
# beside the server reads them and tells the load by a file. The load is the number of pending
# requests, so --target is how many may wait at each replica.
#
#GPUSCHED --service=vision --gpus=1 --cpus-per-task=8 --mem=32G
#GPUSCHED --replicas=1-4 --ports=3 --ready=http:/v2/health/ready --live=http:/v2/health/live
#GPUSCHED --metrics=file --target=16 --load-time=10m
#GPUSCHED --open-mode=append
set -euo pipefail
repository=${1:?folder of models}
IFS=, read -r http grpc metrics <<<"$GPUSCHED_PORTS"

# Where the file is older than 30 s the load is unknown, and the service is not scaled down.
while sleep 1; do
    pending=$(curl -sf "http://127.0.0.1:$metrics/metrics" |
        awk '/^nv_inference_pending_request_count/ { n += $NF } END { if (NR) print n + 0 }') && [ -n "$pending" ] || continue
    echo "running=$pending" >"$GPUSCHED_RUN_DIR/load.new"
    mv "$GPUSCHED_RUN_DIR/load.new" "$GPUSCHED_RUN_DIR/load"
done &

exec tritonserver --model-repository="$repository" --http-port="$http" --grpc-port="$grpc" --metrics-port="$metrics"
