/* ranks.c - each rank says where it is; the sum of all ranks */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The node by the environment of the parent, the launcher on this node: MPICH's hydra gives all ranks that of mpiexec. */
static const char *node_name(void) {
	static char bytes[1 << 18];
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/environ", (int)getppid());
	FILE *f = fopen(path, "r");
	size_t n = f ? fread(bytes, 1, sizeof(bytes) - 1, f) : 0;
	if (f)
		fclose(f);
	for (char *at = bytes; at < bytes + n; at += strlen(at) + 1)
		if (strncmp(at, "SLURMD_NODENAME=", 16) == 0)
			return at + 16;
	return "?";
}

int main(int argc, char **argv) {
	MPI_Init(&argc, &argv);
	int rank, size, sum = 0;
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	printf("rank %d of %d on %s sum %d\n", rank, size, node_name(), sum);
	fflush(stdout);
	if (argc > 1 && strcmp(argv[1], "fail") == 0 && rank == size - 1)
		MPI_Abort(MPI_COMM_WORLD, 7);
	if (argc > 1 && strcmp(argv[1], "stay") == 0)
		sleep(600);
	MPI_Finalize();
	return 0;
}
