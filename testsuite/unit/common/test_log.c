/* test_log.c - common/base/log.h */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <regex.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/base/log.h"

#define LEN(a) (sizeof(a) / sizeof((a)[0]))

struct fixture {
	char dir[64], path[96], moved[96];
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	snprintf(f->dir, sizeof(f->dir), "/tmp/gpusched-log-XXXXXX");
	if (!mkdtemp(f->dir))
		return -1;
	snprintf(f->path, sizeof(f->path), "%s/log", f->dir);
	snprintf(f->moved, sizeof(f->moved), "%s/log.1", f->dir);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	log_close();
	unlink(f->path);
	unlink(f->moved);
	rmdir(f->dir);
	free(f);
	return 0;
}

/* The whole file; the caller frees it. */
static char *slurp(const char *path)
{
	FILE *in = fopen(path, "r");
	char *text = NULL;
	size_t size = 0;

	assert_non_null(in);
	if (getdelim(&text, &size, '\0', in) < 0) {
		free(text);
		text = strdup("");
	}
	fclose(in);
	return text;
}

static void assert_matches(const char *text, const char *pattern)
{
	regex_t re;
	int rc;

	assert_int_equal(regcomp(&re, pattern, REG_EXTENDED | REG_NOSUB), 0);
	rc = regexec(&re, text, 0, NULL, 0);
	regfree(&re);
	if (rc)
		fail_msg("'%s' does not match '%s'", text, pattern);
}

static void one_line_with_a_head(void **state)
{
	struct fixture *f = *state;
	struct stat st;
	char *text;

	assert_int_equal(log_open(f->path, "info", "gctld", NULL), 0);
	errno = EXDEV;
	log_warning("node %s: gone", "h03");
	assert_int_equal(errno, EXDEV);
	text = slurp(f->path);
	assert_matches(text, "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3}"
	                     "[+-][0-9]{2}:[0-9]{2} gctld\\[[0-9]+\\] warning: node h03: gone\n$");
	free(text);
	assert_int_equal(stat(f->path, &st), 0);
	assert_int_equal(st.st_mode & 0137, 0);
}

static void hostile_texts_stay_one_record(void **state)
{
	static const struct {
		const char *in, *out;
	} rows[] = {
		{ "a\nb", "a\\x0Ab" },
		{ "a\r\nforged error: x", "a\\x0D\\x0Aforged error: x" },
		{ "\x1b]0;title\x07", "\\x1B]0;title\\x07" },
		{ "\xff\xfe", "\\xFF\\xFE" },
		{ "\xe2\x80\xa8", "\\xE2\\x80\\xA8" },
		{ "%s%n", "%s%n" },
		{ "", "" },
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < LEN(rows); i++) {
		char *text, *at;

		unlink(f->path);
		assert_int_equal(log_open(f->path, "info", "x", NULL), 0);
		log_info("name '%s' end", rows[i].in);
		text = slurp(f->path);
		at = strstr(text, "name '");
		assert_non_null(at);
		assert_memory_equal(at + 6, rows[i].out, strlen(rows[i].out));
		assert_string_equal(at + 6 + strlen(rows[i].out), "' end\n");
		assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
		free(text);
	}
}

static void long_texts_are_cut(void **state)
{
	struct fixture *f = *state;
	char *name = malloc(100001), *text, *at;

	memset(name, 'x', 100000);
	name[100000] = '\0';
	assert_int_equal(log_open(f->path, "info", "x", NULL), 0);
	log_info("%s", name);
	memset(name, '\n', 100000);
	log_info("%s", name);
	text = slurp(f->path);
	at = strstr(text, "info: ") + 6;
	assert_int_equal(strspn(at, "x"), LOG_TEXT_MAX - 3);
	assert_memory_equal(at + LOG_TEXT_MAX - 3, "...\n", 4);
	at = strstr(at, "info: ") + 6;
	assert_memory_equal(at, "\\x0A\\x0A", 8);
	assert_int_equal(strlen(at), (LOG_TEXT_MAX - 3) * 4 + 4);
	assert_string_equal(at + strlen(at) - 8, "\\x0A...\n");
	free(text);
	free(name);
}

