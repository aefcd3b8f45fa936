/* recorder.c - see recorder.h */
#include "config.h"

#include "ctld/loop/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/queue.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/fd_close.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"

#define CHUNK   65536
#define KICK_AT (1 << 20) /* bytes that wait, within a tick */

struct chunk {
	TAILQ_ENTRY(chunk) next;
	size_t n;
	uint8_t bytes[CHUNK];
};
TAILQ_HEAD(chunks, chunk);

struct recorder {
	char *path;
	int fd;
	pthread_t thread;
	sem_t work;
	atomic_size_t behind; /* bytes that are not yet written */
	atomic_int failed;    /* the thread's errno; it writes no more */

	pthread_mutex_t lock; /* of: */
	struct chunks chunks;
	bool stop;

	/* the loop's */
	struct tape_writer tape;
	uint64_t bytes;
	size_t put; /* since the last kick */
	bool off;   /* it has ended, and that was said */
};

/* --- the thread ------------------------------------------------------------------------------ */

static int write_all(int fd, const uint8_t *p, size_t n)
{
	while (n) {
		ssize_t did = write(fd, p, n);

		if (did < 0 && errno != EINTR)
			return errno;
		if (did > 0) {
			p += did;
			n -= (size_t)did;
		}
	}
	return 0;
}

static void write_chunks(struct recorder *r, struct chunks *chunks)
{
	struct chunk *c;

	while ((c = TAILQ_FIRST(chunks))) {
		TAILQ_REMOVE(chunks, c, next);
		if (!atomic_load(&r->failed))
			atomic_store(&r->failed, write_all(r->fd, c->bytes, c->n));
		atomic_fetch_sub(&r->behind, c->n);
		free(c);
	}
}

static void *write_on(void *arg)
{
	struct recorder *r = arg;
	bool stop;

	do {
		struct chunks chunks = TAILQ_HEAD_INITIALIZER(chunks);

		while (sem_wait(&r->work) && errno == EINTR)
			;
		pthread_mutex_lock(&r->lock);
		TAILQ_CONCAT(&chunks, &r->chunks, next);
		stop = r->stop;
		pthread_mutex_unlock(&r->lock);
		write_chunks(r, &chunks);
	} while (!stop);
	return NULL;
}

/* In a handler of SIGABRT: is there still something to be written? */
static bool is_behind(void *arg)
{
	struct recorder *r = arg;

	sem_post(&r->work);
	return atomic_load(&r->behind) && !atomic_load(&r->failed);
}

/* --- the queue ------------------------------------------------------------------------------- */

static void kick(struct recorder *r)
{
	r->put = 0;
	sem_post(&r->work);
}

static void queue_frame(void *arg, const void *frame, size_t n)
{
	struct recorder *r = arg;
	struct chunk *c;

	pthread_mutex_lock(&r->lock);
	c = TAILQ_LAST(&r->chunks, chunks);
	if (!c || c->n + n > CHUNK) {
		c = malloc(sizeof(*c));
		if (!c)
			abort();
		c->n = 0;
		TAILQ_INSERT_TAIL(&r->chunks, c, next);
	}
	memcpy(c->bytes + c->n, frame, n);
	c->n += n;
	pthread_mutex_unlock(&r->lock);
	atomic_fetch_add(&r->behind, n);
	r->bytes += n;
	r->put += n;
	if (r->put > KICK_AT)
		kick(r);
}

/* Has it to end? Say so once. */
static bool is_off(struct recorder *r)
{
	int failed = atomic_load(&r->failed);

	if (r->off || (!failed && atomic_load(&r->behind) <= RECORDER_BEHIND))
		return r->off;
	r->off = true;
	if (failed)
		log_error("recording to %s has ended: %s", r->path, strerror(failed));
	else
		log_error("recording to %s has ended: the disk lags by %zu MiB", r->path,
		        RECORDER_BEHIND >> 20);
	return true;
}

