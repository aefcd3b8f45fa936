"""What a run and its node say to each other while it runs: interruption, acknowledgement."""

import pytest

from cluster import wait_until
from launcher import Launcher


@pytest.fixture(name="lau", params=["", "none"], ids=["best", "subreaper"])
def fixture_lau(request):
    launcher = Launcher(cgroup=request.param)
    yield launcher
    launcher.close()


def there(lau, name):
    wait_until((lau.jobs / name).exists, f"the file {name}")


# --- acknowledgement ----------------------------------------------------------------------------

def test_an_ack_that_is_there_already_ends_it_at_once(lau):
    """Nothing to save: made before there was anything to acknowledge. It changes nothing until then."""
    by_limit = lau.submit("trap '' TERM; touch $GPUSCHED_RUN_DIR/ack; while :; do sleep 0.1; done",
                          order={"time_limit_s": 2, "grace_s": 3000})
    by_order = lau.submit("trap '' TERM; touch $GPUSCHED_RUN_DIR/ack; echo up > up; while :; do sleep 0.1; done")
    lau.wait_running(by_order)
    there(lau, "up")
    lau.end(by_order, cause="CAUSE_PREEMPT", grace=3000)
    assert lau.result(by_order) == ("CAUSE_PREEMPT", 0, 9)
    assert lau.result(by_limit) == ("CAUSE_TIME_LIMIT", 0, 9)
    assert lau.runs[by_limit]["elapsed_us"] >= 2_000_000


def test_an_order_that_is_said_again_warns_once(lau):
    """A controller that has lost its session says again what it wants, and no longer for whom."""
    run = lau.submit("""
        trap 'echo TERM >> terms' TERM; echo up > up
        while ! [ -e go ]; do sleep 0.05; done; cat $GPUSCHED_INTERRUPT_FILE > why""")
    there(lau, "up")
    lau.end(run, cause="CAUSE_PREEMPT", grace=3000, by_user="deploy", by_job=4820, requeue=True)
    there(lau, "terms")
    lau.end(run, cause="CAUSE_PREEMPT", grace=3000)
    lau.signal(run, 28)  # orders are obeyed in their order: WINCH kills nobody
    lau.end(run, cause="CAUSE_PREEMPT", grace=3000)
    (lau.jobs / "go").touch()
    assert lau.result(run) == ("CAUSE_PREEMPT", 0, 0)
    assert (lau.jobs / "terms").read_text() == "TERM\n"
    why = (lau.jobs / "why").read_text()
    assert "by_user=deploy\n" in why and "by_job=4820\n" in why