static void levels_are_kept(void **state)
{
	static const char *const names[] = { "error", "warning", "info", "debug" };
	struct fixture *f = *state;

	for (size_t i = 0; i < LEN(names); i++) {
		size_t lines = 0;
		char *text;

		unlink(f->path);
		assert_int_equal(log_open(f->path, names[i], "x", NULL), 0);
		for (int level = LOG_LEVEL_ERROR; level <= LOG_LEVEL_DEBUG; level++) {
			assert_int_equal(log_wants((enum log_level)level), level <= (int)i);
			log_msg((enum log_level)level, "text");
		}
		text = slurp(f->path);
		for (char *p = text; (p = strchr(p, '\n')) != NULL; p++)
			lines++;
		assert_int_equal(lines, i + 1);
		free(text);
	}
}

static void reopen_follows_the_name(void **state)
{
	struct fixture *f = *state;
	struct error err = { .code = ERR_NONE };
	char *text;

	assert_int_equal(log_open(f->path, "info", "x", NULL), 0);
	log_info("one");
	assert_int_equal(rename(f->path, f->moved), 0);
	log_info("two");
	assert_int_equal(log_reopen(&err), 0);
	log_info("three");
	text = slurp(f->moved);
	assert_non_null(strstr(text, "two\n"));
	assert_null(strstr(text, "three"));
	free(text);
	text = slurp(f->path);
	assert_null(strstr(text, "two"));
	assert_non_null(strstr(text, "three\n"));
	free(text);

	/* A name that cannot be opened: the old file stays in use. */
	assert_int_equal(unlink(f->path), 0);
	assert_int_equal(mkdir(f->path, 0700), 0);
	assert_int_equal(log_reopen(&err), -1);
	assert_int_equal(err.code, ERR_SYSTEM);
	rmdir(f->path);
	log_info("four");
	assert_int_equal(log_reopen(&err), 0);
}

static void what_must_be_kept_open(void **state)
{
	struct fixture *f = *state;
	struct stat kept, file;

	assert_int_equal(log_keep(), -1);
	assert_int_equal(log_open(f->path, "info", "gctld", NULL), 0);
	assert_int_equal(fstat(log_keep(), &kept), 0);
	assert_int_equal(stat(f->path, &file), 0);
	assert_int_equal(kept.st_ino, file.st_ino);
	assert_int_equal(log_open("syslog", "info", "gctld", NULL), 0);
	assert_int_equal(log_keep(), -1);
}

static void a_bad_destination_changes_nothing(void **state)
{
	struct fixture *f = *state;
	struct error err;
	char *text;

	assert_int_equal(log_open(f->path, "info", "x", NULL), 0);
	assert_int_equal(log_open("/nonexistent/x", "debug", "y", &err), -1);
	assert_string_equal(err.text, "log '/nonexistent/x': No such file or directory");
	assert_int_equal(log_open(f->path, "loud", "y", &err), -1);
	assert_string_equal(err.text, "log level 'loud': must be error, warning, info or debug");
	log_debug("not wanted");
	log_info("still here");
	text = slurp(f->path);
	assert_matches(text, "^[^ ]+ x\\[[0-9]+\\] info: still here\n$");
	free(text);
}

/* Records to stderr, seen through a pipe in its place. */
static void stderr_and_syslog(void **state)
{
	int saved = dup(STDERR_FILENO), pipe_fds[2];
	char buf[4096];
	ssize_t n;

	(void)state;
	assert_int_equal(pipe(pipe_fds), 0);
	dup2(pipe_fds[1], STDERR_FILENO);
	assert_int_equal(log_open("stderr", "info", "x", NULL), 0);
	log_error("boom");
	/* Neither blocks nor fails where there is no syslog daemon, and does not go to stderr. */
	assert_int_equal(log_open("syslog", "info", "x", NULL), 0);
	log_error("to syslog");
	log_close();
	dup2(saved, STDERR_FILENO);
	close(saved);
	close(pipe_fds[1]);
	n = read(pipe_fds[0], buf, sizeof(buf) - 1);
	close(pipe_fds[0]);
	assert_true(n > 0);
	buf[n] = '\0';
	assert_matches(buf, "^[^ ]+ x\\[[0-9]+\\] error: boom\n$");
}

