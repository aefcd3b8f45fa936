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
# list of hosts and no ssh. A program for MPICH, or for another library that speaks PMI-1 or PMI-2, is
# started by srun itself: MPI=pmi2. (Debian's Open MPI does not speak PMI: under srun each of its
# processes would be alone.)
case ${MPI:-openmpi} in
openmpi) exec mpirun "$@" ;;
pmi2) exec srun --mpi=pmi2 "$@" ;;
*) echo "MPI=$MPI: openmpi or pmi2" >&2; exit 2 ;;
esac
