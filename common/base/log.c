/* log.c - see log.h */
#include "common/base/log.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "common/base/text.h"
#include "common/base/xalloc.h"

#define HEAD_MAX 128 /* time, program, pid, level */

static const struct {
	const char *name;
	int priority;
} levels[] = {
	[LOG_LEVEL_ERROR] = { "error", LOG_ERR },
	[LOG_LEVEL_WARNING] = { "warning", LOG_WARNING },
	[LOG_LEVEL_INFO] = { "info", LOG_INFO },
	[LOG_LEVEL_DEBUG] = { "debug", LOG_DEBUG },
};
#define N_LEVELS (sizeof(levels) / sizeof(levels[0]))

struct destination {
	bool to_syslog;
	bool to_journal; /* systemd's, by stderr: it adds time and process itself */
	int fd;          /* stderr, or a file of ours */
	char *path;      /* of the file; NULL otherwise */
	char ident[32];
};

/* Waits for the writer. */
struct record {
	struct record *next;
	struct timespec at;
	enum log_level level;
	size_t len;
	char text[];
};

/* The lock covers all but `level` and the atomics. `out` is used under the lock while there is no
 * writer, and by the writer alone, without the lock, as long as there is one. */
static struct {
	pthread_mutex_t lock;
	atomic_int level;
	struct destination out;

	bool running, stop;
	bool busy; /* the writer is at it, without the lock */
	pthread_t writer;
	pthread_cond_t work, done; /* for the writer; all is written */
	struct record *first, **last;
	size_t bytes;          /* of records that are not yet written */
	atomic_size_t waiting; /* how many they are */
	uint64_t unsaid;       /* lost, and to be said */
	bool reopen;           /* SIGHUP */
	char *wanted;          /* the destination to change to, or NULL; owned */
	char wanted_ident[32];
	_Atomic uint64_t lost;
	bool (*other)(void *arg); /* log_at_abort() */
	void *other_arg;
} state = { .lock = PTHREAD_MUTEX_INITIALIZER,
	.level = LOG_LEVEL_INFO,
	.work = PTHREAD_COND_INITIALIZER,
	.out = { .fd = STDERR_FILENO, .ident = "gpusched" } };

/* --- destinations ----------------------------------------------------------------------------- */

static int file_open(const char *path, struct error *err)
{
	int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, 0640);

	if (fd < 0)
		return error_set(err, ERR_SYSTEM, "log '%s': %s", path, strerror(errno));
	return fd;
}

/* Is stderr what systemd has connected to its journal, and not redirected since [systemd.exec(5)]?
 */
static bool is_journal(void)
{
	const char *told = getenv("JOURNAL_STREAM");
	unsigned long long device, inode;
	struct stat st;

	return told && sscanf(told, "%llu:%llu", &device, &inode) == 2 &&
	       fstat(STDERR_FILENO, &st) == 0 && st.st_dev == device && st.st_ino == inode;
}

/* Forget the present destination; records go to stderr. */
static void destination_drop(void)
{
	if (state.out.to_syslog)
		closelog();
	if (state.out.path)
		close(state.out.fd);
	free(state.out.path);
	state.out.path = NULL;
	state.out.to_syslog = state.out.to_journal = false;
	state.out.fd = STDERR_FILENO;
}

static int destination_change(const char *name, const char *ident, struct error *err)
{
	bool to_syslog = !strcmp(name, "syslog");
	int fd = STDERR_FILENO;
	char *path = NULL;

	if (!to_syslog && strcmp(name, "stderr")) {
		path = strdup(name);
		if (!path)
			return error_set(err, ERR_SYSTEM, "log '%s': %s", name, strerror(errno));
		fd = file_open(path, err);
		if (fd < 0) {
			free(path);
			return -1;
		}
	}
	destination_drop();
	state.out.to_syslog = to_syslog;
	state.out.to_journal = !to_syslog && !path && is_journal();
	state.out.path = path;
	state.out.fd = fd;
	snprintf(state.out.ident, sizeof(state.out.ident), "%s", ident);
	if (to_syslog) /* NDELAY: before any chroot, and so that errors show early */
		openlog(state.out.ident, LOG_PID | LOG_NDELAY, LOG_DAEMON);
	return 0;
}

static int destination_reopen(struct error *err)
{
	int fd;

	if (!state.out.path)
		return 0;
	fd = file_open(state.out.path, err);
	if (fd < 0)
		return -1;
	close(state.out.fd);
	state.out.fd = fd;
	return 0;
}

/* "2026-11-21T09:14:05.123+01:00 gctld[812] warning: " */
static size_t head_format(char *buf, size_t size, const struct timespec *at, enum log_level level)
{
	char day[32], zone[8];
	struct tm tm;

	localtime_r(&at->tv_sec, &tm);
	strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &tm);
	strftime(zone, sizeof(zone), "%z", &tm); /* +0100 */
	return (size_t)snprintf(buf, size, "%s.%03ld%.3s:%.2s %s[%ld] %s: ", day,
	        at->tv_nsec / 1000000, zone, zone + 3, state.out.ident, (long)getpid(),
	        levels[level].name);
}

