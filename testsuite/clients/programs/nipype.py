"""nipype's own calls: a workflow of nodes through its plugins SLURM and SLURMGraph."""

import json
import os
import pathlib
import sys

from nipype import MapNode, Node, Workflow
from nipype.interfaces.utility import Function

ARGS = {"sbatch_args": "--time=5 --mem=1G"}


def square(x):
    return x * x


def total(values):
    return sum(values)


def bad(x):
    raise ValueError("made to fail")


def function(f, inputs, node=Node, **kw):
    return node(Function(input_names=inputs, output_names=["out"], function=f), name=f.__name__, **kw)


def workflow():
    w = Workflow(name="flow", base_dir=os.getcwd())
    w.config["execution"] = {"poll_sleep_duration": 0.5, "job_finished_timeout": 30, "crashdump_dir": os.getcwd(), "crashfile_format": "txt"}
    return w


def sums():
    w, squares, add = workflow(), function(square, ["x"], MapNode, iterfield=["x"]), function(total, ["values"])
    squares.inputs.x = [1, 2, 3, 4]
    w.connect(squares, "out", add, "values")
    return w


def work():
    graph = sums().run(plugin="SLURM", plugin_args=ARGS)
    return {"total": [n.result.outputs.out for n in graph.nodes() if n.name == "total"][0]}


def graph():
    import time
    sums().run(plugin="SLURMGraph", plugin_args={**ARGS, "dont_resubmit_completed_jobs": False})
    found = []
    while not found:
        found = list(pathlib.Path("flow/total").glob("result_*.pklz"))
        time.sleep(0.2)
    from nipype.utils.filemanip import loadpkl
    return {"total": loadpkl(str(found[0])).outputs.out}


def failure():
    w, node = workflow(), function(bad, ["x"])
    node.inputs.x = 1
    w.add_nodes([node])
    try:
        w.run(plugin="SLURM", plugin_args=ARGS)
    except RuntimeError as e:
        return {"error": str(e), "crash": "".join(p.read_text() for p in pathlib.Path(".").glob("crash-*"))}
    return {"error": "", "crash": ""}


print(json.dumps(globals()[sys.argv[1]]()))
