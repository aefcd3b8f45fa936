/* session.h - the one session of a process: its jobs, and connections to the controller
 *
 * One lock is around all of it. It is held for moments and never while the controller is asked: a
 * thread that waits for a job takes a connection of its own, so that others can submit and control
 * meanwhile. Connections that nothing uses are kept for the next call.
 */
#ifndef CMDS_DRMAA_SESSION_H
#define CMDS_DRMAA_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "cmds/api/client.h"
#include "cmds/drmaa/error_diagnosis.h"
#include "cmds/drmaa/jobset.h"

bool session_active(void);
int session_none(struct diagnosis d); /* DRMAA_ERRNO_NO_ACTIVE_SESSION */

/* A connection for one call of drmaa.h. NULL with *code. */
struct client *session_take(struct diagnosis d, int *code);
void session_give(struct client *c);

/* A job was submitted: a single one (TASK_NONE), or the tasks of an array. */
void session_add(uint64_t id, const struct taskset *tasks);

/* The jobs of this session that drmaa_wait() and drmaa_synchronize() have not disposed of; the
 * caller clears *jobs. */
void session_jobs(struct jobset *jobs);

/* Remember an end that was seen, so that a wait for one of many jobs need not look at all of
 * them. */
struct session_end {
	uint64_t id;
	uint32_t task;
	int stat;
};
void session_saw(const struct session_end *end);
bool session_next_end(struct session_end *end); /* false: look at them */

/* Dispose of a job; false: another thread has done that. */
bool session_dispose(uint64_t id, uint32_t task);
void session_dispose_all(const struct jobset *jobs);
bool session_has_disposed(uint64_t id, uint32_t task);

#endif
