#!/bin/bash
# Offline batch inference with vLLM: a file of prompts, one JSON object a line ({"prompt": "..."}),
# becomes a file of answers in the same order.
#
#     gsubmit vllm-batch.sh prompts.jsonl answers.jsonl
#
# One whole GPU type is not demanded: whatever has the memory will do. USR1 comes two minutes before
# the end of the time; what is done by then is kept, it ends with 75, and the next attempt goes on
# behind it.
#
#GPUSCHED -J vllm-batch --gpus=1 --gpu-mem-min=40G --cpus-per-task=8 --mem=64G
#GPUSCHED --time=4:00:00 --signal=USR1@120 --requeue-on=exit:75
#GPUSCHED --label model=Qwen2.5-7B-Instruct
set -euo pipefail
prompts=${1:?file of prompts} answers=${2:?file of answers}
model=${MODEL:-Qwen/Qwen2.5-7B-Instruct}

# DRY_RUN=1 tries everything but the model: no GPU and no vLLM are needed.
exec python3 - "$prompts" "$answers" "$model" <<'PYTHON'
import json
import os
import pathlib
import signal
import sys

prompts, answers, model = sys.argv[1:]
dry = os.environ.get("DRY_RUN") == "1"
batch = 256                     # as much work as may be lost
stop = False


def interrupted(number, frame):
    global stop
    stop = True                 # after the batch at hand


signal.signal(signal.SIGUSR1, interrupted)
signal.signal(signal.SIGTERM, interrupted)

done = 0                        # whole lines only: the last attempt may have been cut off in one
if os.path.exists(answers):
    with open(answers, "rb+") as f:
        text = f.read()
        whole = text.rfind(b"\n") + 1
        f.truncate(whole)
        done = text[:whole].count(b"\n")
todo = [json.loads(line)["prompt"] for line in open(prompts)][done:]
left = len(todo)
print(f"{done} are done, {left} are left", flush=True)

if dry:
    def generate(texts):
        return [text.upper() for text in texts]
else:
    from vllm import LLM, SamplingParams    # CUDA_VISIBLE_DEVICES is right already

    llm = LLM(model, gpu_memory_utilization=0.9)
    how = SamplingParams(temperature=0, max_tokens=512)

    def generate(texts):
        return [out.outputs[0].text for out in llm.generate(texts, how)]

run_dir = os.environ.get("GPUSCHED_RUN_DIR")    # also runs by hand, without gpusched
with open(answers, "a") as out:
    for at in range(0, len(todo), batch):
        try:
            fresh = generate(todo[at:at + batch])
        except Exception:
            if not stop:
                raise
            break               # vLLM has processes of its own, which the signal may have ended too
        for answer in fresh:
            out.write(json.dumps({"answer": answer}) + "\n")
        out.flush()
        os.fsync(out.fileno())
        left = max(0, len(todo) - at - batch)
        if run_dir:
            # The work up to here is safe; a line for people (gsubmit(1), GPUSCHED_RUN_DIR).
            (pathlib.Path(run_dir) / "checkpoint").touch()
            (pathlib.Path(run_dir) / "progress").write_text(f"{done + len(todo) - left} answers\n")
        if stop:
            break
if stop and run_dir:
    (pathlib.Path(run_dir) / "ack").touch()     # nothing is to be saved any more: end me now
sys.exit(75 if left else 0)
PYTHON
