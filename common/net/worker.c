/* worker.c - see worker.h
 *
 * All fields are guarded by `lock`, but for what only the loop's thread touches (marked). A job is
 * in exactly one place:
 *
 *      QUEUED (its key's queue) -> RUNNING (a thread) -> FINISHED (the finished list) -> gone
 *
 * Keys with waiting jobs that may be served stand in a ring, so that the threads take one job of
 * each key in turn. A key that holds as many threads as it may is taken out of the ring until one
 * of its jobs ends.
 */
#include "common/net/worker.h"

#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/event.h>

#include "common/base/fd_close.h"
#include "common/base/wirenum.h"
#include "common/net/event_end.h"

#define MAX_THREADS 64
#define KEY_BUCKETS 256 /* keys are few: only those with jobs at hand */
#define DONE_SLICE  64  /* done() calls in one turn of the loop: they are short */

enum job_state { QUEUED, RUNNING, FINISHED };

struct key {
	LIST_ENTRY(key) bucket;
	TAILQ_ENTRY(key) ring;
	bool in_ring;
	uint64_t value;
	TAILQ_HEAD(, worker_job) queue;
	unsigned queued, running;
};

struct worker_job {
	TAILQ_ENTRY(worker_job) link; /* of its key's queue or of finished */
	struct worker_pool *pool;
	struct key *key;
	const struct worker_ops *ops;
	void *arg;
	enum job_state state;
	bool cancelled; /* loop only */
};

TAILQ_HEAD(job_list, worker_job);

struct worker_pool {
	pthread_mutex_t lock;
	pthread_cond_t work;
	bool stop;
	LIST_HEAD(, key) keys[KEY_BUCKETS];
	TAILQ_HEAD(, key) ring;
	struct job_list finished;
	struct worker_limits limits;
	unsigned max_running_per_key;
	unsigned queued, running;
	uint64_t n_done, n_refused;
	/* loop only */
	int fd;
	struct event *event;
	unsigned n_threads;
	pthread_t threads[MAX_THREADS];
};

static struct key *key_get(struct worker_pool *p, uint64_t value)
{
	size_t b = (value ^ value >> 32 ^ value >> 8) % KEY_BUCKETS;
	struct key *k;

	LIST_FOREACH (k, &p->keys[b], bucket)
		if (k->value == value)
			return k;
	k = calloc(1, sizeof(*k));
	if (!k)
		return NULL;
	k->value = value;
	TAILQ_INIT(&k->queue);
	LIST_INSERT_HEAD(&p->keys[b], k, bucket);
	return k;
}

/* After any change: is the key in the ring exactly if it can be served? Gone if it has nothing. */
static void key_settle(struct worker_pool *p, struct key *k)
{
	bool servable = k->queued > 0 && k->running < p->max_running_per_key;

	if (servable && !k->in_ring)
		TAILQ_INSERT_TAIL(&p->ring, k, ring);
	else if (!servable && k->in_ring)
		TAILQ_REMOVE(&p->ring, k, ring);
	k->in_ring = servable;
	if (k->queued == 0 && k->running == 0) {
		LIST_REMOVE(k, bucket);
		free(k);
	}
}

/* Locked; the ring is not empty. The key goes to the ring's end. */
static struct worker_job *take_job(struct worker_pool *p)
{
	struct key *k = TAILQ_FIRST(&p->ring);
	struct worker_job *job = TAILQ_FIRST(&k->queue);

	TAILQ_REMOVE(&p->ring, k, ring);
	k->in_ring = false;
	TAILQ_REMOVE(&k->queue, job, link);
	k->queued--;
	k->running++;
	p->queued--;
	p->running++;
	job->state = RUNNING;
	key_settle(p, k);
	return job;
}