/* systemd's journal has the time, the program and the process itself: only where it is what it
 * said, and not where somebody has redirected stderr since. */
static void the_journal(void **state)
{
	const struct fixture *f = *state;
	int saved = dup(STDERR_FILENO), fd = open(f->path, O_RDWR | O_CREAT | O_APPEND, 0600);
	struct stat st;
	char told[64], *text;

	assert_int_equal(fstat(fd, &st), 0);
	dup2(fd, STDERR_FILENO);
	for (int other = 0; other < 2; other++) {
		snprintf(told, sizeof(told), "%llu:%llu", (unsigned long long)st.st_dev,
		        (unsigned long long)st.st_ino + (unsigned)other);
		setenv("JOURNAL_STREAM", told, 1);
		assert_int_equal(log_open("stderr", "info", "x", NULL), 0);
		log_error("boom");
		log_info("well\nagain");
		log_close();
	}
	unsetenv("JOURNAL_STREAM");
	dup2(saved, STDERR_FILENO);
	close(saved);
	close(fd);
	text = slurp(f->path);
	assert_matches(text, "^<3>error: boom\n<6>info: well[^\n]*again\n"
	                     "20[^ ]+ x\\[[0-9]+\\] error: boom\n20[^ ]+ x[^\n]*\n$");
	free(text);
}

#define THREADS 4
#define RECORDS 500
static void *writer(void *arg)
{
	for (int i = 0; i < RECORDS; i++) {
		log_info("thread %d record %d", *(int *)arg, i);
		if (i % 50 == 0)
			log_reopen(NULL);
	}
	return NULL;
}

static void threads_do_not_mix(void **state)
{
	struct fixture *f = *state;
	pthread_t threads[THREADS];
	int ids[THREADS], lines = 0, next[THREADS] = { 0 };
	char *text;

	assert_int_equal(log_open(f->path, "info", "x", NULL), 0);
	for (int i = 0; i < THREADS; i++) {
		ids[i] = i;
		assert_int_equal(pthread_create(&threads[i], NULL, writer, &ids[i]), 0);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	text = slurp(f->path);
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"), lines++) {
		int id, record;

		assert_int_equal(
		        sscanf(strstr(line, "thread"), "thread %d record %d", &id, &record), 2);
		assert_in_range(id, 0, THREADS - 1);
		assert_int_equal(record, next[id]++);
	}
	assert_int_equal(lines, THREADS * RECORDS);
	free(text);
}

/* --- with a writer ---------------------------------------------------------------------------- */

/* stderr is a pipe: *saved to put it back, returns the reading end. */
static int pipe_in_place_of_stderr(int *saved)
{
	int fds[2];

	*saved = dup(STDERR_FILENO);
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	dup2(fds[1], STDERR_FILENO);
	close(fds[1]);
	return fds[0];
}

struct told {
	int fd;
	int records, lost; /* of their own, and in their own words */
	bool in_order;
};

/* Reads to the end what came through the pipe. */
static void *read_all(void *arg)
{
	struct told *t = arg;
	FILE *in = fdopen(t->fd, "r");
	char line[1024];
	int last = -1, n;

	t->in_order = true;
	while (fgets(line, sizeof(line), in)) {
		const char *at = strstr(line, "record ");

		if (strstr(line, "are lost")) {
			t->lost += atoi(strstr(line, "warning: ") + 9);
		} else if (at) {
			n = atoi(at + 7);
			t->in_order &= n > last;
			last = n;
			t->records++;
		}
	}
	fclose(in);
	return NULL;
}

/* A pipe that nobody reads: who logs goes on (else the alarm rings), what found no room is counted.
 */
