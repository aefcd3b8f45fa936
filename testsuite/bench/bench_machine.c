/* bench_machine.c - this machine's own limits, measured in the same run as everything else
 *
 * Prints lines "NAME VALUE UNIT". The figures of gpusched are read as ratios to these, because a
 * shared machine is never as fast today as it was yesterday.
 * usage: bench_machine FOLDER [MUNGE-SOCKET]
 */
#include <errno.h>
#include <fcntl.h>
#include <munge.h>
#include <sched.h>
#include <sodium.h>
#include <spawn.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

#define MEASURE_NS 700000000LL /* long enough to be steady, short enough to sit through */

static long long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void die(const char *what)
{
	fprintf(stderr, "bench_machine: error: %s: %s\n", what, strerror(errno));
	exit(1);
}

static pid_t spawn_true(void)
{
	char *argv[] = { (char *)"sh", (char *)"-c", (char *)"true", NULL };
	pid_t pid;

	if (posix_spawn(&pid, "/bin/sh", NULL, NULL, argv, environ) != 0)
		die("posix_spawn");
	return pid;
}

/* `sh -c true`, `width` at a time: the most jobs a second that any launcher could start. */
static void bench_spawn(int width, const char *name)
{
	long long start = now_ns();
	long n = 0;
	int alive = 0;

	while (now_ns() - start < MEASURE_NS) {
		for (; alive < width; alive++)
			spawn_true();
		if (wait(NULL) > 0) {
			alive--;
			n++;
		}
	}
	while (alive-- > 0)
		wait(NULL);
	printf("%s %.0f /s\n", name, (double)n * 1e9 / (double)(now_ns() - start));
}

/* A bare `true`, as cheap as a command's process can be. */
static void bench_exec(void)
{
	char *argv[] = { (char *)"true", NULL };
	long long start = now_ns();
	long n = 0;
	pid_t pid;

	while (now_ns() - start < MEASURE_NS) {
		if (posix_spawn(&pid, "/bin/true", NULL, NULL, argv, environ) != 0)
			die("posix_spawn");
		waitpid(pid, NULL, 0);
		n++;
	}
	printf("exec_true %.3f ms\n", (double)(now_ns() - start) / 1e6 / (double)n);
}

static void bench_fsync(void)
{
	static char page[4096];
	int fd = open("fsync.dat", O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);
	long long start = now_ns();
	long n = 0;

	if (fd < 0)
		die("fsync.dat");
	while (now_ns() - start < MEASURE_NS) {
		if (write(fd, page, sizeof(page)) < 0 || fdatasync(fd) < 0)
			die("write and fdatasync");
		n++;
	}
	printf("append_fdatasync %.3f ms\n", (double)(now_ns() - start) / 1e6 / (double)n);
	close(fd);
}

static void sql(sqlite3 *db, const char *text)
{
	if (sqlite3_exec(db, text, NULL, NULL, NULL) != SQLITE_OK) {
		fprintf(stderr, "bench_machine: error: %s: %s\n", text, sqlite3_errmsg(db));
		exit(1);
	}
}

/* Rows of 200 bytes in WAL with synchronous=FULL, `batch` rows a commit. */
static void bench_sqlite(int batch, const char *name)
{
	static const char body[200] = "x";
	sqlite3 *db;
	sqlite3_stmt *put;
	long long start;
	long n = 0;

	unlink("bench.db");
	if (sqlite3_open("bench.db", &db) != SQLITE_OK)
		die("bench.db");
	sql(db, "PRAGMA locking_mode=EXCLUSIVE");
	sql(db, "PRAGMA journal_mode=WAL");
	sql(db, "PRAGMA synchronous=FULL");
	sql(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, body BLOB) STRICT");
	if (sqlite3_prepare_v2(db, "INSERT INTO t VALUES(?,?)", -1, &put, NULL) != SQLITE_OK)
		die("prepare");
	start = now_ns();
	while (now_ns() - start < MEASURE_NS) {
		sql(db, "BEGIN");
		for (int i = 0; i < batch; i++) {
			sqlite3_bind_int64(put, 1, ++n);
			sqlite3_bind_blob(put, 2, body, sizeof(body), SQLITE_STATIC);
			sqlite3_step(put);
			sqlite3_reset(put);
		}
		sql(db, "COMMIT");
	}
	printf("%s %.0f /s\n", name, (double)n * 1e9 / (double)(now_ns() - start));
	sqlite3_finalize(put);
	sqlite3_close(db);
}

