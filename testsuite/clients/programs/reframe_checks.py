"""Two checks for ReFrame: four tasks on two nodes, and one that fails."""

import reframe as rfm
import reframe.utility.sanity as sn


@rfm.simple_test
class Tasks(rfm.RunOnlyRegressionTest):
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    executable = "sh"
    executable_opts = ["-c", "'echo task $SLURM_PROCID'"]
    num_tasks = 4
    num_tasks_per_node = 2
    num_cpus_per_task = 1
    time_limit = "5m"

    @sanity_function
    def four(self):
        return sn.assert_eq(sn.count(sn.findall(r"task \d", self.stdout)), 4)


@rfm.simple_test
class Fails(rfm.RunOnlyRegressionTest):
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    executable = "false"
    time_limit = "5m"

    @sanity_function
    def status(self):
        return sn.assert_eq(self.job.exitcode, 0)
