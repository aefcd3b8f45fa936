#!/bin/bash
# Embeddings of a large corpus as an array: a task a shard, ten at a time, each of which goes on at
# its mark when it is started again: at the end of its time (75), after a preemption, a failed node
# or `gctl requeue`.
#
#     mkdir -p shards vectors          # shards/0.txt to shards/99.txt, a text a line
#     gsubmit embed-array.sh
#
#GPUSCHED -J embed --array=0-99%10 --gpus=1 --cpus-per-task=4 --mem=16G --time=2:00:00
#GPUSCHED --signal=USR1@60 --requeue-on=exit:75 --label model=bge-small-en-v1.5
set -euo pipefail

# DRY_RUN=1 makes vectors without a model: no GPU is needed.
exec python3 - "${GPUSCHED_ARRAY_TASK_ID:-0}" <<'PYTHON'
import array
import os
import pathlib
import signal
import sys

task = sys.argv[1]
shard, vectors, mark = (pathlib.Path(p) for p in (f"shards/{task}.txt", f"vectors/{task}.f32", f"vectors/{task}.mark"))
run_dir = os.environ.get("GPUSCHED_RUN_DIR")
dimensions, batch = 384, 512
stop = False


def interrupted(number, frame):
    global stop
    stop = True


signal.signal(signal.SIGUSR1, interrupted)
signal.signal(signal.SIGTERM, interrupted)

if os.environ.get("DRY_RUN") == "1":
    def embed(texts):
        return [[float(len(t))] * dimensions for t in texts]
else:
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer("BAAI/bge-small-en-v1.5")

    def embed(texts):
        return model.encode(texts, batch_size=64).tolist()

# The mark is how many texts are in the file for sure. What was written behind it when the last
# attempt ended is written again.
done = int(mark.read_text()) if mark.exists() else 0
texts = shard.read_text().splitlines()
print(f"shard {task}: {done} of {len(texts)} are done", flush=True)
with open(vectors, "r+b" if vectors.exists() else "w+b") as out:
    out.truncate(done * dimensions * 4)
    out.seek(0, os.SEEK_END)
    while done < len(texts) and not stop:
        part = texts[done:done + batch]
        for vector in embed(part):
            out.write(array.array("f", vector).tobytes())
        out.flush()
        os.fsync(out.fileno())
        done += len(part)
        # First the data, then the mark, as a whole.
        fresh = mark.with_suffix(".new")
        fresh.write_text(str(done))
        os.replace(fresh, mark)
        if run_dir:
            (pathlib.Path(run_dir) / "checkpoint").touch()
            (pathlib.Path(run_dir) / "progress").write_text(f"{done} of {len(texts)}\n")
if run_dir and stop:
    (pathlib.Path(run_dir) / "ack").touch()
sys.exit(0 if done == len(texts) else 75)
PYTHON
