"""The examples of etc/examples, as far as they go without a GPU: jobs with DRY_RUN=1, or with stand-ins for the models; services with
stand-ins for the servers, which take their options and tell their metrics."""

import json
import os
import re
import shutil
import subprocess
import urllib.error
import urllib.request

import pytest

from cluster import BUILD, TOP, Cluster, free_ports, wait_until

JOBS = TOP / "etc/examples/jobs"
SERVICES = TOP / "etc/examples/services"
NVCC = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")

# What the jobs use of the two libraries. Each call waits until the job was told to stop, the first time that it runs.
WAIT = """
import os, pathlib, time
import __main__
def wait(kind):
    pathlib.Path(kind + ".asked").touch()
    while not __main__.stop and os.environ["GPUSCHED_RESTART_COUNT"] == "0":
        time.sleep(0.02)
"""
VLLM = WAIT + """
class Answer:
    def __init__(self, text):
        self.outputs, self.text = [self], text
class SamplingParams:
    def __init__(self, temperature, max_tokens):
        pass
class LLM:
    def __init__(self, model, gpu_memory_utilization):
        assert os.environ["CUDA_VISIBLE_DEVICES"]
        self.model = model
    def generate(self, texts, how):
        wait("vllm")
        if __main__.stop and self.model == "signalled":
            raise RuntimeError("the engine is dead")
        return [Answer(text.upper()) for text in texts]
"""
TRANSFORMERS = WAIT + """
class Vectors(list):
    def tolist(self):
        return self
class SentenceTransformer:
    def __init__(self, name):
        pass
    def encode(self, texts, batch_size):
        wait("embed")
        return Vectors([float(len(t))] * 384 for t in texts)
"""


@pytest.fixture(name="box", scope="module")
def fixture_box():
    with Cluster(gpus="demo:4", cpus=64) as c:
        (c.dir / "stubs").mkdir()
        (c.dir / "stubs/vllm.py").write_text(VLLM)
        (c.dir / "stubs/sentence_transformers.py").write_text(TRANSFORMERS)
        yield c


def submit(c, name, *args, options=(), dry=True, env=None):
    env = {"DRY_RUN": "1"} if dry else {"PYTHONPATH": str(c.dir / "stubs"), "PYTHONDONTWRITEBYTECODE": "1", **(env or {})}
    return int(c.run("gsubmit", "--parsable", "--export=ALL", "--output=%A.%a.out", *options, JOBS / name, *args,
                     user=c.ctld_user.pw_name, env=env).stdout)


def tell_to_stop(c, job, kind):
    """As before the end of its time; it ends with 75 and runs once more."""
    wait_until((c.dir / f"jobs/{kind}.asked").exists, f"{kind} to be at work")
    c.run("gcancel", "--signal=USR1", job, user=c.ctld_user.pw_name)


def test_vllm_batch_goes_on_behind_what_is_done(box):
    jobs = box.dir / "jobs"
    (jobs / "prompts.jsonl").write_text("".join(json.dumps({"prompt": f"text {i}"}) + "\n" for i in range(1000)))
    (jobs / "answers.jsonl").write_text('{"answer": "TEXT 0"}\n{"answer": "TEX')  # cut off
    os.chmod(jobs / "answers.jsonl", 0o666)
    box.wait_state(submit(box, "vllm-batch.sh", "prompts.jsonl", "answers.jsonl"), "COMPLETED")
    assert [json.loads(line)["answer"] for line in (jobs / "answers.jsonl").read_text().splitlines()] == [f"TEXT {i}" for i in range(1000)]


def test_vllm_batch_is_told_to_stop(box):
    jobs = box.dir / "jobs"
    (jobs / "many.jsonl").write_text("".join(json.dumps({"prompt": f"text {i}"}) + "\n" for i in range(600)))
    job = submit(box, "vllm-batch.sh", "many.jsonl", "upper.jsonl", options=["--requeue-delay=1s", "--open-mode=append"], dry=False)
    tell_to_stop(box, job, "vllm")
    box.wait_state(job, "COMPLETED")
    assert [json.loads(line)["answer"] for line in (jobs / "upper.jsonl").read_text().splitlines()] == [f"TEXT {i}" for i in range(600)]
    said = "".join(p.read_text() for p in jobs.glob(f"{job}.*out"))
    assert said.splitlines()[:2] == ["0 are done, 600 are left", "256 are done, 344 are left"]