void recorder_put(struct recorder *r, const struct tape_record *record)
{
	if (!is_off(r))
		tape_write(&r->tape, record);
}

void recorder_kick(struct recorder *r)
{
	if (r->put)
		kick(r);
	is_off(r);
}

uint64_t recorder_bytes(const struct recorder *r)
{
	return r ? r->bytes : 0;
}

/* --- the file -------------------------------------------------------------------------------- */

static int system_error(const struct recorder *r, const char *what, struct error *err)
{
	return error_set(err, ERR_SYSTEM, "--record: %s: %s%s", r->path, what, strerror(errno));
}

static int begin_file(struct recorder *r, struct error *err)
{
	int failed = write_all(r->fd, (const uint8_t *)TAPE_MAGIC, TAPE_MAGIC_LEN);

	if (!failed)
		return 0;
	errno = failed;
	return system_error(r, "", err);
}

/* After the last whole record. */
static int find_end(struct recorder *r, FILE *f, struct error *err)
{
	struct tape_reader reader;
	int rc = tape_read_begin(&reader, f, r->path, err);

	if (rc == 0)
		rc = tape_scan(&reader, err);
	r->tape.frames = reader.frames;
	r->tape.records = reader.number;
	tape_reader_clear(&reader);
	if (rc < 0)
		return error_hint(err, "move it away, and a new one will be begun");
	if (reader.torn && ftruncate(r->fd, (off_t)reader.end))
		return system_error(r, "", err);
	if (reader.torn)
		log_info("%s: the last record was cut short: %" PRIu64 " bytes are dropped",
		        r->path, reader.torn);
	return 0;
}

static int append_to_file(struct recorder *r, struct error *err)
{
	int fd = open(r->path, O_RDONLY | O_CLOEXEC);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	int rc;

	if (!f) {
		system_error(r, "", err);
		fd_close(fd);
		return -1;
	}
	rc = find_end(r, f, err);
	fclose(f);
	return rc;
}

static int open_file(struct recorder *r, struct error *err)
{
	struct stat st;

	r->fd = open(
	        r->path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0600);
	if (r->fd < 0 || fstat(r->fd, &st))
		return system_error(r, "", err);
	if (!S_ISREG(st.st_mode))
		return error_set(err, ERR_SYSTEM, "--record: %s: not a file", r->path);
	if (flock(r->fd, LOCK_EX | LOCK_NB))
		return system_error(r, "another controller? ", err);
	if (fchmod(r->fd, 0600))
		return system_error(r, "", err);
	return st.st_size ? append_to_file(r, err) : begin_file(r, err);
}

static int start_thread(struct recorder *r, struct error *err)
{
	sigset_t all, before;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(&r->thread, NULL, write_on, r);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!rc)
		return 0;
	errno = rc;
	return system_error(r, "its thread: ", err);
}

static void recorder_free(struct recorder *r)
{
	fd_close(r->fd);
	sem_destroy(&r->work);
	pthread_mutex_destroy(&r->lock);
	tape_writer_clear(&r->tape);
	free(r->path);
	free(r);
}

struct recorder *recorder_open(const char *path, struct error *err)
{
	struct recorder *r = xcalloc(1, sizeof(*r));

	r->path = xstrdup(path);
	r->tape.out = queue_frame;
	r->tape.arg = r;
	TAILQ_INIT(&r->chunks);
	sem_init(&r->work, 0, 0);
	pthread_mutex_init(&r->lock, NULL);
	if (open_file(r, err) || start_thread(r, err)) {
		recorder_free(r);
		return NULL;
	}
	log_at_abort(is_behind, r);
	return r;
}

void recorder_close(struct recorder *r)
{
	if (!r)
		return;
	log_at_abort(NULL, NULL);
	pthread_mutex_lock(&r->lock);
	r->stop = true;
	pthread_mutex_unlock(&r->lock);
	sem_post(&r->work);
	pthread_join(r->thread, NULL);
	is_off(r);
	recorder_free(r);
}
