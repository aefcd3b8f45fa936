/* submit_many.c - an example for gpusched(3): many submits under way at once
 *
 *	cc -o submit_many submit_many.c -lgpusched
 *	./submit_many 1000 monday <page.sh >ids
 *
 * Submits the script on the standard input so many times, each time with its number as argument,
 * and prints the ids in that order. Nothing is waited for but room: the loop of main() would serve
 * other descriptors too. Started again with the same word it submits what is missing and nothing
 * twice, however it ended before.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gpusched.h>

#define UNDER_WAY 256

static char script[1 << 16];

static void fail(const char *what, const char *text)
{
	fprintf(stderr, "submit_many: %s: %s\n", what, text);
	exit(1);
}

static void send_one(struct gpusched *g, const char *word, unsigned long n, size_t len)
{
	char number[24], token[256];
	const char *args[] = { number, NULL }, *env[] = { "PATH=/usr/bin:/bin", NULL };
	struct gpusched_error err;
	struct gpusched_spec spec;

	gpusched_spec_init(&spec);
	spec.script = script;
	spec.script_len = len;
	spec.args = args;
	spec.env = env;
	spec.name = word;
	spec.output = "/dev/null";
	spec.token = token;
	snprintf(number, sizeof(number), "%lu", n);
	snprintf(token, sizeof(token), "%.200s/%lu", word, n);
	/* The number comes back with the answer. */
	if (gpusched_submit_send(g, &spec, 1, n, &err) < 0)
		fail("sending", err.text);
}

int main(int argc, char **argv)
{
	unsigned long n = argc == 3 ? strtoul(argv[1], NULL, 10) : 0, sent = 0, done = 0;
	size_t len = fread(script, 1, sizeof(script), stdin);
	struct gpusched_submitted answer;
	struct gpusched_error err;
	struct gpusched *g = gpusched_open(NULL, &err);

	if (!g)
		fail("configuration", err.text);
	while (done < n) {
		struct pollfd pfd = { .fd = -1 };
		int rc;

		while (sent < n && sent - done < UNDER_WAY)
			send_one(g, argv[2], sent++, len);
		/* All answers that are there; none is waited for. */
		while ((rc = gpusched_submit_receive(g, &answer, 0, &err)) > 0) {
			if (!answer.ids)
				fail("refused", answer.error.text);
			printf("%lu %llu\n", (unsigned long)answer.tag,
			        (unsigned long long)answer.ids[0]);
			done++;
		}
		if (rc < 0)
			fail("the controller", err.text);
		pfd.fd = gpusched_submit_poll(g, &pfd.events);
		if (pfd.fd >= 0 && poll(&pfd, 1, -1) < 0 && errno != EINTR)
			fail("poll", strerror(errno));
	}
	gpusched_close(g);
	return 0;
}