def test_vllm_whose_engine_the_signal_ends(box):
    """What is done is kept, and the next attempt does the rest."""
    jobs = box.dir / "jobs"
    (jobs / "vllm.asked").unlink(missing_ok=True)
    (jobs / "few.jsonl").write_text("".join(json.dumps({"prompt": f"text {i}"}) + "\n" for i in range(3)))
    job = submit(box, "vllm-batch.sh", "few.jsonl", "few.out", options=["--requeue-delay=1s", "--open-mode=append"], dry=False,
                 env={"MODEL": "signalled"})
    tell_to_stop(box, job, "vllm")
    box.wait_state(job, "COMPLETED")
    assert [json.loads(line)["answer"] for line in (jobs / "few.out").read_text().splitlines()] == ["TEXT 0", "TEXT 1", "TEXT 2"]
    said = "".join(p.read_text() for p in jobs.glob(f"{job}.*out"))
    assert said.splitlines()[:2] == ["0 are done, 3 are left", "0 are done, 3 are left"]


@pytest.mark.skipif(not NVCC, reason="there is no nvcc")
def test_cuda_compiles(tmp_path):
    source = re.search(r"<<'CUDA'\n(.*)^CUDA$", (JOBS / "cuda.sh").read_text(), re.S | re.M)[1]
    (tmp_path / "saxpy.cu").write_text(source)
    r = subprocess.run([NVCC, "-arch=sm_80", "-Werror=all-warnings", "-o", tmp_path / "saxpy", tmp_path / "saxpy.cu"],
                       capture_output=True, text=True, check=False)
    assert r.returncode == 0, r.stderr


def test_cuda(box):
    job = submit(box, "cuda.sh")
    box.wait_state(job, "COMPLETED")
    assert "CUDA sees" in "".join(p.read_text() for p in (box.dir / "jobs").glob(f"{job}.*out"))


def test_the_array_goes_on_at_its_marks(box):
    jobs = box.dir / "jobs"
    for name in ("shards", "vectors"):
        (jobs / name).mkdir()
        (jobs / name).chmod(0o777)
    for i in range(10):
        (jobs / f"shards/{i}.txt").write_text("a text\n" * 600)
    # 0 was interrupted behind its first mark, with half a vector more.
    (jobs / "vectors/0.mark").write_text("512")
    (jobs / "vectors/0.f32").write_bytes(bytes(512 * 384 * 4 + 77))
    for p in (jobs / "vectors").iterdir():
        p.chmod(0o666)
    job = submit(box, "embed-array.sh", options=["--array=0-9"])
    wait_until(lambda: all((jobs / f"vectors/{i}.mark").exists() and (jobs / f"vectors/{i}.mark").read_text() == "600" for i in range(10)),
               "all marks")
    assert {(jobs / f"vectors/{i}.f32").stat().st_size for i in range(10)} == {600 * 384 * 4}
    assert "512 of 600 are done" in (jobs / f"{job}.0.out").read_text()


def test_the_array_is_told_to_stop(box):
    jobs = box.dir / "jobs"
    for name in ("shards", "vectors"):
        (jobs / name).mkdir(exist_ok=True)
        (jobs / name).chmod(0o777)
    (jobs / "shards/77.txt").write_text("a text\n" * 1200)
    job = submit(box, "embed-array.sh", options=["--array=77", "--requeue-delay=1s", "--open-mode=append"], dry=False)
    tell_to_stop(box, job, "embed")
    wait_until(lambda: (jobs / f"{job}.77.out").read_text().splitlines()[:2] ==
               ["shard 77: 0 of 1200 are done", "shard 77: 512 of 1200 are done"], "it to go on at its mark")
    wait_until(lambda: (jobs / "vectors/77.mark").read_text() == "1200", "its end")
    assert (jobs / "vectors/77.f32").stat().st_size == 1200 * 384 * 4


# --- on two nodes, with job steps -------------------------------------------------------------------

MPI_SUM = """
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int rank, size, sum;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    printf("rank %d of %d: the sum is %d\\n", rank, size, sum);
    MPI_Finalize();
    return 0;
}
"""


@pytest.fixture(name="two", scope="module")
def fixture_two():
    with Cluster(nodes=("n1", "n2"), gpus="demo:4", cpus=16) as c:
        yield c


def run_on_two(c, name, *args, **env):
    """What the job has printed."""
    env = {"PATH": f"{BUILD}/cmds/slurm-names:{os.environ['PATH']}", "HOME": str(c.dir / "jobs"), **env}
    job = int(c.run("gsubmit", "--parsable", "--mem=1G", JOBS / name, *args, user=c.ctld_user.pw_name, env=env).stdout)
    state = c.wait_state(job, "COMPLETED", "FAILED")["state"]
    text = (c.dir / f"jobs/{name.removesuffix('.sh')}-{job}.out").read_text()
    assert state == "COMPLETED", text
    return text


def test_torchrun_s_processes_find_each_other(two):
    said = re.findall(r"rank (\d) of 8 on (n[12]), GPU (\d+): the sum is 28", run_on_two(two, "torchrun.sh", MASTER_ADDR="127.0.0.1"))
    assert sorted((int(rank), node) for rank, node, _ in said) == [(i, "n1" if i < 4 else "n2") for i in range(8)]


