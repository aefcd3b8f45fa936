/* stepped.c - a host whose clock is wrong: preloaded, it adds the seconds that the file $CLOCK_STEP
 * has to the time of day
 *
 * Monotonic clocks go on as they do.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long step(void)
{
	const char *path = getenv("CLOCK_STEP");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	char text[32] = "";

	if (fd >= 0 && read(fd, text, sizeof(text) - 1) < 0)
		text[0] = '\0';
	if (fd >= 0)
		close(fd);
	return strtol(text, NULL, 10);
}

int clock_gettime(clockid_t clock, struct timespec *t)
{
	int r = (int)syscall(SYS_clock_gettime, clock, t);

	if (r == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
		t->tv_sec += step();
	return r;
}

int gettimeofday(struct timeval *restrict tv, void *restrict zone)
{
	struct timespec t;

	(void)zone;
	clock_gettime(CLOCK_REALTIME, &t);
	tv->tv_sec = t.tv_sec;
	tv->tv_usec = t.tv_nsec / 1000;
	return 0;
}

time_t time(time_t *out)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	if (out)
		*out = t.tv_sec;
	return t.tv_sec;
}
