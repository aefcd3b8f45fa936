/* test_munge.c - the real munge: a daemon of our own, with its own key, socket and folder
 *
 * Skipped, and says so, where munged is not installed.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include <munge.h>
#include <sodium.h>

#include "common/net/hello.h"
#include "common/net/munge.h"
#include "testsuite/unit/lib/lacks.h"

#define MUNGED    "/usr/sbin/munged"
#define STARTUP_S 20

struct daemon {
	char dir[64];
	char socket[96];
	pid_t pid;
	struct mcred_ops *ops;
};

static struct daemon one, two; /* with different keys */
static bool installed;

static void write_key(const char *path)
{
	uint8_t key[128];
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);

	randombytes_buf(key, sizeof(key));
	assert_true(fd >= 0);
	assert_int_equal(write(fd, key, sizeof(key)), sizeof(key));
	close(fd);
}

static void start(struct daemon *d)
{
	static const char *const files[] = { "key", "socket", "pid", "log", "seed" };
	char args[5][128], *argv[] = { (char *)"munged", (char *)"--foreground", (char *)"--force",
		args[0], args[1], args[2], args[3], args[4], NULL };
	posix_spawn_file_actions_t fa;
	extern char **environ;

	for (int i = 0; i < 5; i++)
		snprintf(args[i], sizeof(args[i]), "--%s%s=%s/%s", files[i], i == 1 ? "" : "-file",
		        d->dir, files[i]);
	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_addopen(&fa, 2, "/dev/null", O_WRONLY, 0);
	assert_int_equal(posix_spawn(&d->pid, MUNGED, &fa, NULL, argv, environ), 0);
	posix_spawn_file_actions_destroy(&fa);
	for (time_t end = time(NULL) + STARTUP_S; access(d->socket, F_OK) != 0;) {
		if (time(NULL) > end || waitpid(d->pid, NULL, WNOHANG) == d->pid)
			fail_msg("munged does not start");
		(void)poll(NULL, 0, 10);
	}
}

static void daemon_new(struct daemon *d)
{
	char key[96];

	snprintf(d->dir, sizeof(d->dir), "/tmp/test_munge.XXXXXX");
	assert_non_null(mkdtemp(d->dir));
	assert_int_equal(chmod(d->dir, 0755), 0);
	snprintf(key, sizeof(key), "%s/key", d->dir);
	snprintf(d->socket, sizeof(d->socket), "%s/socket", d->dir);
	write_key(key);
	start(d);
	d->ops = mcred_munge_new(d->socket, NULL);
}

static void daemon_free(struct daemon *d)
{
	static const char *const files[] = { "key", "socket", "socket.lock", "pid", "log", "seed" };
	char path[128];

	if (d->pid > 0) {
		kill(d->pid, SIGKILL);
		waitpid(d->pid, NULL, 0);
	}
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", d->dir, files[i]);
		unlink(path);
	}
	rmdir(d->dir);
	mcred_ops_free(d->ops);
}

static int setup(void **state)
{
	(void)state;
	installed = access(MUNGED, X_OK) == 0;
	if (!installed)
		return lacks(MUNGED, "munge") ? -1 : 0;
	daemon_new(&one);
	daemon_new(&two);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	if (installed) {
		daemon_free(&one);
		daemon_free(&two);
	}
	return 0;
}

#define NEEDS_MUNGED    \
	if (!installed) \
	skip()

static char *encode(const struct daemon *d, uid_t uid)
{
	char *cred = NULL;
	struct error err = { 0 };

	if (d->ops->encode(d->ops, "secret", 6, uid, &cred, &err) < 0)
		fail_msg("%s", err.text);
	return cred;
}

