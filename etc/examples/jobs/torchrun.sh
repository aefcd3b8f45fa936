#!/bin/bash
# Training on two nodes: srun starts one torchrun on each, which starts one process for each GPU. All
# processes meet at a port of the first node.
#
#     eval "$(slurm-names)"            # srun, sbatch and scontrol in PATH
#     sbatch torchrun.sh train.py --epochs 3
#
#SBATCH --job-name=torchrun --nodes=2 --ntasks-per-node=1 --gpus-per-node=4 --cpus-per-task=8
#SBATCH --mem=64G --time=4:00:00 --output=torchrun-%j.out
set -euo pipefail

# A port that another job on the node is not likely to use.
MASTER_ADDR=${MASTER_ADDR:-$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)}
export MASTER_ADDR MASTER_PORT=$((20000 + SLURM_JOB_ID % 10000))

if command -v torchrun >/dev/null; then
	exec srun torchrun --nnodes="$SLURM_NNODES" --nproc-per-node="$SLURM_GPUS_ON_NODE" --rdzv-id="$SLURM_JOB_ID" \
		--rdzv-backend=c10d --rdzv-endpoint="$MASTER_ADDR:$MASTER_PORT" "$@"
fi

# Where there is no torchrun, a stand-in shows that the processes find each other: srun starts all of
# them, they meet as torch.distributed would with init_method="env://", and sum their ranks.
echo "no torchrun on $SLURMD_NODENAME: a rendezvous alone"
srun --ntasks=$((SLURM_NNODES * SLURM_GPUS_ON_NODE)) --ntasks-per-node="$SLURM_GPUS_ON_NODE" --gpus-per-task=1 \
	python3 - <<'PYTHON'
import os
import socket
import time

rank, size = int(os.environ["SLURM_PROCID"]), int(os.environ["SLURM_NTASKS"])
where = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])


def connect():
    """The first process may not listen yet."""
    end = time.monotonic() + 60
    while True:
        try:
            return socket.create_connection(where, timeout=60)
        except ConnectionRefusedError:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)


if rank == 0:
    with socket.create_server(where, backlog=size) as server:
        others = [server.accept()[0].makefile("rw") for _ in range(size - 1)]
    total = sum(int(f.readline()) for f in others)
    for f in others:
        print(total, file=f, flush=True)
else:
    with connect() as s, s.makefile("rw") as f:
        print(rank, file=f, flush=True)
        total = int(f.readline())
print(f"rank {rank} of {size} on {os.environ['SLURMD_NODENAME']}, GPU {os.environ['CUDA_VISIBLE_DEVICES']}: the sum is {total}")
PYTHON