static void a_pipe_that_is_not_read_stalls_nobody(void **state)
{
	enum { MANY = 30000 };
	struct told told = { 0 };
	uint64_t before = log_lost();
	pthread_t reader;
	int saved;

	(void)state;
	told.fd = pipe_in_place_of_stderr(&saved);
	assert_int_equal(log_open("stderr", "info", "x", NULL), 0);
	assert_int_equal(log_start_writer(NULL), 0);
	alarm(60);
	for (int i = 0; i < MANY; i++)
		log_info("record %d %0100d", i, 0);
	alarm(0);
	assert_true(log_lost() > before);
	assert_int_equal(pthread_create(&reader, NULL, read_all, &told), 0);
	log_close();
	dup2(saved, STDERR_FILENO); /* the last writer of the pipe: the reader comes to its end */
	close(saved);
	pthread_join(reader, NULL);
	assert_true(told.in_order);
	assert_true(told.records > 1000);
	assert_int_equal(told.records + told.lost, MANY);
	assert_int_equal(log_lost() - before, told.lost);
}

/* As processes end: what is queued is written, and the status is as it would have been. */
static void what_is_queued_at_the_end_is_written(void **state)
{
	static const struct {
		void (*end)(void);
		int status; /* as of waitpid(2) */
	} rows[] = { { abort, SIGABRT }, { log_close, 3 << 8 }, { log_flush, 3 << 8 },
		{ NULL, 3 << 8 } };
	struct fixture *f = *state;

	for (size_t i = 0; i < LEN(rows); i++) {
		int status, lines = 0;
		char *text;
		pid_t pid;

		unlink(f->path);
		pid = fork();
		if (pid == 0) {
			const struct rlimit none = { 0, 0 };

			setrlimit(RLIMIT_CORE, &none);
			log_open(f->path, "info", "x", NULL);
			log_start_writer(NULL);
			for (int n = 0; n < 2000; n++)
				log_info("record %d", n);
			if (!rows[i].end)
				exit(3);
			rows[i].end();
			_exit(3);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status & ~0x80, rows[i].status);
		text = slurp(f->path);
		for (char *p = text; (p = strchr(p, '\n')) != NULL; p++)
			lines++;
		assert_int_equal(lines, 2000);
		free(text);
	}
}

/* The same calls as without one, done a little later. */
static void a_writer_changes_destinations(void **state)
{
	struct fixture *f = *state;
	struct error err;
	char *text;

	assert_int_equal(log_open(f->path, "info", "x", NULL), 0);
	assert_int_equal(log_start_writer(NULL), 0);
	log_info("one");
	log_flush();
	assert_int_equal(rename(f->path, f->moved), 0);
	assert_int_equal(log_reopen(&err), 0);
	log_info("two");
	assert_int_equal(log_open("/nonexistent/x", "debug", "x", &err), 0);
	assert_int_equal(log_open("/dev/null", "loud", "x", &err), -1);
	log_flush();
	log_debug("three");
	log_flush();
	assert_int_equal(log_open("/dev/null", "info", "x", &err), 0);
	log_flush();
	log_info("four");
	log_close();
	text = slurp(f->moved);
	assert_non_null(strstr(text, "one\n"));
	assert_null(strstr(text, "two"));
	free(text);
	text = slurp(f->path);
	assert_non_null(strstr(text, "two\n"));
	assert_non_null(strstr(text, "error: log '/nonexistent/x': No such file or directory; "
	                             "the log stays where it was\n"));
	assert_non_null(strstr(text, "three\n"));
	assert_null(strstr(text, "four"));
	free(text);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(one_line_with_a_head),
		TEST(hostile_texts_stay_one_record),
		TEST(long_texts_are_cut),
		TEST(levels_are_kept),
		TEST(reopen_follows_the_name),
		TEST(what_must_be_kept_open),
		TEST(a_bad_destination_changes_nothing),
		TEST(stderr_and_syslog),
		TEST(the_journal),
		TEST(threads_do_not_mix),
		TEST(a_pipe_that_is_not_read_stalls_nobody),
		TEST(what_is_queued_at_the_end_is_written),
		TEST(a_writer_changes_destinations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