static void test_roundtrip(void **state)
{
	struct mcred m;
	char *cred;

	(void)state;
	NEEDS_MUNGED;
	cred = encode(&one, geteuid());
	assert_true(strlen(cred) < MCRED_TEXT_MAX);
	assert_int_equal(one.ops->decode(one.ops, cred, &m, NULL), 0);
	assert_int_equal(m.uid, geteuid());
	assert_int_equal(m.gid, getegid());
	assert_int_equal(m.len, 6);
	assert_memory_equal(m.payload, "secret", 6);
	assert_int_equal(m.status, MCRED_OK);
	assert_int_equal(m.restrict_uid, geteuid());
	assert_true(m.aes256);
	assert_true(m.encode_time > 0 && m.decode_time >= m.encode_time);
	assert_int_equal(m.ttl_s, 300);
	assert_int_equal(mcred_demand_fresh(&m, NULL), 0);
	mcred_clear(&m);
	/* a second time: still vouched for, but known */
	assert_int_equal(one.ops->decode(one.ops, cred, &m, NULL), 0);
	assert_int_equal(m.status, MCRED_REPLAYED);
	assert_memory_equal(m.payload, "secret", 6);
	assert_int_equal(mcred_demand_fresh(&m, NULL), -1);
	mcred_clear(&m);
	free(cred);
	cred = encode(&one, MCRED_ANY_UID);
	assert_int_equal(one.ops->decode(one.ops, cred, &m, NULL), 0);
	assert_true(m.restrict_uid == MCRED_ANY_UID);
	mcred_clear(&m);
	free(cred);
}

static void test_refused(void **state)
{
	struct error err = { 0 };
	struct mcred m;
	char *cred;

	(void)state;
	NEEDS_MUNGED;
	cred = encode(&two, geteuid());
	assert_int_equal(one.ops->decode(one.ops, cred, &m, &err), -1);
	assert_int_equal(err.code, ERR_MUNGE_KEY);
	assert_true(err.hint[0]);
	free(cred);
	cred = encode(&one, geteuid() + 1);
	assert_int_equal(one.ops->decode(one.ops, cred, &m, &err), -1);
	assert_int_equal(err.code, ERR_AUTH);
	free(cred);
	assert_int_equal(one.ops->decode(one.ops, "hello", &m, &err), -1);
	assert_int_equal(err.code, ERR_AUTH);
	assert_int_equal(one.ops->decode(one.ops, "MUNGE:AAAA:", &m, &err), -1);
	assert_true(err.code == ERR_AUTH || err.code == ERR_MUNGE_KEY);
}

/* Two daemons, while the one key is replaced by the other. */
static void test_two_keys(void **state)
{
	struct mcred_ops *both, *away;
	struct error err = { 0 };
	char *of[2], *made = NULL;
	struct mcred m;

	(void)state;
	NEEDS_MUNGED;
	both = mcred_munge_new(one.socket, two.socket);
	away = mcred_munge_new(one.socket, "/nonexistent/socket");
	of[0] = encode(&one, geteuid());
	of[1] = encode(&two, geteuid());
	for (int i = 0; i < 2; i++) {
		assert_int_equal(both->decode(both, of[i], &m, NULL), 0);
		assert_int_equal(m.uid, geteuid());
		mcred_clear(&m);
	}
	/* It encodes with the first. */
	assert_int_equal(both->encode(both, "x", 1, geteuid(), &made, NULL), 0);
	assert_int_equal(one.ops->decode(one.ops, made, &m, NULL), 0);
	mcred_clear(&m);
	/* What no key fits, and what one that is away may fit: that is worth another try. */
	assert_int_equal(both->decode(both, "hello", &m, &err), -1);
	assert_int_equal(err.code, ERR_AUTH);
	assert_int_equal(away->decode(away, of[1], &m, &err), -1);
	assert_int_equal(err.code, ERR_MUNGE_DOWN);
	assert_non_null(strstr(err.text, "/nonexistent/socket"));
	mcred_ops_free(away);
	away = mcred_munge_new("/nonexistent/socket", two.socket);
	assert_int_equal(away->decode(away, of[0], &m, &err), -1);
	assert_int_equal(err.code, ERR_MUNGE_DOWN);
	assert_int_equal(away->decode(away, of[1], &m, &err), 0);
	mcred_clear(&m);
	mcred_ops_free(away);
	mcred_ops_free(both);
	free(made);
	free(of[0]);
	free(of[1]);
}

/* Credentials as other programs make them: no cipher, a life of one second. */
static char *encode_raw(int cipher, int ttl)
{
	munge_ctx_t ctx = munge_ctx_create();
	char *cred = NULL;

	munge_ctx_set(ctx, MUNGE_OPT_SOCKET, one.socket);
	munge_ctx_set(ctx, MUNGE_OPT_CIPHER_TYPE, cipher);
	munge_ctx_set(ctx, MUNGE_OPT_TTL, ttl);
	munge_ctx_set(ctx, MUNGE_OPT_UID_RESTRICTION, geteuid());
	assert_int_equal(munge_encode(&cred, ctx, "x", 1), EMUNGE_SUCCESS);
	munge_ctx_destroy(ctx);
	return cred;
}

