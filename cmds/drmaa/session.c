/* session.c - see session.h; the functions of drmaa.h about the session and the library */
#include "cmds/drmaa/session.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"

#include "config.h"

#define SYSTEM          "gpusched " PACKAGE_VERSION
#define CLIENTS         8   /* connections that are kept */
#define CONTACT_OF_FILE '/' /* a contact that begins so is a client.conf, else the cluster's name \
	                     */

static struct {
	pthread_mutex_t lock;
	bool active;
	char *conf; /* NULL: as the commands find it */
	char *contact;
	struct client *idle[CLIENTS];
	size_t n_idle;
	struct jobset jobs, disposed;
	struct session_end *ends;
	size_t n_ends, ends_size;
} session = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void lock(void)
{
	pthread_mutex_lock(&session.lock);
}

static void unlock(void)
{
	pthread_mutex_unlock(&session.lock);
}

/* --- connections ---------------------------------------------------------------------------- */

bool session_active(void)
{
	bool active;

	lock();
	active = session.active;
	unlock();
	return active;
}

int session_none(struct diagnosis d)
{
	return fail_with(
	        d, DRMAA_ERRNO_NO_ACTIVE_SESSION, "there is no session; drmaa_init() opens it");
}

struct client *session_take(struct diagnosis d, int *code)
{
	struct client *c = NULL;
	struct error err;
	char *conf = NULL;
	bool active;

	lock();
	active = session.active;
	if (active && session.n_idle)
		c = session.idle[--session.n_idle];
	else if (active && session.conf)
		conf = xstrdup(session.conf);
	unlock();
	if (!active) {
		*code = session_none(d);
		return NULL;
	}
	if (!c && !(c = client_new(conf, &err)))
		*code = fail_as(d, &err, DRMAA_ERRNO_INTERNAL_ERROR);
	free(conf);
	return c;
}

void session_give(struct client *c)
{
	lock();
	if (session.active && session.n_idle < CLIENTS) {
		session.idle[session.n_idle++] = c;
		c = NULL;
	}
	unlock();
	client_free(c);
}

/* --- jobs ----------------------------------------------------------------------------------- */

void session_add(uint64_t id, const struct taskset *tasks)
{
	lock();
	if (tasks)
		jobset_add_array(&session.jobs, id, tasks);
	else
		jobset_add(&session.jobs, id, TASK_NONE);
	unlock();
}

void session_jobs(struct jobset *jobs)
{
	lock();
	jobset_copy(jobs, &session.jobs);
	unlock();
}

void session_saw(const struct session_end *end)
{
	lock();
	*XADD(session.ends, session.n_ends, session.ends_size) = *end;
	unlock();
}

bool session_next_end(struct session_end *end)
{
	bool any = false;

	lock();
	while (session.n_ends && !any) {
		*end = session.ends[--session.n_ends];
		any = jobset_has(&session.jobs, end->id, end->task);
	}
	unlock();
	return any;
}

bool session_dispose(uint64_t id, uint32_t task)
{
	bool ours;

	lock();
	ours = !jobset_has(&session.disposed, id, task);
	jobset_remove(&session.jobs, id, task);
	if (ours)
		jobset_add(&session.disposed, id, task);
	unlock();
	return ours;
}

void session_dispose_all(const struct jobset *jobs)
{
	lock();
	jobset_remove_all(&session.jobs, jobs);
	jobset_join(&session.disposed, jobs);
	unlock();
}

bool session_has_disposed(uint64_t id, uint32_t task)
{
	bool has;

	lock();
	has = jobset_has(&session.disposed, id, task);
	unlock();
	return has;
}

/* --- begin and end -------------------------------------------------------------------------- */

