/* failpoint.c - see failpoint.h */
#include "config.h"

#include "common/base/failpoint.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct failpoint_row {
	const char *name, *help;
};

#define X(name, help) { #name, help },
static const struct failpoint_row failpoints[FAILPOINT_COUNT] = { FAILPOINTS(X) };
#undef X

/* The one wish of the environment. Only builds with failpoints ever touch it. */
static struct {
	pthread_once_t once;
	int point; /* -1: none */
	atomic_long passes_left;
} wish = { .once = PTHREAD_ONCE_INIT, .point = -1 };

static void wish_read(void)
{
	const char *text = getenv("GPUSCHED_FAILPOINT");
	size_t len;

	if (!text)
		return;
	len = strcspn(text, ":");
	for (int i = 0; i < FAILPOINT_COUNT; i++)
		if (strlen(failpoints[i].name) == len && !memcmp(failpoints[i].name, text, len))
			wish.point = i;
	if (wish.point < 0) {
		fprintf(stderr, "GPUSCHED_FAILPOINT=%s: no such failpoint\n", text);
		abort();
	}
	atomic_store(&wish.passes_left, text[len] ? strtol(text + len + 1, NULL, 10) : 1);
}

void failpoint_pass(enum failpoint point)
{
	pthread_once(&wish.once, wish_read);
	if (wish.point != (int)point || atomic_fetch_sub(&wish.passes_left, 1) != 1)
		return;
	kill(getpid(), SIGKILL);
	for (;;)
		pause();
}

void failpoint_list(FILE *out)
{
	for (int i = 0; i < FAILPOINT_COUNT; i++)
		fprintf(out, "%s\t%s\n", failpoints[i].name, failpoints[i].help);
}
