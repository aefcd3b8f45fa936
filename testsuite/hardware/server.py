"""server.py - serves a model over HTTP: /generate/NUMBER, several requests at once; /metrics in vLLM's words

usage: server.py MODEL.py, with the port in GPUSCHED_PORT
"""

import http.server
import importlib.util
import os
import queue
import sys
import threading

BATCH = 8
waiting = queue.Queue()
running = answered = 0


def work(model):
    try:
        answer_all(model)
    finally:
        os._exit(1)  # what cannot answer any more must not say that it is well


def answer_all(model):
    global running, answered
    while True:
        batch = [waiting.get()]
        while len(batch) < BATCH and not waiting.empty():
            batch.append(waiting.get())
        running = len(batch)
        for (_, said), text in zip(batch, model.generate([prompt for prompt, _ in batch])):
            said.put(text)
        answered += running
        running = 0


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 256


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path.startswith("/generate/"):
            said = queue.Queue()
            waiting.put((int(self.path.rsplit("/", 1)[1]), said))
            text = said.get()
        elif self.path == "/metrics":
            text = f"vllm:num_requests_running {running}\nvllm:num_requests_waiting {waiting.qsize()}\nvllm:request_success_total {answered}\n"
        else:
            text = "well"
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *args):
        pass


def main():
    spec = importlib.util.spec_from_file_location("model", sys.argv[1])
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    threading.Thread(target=work, args=(module.Model(),), daemon=True).start()
    Server(("127.0.0.1", int(os.environ["GPUSCHED_PORT"])), Handler).serve_forever()


if __name__ == "__main__":
    main()