/* The session is open once the controller has answered. */
static int open_session(const char *contact, struct client *c, struct diagnosis d)
{
	struct error err;

	if (!client_dial(c, &err)) {
		fail_as(d, &err, DRMAA_ERRNO_DRMS_INIT_FAILED);
		return DRMAA_ERRNO_DRMS_INIT_FAILED;
	}
	lock();
	if (session.active) {
		unlock();
		return fail_with(
		        d, DRMAA_ERRNO_ALREADY_ACTIVE_SESSION, "a session is active already");
	}
	session.active = true;
	session.contact = xstrdup(contact && *contact ? contact : client_conf(c)->cluster);
	if (*session.contact == CONTACT_OF_FILE)
		session.conf = xstrdup(session.contact);
	session.idle[session.n_idle++] = c;
	unlock();
	return DRMAA_ERRNO_SUCCESS;
}

int drmaa_init(const char *contact, char *error_diagnosis, size_t error_diag_len)
{
	bool named = contact && *contact, file = named && *contact == CONTACT_OF_FILE;
	struct client *c;
	struct error err;
	int code;

	if (session_active())
		return fail_with(DIAGNOSIS, DRMAA_ERRNO_ALREADY_ACTIVE_SESSION,
		        "a session is active already");
	c = client_new(file ? contact : NULL, &err);
	if (!c) {
		fail_as(DIAGNOSIS, &err, 0);
		return file ? DRMAA_ERRNO_INVALID_CONTACT_STRING
		            : DRMAA_ERRNO_DEFAULT_CONTACT_STRING_ERROR;
	}
	if (named && !file && strcmp(contact, client_conf(c)->cluster) != 0)
		code = fail_with(DIAGNOSIS, DRMAA_ERRNO_INVALID_CONTACT_STRING,
		        "'%.100s': this is cluster %s; a contact is its name or the path of a "
		        "client.conf",
		        contact, client_conf(c)->cluster);
	else
		code = open_session(contact, c, DIAGNOSIS);
	if (code != DRMAA_ERRNO_SUCCESS)
		client_free(c);
	return code;
}

int drmaa_exit(char *error_diagnosis, size_t error_diag_len)
{
	lock();
	if (!session.active) {
		unlock();
		return session_none(DIAGNOSIS);
	}
	session.active = false;
	while (session.n_idle)
		client_free(session.idle[--session.n_idle]);
	jobset_clear(&session.jobs);
	jobset_clear(&session.disposed);
	free(session.ends);
	session.ends = NULL;
	session.n_ends = session.ends_size = 0;
	free(session.conf);
	free(session.contact);
	session.conf = session.contact = NULL;
	unlock();
	return DRMAA_ERRNO_SUCCESS;
}

/* --- about it all --------------------------------------------------------------------------- */

int drmaa_get_contact(
        char *contact, size_t contact_len, char *error_diagnosis, size_t error_diag_len)
{
	if (!contact)
		return fail_with(DIAGNOSIS, DRMAA_ERRNO_INVALID_ARGUMENT, "an argument is NULL");
	lock();
	fail_copy(contact, contact_len, session.active ? session.contact : "");
	unlock();
	return DRMAA_ERRNO_SUCCESS;
}

int drmaa_version(
        unsigned int *major, unsigned int *minor, char *error_diagnosis, size_t error_diag_len)
{
	if (!major || !minor)
		return fail_with(DIAGNOSIS, DRMAA_ERRNO_INVALID_ARGUMENT, "an argument is NULL");
	*major = 1;
	*minor = 0;
	return DRMAA_ERRNO_SUCCESS;
}

int drmaa_get_DRM_system(
        char *drm_system, size_t drm_system_len, char *error_diagnosis, size_t error_diag_len)
{
	if (!drm_system)
		return fail_with(DIAGNOSIS, DRMAA_ERRNO_INVALID_ARGUMENT, "an argument is NULL");
	fail_copy(drm_system, drm_system_len, SYSTEM);
	return DRMAA_ERRNO_SUCCESS;
}

int drmaa_get_DRMAA_implementation(
        char *drmaa_impl, size_t drmaa_impl_len, char *error_diagnosis, size_t error_diag_len)
{
	if (!drmaa_impl)
		return fail_with(DIAGNOSIS, DRMAA_ERRNO_INVALID_ARGUMENT, "an argument is NULL");
	fail_copy(drmaa_impl, drmaa_impl_len, "libdrmaa of " SYSTEM);
	return DRMAA_ERRNO_SUCCESS;
}