static void bench_munge(const char *socket)
{
	munge_ctx_t ctx = munge_ctx_create();
	long long encode = 0, decode = 0, t0, t1;
	char payload[64] = "bench";
	long n;

	munge_ctx_set(ctx, MUNGE_OPT_SOCKET, socket);
	for (n = 0; encode + decode < MEASURE_NS; n++) {
		char *cred;
		void *out;
		int len;
		uid_t uid;
		gid_t gid;

		t0 = now_ns();
		if (munge_encode(&cred, ctx, payload, sizeof(payload)) != EMUNGE_SUCCESS) {
			fprintf(stderr, "bench_machine: munge: %s\n", munge_ctx_strerror(ctx));
			exit(1);
		}
		t1 = now_ns();
		munge_decode(cred, ctx, &out, &len, &uid, &gid);
		decode += now_ns() - t1;
		encode += t1 - t0;
		free(cred);
		free(out);
	}
	printf("munge_encode %.1f us\nmunge_decode %.1f us\n", (double)encode / 1e3 / (double)n,
	        (double)decode / 1e3 / (double)n);
	munge_ctx_destroy(ctx);
}

static void bench_x25519(void)
{
	unsigned char sk[32], pk[32], shared[32], peer[32];
	long long start;
	long n = 0;

	randombytes_buf(sk, sizeof(sk));
	crypto_scalarmult_base(peer, sk);
	start = now_ns();
	while (now_ns() - start < MEASURE_NS / 4) {
		randombytes_buf(sk, sizeof(sk));
		crypto_scalarmult_base(pk, sk);
		if (crypto_scalarmult(shared, sk, peer) != 0)
			die("crypto_scalarmult");
		n++;
	}
	printf("x25519_pair_and_product %.1f us\n", (double)(now_ns() - start) / 1e3 / (double)n);
}

static cpu_set_t all_cpus; /* that this process may use */

static void on_cpu(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set); /* of one CPU: both are there */
}

/* A byte to a process on another CPU and one back: a request goes through half a dozen of these. */
static void bench_wake(void)
{
	int there[2], back[2];
	long long start;
	char byte = 0;
	long n = 0;
	pid_t pid;

	if (pipe(there) < 0 || pipe(back) < 0 || (pid = fork()) < 0)
		die("pipe and fork");
	if (pid == 0) {
		on_cpu(1);
		close(there[1]);
		while (read(there[0], &byte, 1) == 1 && write(back[1], &byte, 1) == 1)
			;
		_exit(0);
	}
	on_cpu(0);
	start = now_ns();
	while (now_ns() - start < MEASURE_NS / 2) {
		if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
			die("pipe");
		n++;
	}
	printf("wake_other_cpu_and_back %.1f us\n", (double)(now_ns() - start) / 1e3 / (double)n);
	close(there[1]);
	waitpid(pid, NULL, 0);
	sched_setaffinity(0, sizeof(all_cpus), &all_cpus);
}

/* Memory that is touched for the first time: most of what starting a process costs. */
static void bench_fault(void)
{
	const size_t size = 64 << 20, page = 4096;
	long long start = now_ns();
	char *m = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (m == MAP_FAILED)
		die("mmap");
	for (size_t i = 0; i < size; i += page)
		m[i] = 1;
	printf("page_fault %.2f us\n", (double)(now_ns() - start) / 1e3 / (double)(size / page));
	munmap(m, size);
}

int main(int argc, char **argv)
{
	if (argc < 2 || chdir(argv[1]) < 0) {
		fprintf(stderr, "usage: bench_machine FOLDER [MUNGE-SOCKET]\n");
		return 2;
	}
	if (sodium_init() < 0)
		die("sodium_init");
	sched_getaffinity(0, sizeof(all_cpus), &all_cpus);
	bench_wake();
	bench_fault();
	bench_exec();
	bench_spawn(1, "spawn_sh_serial");
	bench_spawn(4, "spawn_sh_four");
	bench_fsync();
	bench_sqlite(1, "sqlite_commits_of_1");
	bench_sqlite(100, "sqlite_rows_in_100s");
	if (argc > 2)
		bench_munge(argv[2]);
	bench_x25519();
	return 0;
}
