"""A workflow for Toil: squares as jobs, their sum as the last one."""

import sys

from toil.common import Toil
from toil.job import Job

SMALL = {"memory": "500M", "cores": 1, "disk": "10M"}


def square(job, x, bad):
    if x == bad:
        raise RuntimeError("made to fail")
    return x * x


def total(job, values):
    return sum(values)


def squares(job, bad):
    values = [job.addChildJobFn(square, x, bad, **SMALL).rv() for x in range(3)]
    return job.addFollowOnJobFn(total, values, **SMALL).rv()


if __name__ == "__main__":
    parser = Job.Runner.getDefaultArgumentParser()
    parser.add_argument("--bad", type=int, default=-1)
    options = parser.parse_args(sys.argv[1:])
    with Toil(options) as toil:
        print("total", toil.start(Job.wrapJobFn(squares, options.bad, **SMALL)))