static void test_expired(void **state)
{
	struct error err = { 0 };
	struct mcred m;
	time_t made = time(NULL);
	char *cred;

	(void)state;
	NEEDS_MUNGED;
	cred = encode_raw(MUNGE_CIPHER_AES256, 1);
	while (time(NULL) < made + 4)
		(void)poll(NULL, 0, 50);
	assert_int_equal(one.ops->decode(one.ops, cred, &m, NULL), 0);
	assert_int_equal(m.status, MCRED_EXPIRED);
	assert_int_equal(m.uid, geteuid());
	assert_int_equal(mcred_demand_fresh(&m, &err), -1);
	assert_int_equal(err.code, ERR_MUNGE_CLOCK);
	mcred_clear(&m);
	free(cred);
}

static void test_cipher(void **state)
{
	static const struct {
		int cipher;
		bool fine;
	} rows[] = { { MUNGE_CIPHER_NONE, false }, { MUNGE_CIPHER_AES128, false },
		{ MUNGE_CIPHER_DEFAULT, false }, { MUNGE_CIPHER_AES256, true } };

	(void)state;
	NEEDS_MUNGED;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *cred = encode_raw(rows[i].cipher, 0);
		struct mcred m;

		assert_int_equal(one.ops->decode(one.ops, cred, &m, NULL), 0);
		assert_int_equal(m.aes256, rows[i].fine);
		mcred_clear(&m);
		free(cred);
	}
}

/* The whole greeting, with everything real. */
static void test_hello(void **state)
{
	struct hello_rules rules = { "controller", "c1", NULL, geteuid() };
	struct hello_to to = { "controller", "c1", "n1" };
	uint8_t answer[HELLO_ANSWER_MAX];
	struct noise *s, *c;
	const uint8_t *p, *bytes;
	struct hello_peer peer;
	struct hello *h;
	size_t len, a_len, used, n;
	uint8_t wire[32], out[32];
	struct error err = { 0 };
	char *cred;

	(void)state;
	NEEDS_MUNGED;
	h = hello_new(&to, NULL);
	p = hello_payload(h, &len);
	assert_int_equal(one.ops->encode(one.ops, p, len, geteuid(), &cred, NULL), 0);
	assert_int_equal(hello_finish(h, cred, &bytes, &len, NULL), 0);
	if (hello_accept(bytes, len, &rules, one.ops, &peer, &s, answer, &a_len, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(peer.uid, geteuid());
	assert_int_equal(peer.gid, getegid());
	assert_string_equal(peer.node, "n1");
	assert_int_equal(hello_answer(h, "x", answer, a_len, &used, &c, NULL), 1);
	assert_int_equal(noise_write(s, "hi", 2, wire, sizeof(wire), &n, NULL), 0);
	assert_int_equal(noise_read(c, wire, n, out, sizeof(out), &n, NULL), 0);
	noise_free(s);
	noise_free(c);
	/* again */
	assert_int_equal(
	        hello_accept(bytes, len, &rules, one.ops, &peer, &s, answer, &a_len, &err), -1);
	assert_int_equal(err.code, ERR_MUNGE_REPLAY);
	hello_free(h);
	free(cred);
}

/* The last: it ends the first daemon. */
static void test_down(void **state)
{
	struct error err = { 0 };
	char *cred;

	(void)state;
	NEEDS_MUNGED;
	kill(one.pid, SIGKILL);
	waitpid(one.pid, NULL, 0);
	one.pid = 0;
	assert_int_equal(one.ops->encode(one.ops, "x", 1, 0, &cred, &err), -1);
	assert_int_equal(err.code, ERR_MUNGE_DOWN);
	assert_non_null(strstr(err.text, one.socket));
	assert_true(err.hint[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_roundtrip),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_two_keys),
		cmocka_unit_test(test_expired),
		cmocka_unit_test(test_cipher),
		cmocka_unit_test(test_hello),
		cmocka_unit_test(test_down),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, setup, teardown);
}