static void finish_job(struct worker_pool *p, struct worker_job *job)
{
	bool first = TAILQ_EMPTY(&p->finished);
	uint64_t one = 1;

	job->state = FINISHED;
	job->key->running--;
	p->running--;
	p->n_done++;
	TAILQ_INSERT_TAIL(&p->finished, job, link);
	key_settle(p, job->key);
	job->key = NULL;
	if (!TAILQ_EMPTY(&p->ring))
		pthread_cond_signal(&p->work);
	/* It fails only when the counter is full, and then the loop will wake up anyway. */
	if (first && write(p->fd, &one, sizeof(one)) < 0)
		return;
}

static void *thread_main(void *arg)
{
	struct worker_pool *p = arg;

	pthread_mutex_lock(&p->lock);
	for (;;) {
		struct worker_job *job;

		while (!p->stop && TAILQ_EMPTY(&p->ring))
			pthread_cond_wait(&p->work, &p->lock);
		if (p->stop)
			break;
		job = take_job(p);
		pthread_mutex_unlock(&p->lock);
		job->ops->run(job->arg);
		pthread_mutex_lock(&p->lock);
		finish_job(p, job);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

/* On the loop, unlocked: hand the argument back. */
static void deliver(struct worker_job *job)
{
	if (job->cancelled)
		job->ops->drop(job->arg);
	else
		job->ops->done(job->arg);
	free(job);
}

static void on_finished(evutil_socket_t fd, short what, void *arg)
{
	struct worker_pool *p = arg;
	uint64_t n;

	(void)what;
	if (read(fd, &n, sizeof(n)) < 0 && errno != EAGAIN)
		return;
	for (int i = 0;; i++) {
		struct worker_job *job;

		pthread_mutex_lock(&p->lock);
		job = TAILQ_FIRST(&p->finished);
		if (job && i < DONE_SLICE)
			TAILQ_REMOVE(&p->finished, job, link);
		pthread_mutex_unlock(&p->lock);
		if (!job)
			return;
		if (i == DONE_SLICE) {
			event_active(p->event, EV_READ, 0);
			return;
		}
		deliver(job);
	}
}

static int start_threads(struct worker_pool *p, struct error *err)
{
	sigset_t all, old;
	int e = 0;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	while (e == 0 && p->n_threads < p->limits.threads) {
		e = pthread_create(&p->threads[p->n_threads], NULL, thread_main, p);
		if (e == 0)
			p->n_threads++;
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return e ? error_set(err, ERR_SYSTEM, "cannot start a thread: %s", strerror(e)) : 0;
}

struct worker_pool *worker_pool_new(
        struct event_base *base, const struct worker_limits *limits, struct error *err)
{
	struct worker_pool *p = calloc(1, sizeof(*p));

	if (!p) {
		error_set(err, ERR_SYSTEM, "out of memory");
		return NULL;
	}
	p->limits = *limits;
	if (p->limits.threads < 1)
		p->limits.threads = 1;
	if (p->limits.threads > MAX_THREADS)
		p->limits.threads = MAX_THREADS;
	p->max_running_per_key = p->limits.threads > 1 ? p->limits.threads - 1 : 1;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->work, NULL);
	TAILQ_INIT(&p->ring);
	TAILQ_INIT(&p->finished);
	p->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (p->fd >= 0)
		p->event = event_new(base, p->fd, EV_READ | EV_PERSIST, on_finished, p);
	if (!p->event || event_add(p->event, NULL) < 0) {
		error_set(err, ERR_SYSTEM, "cannot watch the workers: %s", strerror(errno));
		worker_pool_free(p);
		return NULL;
	}
	if (start_threads(p, err) < 0) {
		worker_pool_free(p);
		return NULL;
	}
	return p;
}

/* No thread is left: drop what waits, then what has ended. */
static void drop_all(struct worker_pool *p)
{
	struct worker_job *job;
	struct key *k;

	for (size_t b = 0; b < KEY_BUCKETS; b++) {
		while ((k = LIST_FIRST(&p->keys[b]))) {
			while ((job = TAILQ_FIRST(&k->queue))) {
				TAILQ_REMOVE(&k->queue, job, link);
				job->key = NULL;
				job->state = FINISHED;
				TAILQ_INSERT_TAIL(&p->finished, job, link);
			}
			LIST_REMOVE(k, bucket);
			free(k);
		}
	}
	while ((job = TAILQ_FIRST(&p->finished))) {
		TAILQ_REMOVE(&p->finished, job, link);
		job->cancelled = true;
		deliver(job);
	}
}

void worker_pool_free(struct worker_pool *p)
{
	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	p->stop = true;
	pthread_cond_broadcast(&p->work);
	pthread_mutex_unlock(&p->lock);
	for (unsigned i = 0; i < p->n_threads; i++)
		pthread_join(p->threads[i], NULL);
	drop_all(p);
	event_end(p->event);
	fd_close(p->fd);
	pthread_cond_destroy(&p->work);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

/* Locked: room for one more of this key? */
static int admit(struct worker_pool *p, struct key *k, struct error *err)
{
	if (p->stop)
		return error_set(err, ERR_BUSY, "shutting down");
	if (p->queued >= p->limits.max_queued)
		return error_set(err, ERR_BUSY, "%u operations wait already", p->queued);
	if (k->queued >= p->limits.max_per_key)
		return error_set(
		        err, ERR_BUSY, "%u operations of the same origin wait already", k->queued);
	return 0;
}

struct worker_job *worker_submit(struct worker_pool *p, uint64_t key, const struct worker_ops *ops,
        void *arg, struct error *err)
{
	struct worker_job *job = calloc(1, sizeof(*job));
	struct key *k;

	if (!job) {
		error_set(err, ERR_BUSY, "out of memory");
		return NULL;
	}
	*job = (struct worker_job){ .pool = p, .ops = ops, .arg = arg };
	pthread_mutex_lock(&p->lock);
	k = key_get(p, key);
	if (!k || admit(p, k, err) < 0) {
		if (!k)
			error_set(err, ERR_BUSY, "out of memory");
		else
			key_settle(p, k);
		p->n_refused++;
		pthread_mutex_unlock(&p->lock);
		free(job);
		return NULL;
	}
	job->key = k;
	TAILQ_INSERT_TAIL(&k->queue, job, link);
	k->queued++;
	p->queued++;
	key_settle(p, k);
	pthread_cond_signal(&p->work);
	pthread_mutex_unlock(&p->lock);
	return job;
}

void worker_cancel(struct worker_job *job)
{
	struct worker_pool *p = job->pool;
	bool now = false;

	pthread_mutex_lock(&p->lock);
	job->cancelled = true;
	if (job->state == QUEUED) {
		TAILQ_REMOVE(&job->key->queue, job, link);
		job->key->queued--;
		p->queued--;
		key_settle(p, job->key);
		now = true;
	}
	pthread_mutex_unlock(&p->lock);
	if (now)
		deliver(job);
}

void worker_pool_stats(const struct worker_pool *pool, struct worker_stats *out)
{
	struct worker_pool *p = (struct worker_pool *)pool;

	pthread_mutex_lock(&p->lock);
	*out = (struct worker_stats){ p->n_done, p->n_refused, p->queued, p->running };
	pthread_mutex_unlock(&p->lock);
}

uint64_t worker_key_address(const struct sockaddr *sa)
{
	const struct sockaddr_in *in = (const struct sockaddr_in *)sa;
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)sa;
	const uint8_t *a = in6->sin6_addr.s6_addr;

	if (sa->sa_family == AF_INET)
		return ntohl(in->sin_addr.s_addr);
	if (sa->sa_family != AF_INET6)
		return UINT64_MAX;
	if (IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr))
		return get_u32(a + 12);
	/* One customer has a whole /64: its hosts count as one. */
	return get_u64(a) ? get_u64(a) : UINT64_MAX - 1 - get_u64(a + 8);
}
