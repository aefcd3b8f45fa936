/* bench_stamp.c - an interpreter for job scripts that only says when it ran
 *
 * A script "#!/path/bench_stamp FILE[:HOLD-MS]" appends "NAME start NS end NS" to FILE, by the monotonic
 * clock; NAME is the job's id under gpusched or Slurm. start is its first instruction.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static long long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

int main(int argc, char **argv)
{
	long long start = now_ns();
	const char *id = getenv("GPUSCHED_JOB_ID");
	char line[200], *hold;
	int fd, n;

	if (argc < 2)
		return 2;
	hold = strchr(argv[1], ':');
	if (hold) {
		*hold = '\0';
		usleep((useconds_t)atoi(hold + 1) * 1000);
	}
	if (!id)
		id = getenv("SLURM_JOB_ID");
	fd = open(argv[1], O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
	n = snprintf(line, sizeof(line), "%s start %lld end %lld\n", id ? id : "-", start, now_ns());
	return fd < 0 || write(fd, line, (size_t)n) != n;
}
