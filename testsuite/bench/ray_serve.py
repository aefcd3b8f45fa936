#!/usr/bin/python3
"""ray_serve.py - the step of load of services.py, for Ray Serve

Run by a Python that has ray[serve] (no part of the tests: it is some hundred MB): a deployment with its default autoscaling,
but for the bounds 1 to 8 and 64 requests in flight a replica, gets 32 requests in flight and then 320. Prints how long it
takes until more replicas are wanted, and until they run.
"""

import argparse
import asyncio
import statistics
import time

import ray
from ray import serve


@serve.deployment(max_ongoing_requests=1000, ray_actor_options={"num_cpus": 0.01},
                  autoscaling_config={"min_replicas": 1, "max_replicas": 8, "target_ongoing_requests": 64})
class Sleeps:
    async def __call__(self):
        await asyncio.sleep(0.5)
        return "ok"


class Load:
    """So many requests are in flight, each followed by another."""

    def __init__(self, handle):
        self.handle, self.wanted, self.running = handle, 0, 0

    async def one(self):
        self.running += 1
        while self.running <= self.wanted:
            await self.handle.remote()
        self.running -= 1

    def set(self, n):
        self.wanted = n
        self.tasks = [asyncio.ensure_future(self.one()) for _ in range(max(0, n - self.running))]


def replicas(app):
    states = serve.status().applications[app].deployments["Sleeps"].replica_states
    return sum(states.values()), states.get("RUNNING", 0)


async def step(app):
    handle = serve.run(Sleeps.bind(), name=app, route_prefix=None)
    load = Load(handle)
    load.set(32)
    await asyncio.sleep(15)
    load.set(320)
    begin, decided = time.monotonic(), None
    while True:
        await asyncio.sleep(0.2)
        wanted, running = await asyncio.get_running_loop().run_in_executor(None, replicas, app)
        decided = decided or (wanted > 1 and time.monotonic() - begin)
        if running > 1:
            break
    up = time.monotonic() - begin
    load.set(0)
    serve.delete(app)
    return decided, up


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tries", type=int, default=3)
    args = parser.parse_args()
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=100 << 20)
    took = [asyncio.run(step(f"try{i}")) for i in range(args.tries)]
    print(f"Ray Serve {ray.__version__}: 32, and then 320 in flight at 64 a replica, until the decision: median "
          f"{statistics.median(d for d, _ in took):.1f} s, worst {max(d for d, _ in took):.1f} s; until another replica runs "
          f"{statistics.median(u for _, u in took):.1f} s ({args.tries} tries)")
    serve.shutdown()
    ray.shutdown()


if __name__ == "__main__":
    main()