def test_torchrun_is_called_once_on_each_node(two):
    folder = two.dir / "bin"
    folder.mkdir()
    (folder / "torchrun").write_text('#!/bin/sh\necho "on $SLURMD_NODENAME: $*"\n')
    (folder / "torchrun").chmod(0o755)
    text = run_on_two(two, "torchrun.sh", "train.py", "--epochs", "3",
                      PATH=f"{folder}:{BUILD}/cmds/slurm-names:{os.environ['PATH']}")
    assert sorted(re.sub(r"\d{5}|-id=\d+", "N", line) for line in text.splitlines()) == [
        f"on {n}: --nnodes=2 --nproc-per-node=4 --rdzvN --rdzv-backend=c10d --rdzv-endpoint=n1:N train.py --epochs 3"
        for n in ("n1", "n2")]


@pytest.mark.parametrize(("mpi", "compiler"), (("openmpi", "mpicc.openmpi"), ("pmix", "mpicc.openmpi"), ("pmi2", "mpicc.mpich")))
def test_mpi_on_two_nodes(two, mpi, compiler):
    if not shutil.which(compiler):
        pytest.skip(f"there is no {compiler}")
    if mpi == "pmix" and not (BUILD / "noded/gpmix").exists():
        pytest.skip("built without libpmix")
    source = two.dir / f"jobs/{mpi}.c"
    source.write_text(MPI_SUM)
    subprocess.run([compiler, "-o", two.dir / f"jobs/{mpi}", source], check=True)
    mpirun = two.dir / f"bin-{mpi}"
    mpirun.mkdir()
    (mpirun / "mpirun").symlink_to(shutil.which("mpirun.openmpi") or "/none")  # whatever mpirun is on this host
    # Both nodes are this host: what Open MPI shares within a node would be shared by both.
    text = run_on_two(two, "mpi.sh", f"./{mpi}", MPI=mpi, OMPI_MCA_btl="tcp,self",
                      PATH=f"{mpirun}:{BUILD}/cmds/slurm-names:{os.environ['PATH']}")
    assert sorted(re.findall(r"^rank (\d+) of 16: the sum is 120$", text, re.M), key=int) == [str(i) for i in range(16)], text


# --- services ---------------------------------------------------------------------------------------

SERVICES_PARTITION = """( { name = "batch"; nodes = "ALL"; default = true; max_time = "1-00:00:00"; grace = "2s"; services = true; } )"""

# A server under the name of another: it knows that one's options, is healthy from the second time on that it is asked, and tells
# 3 requests that run and 4 that wait.
SERVER = """#!/usr/bin/python3
import http.server, os, sys, threading
NAME = os.path.basename(sys.argv[0])
OPTIONS = {
    "vllm": ("--host", "--port", "--max-num-seqs"),
    "llama-server": ("--model", "--host", "--port", "--metrics", "--parallel", "--n-gpu-layers"),
    "tritonserver": ("--model-repository", "--http-port", "--grpc-port", "--metrics-port"),
}
METRICS = {
    "vllm": 'vllm:num_requests_running{engine="0"} 3\\nvllm:num_requests_waiting{engine="0"} 4\\nvllm:kv_cache_usage_perc 0.5\\n',
    "llama-server": "llamacpp:requests_processing 3\\nllamacpp:requests_deferred 4\\n",
    "tritonserver": 'nv_inference_pending_request_count{model="a"} 3\\nnv_inference_pending_request_count{model="b"} 4\\n',
}
words = " ".join(sys.argv[1:]).replace("=", " ").split()
given = {w: v for w, v in zip(words, words[1:] + [""]) if w.startswith("--")}
assert set(given) == set(OPTIONS[NAME]), given
asked = 0
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        global asked
        asked += "health" in self.path
        body = METRICS[NAME].encode() if self.path == "/metrics" else b"ok"
        self.send_response(503 if asked < 2 and "health" in self.path else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *args):
        pass
ports = [int(v) for o, v in given.items() if o.endswith("port") and "grpc" not in o]
servers = [http.server.ThreadingHTTPServer((given.get("--host", ""), p), Handler) for p in ports]
for s in servers[1:]:
    threading.Thread(target=s.serve_forever).start()
servers[0].serve_forever()
"""
EMBEDDINGS = """
class Vectors(list):
    def tolist(self):
        return self
class SentenceTransformer:
    def __init__(self, name):
        pass
    def encode(self, texts, batch_size):
        return Vectors([float(len(t))] * 3 for t in texts)
"""


