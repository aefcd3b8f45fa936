#!/bin/sh
# A server of one's own: an OCR model (tesseract) behind python3's HTTP server. It needs no GPU of its
# own and tells its load with vLLM's names of metrics, so that --metrics=vllm reads it.
#
#     gsubmit ocr.sh
#     curl --data-binary @page.tif http://$(gserve endpoints ocr | shuf -n1)/read
#
# Each replica reads one page at a time; the others wait in its queue. --target=2 asks for as many
# replicas that two pages are in each. etc/quickstart runs it (etc/demo/service).
#
#GPUSCHED --service=ocr --gpus=1 --cpus-per-task=1 --mem=1G
#GPUSCHED --replicas=1-4 --ports=1 --ready=http:/health --live=http:/health
#GPUSCHED --metrics=vllm --target=2 --scale-down=2m --drain=30s
#GPUSCHED --open-mode=append
set -eu
export OMP_THREAD_LIMIT=1 # one CPU was asked for
export ADDRESS="${1:-0.0.0.0}" # all of the node's; 127.0.0.1: only clients on this node

exec python3 - <<'PYTHON'
import http.server
import os
import subprocess
import threading


class Load:
    """The requests of this replica. They are changed under `lock`; `turn` is held by the one that is answered."""

    def __init__(self):
        self.lock, self.turn = threading.Lock(), threading.Lock()
        self.running = self.waiting = self.requests = self.words = 0

    def add(self, **by):
        with self.lock:
            for name, n in by.items():
                setattr(self, name, getattr(self, name) + n)

    def metrics(self):
        with self.lock:
            return (f"vllm:num_requests_running {self.running}\n"
                    f"vllm:num_requests_waiting {self.waiting}\n"
                    f"vllm:request_success_total {self.requests}\n"
                    f"vllm:generation_tokens_total {self.words}\n")


load = Load()


def read_page(image):
    """What the model reads in it: (True, text), or (False, what went wrong)."""
    load.add(waiting=1)
    with load.turn:
        load.add(waiting=-1, running=1)
        try:
            r = subprocess.run(["tesseract", "stdin", "stdout", "-l", "eng", "--oem", "1"], input=image,
                               capture_output=True, check=False)
        finally:
            load.add(running=-1)
    if r.returncode:
        return False, r.stderr
    load.add(requests=1, words=len(r.stdout.split()))
    return True, r.stdout


class Handler(http.server.BaseHTTPRequestHandler):
    def answer(self, status, body):
        self.send_response(status)
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        if self.path == "/health":
            self.answer(200, b"ready\n")
        elif self.path == "/metrics":
            self.answer(200, load.metrics().encode())
        else:
            self.answer(404, b"POST /read, GET /health, GET /metrics\n")

    def do_POST(self):
        well, text = read_page(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        self.answer(200 if well else 500, text)

    def log_message(self, *args):
        pass                    # probes would fill the output


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 128    # connections that wait to be taken: a burst is not turned away


Server((os.environ["ADDRESS"], int(os.environ["GPUSCHED_PORT"])), Handler).serve_forever()
PYTHON
