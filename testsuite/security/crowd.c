/* crowd.c - many sessions of one user that never read
 *
 *   crowd UID N FILE
 *
 * Opens N sessions, one after the other, with the controller that runs as UID, and sends each the
 * bytes of FILE (frames that a test has made; may be empty), and once more with each line on
 * standard input. Nothing that comes back is read. Writes "K" when as many as could come in have,
 * and after each line how many could still be sent to; why one could not be is a line on standard
 * error. Keeps them all until its standard input ends.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/xalloc.h"
#include "common/conf/conf.h"
#include "common/net/dial.h"

static size_t read_file(const char *path, uint8_t *bytes, size_t size)
{
	FILE *f = fopen(path, "re");
	size_t n;

	if (!f) {
		perror(path);
		exit(2);
	}
	n = fread(bytes, 1, size, f);
	fclose(f);
	return n;
}

static void raise_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

/* NULL: it was not let in. */
static struct dial *come_in(const struct dial_to *to)
{
	struct error err;
	struct dial *d = dial_open(to, &err);
	int little = 4096; /* the kernel takes no more for it */

	if (d)
		(void)setsockopt(dial_fd(d), SOL_SOCKET, SO_RCVBUF, &little, sizeof(little));
	else
		fprintf(stderr, "refused: %s: %s\n", error_name(err.code), err.text);
	return d;
}

static bool send_all(struct dial *d, const uint8_t *bytes, size_t len)
{
	struct error err;

	if (!len || (dial_send_bytes(d, bytes, len, &err) == 0 && dial_flush(d, 10000, &err) == 0))
		return true;
	fprintf(stderr, "ended: %s: %s\n", error_name(err.code), err.text);
	return false;
}

static void say(size_t n)
{
	printf("%zu\n", n);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	static uint8_t bytes[1 << 16];
	struct conf_client conf;
	struct dial_to to;
	struct dial **d;
	struct error err;
	size_t len, n, in = 0;
	char line[8];

	if (argc != 4)
		return 2;
	len = read_file(argv[3], bytes, sizeof(bytes));
	if (conf_client_load(NULL, &conf, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		return 2;
	}
	raise_descriptors();
	to = (struct dial_to){ .server_uid = (uid_t)strtoul(argv[1], NULL, 10),
		.host = conf.host,
		.port = conf.port,
		.cluster = conf.cluster,
		.mcred = mcred_munge_new(conf.munge_socket, conf.munge_socket_2) };
	n = strtoul(argv[2], NULL, 10);
	d = xcalloc(n, sizeof(*d));
	while (n-- > 0)
		if ((d[in] = come_in(&to)))
			in++;
	do {
		size_t sent = 0;

		for (n = 0; n < in; n++)
			sent += send_all(d[n], bytes, len);
		say(sent);
	} while (fgets(line, sizeof(line), stdin));
	return 0;
}