class Serving(Cluster):
    """With ports for replicas, and stand-ins for servers and models."""

    def start_agent(self, node, *options, env=None):
        low = self.low = getattr(self, "low", 0) or free_ports(10)
        super().start_agent(node, f"--service-ports={low}-{low + 9}", "--service-address=127.0.0.1", *options, env=env)

    def serve(self, name, *args):
        """Submits a service; its name."""
        stubs = self.dir / "stubs"
        self.run("gsubmit", "--export=ALL", "--probe=200ms", "--drain=1s", "--mem=1G", SERVICES / f"{name}.sh", *args, user=self.ctld_user.pw_name,
                 env={"PATH": f"{stubs}:/usr/bin:/bin", "PYTHONPATH": str(stubs), "PYTHONDONTWRITEBYTECODE": "1"})
        return re.search(r"--service=(\S+)", (SERVICES / f"{name}.sh").read_text())[1]

    def service(self, name):
        return json.loads(self.run("gserve", "show", name, "--json").stdout)["services"][0]

    def wait_service(self, name, condition, what):
        def as_wanted():
            service = self.service(name)
            return service if condition(service) else None
        return wait_until(as_wanted, lambda: f"{what} of {name}: {self.run('gserve', 'show', name).stdout}" + "".join(
            p.read_text() for p in (self.dir / "jobs").glob("gpusched-*.out")))

    def url(self, name):
        return f"http://{self.run('gserve', 'endpoints', name).stdout.split()[0]}"


@pytest.fixture(name="serving", scope="module")
def fixture_serving():
    with Serving(gpus="demo:4", cpus=64, partitions=SERVICES_PARTITION) as c:
        stubs = c.dir / "stubs"
        stubs.mkdir()
        (stubs / "sentence_transformers.py").write_text(EMBEDDINGS)
        (stubs / "tesseract").write_text('#!/bin/sh\necho "a page of $(wc -c) bytes"\n')
        for name in ("vllm", "llama-server", "tritonserver"):
            (stubs / name).write_text(SERVER)
        for p in stubs.iterdir():
            p.chmod(0o755)
        yield c


@pytest.fixture(autouse=True)
def no_services(request):
    yield
    if "serving" in request.fixturenames:
        c = request.getfixturevalue("serving")
        for s in json.loads(c.run("gserve", "--json").stdout)["services"]:
            c.run("gserve", "stop", s["name"])
        wait_until(lambda: not c.run("gserve", "--noheader").stdout, "the end of all services")


@pytest.mark.parametrize("name", sorted(p.stem for p in SERVICES.glob("*.sh")))
def test_a_service_would_be_taken(serving, name):
    r = serving.run("gsubmit", "--test-only", SERVICES / f"{name}.sh", "/models/one")
    assert "would start" in r.stdout + r.stderr
    assert f"`{name}.sh`" in (SERVICES / "README.md").read_text()


@pytest.mark.parametrize(("name", "args", "ready", "load"), [
    ("vllm", [], 2, (6, 8)), ("llamacpp", ["/models/one.gguf"], 1, (3, 4)), ("triton", ["/models"], 1, (7, 0))])
def test_a_server_is_ready_and_its_load_is_known(serving, name, args, ready, load):
    """Each replica tells 3 and 4 requests."""
    if name == "triton" and not shutil.which("curl"):
        pytest.skip("there is no curl")
    service = serving.serve(name, *args)
    if name == "llamacpp":
        assert serving.service(service)["state"] == "IDLE"  # with 0 replicas
        serving.run("gserve", "wake", service)
    # With such a load some have one replica more soon.
    s = serving.wait_service(service, lambda s: s["ready"] >= ready and s["in_flight"] == load[0] / ready * s["ready"], "the load")
    assert s["waiting"] == load[1] / ready * s["ready"]
    with urllib.request.urlopen(serving.url(service) + s["spec"]["ready"].removeprefix("http:"), timeout=60) as answer:
        assert answer.read() == b"ok"


def test_a_server_without_metrics(serving):
    service = serving.serve("embeddings")
    serving.wait_service(service, lambda s: s["ready"] == 1, "a replica")
    with urllib.request.urlopen(serving.url(service), json.dumps(["a", "text"]).encode(), timeout=60) as answer:
        assert json.load(answer) == [[1.0] * 3, [4.0] * 3]
    serving.wait_service(service, lambda s: s["requests"] == 1 and s["in_flight"] == 0, "the request")


def test_a_server_of_one_s_own(serving):
    service = serving.serve("ocr", "127.0.0.1")
    serving.wait_service(service, lambda s: s["ready"] == 1, "a replica")
    for _ in range(2):
        with urllib.request.urlopen(serving.url(service) + "/read", b"image", timeout=60) as answer:
            assert answer.read() == b"a page of 5 bytes\n"
    with pytest.raises(urllib.error.HTTPError):
        urllib.request.urlopen(serving.url(service) + "/nothing", timeout=60)
    serving.wait_service(service, lambda s: (s["requests"], s["tokens"]) == (2, 10), "the requests")
