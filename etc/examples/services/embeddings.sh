#!/bin/bash
# Embeddings of sentences, in a server that knows no metrics: it says its load itself, in a file.
#
#     gsubmit embeddings.sh
#     curl -d '["one text", "another"]' http://$(gserve endpoints embed | shuf -n1)/embed
#
# --metrics=file reads $GPUSCHED_RUN_DIR/load, a line such as "running=3 waiting=7", written anew at
# least every 30 s; --ready=file waits for $GPUSCHED_RUN_DIR/ready. Any program can do that, in any
# language, also one without a port.
#
#GPUSCHED --service=embed --gpus=1 --cpus-per-task=4 --mem=16G
#GPUSCHED --replicas=1-4 --ports=1 --ready=file --live=tcp
#GPUSCHED --metrics=file --target=8 --scale-down=5m
#GPUSCHED --open-mode=append
set -euo pipefail
export MODEL=${MODEL:-sentence-transformers/all-MiniLM-L6-v2}

exec python3 - <<'PYTHON'
import http.server
import json
import os
import pathlib
import threading
import time

from sentence_transformers import SentenceTransformer

model = SentenceTransformer(os.environ["MODEL"])
folder = pathlib.Path(os.environ["GPUSCHED_RUN_DIR"])
lock, turn = threading.Lock(), threading.Lock()
count = {"running": 0, "waiting": 0, "requests": 0}


def add(**by):
    with lock:
        for name, n in by.items():
            count[name] += n


def tell_load():
    """Once a second; beside it with a rename, so that it is never read half written."""
    while True:
        with lock:
            line = " ".join(f"{name}={n}" for name, n in count.items())
        (folder / "load.new").write_text(line)
        (folder / "load.new").rename(folder / "load")
        time.sleep(1)


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        texts = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        add(waiting=1)
        with turn:              # the model takes one batch at a time
            add(waiting=-1, running=1)
            try:
                vectors = model.encode(texts, batch_size=128).tolist()
            finally:
                add(running=-1)
        add(requests=1)
        body = json.dumps(vectors).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


server = http.server.ThreadingHTTPServer(("0.0.0.0", int(os.environ["GPUSCHED_PORT"])), Handler)
threading.Thread(target=tell_load, daemon=True).start()
(folder / "ready").touch()
server.serve_forever()
PYTHON
