/* bench_web.c - scrapes at a rate, and how long each took
 *
 * usage: bench_web PORT PATH RATE SECONDS CONNECTIONS   prints "web_rate N /s", "web_p50 MS ms",
 * "web_p99 MS ms", "web_max MS ms", "web_bytes N B"
 *
 * A request is due at its time, whether a connection is idle then or not, and its time is counted
 * from there: what the server holds up is not left out.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define ANSWER_MAX (4 * 1024 * 1024)

struct connection {
	int fd;
	bool busy;
	double due;
	size_t got, want; /* want: 0, the head is not whole yet */
	char head[4096];
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static int dial(int port)
{
	struct sockaddr_in sa = { .sin_family = AF_INET,
		.sin_port = htons((uint16_t)port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (fd < 0 || connect(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0)
		die("connect");
	return fd;
}

/* True: the answer is whole. */
static bool receive(struct connection *c)
{
	static char buf[256 * 1024];
	ssize_t n = recv(c->fd, buf, sizeof(buf), 0);

	if (n <= 0)
		die("recv");
	if (!c->want) {
		size_t room = sizeof(c->head) - 1 - c->got, m = (size_t)n < room ? (size_t)n : room;
		const char *end, *length;

		memcpy(c->head + c->got, buf, m);
		c->head[c->got + m] = '\0';
		end = strstr(c->head, "\r\n\r\n");
		length = strcasestr(c->head, "Content-Length: ");
		if (end && (!length || strncmp(c->head, "HTTP/1.1 200", 12) != 0)) {
			fprintf(stderr, "%.200s\n", c->head);
			exit(1);
		}
		if (end)
			c->want = (size_t)(end + 4 - c->head) + strtoul(length + 16, NULL, 10);
	}
	c->got += (size_t)n;
	return c->want && c->got == c->want;
}

static int compare(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

int main(int argc, char **argv)
{
	int port = argc == 6 ? atoi(argv[1]) : 0, n = argc == 6 ? atoi(argv[5]) : 0;
	double rate = argc == 6 ? atof(argv[3]) : 0, seconds = argc == 6 ? atof(argv[4]) : 0, start;
	size_t total = (size_t)(rate * seconds), sent = 0, done = 0, len, bytes = 0;
	double *took = calloc(total + 1, sizeof(*took));
	struct connection *c = calloc((size_t)n + 1, sizeof(*c));
	struct pollfd *p = calloc((size_t)n + 1, sizeof(*p));
	char request[512];

	if (argc != 6 || n < 1 || total < 1 || !took || !c || !p) {
		fprintf(stderr, "usage: bench_web PORT PATH RATE SECONDS CONNECTIONS\n");
		return 2;
	}
	len = (size_t)snprintf(request, sizeof(request),
	        "GET %s HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\n\r\n", argv[2]);
	for (int i = 0; i < n; i++)
		c[i].fd = dial(port);
	start = now();
	while (done < total) {
		double next = start + (double)sent / rate;
		struct timespec t;
		double rest;
		bool all_busy;
		int i;

		for (i = 0; i < n && sent < total && next <= now(); i++) {
			if (c[i].busy)
				continue;
			c[i] = (struct connection){ .fd = c[i].fd, .busy = true, .due = next };
			if (send(c[i].fd, request, len, 0) != (ssize_t)len)
				die("send");
			next = start + (double)++sent / rate;
		}
		all_busy = i == n;
		for (i = 0; i < n; i++)
			p[i] = (struct pollfd){ .fd = c[i].fd, .events = c[i].busy ? POLLIN : 0 };
		/* What is due and finds no idle connection waits for an answer. */
		rest = sent == total || all_busy ? 1 : next - now();
		rest = rest > 0 ? rest : 0;
		t = (struct timespec){ (time_t)rest, (long)((rest - (double)(time_t)rest) * 1e9) };
		if (ppoll(p, (nfds_t)n, &t, NULL) < 0 && errno != EINTR)
			die("ppoll");
		for (i = 0; i < n; i++)
			if (p[i].revents && receive(&c[i])) {
				took[done++] = now() - c[i].due;
				bytes = c[i].got;
				c[i].busy = false;
			}
	}
	printf("web_rate %.0f /s\n", (double)total / (now() - start));
	qsort(took, total, sizeof(*took), compare);
	printf("web_p50 %.3f ms\nweb_p99 %.3f ms\nweb_max %.3f ms\nweb_bytes %zu B\n",
	        took[total / 2] * 1e3, took[total * 99 / 100] * 1e3, took[total - 1] * 1e3, bytes);
	return 0;
}
