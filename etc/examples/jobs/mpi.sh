#!/bin/bash
# An MPI program on two nodes, eight processes each.
#
#     eval "$(slurm-names)"            # srun and sbatch in PATH
#     sbatch mpi.sh ./simulate --steps 1000
#
#SBATCH --job-name=mpi --nodes=2 --ntasks-per-node=8 --cpus-per-task=1
#SBATCH --mem-per-cpu=2G --time=4:00:00 --output=mpi-%j.out
set -euo pipefail

# Open MPI's mpirun finds the job's nodes in SLURM_* and starts its daemons with srun, so it needs no
# list of hosts and no ssh. srun itself starts a program for Open MPI too, where gpusched was built with
# libpmix (srun --mpi=list says so): MPI=pmix; and one for MPICH, or for another library that speaks PMI-1
# or PMI-2: MPI=pmi2.
case ${MPI:-openmpi} in
openmpi) exec mpirun "$@" ;;
pmix | pmi2) exec srun --mpi="$MPI" "$@" ;;
*) echo "MPI=$MPI: openmpi, pmix or pmi2" >&2; exit 2 ;;
esac
