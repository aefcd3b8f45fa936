site_configuration = {
    "systems": [{"name": "test", "hostnames": [".*"], "modules_system": "nomod", "partitions": [
        {"name": "batch", "scheduler": "slurm", "launcher": "srun", "access": ["-p batch"], "environs": ["plain"], "max_jobs": 4},
        {"name": "squeue", "scheduler": "squeue", "launcher": "srun", "access": ["-p batch"], "environs": ["plain"]}]}],
    "environments": [{"name": "plain", "cc": "cc", "cxx": "", "ftn": ""}],
}
