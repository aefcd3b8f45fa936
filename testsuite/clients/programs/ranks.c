/* ranks.c - each rank says where it is; the sum of all ranks */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv) {
	MPI_Init(&argc, &argv);
	int rank, size, sum = 0;
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	const char *node = getenv("SLURMD_NODENAME");
	printf("rank %d of %d on %s sum %d\n", rank, size, node ? node : "?", sum);
	fflush(stdout);
	if (argc > 1 && strcmp(argv[1], "fail") == 0 && rank == size - 1)
		MPI_Abort(MPI_COMM_WORLD, 7);
	if (argc > 1 && strcmp(argv[1], "stay") == 0)
		sleep(600);
	MPI_Finalize();
	return 0;
}
