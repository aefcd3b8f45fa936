"""The example jobs of etc/examples/jobs, as far as they go without a GPU: DRY_RUN=1."""

import json
import os

import pytest

from cluster import TOP, Cluster, wait_until

JOBS = TOP / "etc/examples/jobs"


@pytest.fixture(name="box", scope="module")
def fixture_box():
    with Cluster(gpus="demo:4", cpus=64) as c:
        yield c


def submit(c, name, *args, options=()):
    return int(c.run("gsubmit", "--parsable", "--export=ALL", "--output=%j.%a.out", *options, JOBS / name, *args,
                     user=c.ctld_user.pw_name, env={"DRY_RUN": "1"}).stdout)


def test_vllm_batch_goes_on_behind_what_is_done(box):
    jobs = box.dir / "jobs"
    (jobs / "prompts.jsonl").write_text("".join(json.dumps({"prompt": f"text {i}"}) + "\n" for i in range(1000)))
    (jobs / "answers.jsonl").write_text('{"answer": "TEXT 0"}\n{"answer": "TEX')  # cut off
    os.chmod(jobs / "answers.jsonl", 0o666)
    box.wait_state(submit(box, "vllm-batch.sh", "prompts.jsonl", "answers.jsonl"), "COMPLETED")
    assert [json.loads(line)["answer"] for line in (jobs / "answers.jsonl").read_text().splitlines()] == [f"TEXT {i}" for i in range(1000)]


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