/* -1: it is not written, or not whole. */
static int write_out(enum log_level level, const struct timespec *at, const char *text, size_t len)
{
	char line[HEAD_MAX + LOG_TEXT_MAX * 4 + 8];
	ssize_t n;
	size_t end;

	if (state.out.to_syslog) {
		text_escape(line, sizeof(line), text, len);
		syslog(levels[level].priority, "%s: %s", levels[level].name, line);
		return 0;
	}
	end = state.out.to_journal
	              ? (size_t)snprintf(line, HEAD_MAX, "<%d>%s: ", levels[level].priority,
	                        levels[level].name) /* [sd-daemon(3)] */
	              : head_format(line, HEAD_MAX, at, level);
	end += text_escape(line + end, sizeof(line) - end - 1, text, len);
	line[end++] = '\n';
	while ((n = write(state.out.fd, line, end)) < 0 && errno == EINTR)
		;
	return n == (ssize_t)end ? 0 : -1;
}

/* --- the writer ------------------------------------------------------------------------------- */

static void say(enum log_level level, const char *text)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	write_out(level, &now, text, strlen(text));
}

static void leave_lock(void)
{
	state.busy = true;
	pthread_mutex_unlock(&state.lock);
}

static void take_lock(void)
{
	pthread_mutex_lock(&state.lock);
	state.busy = false;
}

static void say_unchanged(const struct error *err)
{
	char text[sizeof(err->text) + 64];

	snprintf(text, sizeof(text), "%s; the log stays where it was", err->text);
	say(LOG_LEVEL_ERROR, text);
}

/* Under the lock, which is given up meanwhile. */
static void change_as_wanted(void)
{
	char *wanted = state.wanted, ident[sizeof(state.wanted_ident)];
	bool reopen = state.reopen;
	struct error err;

	memcpy(ident, state.wanted_ident, sizeof(ident));
	state.wanted = NULL;
	state.reopen = false;
	leave_lock();
	if (reopen && destination_reopen(&err) < 0)
		say_unchanged(&err);
	if (wanted && destination_change(wanted, ident, &err) < 0)
		say_unchanged(&err);
	free(wanted);
	take_lock();
}

/* The same. What cannot be written is said when something could be again: not to turn in circles.
 */
static void write_first(uint64_t *failed)
{
	struct record *r = state.first;
	int rc;

	state.first = r->next;
	if (!state.first)
		state.last = &state.first;
	leave_lock();
	rc = write_out(r->level, &r->at, r->text, r->len);
	take_lock();
	if (rc < 0) {
		(*failed)++;
		state.lost++;
	} else {
		state.unsaid += *failed;
		*failed = 0;
	}
	state.bytes -= sizeof(*r) + r->len;
	state.waiting--;
	free(r);
}

static void say_unsaid(void)
{
	uint64_t n = state.unsaid;
	char text[96];

	state.unsaid = 0;
	leave_lock();
	snprintf(text, sizeof(text), "%llu records of the log are lost: they could not be written",
	        (unsigned long long)n);
	say(LOG_LEVEL_WARNING, text);
	take_lock();
}

static void *write_all(void *arg)
{
	uint64_t failed = 0;

	(void)arg;
	pthread_mutex_lock(&state.lock);
	for (;;) {
		if (state.wanted || state.reopen) {
			change_as_wanted();
		} else if (state.first) {
			write_first(&failed);
		} else if (state.unsaid) {
			say_unsaid();
		} else {
			pthread_cond_broadcast(&state.done);
			if (state.stop)
				break;
			pthread_cond_wait(&state.work, &state.lock);
		}
	}
	pthread_mutex_unlock(&state.lock);
	return NULL;
}

/* Only what may be called in a handler: poll(2), and atomics. The writer goes on writing. */
static void on_abort(int sig)
{
	(void)sig;
	if (pthread_equal(pthread_self(), state.writer))
		return;
	for (int i = 0; i < LOG_FLUSH_MS / 5; i++) {
		bool busy = state.other && state.other(state.other_arg);

		if (!busy && !atomic_load(&state.waiting))
			break;
		poll(NULL, 0, 5);
	}
}

void log_at_abort(bool (*busy)(void *arg), void *arg)
{
	state.other = NULL;
	state.other_arg = arg;
	state.other = busy;
}

int log_start_writer(struct error *err)
{
	const struct sigaction action = { .sa_handler = on_abort, .sa_flags = SA_RESETHAND };
	pthread_condattr_t attr;
	sigset_t all, before;
	int rc;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&state.done, &attr);
	pthread_condattr_destroy(&attr);
	state.last = &state.first;
	state.stop = false;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_mutex_lock(&state.lock);
	rc = pthread_create(&state.writer, NULL, write_all, NULL);
	state.running = rc == 0;
	pthread_mutex_unlock(&state.lock);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (rc)
		return error_set(err, ERR_SYSTEM, "the log's thread: %s", strerror(rc));
	sigaction(SIGABRT, &action, NULL);
	atexit(log_close);
	return 0;
}

