/* log.c - see log.h */
#include "common/log.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "common/text.h"

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

/* The lock covers `to_syslog`, `fd`, `path` and the write; `level` is read without it. */
static struct {
	pthread_mutex_t lock;
	atomic_int level;
	int to_syslog;
	int fd;     /* stderr, or a file of ours */
	char *path; /* of the file; NULL otherwise */
	char ident[32];
} state = { .lock = PTHREAD_MUTEX_INITIALIZER,
	.level = LOG_LEVEL_INFO,
	.fd = STDERR_FILENO,
	.ident = "gpusched" };

static int file_open(const char *path, struct error *err)
{
	int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, 0640);

	if (fd < 0)
		return error_set(err, ERR_SYSTEM, "log '%s': %s", path, strerror(errno));
	return fd;
}

/* Under the lock: forget the present destination; records go to stderr. */
static void destination_drop(void)
{
	if (state.to_syslog)
		closelog();
	if (state.path)
		close(state.fd);
	free(state.path);
	state.path = NULL;
	state.to_syslog = 0;
	state.fd = STDERR_FILENO;
}

int log_open(const char *destination, const char *level, const char *ident, struct error *err)
{
	int to_syslog = !strcmp(destination, "syslog"), fd = STDERR_FILENO;
	char *path = NULL;
	size_t l = 0;

	while (l < N_LEVELS && strcmp(levels[l].name, level))
		l++;
	if (l == N_LEVELS)
		return error_set(err, ERR_CONFIG,
		        "log level '%s': must be error, warning, info or debug", level);
	if (!to_syslog && strcmp(destination, "stderr")) {
		path = strdup(destination);
		if (!path)
			return error_set(
			        err, ERR_SYSTEM, "log '%s': %s", destination, strerror(errno));
		fd = file_open(path, err);
		if (fd < 0) {
			free(path);
			return -1;
		}
	}
	pthread_mutex_lock(&state.lock);
	destination_drop();
	state.to_syslog = to_syslog;
	state.path = path;
	state.fd = fd;
	snprintf(state.ident, sizeof(state.ident), "%s", ident);
	atomic_store(&state.level, (int)l);
	if (to_syslog) /* NDELAY: before any chroot, and so that errors show early */
		openlog(state.ident, LOG_PID | LOG_NDELAY, LOG_DAEMON);
	pthread_mutex_unlock(&state.lock);
	return 0;
}

int log_keep(void)
{
	int fd;

	pthread_mutex_lock(&state.lock);
	if (state.to_syslog)
		closelog();
	fd = state.path ? state.fd : -1;
	pthread_mutex_unlock(&state.lock);
	return fd;
}

int log_reopen(struct error *err)
{
	int rc = 0, fd;

	pthread_mutex_lock(&state.lock);
	if (state.path) {
		fd = file_open(state.path, err);
		if (fd < 0) {
			rc = -1;
		} else {
			close(state.fd);
			state.fd = fd;
		}
	}
	pthread_mutex_unlock(&state.lock);
	return rc;
}

void log_close(void)
{
	pthread_mutex_lock(&state.lock);
	destination_drop();
	atomic_store(&state.level, LOG_LEVEL_INFO);
	pthread_mutex_unlock(&state.lock);
}

int log_wants(enum log_level level)
{
	return (int)level <= atomic_load(&state.level);
}

/* "2026-11-21T09:14:05.123+01:00 gctld[812] warning: " */
static size_t head_format(char *buf, size_t size, enum log_level level)
{
	char day[32], zone[8];
	struct timespec now;
	struct tm tm;

	clock_gettime(CLOCK_REALTIME, &now);
	localtime_r(&now.tv_sec, &tm);
	strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &tm);
	strftime(zone, sizeof(zone), "%z", &tm); /* +0100 */
	return (size_t)snprintf(buf, size, "%s.%03ld%.3s:%.2s %s[%ld] %s: ", day,
	        now.tv_nsec / 1000000, zone, zone + 3, state.ident, (long)getpid(),
	        levels[level].name);
}

void log_msg(enum log_level level, const char *fmt, ...)
{
	char text[LOG_TEXT_MAX + 1], line[HEAD_MAX + LOG_TEXT_MAX * 4 + 8];
	int kept = errno, n;
	size_t at, len;
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
	pthread_mutex_lock(&state.lock);
	if (state.to_syslog) {
		text_escape(line, sizeof(line), text, len);
		syslog(levels[level].priority, "%s: %s", levels[level].name, line);
	} else {
		at = head_format(line, HEAD_MAX, level);
		at += text_escape(line + at, sizeof(line) - at - 1, text, len);
		line[at++] = '\n';
		while (write(state.fd, line, at) < 0 && errno == EINTR)
			;
	}
	pthread_mutex_unlock(&state.lock);
	errno = kept;
}