/* Under the lock: has all been written, LOG_FLUSH_MS from now at the latest? */
static bool wait_for_writer(void)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += LOG_FLUSH_MS / 1000;
	while (state.busy || state.first || state.unsaid || state.wanted || state.reopen) {
		if (pthread_cond_timedwait(&state.done, &state.lock, &until) == ETIMEDOUT)
			return false;
	}
	return true;
}

/* Under the lock. Lost rather than waited for. */
static void put(enum log_level level, const struct timespec *at, const char *text, size_t len)
{
	size_t size = sizeof(struct record) + len;
	struct record *r = state.bytes + size <= LOG_QUEUE_MAX ? malloc(size) : NULL;

	if (!r) {
		state.unsaid++;
		state.lost++;
		return;
	}
	*r = (struct record){ .at = *at, .level = level, .len = len };
	memcpy(r->text, text, len);
	*state.last = r;
	state.last = &r->next;
	state.bytes += size;
	state.waiting++;
	pthread_cond_signal(&state.work);
}

/* --- the calls -------------------------------------------------------------------------------- */

int log_open(const char *destination, const char *level, const char *ident, struct error *err)
{
	size_t l = 0;
	int rc = 0;

	while (l < N_LEVELS && strcmp(levels[l].name, level))
		l++;
	if (l == N_LEVELS)
		return error_set(err, ERR_CONFIG,
		        "log level '%s': must be error, warning, info or debug", level);
	pthread_mutex_lock(&state.lock);
	if (state.running) {
		free(state.wanted);
		state.wanted = xstrdup(destination);
		snprintf(state.wanted_ident, sizeof(state.wanted_ident), "%s", ident);
		pthread_cond_signal(&state.work);
	} else {
		rc = destination_change(destination, ident, err);
	}
	if (rc == 0)
		atomic_store(&state.level, (int)l);
	pthread_mutex_unlock(&state.lock);
	return rc;
}

int log_keep(void)
{
	int fd;

	pthread_mutex_lock(&state.lock);
	assert(!state.running);
	if (state.out.to_syslog)
		closelog();
	fd = state.out.path ? state.out.fd : -1;
	pthread_mutex_unlock(&state.lock);
	return fd;
}

int log_reopen(struct error *err)
{
	int rc = 0;

	pthread_mutex_lock(&state.lock);
	state.reopen = state.running;
	if (state.running)
		pthread_cond_signal(&state.work);
	else
		rc = destination_reopen(err);
	pthread_mutex_unlock(&state.lock);
	return rc;
}

void log_take(int fd)
{
	pthread_mutex_lock(&state.lock);
	assert(!state.running);
	if (state.out.path) {
		close(state.out.fd);
		state.out.fd = fd;
	} else {
		close(fd);
	}
	pthread_mutex_unlock(&state.lock);
}

void log_flush(void)
{
	pthread_mutex_lock(&state.lock);
	if (state.running)
		wait_for_writer();
	pthread_mutex_unlock(&state.lock);
}

uint64_t log_lost(void)
{
	return atomic_load(&state.lost);
}

void log_close(void)
{
	bool stopped = true;

	pthread_mutex_lock(&state.lock);
	if (state.running) {
		stopped = wait_for_writer();
		state.stop = stopped;
		pthread_cond_signal(&state.work);
		pthread_mutex_unlock(&state.lock);
		if (!stopped) /* it hangs in a write: left to the end of the process */
			return;
		pthread_join(state.writer, NULL);
		pthread_mutex_lock(&state.lock);
		state.running = false;
		pthread_cond_destroy(&state.done);
		signal(SIGABRT, SIG_DFL);
	}
	destination_drop();
	atomic_store(&state.level, LOG_LEVEL_INFO);
	pthread_mutex_unlock(&state.lock);
}

int log_wants(enum log_level level)
{
	return (int)level <= atomic_load(&state.level);
}

void log_msg(enum log_level level, const char *fmt, ...)
{
	char text[LOG_TEXT_MAX + 1];
	struct timespec now;
	int kept = errno, n;
	size_t len;
	va_list ap;

	if (!log_wants(level))
		return;
	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (n < 0)
		n = snprintf(text, sizeof(text), "(a record that cannot be formatted: %s)", fmt);
	len = (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1;
	if ((size_t)n > len) /* cut, perhaps within a character: its bytes would show as \xNN */
		memcpy(text + len - 3, "...", 3);
	clock_gettime(CLOCK_REALTIME, &now);
	pthread_mutex_lock(&state.lock);
	if (state.running)
		put(level, &now, text, len);
	else if (write_out(level, &now, text, len) < 0)
		state.lost++;
	pthread_mutex_unlock(&state.lock);
	errno = kept;
}
